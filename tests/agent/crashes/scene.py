"""
What an agent does on a thread, so that every part of it can be told apart afterwards.

A question names the calls that the model makes before it answers: `q0 pay+note|pay` makes two calls
in the first response and one in the second. What a call has to do is a label of its own, as
`q0.1.0`, which stands in its arguments, its answer and the book; so nothing is lost or done twice unseen.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from functools import cache

from msgspec import Struct

from foldline.agent.agent import Agent
from foldline.agent.background import BackgroundFold
from foldline.agent.config import AgentOptions
from foldline.agent.tools import Tool, ToolContext, tool
from foldline.errors import ContextOverflowError
from foldline.history.codec import decode_json
from foldline.history.formats.renderings import (
    render_anthropic,
    render_openai_chat,
    render_openai_responses,
)
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.history.repair import NO_RESPONSE
from foldline.history.tokens import TokenEstimator, count_message
from foldline.history.units import CountingUnit
from foldline.providers.model import ChatRequest
from foldline.reduction.config import HistoryReductionConfig, Retention
from foldline.reduction.request import SummaryRequest
from foldline.testing.grammars import (
    check_anthropic,
    check_openai_chat,
    check_openai_responses,
)
from foldline.testing.model import ScriptedModel
from foldline.threads.storage import CheckpointRetention
from foldline.threads.tools import ToolPolicy
from tests.agent.crashes.book import Book
from tests.agent.crashes.life import Life


POLICIES: dict[str, ToolPolicy] = {
    "pay": "at_most_once",
    "seek": "at_most_once",
    "note": "idempotent",
    "sign": "manual",
    "quit": "at_most_once",
    "hang": "at_most_once",
}
"""
The policy of each tool.

`seek` blocks, so it runs in a thread; the others are awaited. `quit` raises a `CancelledError`, and
`hang` does not come back.
"""

_PADDING = " maple" * 12
_SCHEMA_TOKENS = 300


class Scene(Struct, frozen=True, kw_only=True):
    """A conversation that an agent is to have."""

    name: str  # What it is called in reports
    questions: tuple[str, ...]  # What the user says, one turn after the other
    parallel: bool = False  # Whether the calls of one response run at the same time
    streams: bool = False  # Whether the turns are watched
    old: int = 0  # How many exchanges there were before
    behavior: str = ""  # What follows a fold; nothing is folded where it is empty

    # What is counted: a fold may come within a turn where it is messages.
    unit: CountingUnit = "exchanges"
    retention: Retention = "full"  # Whether folded messages are archived
    folds_ahead: bool = False  # Whether folds are made in the background
    slowness: int = 0  # How many steps of other tasks a summary waits for
    thinking: int = 0  # How many of them an answer waits for

    # How much later each call of a response ends than the one before it, in such steps.
    stagger: int = 30
    timeout: float | None = None  # How many seconds a tool may take
    window: int | None = None  # How many tokens the model takes at once
    padding: int = 1  # How long the old messages are

    # Whether the ids of calls start again in each response, as with some vendors.
    counts_anew: bool = False
    checkpoints: CheckpointRetention = "latest"  # Which checkpoints are kept

    def __str__(self) -> str:
        return self.name

    @property
    def reduction(self) -> HistoryReductionConfig:
        if not self.behavior:
            return HistoryReductionConfig()
        return HistoryReductionConfig(
            behavior="circuit_breaker" if self.behavior == "circuit_breaker" else "continue",
            counting_unit=self.unit,
            target_count=2 if self.unit == "exchanges" else 4,
            summarization_threshold=2,
            retention=self.retention,
        )


def label_of(text: str) -> str:
    """Return the first word of *text*, which no other message begins with."""
    return text.split(" ", 1)[0]


def what_of(call: ToolCallPart) -> str:
    return str(decode_json(call.arguments)["what"])


def old_messages(scene: Scene) -> list[Message]:
    return [
        message
        for number in range(scene.old)
        for message in (
            Message.user(f"old{number}{_PADDING * scene.padding}"),
            Message.assistant(f"said{number}{_PADDING * scene.padding}"),
        )
    ]


def agent_of(scene: Scene, life: Life, book: Book, *, ahead: BackgroundFold | None = None) -> Agent:
    """Return an agent for *scene* that lives in *life*."""
    return Agent(
        ScriptedModel(
            repeat=_Speaker(scene, life, book).answer, delay=0 if scene.streams else None
        ),
        instructions="Be brief.",
        tools=_tools(scene, life, book),
        history_reduction=scene.reduction,
        summarizer=_Summarizer(scene, life, book),
        options=AgentOptions(parallel_tool_calls=scene.parallel),
        background_fold=ahead if scene.folds_ahead else None,
    )


class _Speaker:
    """Answers from the request alone, so that asked again it says the same."""

    def __init__(self, scene: Scene, life: Life, book: Book) -> None:
        self._scene = scene
        self._life = life
        self._book = book

    async def answer(self, request: ChatRequest) -> Message:
        await self._life.moment("before an answer")
        for _ in range(self._scene.thinking):
            await asyncio.sleep(0)
        for rule in _rules_of(request.messages):
            self._book.write("refused", rule)
        tokens = sum(count_message(one, TokenEstimator()) for one in request.messages)
        tokens += _SCHEMA_TOKENS
        if self._scene.window is not None and tokens > self._scene.window:
            raise ContextOverflowError(model="scripted", window=self._scene.window, tokens=tokens)
        answer = self._answer(request.messages)
        await self._life.moment("behind an answer")
        return answer

    def _answer(self, messages: Sequence[Message]) -> Message:
        asked = max(at for at, one in enumerate(messages) if one.role == "user")
        label, _, rest = messages[asked].text.partition(" ")
        plan = [one for one in rest.split(" ", 1)[0].split("|") if one]
        done = self._done(messages[asked:])
        if done == len(plan):
            return Message.assistant(f"{label}.answer is there")
        turn = "" if self._scene.counts_anew else f"{label}_{done}_"
        calls = [
            ToolCallPart(f"call_{turn}{place}", name, f'{{"what":"{label}.{done}.{place}"}}')
            for place, name in enumerate(plan[done].split("+"))
        ]
        return Message.assistant(f"{label}.{done}", tool_calls=calls)

    @staticmethod
    def _done(said: Sequence[Message]) -> int:
        """Return how many responses of the turn have calls."""
        last = [answer.id for answer in said[-1].tool_call_responses]
        known = _CALL_ID.fullmatch(last[-1]) if last else None
        # Where a part of the turn is folded, its calls cannot be counted.
        return sum(1 for one in said if one.tool_calls) if known is None else int(known[1]) + 1


_CALL_ID = re.compile(r"call_.*_(\d+)_\d+")


def _rules_of(messages: tuple[Message, ...]) -> frozenset[str]:
    try:
        return _known_rules(messages)
    except TypeError:
        # A summary carries values that have no hash.
        return _broken_rules(messages)


@cache
def _known_rules(messages: tuple[Message, ...]) -> frozenset[str]:
    return _broken_rules(messages)


def _broken_rules(messages: Sequence[Message]) -> frozenset[str]:
    anthropic = render_anthropic(messages)
    found = {
        *(one.rule.value for one in check_openai_chat(render_openai_chat(messages))),
        *(one.rule.value for one in check_openai_responses(render_openai_responses(messages))),
        *(one.rule.value for one in check_anthropic(anthropic.system, anthropic.messages)),
    }
    if any(NO_RESPONSE in str(one.parts) for one in messages):
        found.add("made_up_answer")
    if messages[-1].role not in {"user", "tool"}:
        found.add("nothing_new")
    return frozenset(found)


class _Summarizer:
    def __init__(self, scene: Scene, life: Life, book: Book) -> None:
        self._scene = scene
        self._life = life
        self._book = book

    @property
    def name(self) -> str:
        return "teller"

    async def summarize(self, request: SummaryRequest) -> str:
        await self._life.moment("before a summary")
        for _ in range(self._scene.slowness):
            await asyncio.sleep(0)
        labels = [label_of(one.text) for one in request.messages if one.text]
        self._book.write("summary", labels[-1])
        await self._life.moment("behind a summary")
        return f"The user and the assistant spoke up to {labels[-1]}."


def _tools(scene: Scene, life: Life, book: Book) -> list[Tool]:
    def blocking(what: str, context: ToolContext) -> str:
        life.pass_by("before a tool")
        book.write("effect", what, context.idempotency_key)
        life.pass_by("behind a tool")
        book.write("returned", what, str(life.count))
        return f"{context.name} did {what}"

    async def awaited(what: str, context: ToolContext) -> str:
        place = int(what.rpartition(".")[2])
        for _ in range(scene.stagger * place):
            # Later calls of a response take longer, so that the earlier results are stored by then.
            await asyncio.sleep(0)
        await life.moment("before a tool")
        book.write("effect", what, context.idempotency_key)
        await life.moment("behind a tool")
        book.write("returned", what, str(life.count))
        return f"{context.name} did {what}"

    async def quitting(what: str, context: ToolContext) -> str:
        raise asyncio.CancelledError(await awaited(what, context))

    async def hanging(what: str, context: ToolContext) -> str:
        said = await awaited(what, context)
        await asyncio.Event().wait()
        return said

    functions: dict[str, Callable[..., object]] = {
        "seek": blocking,
        "quit": quitting,
        "hang": hanging,
    }
    return [
        tool(functions.get(name, awaited), name=name, policy=policy, timeout=scene.timeout)
        for name, policy in POLICIES.items()
    ]
