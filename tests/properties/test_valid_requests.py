"""Whatever the history looks like, what is sent is valid and nothing of it is lost."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from foldline.agent.cache import ReductionCache
from foldline.agent.reducer import HistoryReducer
from foldline.history.codec import encode_json
from foldline.history.formats.anthropic import to_anthropic
from foldline.history.formats.openai_chat import to_openai_chat
from foldline.history.formats.openai_responses import to_openai_responses
from foldline.history.formats.renderings.anthropic import render_anthropic
from foldline.history.formats.renderings.openai_chat import render_openai_chat
from foldline.history.formats.renderings.openai_responses import render_openai_responses
from foldline.history.history import History
from foldline.history.messages import Message, NativeFormat
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.state import HistoryReductionState
from foldline.testing.grammars.anthropic import check_anthropic
from foldline.testing.grammars.openai_chat import check_openai_chat
from foldline.testing.grammars.openai_responses import check_openai_responses
from foldline.testing.summarizer import ScriptedSummarizer
from tests.depth import by_depth
from tests.histories import COUNTING_UNITS, damaged_history, legal_history


EACH = by_depth(62, 2_500)
GROWN = by_depth(12, 250)
ASKED = by_depth(10, 400)
CLOCK: Callable[[], datetime] = lambda: datetime(2026, 11, 21, tzinfo=UTC)  # noqa: E731
COUNTS: dict[str, Any] = {"target_count": 2, "summarization_threshold": 1}
BUDGETS: dict[str, Any] = {"target_token_budget": 60, "token_budget_threshold": 20}
CHAT, RESPONSES = NativeFormat.OPENAI_CHAT, NativeFormat.OPENAI_RESPONSES
ANTHROPIC = NativeFormat.ANTHROPIC


def reducers() -> list[HistoryReducer]:
    """Make a reducer of each strategy and unit, with small numbers so that many folds happen."""
    shapes: tuple[dict[str, Any], ...] = (
        {"strategy": "message_counting"},
        {"strategy": "summarizing"},
        {"strategy": "summarizing", "use_single_summary": False},
    )
    return [
        HistoryReducer(
            HistoryReductionConfig(
                counting_unit=unit, **(BUDGETS if unit == "tokens" else COUNTS), **shape
            ),
            summarizer=ScriptedSummarizer(repeat="said"),
            clock=CLOCK,
        )
        for unit in COUNTING_UNITS
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


LARGEST = 16_000
"""The share of the default ceiling up to which a message is shown whole, in tokens."""


def check_view(view: list[Message], messages: list[Message], place: object) -> None:
    """Fail unless *view* of *messages* is valid for each vendor and holds what must be in it."""
    assert not faults(view), place
    assert [m for m in view if m.role == "system"] == [m for m in messages if m.role == "system"]
    users = [m for m in messages if m.role == "user"]
    if users and said_by_user(users[-1]) and History(users[-1:]).tokens() <= LARGEST:
        assert any(said_by_user(users[-1]) == said_by_user(m) for m in view), place


def said_by_user(message: Message) -> list[object]:
    return [part for part in message.parts if type(part).__name__ in {"TextPart", "BlobPart"}]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("damaged", [False, True])
def test_every_view_is_a_valid_request(seed: int, *, damaged: bool) -> None:
    """Of 20,000 generated histories, half of them damaged, no view breaks a vendor's rule.

    The last user message is in it word for word if it is not too large, all system messages are,
    and what was given is not changed.
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
        check_view(reduced.messages, messages, (seed, number))
        assert messages == before
        assert history.digest() == digest

    assert folded > EACH // 4


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("damaged", [False, True])
def test_views_stay_valid_while_a_history_grows_and_is_rewound(seed: int, *, damaged: bool) -> None:
    """A state goes along through JSON, the history grows, is cut back anywhere and grows again."""
    random = Random(f"rewind {seed} {damaged}")
    make = damaged_history if damaged else legal_history
    known, hits, rewound = reducers(), 0, 0
    for number in range(GROWN):
        messages, reducer = make(random, exchanges=10), known[number % len(known)]
        state, stop = None, 0
        for _ in range(8):
            if random.random() < 0.3:
                stop = random.randint(0, stop)
                rewound += 1
            else:
                stop = min(len(messages), stop + random.randint(1, 12))
            if not stop:
                continue
            if state is not None:
                state = HistoryReductionState.from_json(state.to_json())
            reduced = reducer.reduce_sync(messages[:stop], state=state)
            state = reduced.state
            hits += reduced.verdict.kind == "hit"
            check_view(reduced.messages, messages[:stop], (seed, number, stop))

    assert hits > GROWN // 4
    assert rewound > GROWN // 4


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("format", [CHAT, RESPONSES, ANTHROPIC])
def test_dictionaries_come_back_as_valid_requests(format: NativeFormat, *, damaged: bool) -> None:
    """The same holds for a caller's dictionaries, with a cache in place of a state."""
    random = Random(f"{format} {damaged}")
    make = damaged_history if damaged else legal_history
    reducer = HistoryReducer(
        HistoryReductionConfig(counting_unit="messages", **COUNTS),
        cache=ReductionCache(max_entries=64),
    )
    for number in range(ASKED):
        items = WRITERS[format](make(random, exchanges=8))
        for stop in sorted(random.randint(1, max(1, len(items))) for _ in range(3)):
            if not items[:stop]:
                continue
            before = encode_json(items[:stop])
            sent = reducer.reduce_sync(items[:stop], format=format).messages

            assert not judged(format, sent), (number, stop)
            assert encode_json(items[:stop]) == before


def written_for_anthropic(messages: list[Message]) -> list[dict[str, Any]]:
    return to_anthropic([message for message in messages if message.role != "system"])


WRITERS: Mapping[NativeFormat, Callable[[list[Message]], list[dict[str, Any]]]] = {
    CHAT: to_openai_chat,
    RESPONSES: to_openai_responses,
    ANTHROPIC: written_for_anthropic,
}


def judged(format: NativeFormat, items: list[dict[str, Any]]) -> tuple[object, ...]:
    """Return the rules of the vendor of *format* that *items* break."""
    if format is CHAT:
        return check_openai_chat(items)
    if format is RESPONSES:
        return check_openai_responses(items)
    return check_anthropic([], items)
