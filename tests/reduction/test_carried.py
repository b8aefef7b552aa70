"""How far back the record of a library caller reaches: after an edit little is read again."""

import asyncio
from datetime import UTC, datetime
from itertools import product
from typing import Any

import msgspec
import pytest

from foldline.errors import FormatError
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.budget import budget_of
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.draft import FoldOptions
from foldline.reduction.fold import fold
from foldline.reduction.quotes import Quote
from foldline.reduction.request import SummaryRequest, run_flow
from foldline.reduction.shortening import Shortened
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.stride import is_kept
from foldline.reduction.verdict import decide


NOW = datetime(2026, 11, 21, tzinfo=UTC)
MESSAGES = HistoryReductionConfig(
    enabled=True, strategy="summarizing", counting_unit="messages", target_count=20
)
EXCHANGES = msgspec.structs.replace(MESSAGES, counting_unit="exchanges")


class Caller:
    """Keeps the record between calls, as JSON, and counts what a summarizer reads."""

    def __init__(self, config: HistoryReductionConfig) -> None:
        self.config = config
        self.record = b""
        self.read = 0

    def reduce(self, history: History) -> None:
        state = HistoryReductionState.from_json(self.record) if self.record else None
        verdict = decide(history, self.config, state, config_fingerprint="f")
        if not verdict.folds:
            return
        options = FoldOptions(
            created_at=NOW,
            config_fingerprint="f",
            summarizers=1,
            budget=budget_of(self.config),
            summary_budget=1500,
        )
        flow = fold(history, verdict, self.config, options, given=state)
        made = asyncio.run(run_flow(flow, self._summary, asyncio.to_thread)).state
        assert made is not None
        self.record = made.to_json()

    async def _summary(self, request: SummaryRequest) -> str:
        self.read += len(request.messages)
        return "They talked about the weather."


def said(number: int) -> Message:
    words = f"{number} so many words about the weather in the north and in the south"
    return Message.user(words) if number % 2 == 0 else Message.assistant(words)


@pytest.mark.parametrize("layers", [False, True], ids=["rolling", "layers"])
@pytest.mark.parametrize("config", [MESSAGES, EXCHANGES], ids=["messages", "exchanges"])
@pytest.mark.parametrize("length", [901, pytest.param(1_999, marks=pytest.mark.slow)])
def test_an_edit_reads_little_again(
    config: HistoryReductionConfig, length: int, *, layers: bool
) -> None:
    """With 20/5, an edit 100 messages back has at most 200 messages read again."""
    caller = Caller(msgspec.structs.replace(config, use_single_summary=not layers))
    history = History()
    for number in range(length):
        history.append(said(number))
        caller.reduce(history)
    before = caller.read
    messages = list(history)
    messages[-100] = Message.user("something else about the east")
    caller.reduce(History(messages))

    assert before <= length
    assert 0 < caller.read - before <= 200


def record(index: int, **changes: Any) -> HistoryReductionState:
    made = HistoryReductionState(
        summarized_up_to_index=index,
        message_count_at_reduction=index,
        summary_content="Summary",
        created_at=NOW,
        message_hash=f"sha256-2:{index}",
        target_count=1,
        reduction_threshold=1,
    )
    return msgspec.structs.replace(made, **changes)


def quote(index: int) -> Quote:
    return Quote(index=index, kind="user", role="user", text=f"{index:03} " + "x" * 96, tokens=40)


def cleared(index: int) -> Shortened:
    note = f"[Result of look cleared: message {index}. {'x' * 96}]"
    return Shortened(index=index, digest=f"{index:064x}", tokens=40, note=note)


def grown(*records: HistoryReductionState) -> HistoryReductionState:
    """Return the last of *records*, each of which carries the one before it."""
    state = records[0].carrying([])
    for one in records[1:]:
        state = one.carrying([*state.chain()])
    return state


def numbers(state: HistoryReductionState) -> list[int]:
    return [one.number for one in state.chain()]


def test_earlier_reductions_are_thinned() -> None:
    """The last 16 are carried, of those before one between one power of two and the next."""
    state = grown(*map(record, range(1, 601)))

    assert numbers(state) == [*range(600, 584, -1), 577, 545, 513, 385, 257, 1]


def long(index: int, *, words: int, **changes: Any) -> HistoryReductionState:
    return record(index, summary_content=f"{index} " * words, **changes)


def test_the_newest_of_each_kind_goes_first() -> None:
    """What others have made since does not take its place, nor what was made so before."""
    others = [long(at, words=2_000, config_fingerprint="other") for at in (2, 3)]
    own = [long(at, words=2_000) for at in (1, 4, 5)]

    assert numbers(grown(own[0], *others, *own[1:])) == [5, 4, 3, 1]


def test_what_is_carried_takes_no_more_than_the_newest() -> None:
    """What shares nothing is carried while there is room."""
    states = [long(at, words=2_000) for at in range(10_000, 10_040)]
    alone = len(msgspec.structs.replace(states[-1], number=40).to_json())
    state = grown(*states)

    assert alone < len(state.to_json()) < 2 * alone + 8192
    assert numbers(state) == [40, 39]


def test_the_one_before_is_carried_at_any_size() -> None:
    """It is what is left when the newest one is taken back."""
    assert numbers(grown(record(1), long(2, words=5_000), record(3))) == [3, 2]


def test_no_more_are_carried_than_can_be_read() -> None:
    """Of a hundred configurations in turn the newest 64 are remembered."""
    state = grown(*(long(1, words=50_000, config_fingerprint=str(at)) for at in range(100)))

    assert numbers(state) == [*range(100, 35, -1)]
    assert HistoryReductionState.from_json(state.to_json()) == state


def test_what_several_reductions_hold_is_stored_once() -> None:
    """Of 200 quotes and 200 lines, half of which are new, an earlier reduction adds the other half."""
    old = record(
        1, summary_content="\n".join(map(str, range(200))), quotes=tuple(map(quote, range(200)))
    )
    new = record(
        2,
        summary_content="\n".join(map(str, range(100, 300))),
        quotes=tuple(map(quote, range(100, 300))),
    )
    state = grown(old, new)

    read = HistoryReductionState.from_json(state.to_json())
    assert read == state
    assert read.to_json() == state.to_json()
    assert all(state.to_json().count(quote(at).text.encode()) == 1 for at in range(300))
    assert len(state.to_json()) < 1.7 * len(new.to_json())


def test_a_shortened_message_is_stored_once() -> None:
    """A batch has those of the one before it too; what a fold has passed is there once as well."""
    states = [
        record(4, shortened=tuple(map(cleared, range(100)))).sealed(),
        record(4, shortened=tuple(map(cleared, range(150)))).sealed(),
        record(90, shortened=tuple(map(cleared, range(100, 200)))).sealed(),
    ]
    state = grown(*states)

    read = HistoryReductionState.from_json(state.to_json())
    assert read == state
    assert [(len(one.shortened), one.is_whole) for one in read.chain()] == [
        (100, True),
        (150, True),
        (100, True),
    ]
    assert all(state.to_json().count(cleared(at).note.encode()) == 1 for at in range(200))


def test_shortened_messages_in_an_earlier_reduction_are_read() -> None:
    """Before they had a table, each reduction had its own of them."""
    state = grown(record(1, shortened=(cleared(2), cleared(3))), record(2))
    stored = msgspec.json.decode(state.to_json())
    (earlier,) = stored["carried"]["earlier"]
    assert earlier.pop("shortened") == [0, 1]
    earlier["fields"]["shortened"] = stored["carried"].pop("shortened")

    assert HistoryReductionState.from_json(msgspec.json.encode(stored)) == state


def test_what_is_repeated_comes_back() -> None:
    """A line or a quote that a reduction holds twice is read twice."""
    texts = ["a\n\nb\n\na\na", "\n\n\n", "", "a\nb\na\nc\nc"]
    states = [
        record(at, summary_content=text, quotes=(quote(0),) * at, sealed_item=Message.user("o"))
        for at, text in enumerate(texts)
    ]
    for old, new in product(states, repeat=2):
        state = grown(old, new)

        assert HistoryReductionState.from_json(state.to_json()) == state


def test_what_was_stored_one_in_the_other_is_read() -> None:
    """Earlier versions wrote each reduction whole, into the next one."""
    state = grown(*map(record, range(1, 9)))

    assert HistoryReductionState.from_json(msgspec.json.encode(state)) == state


@pytest.mark.parametrize("places", [b"[1]", b"[-1]", b"[0,0]"])
def test_wrong_places_are_refused(places: bytes) -> None:
    """A text that is not there, or is to be read again and again, makes no reduction."""
    data = grown(record(1), record(2)).to_json()
    assert data.count(b'"lines":[0]') == 1
    with pytest.raises(
        FormatError, match="not a reduction: an earlier reduction names wrong places"
    ):
        HistoryReductionState.from_json(data.replace(b'"lines":[0]', b'"lines":' + places))


def test_too_many_are_refused() -> None:
    """What is read is not many times what was given."""
    data = grown(record(1), record(2)).to_json()
    start, one, end = data.partition(data[data.index(b'{"fields"') : data.index(b'],"lines":[]')])

    assert HistoryReductionState.from_json(start + b",".join([one] * 64) + end).previous
    with pytest.raises(FormatError, match="length <= 64"):
        HistoryReductionState.from_json(start + b",".join([one] * 65) + end)


@pytest.mark.parametrize(("newest", "kept"), [(1, 2), (16, 16), (256, 31), (5000, 46)])
def test_few_earlier_reductions_are_kept_of_any_number(newest: int, kept: int) -> None:
    """There are 16, and 15 more for each further power of 16."""
    assert sum(is_kept(number, newest) for number in range(newest + 1)) == kept
