"""Whatever the history looks like, what is sent is valid and nothing of it is lost."""

from collections.abc import Callable
from datetime import UTC, datetime
from random import Random

import msgspec
import pytest

from foldline.agent.reducer import HistoryReducer
from foldline.history.formats.grammars.anthropic import check_anthropic
from foldline.history.formats.grammars.openai_chat import check_openai_chat
from foldline.history.formats.grammars.openai_responses import check_openai_responses
from foldline.history.formats.renderings.anthropic import render_anthropic
from foldline.history.formats.renderings.openai_chat import render_openai_chat
from foldline.history.formats.renderings.openai_responses import render_openai_responses
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.units import CountingUnit
from foldline.reduction.config import HistoryReductionConfig
from foldline.testing.histories import damaged_history, legal_history
from foldline.testing.summarizer import ScriptedSummarizer


EACH = 2_500
CLOCK: Callable[[], datetime] = lambda: datetime(2026, 11, 21, tzinfo=UTC)  # noqa: E731
UNITS: tuple[CountingUnit, ...] = ("messages", "exchanges", "tokens")


def reducers() -> list[HistoryReducer]:
    """Make a reducer of each strategy and unit, with small numbers so that many folds happen."""
    base = HistoryReductionConfig(
        enabled=True,
        target_count=2,
        summarization_threshold=1,
        target_token_budget=60,
        token_budget_threshold=20,
    )
    shapes = (
        {"strategy": "message_counting"},
        {"strategy": "summarizing"},
        {"strategy": "summarizing", "use_single_summary": False},
    )
    return [
        HistoryReducer(
            msgspec.structs.replace(base, counting_unit=unit, **shape),
            summarizer=ScriptedSummarizer(repeat="said"),
            clock=CLOCK,
        )
        for unit in UNITS
        for shape in shapes
    ]


def faults(view: list[Message]) -> list[str]:
    """Return every rule of a vendor that a request made of *view* breaks."""
    anthropic = render_anthropic(view)
    return [
        *(f"chat {fault}" for fault in check_openai_chat(render_openai_chat(view))),
        *(f"anthropic {fault}" for fault in check_anthropic(anthropic.system, anthropic.messages)),
        *(f"responses {fault}" for fault in check_openai_responses(render_openai_responses(view))),
    ]


def said_by_user(message: Message) -> list[object]:
    return [part for part in message.parts if type(part).__name__ in {"TextPart", "BlobPart"}]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("damaged", [False, True])
def test_every_view_is_a_valid_request(seed: int, *, damaged: bool) -> None:
    """Of 20,000 generated histories, half of them damaged, no view breaks a vendor's rule.

    The last user message is in it word for word, all system messages are, and what was given is
    not changed.
    """
    random = Random(f"{seed} {damaged}")
    make = damaged_history if damaged else legal_history
    known, folded = reducers(), 0
    for number in range(EACH):
        messages = make(random, exchanges=6)
        if not messages:
            continue
        before = list(messages)
        history = History(messages)
        digest = history.digest()
        reduced = known[number % len(known)].reduce_sync(history)
        folded += reduced.verdict.folds
        view = reduced.messages

        assert not faults(view), (seed, number)
        assert [m for m in view if m.role == "system"] == [
            m for m in messages if m.role == "system"
        ]
        users = [m for m in messages if m.role == "user"]
        if users and said_by_user(users[-1]):
            assert any(said_by_user(users[-1]) == said_by_user(m) for m in view), (seed, number)
        assert messages == before
        assert history.digest() == digest

    assert folded > EACH // 4
