"""Whatever the history, the unit, the layers and the window: every request stays below its ceiling."""

from collections.abc import Mapping
from datetime import UTC, datetime
from random import Random
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from foldline.agent.reduced import ReducedHistory
from foldline.agent.reducer import HistoryReducer
from foldline.errors import RequestTooLargeError
from foldline.history.codec import encode_json
from foldline.history.history import History
from foldline.history.messages import Message, Usage
from foldline.history.parts import ToolCallPart
from foldline.history.tokens import TokenEstimator, count_message
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.state import HistoryReductionState
from foldline.testing.summarizer import ScriptedSummarizer
from tests.histories import damaged_history, legal_history
from tests.properties.test_valid_requests import faults


NOW = datetime(2026, 11, 22, tzinfo=UTC)
COUNTER = TokenEstimator()
WINDOWS = (4_000, 8_000, 32_000, 128_000)
UNITS: tuple[Mapping[str, object], ...] = (
    {},
    {"target_count": 6, "summarization_threshold": 3},
    {"counting_unit": "messages", "target_count": 30},
    {"target_token_budget": 3_000},
    {"counting_unit": "exchanges", "target_count": 1_000},
)
SHAPES: tuple[Mapping[str, object], ...] = (
    {},
    {"use_single_summary": False},
    {"strategy": "clearing"},
    {"strategy": "message_counting"},
    {"clear_tool_results": False, "quote_user_messages": 0, "largest_message": None},
    {"tool_rules": {"look_up": "never_summarize"}},
    {"tool_rules": {"look_up": "keep"}},
)
TORN = 12
"""More messages than an undamaged history has in one answer with its results."""

FIXED = ("instructions", "tools", "system messages")
RULE = "Answer in one sentence. " * 20


class Setting(Struct, frozen=True, kw_only=True):
    """How a history is reduced."""

    config: HistoryReductionConfig
    instructions: str
    tools: tuple[object, ...]
    rate: float
    """What the vendor counts for one estimated token."""

    summary: str

    def reducer(self) -> HistoryReducer:
        summarizer = ScriptedSummarizer(repeat=self.summary)
        return HistoryReducer(self.config, summarizer=summarizer, clock=lambda: NOW)

    def usage(self, sent: int) -> Usage | None:
        return Usage(input_tokens=int(sent * self.rate), output_tokens=9) if sent else None


def words(random: Random, tokens: int) -> str:
    """Return a text of about so many *tokens*, as programs and people write."""
    kinds = (
        "the cache holds ",
        "src/app/main.py:42 ",
        "R2-D2-4711 ",
        "東京の天気 ",
        '{"a": [1, 2]}\n',
    )
    size, pieces = tokens * 4, list[str]()
    while size > 0:
        pieces.append(random.choice(kinds) * random.randint(1, 9))
        size -= len(pieces[-1])
    return "".join(pieces)


def agent_session(random: Random) -> list[Message]:
    """Return a long question and many calls with results of very different sizes."""
    messages: list[Message] = []
    for exchange in range(random.randint(1, 5)):
        if random.random() < 0.2:
            messages.append(Message.system(words(random, 60)))
        pin = random.random() < 0.1
        size = random.choice((20, 200, 900, 4_000))
        messages.append(Message.user(words(random, size), pin=pin))
        for step in range(random.randint(0, 25)):
            ids = [f"c{exchange}_{step}_{one}" for one in range(random.choice((1, 1, 1, 3)))]
            long = words(random, random.choice((5, 5, 1_500)))
            arguments = encode_json({"q": random.choice(("same", long))}).decode()
            calls = [
                ToolCallPart(one, random.choice(("look_up", "bash")), arguments) for one in ids
            ]
            messages.append(Message.assistant(random.choice(("", "Let me see.")), tool_calls=calls))
            sizes = (10, 300, 2_200, 9_000)
            messages.extend(Message.tool(one, words(random, random.choice(sizes))) for one in ids)
        if random.random() < 0.9:
            messages.append(Message.assistant(words(random, random.choice((30, 300)))))
    return messages


SOURCES = MappingProxyType(
    {"agent": agent_session, "legal": legal_history, "damaged": damaged_history}
)


@st.composite
def settings(draw: st.DrawFn) -> Setting:
    window = draw(st.sampled_from(WINDOWS))
    unit, shape = draw(st.sampled_from(UNITS)), draw(st.sampled_from(SHAPES))
    return Setting(
        config=HistoryReductionConfig(context_window_size=window, **{**unit, **shape}),  # type: ignore[arg-type]
        instructions=draw(st.sampled_from(("", RULE))),
        tools=({"name": "look_up", "description": RULE},) * draw(st.integers(0, 2)),
        rate=draw(st.sampled_from((0.7, 1.0, 1.2, 1.6))),
        summary=draw(st.sampled_from(("They talked about the weather.", "word " * 900))),
    )


def steps(random: Random, length: int) -> list[int]:
    """Return where a history of *length* is looked at while it grows, and once rewound."""
    stops = sorted({random.randint(1, length) for _ in range(5)} | {length})
    return [*stops, random.choice(stops), length]


def fixed_tokens(setting: Setting, history: History) -> int:
    """Return the estimated tokens of what no fold makes smaller."""
    tools = sum(COUNTER.count(encode_json(one).decode()) for one in setting.tools)
    return COUNTER.count(setting.instructions) + tools + history.system_tokens


def check(
    setting: Setting,
    reducer: HistoryReducer,
    history: History,
    state: HistoryReductionState | None,
    sent: int,
) -> ReducedHistory[Message] | None:
    """
    Reduce *history*, and fail unless what is sent fits and is valid.

    None is returned if it does not fit because what no fold makes smaller is most of it.
    """
    usage = setting.usage(sent)
    try:
        reduced = reducer.reduce_sync(
            history,
            state=state,
            usage=usage,
            instructions=setting.instructions,
            tools=setting.tools,
        )
    except RequestTooLargeError as error:
        fixed, ceiling = sum(map(error.parts.__getitem__, FIXED)), error.ceiling
    else:
        assert reduced.event.request_tokens <= reduced.event.ceiling
        assert not faults(reduced.messages)
        return reduced
    # Damage may leave no cut among the newest messages, each of which costs what a note costs.
    last = next(history.whole_indexes(history.first_open_call(), 0), 0)
    assert fixed * 3 > ceiling or len(history) - last > TORN
    return None


@pytest.mark.slow
@given(settings(), st.sampled_from(sorted(SOURCES)), st.integers(0, 10**9))
def test_no_request_is_larger_than_its_ceiling(setting: Setting, source: str, seed: int) -> None:
    """While a history grows, the vendor's count included, or the error is about the fixed parts."""
    random = Random(seed)
    messages = SOURCES[source](random)
    if not messages:
        return
    reducer, state, sent = setting.reducer(), None, 0
    for stop in steps(random, len(messages)):
        history = History(messages[:stop])
        reduced = check(setting, reducer, history, state, sent)
        if reduced is None:
            continue
        if reduced.state is not None:
            state = HistoryReductionState.from_json(reduced.state.to_json())
        beside = fixed_tokens(setting, history) - history.system_tokens
        sent = sum(count_message(one, COUNTER) for one in reduced.messages) + beside
        counted, ceiling = reduced.event.request_tokens, reduced.event.ceiling
        # What repair adds to a damaged history is not known before.
        assert sent * counted <= (ceiling + 64) * (reduced.event.reduced_tokens + beside)
