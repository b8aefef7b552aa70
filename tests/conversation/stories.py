"""What the tests of conversations have in common."""

from collections.abc import Iterable

from foldline.agent.agent import Agent
from foldline.history.messages import Message
from foldline.providers.model import ChatRequest
from foldline.reduction.config import HistoryReductionConfig, ReductionBehavior, Retention
from foldline.testing.model import ScriptedModel
from foldline.testing.summarizer import ScriptedSummarizer


SUMMARY = "The user asked about parcels."
"""What the summarizer of `folding` writes."""


def agent_named(name: str, *answers: str, instructions: str = "") -> Agent:
    """Return an agent that gives *answers*, or else says its name for ever."""
    model = ScriptedModel(answers, repeat=None if answers else f"{name} here")
    return Agent(model, name=name, instructions=instructions)


def folding(
    name: str = "agent",
    *,
    target: int = 2,
    threshold: int = 1,
    retention: Retention = "full",
    behavior: ReductionBehavior = "continue",
) -> Agent:
    """Return an agent that folds when more than *target* + *threshold* exchanges have gathered."""
    config = HistoryReductionConfig(
        target_count=target,
        summarization_threshold=threshold,
        retention=retention,
        behavior=behavior,
    )
    return Agent(
        ScriptedModel(repeat=_echo),
        name=name,
        history_reduction=config,
        summarizer=ScriptedSummarizer(repeat=SUMMARY),
    )


def _echo(request: ChatRequest) -> str:
    return f"Answer to: {request.messages[-1].text}, which was a question about a parcel."


def said(count: int) -> list[str]:
    return [f"Question {n}: where is the parcel that I have sent to my aunt?" for n in range(count)]


def texts(messages: Iterable[Message]) -> list[str]:
    return [message.text for message in messages]
