"""The reduction record: what it knows, what it refuses, what it makes of a history."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from foldline.errors import ConfigError, FormatError, HistoryTooShortError, IntegrityError
from foldline.history.history import History
from foldline.history.messages import SUMMARY_KEY, Message
from foldline.history.parts import ToolCallPart
from foldline.history.prefix import Prefix
from foldline.history.tokens import TokenEstimator, count_message
from foldline.reduction.active import active_reduction
from foldline.reduction.quotes import Quote, joined
from foldline.reduction.shortening import Shortened
from foldline.reduction.spans import SummaryLayer, join_layers
from foldline.reduction.state import (
    STATE_FORMAT,
    HistoryReductionState,
    hash_of,
)
from foldline.reduction.view import view_of


NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def talk(count: int) -> list[Message]:
    return [Message.user(f"Message {number}") for number in range(count)]


def reduction(messages: Sequence[Message], index: int, **changes: object) -> HistoryReductionState:
    fields: dict[str, Any] = {"target_count": 20, "reduction_threshold": 5, "created_at": NOW}
    if "message_count_at_reduction" not in changes:
        fields["message_count_at_reduction"] = len(messages)
    fields |= {"summary_content": "Summary"} | changes
    return HistoryReductionState.create(messages, summarized_up_to_index=index, **fields)


def layers_of(messages: Sequence[Message]) -> tuple[SummaryLayer, ...]:
    """Return three layers of three messages each."""
    return tuple(
        SummaryLayer(
            summary=f"layer {end // 3 - 1}",
            start=end - 3,
            end=end,
            message_hash=hash_of(messages, end),
            tokens=2,
        )
        for end in (3, 6, 9)
    )


def test_a_reduction_of_nothing_is_allowed() -> None:
    """No messages and index 0 make a reduction that fits every history."""
    state = reduction([], 0)

    assert state.message_count_at_reduction == 0
    assert state.validate_integrity(talk(3))


def test_an_index_beyond_the_end_hashes_what_exists() -> None:
    """Making a reduction never fails for an index that is too high."""
    state = reduction(talk(3), 5)

    assert state.message_hash == hash_of(talk(3), 3)


@pytest.mark.parametrize(
    ("count", "valid"), [(95, False), (99, False), (100, True), (105, True), (106, False)]
)
def test_validity_is_a_window_above_the_count(count: int, *, valid: bool) -> None:
    """A reduction at 100 with threshold 5 is valid from 100 to 105."""
    assert reduction(talk(100), 90).is_valid_for(count, "messages") is valid


def test_validity_is_of_one_unit_and_the_stored_threshold() -> None:
    """Another unit is never valid; with threshold 0 one more message makes the record invalid."""
    state = reduction(talk(40), 30, message_count_at_reduction=20, counting_unit="exchanges")
    tight = reduction(talk(100), 90, reduction_threshold=0)

    assert [state.is_valid_for(count, "exchanges") for count in (24, 25, 26)] == [True, True, False]
    assert not state.is_valid_for(24, "messages")
    assert [tight.is_valid_for(count, "messages") for count in (100, 101)] == [True, False]


def test_integrity_holds_for_the_same_and_for_more_messages() -> None:
    """What follows the prefix may grow and change."""
    state = reduction(talk(100), 90)

    assert state.validate_integrity(talk(100))
    assert state.validate_integrity(talk(101))
    assert state.validate_integrity(History(talk(101)))
    assert state.validate_integrity([*talk(95), Message.user("changed")])


@pytest.mark.parametrize(
    "middle",
    [[1, 0], [1], ["new", 0, 1], [0, "new"]],
    ids=["swap", "delete", "insert", "edit"],
)
def test_integrity_breaks_with_any_change_inside(middle: list[object]) -> None:
    """An edit, a swap, a deletion or an insertion in the prefix is seen."""
    state = reduction(talk(100), 90)
    changed = [*(Message.user(f"Message {number}") for number in middle), *talk(100)[2:]]

    assert not state.validate_integrity(changed)


def test_too_few_messages_are_an_error_with_both_numbers() -> None:
    """50 messages cannot be what a reduction up to 90 was made of."""
    state = reduction(talk(100), 90)
    with pytest.raises(HistoryTooShortError) as caught:
        state.validate_integrity(talk(50))

    assert "Message count (50) is less than SummarizedUpToIndex (90)" in str(caught.value)
    assert (caught.value.count, caught.value.index) == (50, 90)


def test_applying_shows_all_that_is_left() -> None:
    """A system message comes first, then the labelled summary, then the rest, also what is new."""
    state, rule = reduction(talk(100), 90), Message.system("Be kind")
    view = state.apply_to_messages(talk(102), rule)

    assert [message.role for message in view[:3]] == ["system", "assistant", "user"]
    assert view[1].text == "Summary"
    assert view[1].metadata == {
        SUMMARY_KEY: True,
        "__created_at__": "2026-11-21T12:00:00+00:00",
        "__summarized_range__": [0, 90],
    }
    assert [one.text for one in view[2:]] == [f"Message {number}" for number in range(90, 102)]
    assert [m.text for m in reduction(talk(9), 9).apply_to_messages(talk(9))] == ["Summary"]


def test_applying_to_other_messages_is_an_error() -> None:
    """A summary is never served for messages that it does not stand for."""
    messages = talk(100)
    state = reduction(messages, 90)
    messages[0] = Message.user("other")
    with pytest.raises(IntegrityError, match="integrity check failed"):
        state.apply_to_messages(messages)


def test_a_pinned_message_stands_behind_the_summary() -> None:
    """The last user message of a fold stays, also where the cut has passed it."""
    state = msgspec.structs.replace(reduction(talk(10), 8), pinned_index=7).sealed()

    assert [m.text for m in state.apply_to_messages(talk(10))] == [
        "Summary",
        "Message 7",
        "Message 8",
        "Message 9",
    ]


def test_layers_are_messages_of_their_own() -> None:
    """Each layer is one labelled message, oldest first."""
    layers = layers_of(talk(9))
    state = msgspec.structs.replace(reduction(talk(9), 9), layers=layers)

    assert [m.text for m in state.summary_messages()] == ["layer 0", "layer 1", "layer 2"]
    assert join_layers(layers) == "layer 0\n\nlayer 1\n\nlayer 2"


def test_an_empty_summary_makes_no_message() -> None:
    """Message counting leaves nothing in the place of what it drops."""
    state = msgspec.structs.replace(reduction(talk(5), 3), summary_content="")

    assert state.summary_messages() == []


def test_json_keeps_every_field() -> None:
    """What is written and read again is equal, with layers and earlier reductions."""
    messages = talk(10)
    layer = SummaryLayer(
        summary="a", start=0, end=3, message_hash=hash_of(messages, 3), tokens=4, level=1
    )
    state = msgspec.structs.replace(
        reduction(messages, 3),
        layers=(layer,),
        pinned_index=2,
        summary_tokens=7,
        config_fingerprint="f",
        previous=reduction(messages, 2),
        number=3,
    ).sealed()

    assert HistoryReductionState.from_json(state.to_json()) == state
    assert b'"format":2' in state.to_json()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b'{"format": "x"}',
        b"\xff",
        pytest.param(b"[" * 5000, id="deep"),
        "[5]",
        None,
        5,
        True,
        {"format": 1},
    ],
)
def test_what_is_no_reduction_is_refused(data: Any) -> None:
    """Anything else than a written record is a format error."""
    with pytest.raises(FormatError, match="not a reduction"):
        HistoryReductionState.from_json(data)


@pytest.mark.parametrize(("cut", "pinned"), [(3, 3), (3, -1), (0, 0), (-1, None)])
def test_a_record_that_contradicts_itself_is_refused(cut: int, pinned: int | None) -> None:
    """A pinned message lies before the cut, and no cut before the beginning, at any depth."""
    wrong = msgspec.structs.replace(
        reduction(talk(5), 3), summarized_up_to_index=cut, pinned_index=pinned
    )
    with pytest.raises(FormatError, match=f"message {pinned} pinned, and a cut at {cut}"):
        HistoryReductionState.from_json(wrong.to_json())
    later = msgspec.structs.replace(reduction(talk(5), 4), previous=wrong)
    with pytest.raises(FormatError, match="not a reduction"):
        HistoryReductionState.from_json(later.to_json())


def test_a_newer_format_is_refused() -> None:
    """A record of a later foldline is not guessed at."""
    newer = msgspec.structs.replace(reduction(talk(3), 2), format=STATE_FORMAT + 1)
    with pytest.raises(FormatError, match="newer than 2"):
        HistoryReductionState.from_json(newer.to_json())


def test_going_back_is_known_among_reductions_made_alike() -> None:
    """A shorter reduction goes back from a longer one of the same unit and configuration."""
    messages = talk(9)
    short, long = reduction(messages, 3), reduction(messages, 6)

    assert short.goes_back_from(long)
    assert not long.goes_back_from(short)
    assert not short.goes_back_from(None)
    assert not short.goes_back_from(reduction(messages, 6, counting_unit="exchanges"))


def test_the_same_fold_is_recognized() -> None:
    """Another pin is no other fold; another time is."""
    state = reduction(talk(9), 3)
    pinned = msgspec.structs.replace(state, pinned_index=1).sealed()
    later = reduction(talk(9), 3, created_at=NOW.replace(year=2027))

    assert pinned.is_same_as(state)
    assert not later.is_same_as(state)
    assert not state.is_same_as(None)


def test_layers_are_earlier_reductions() -> None:
    """A layered record knows itself without its last layers, each with a hash, whole as it is."""
    messages, layers = talk(9), layers_of(talk(9))
    changed = msgspec.structs.replace(
        reduction(messages, 9), layers=layers, summary_content=join_layers(layers)
    )
    known = list(changed.sealed().earlier())

    assert [one.summarized_up_to_index for one in known] == [9, 6, 3]
    assert [one.summary_content for one in known[1:]] == ["layer 0\n\nlayer 1", "layer 0"]
    assert [one.summary_tokens for one in known[1:]] == [4, 2]
    assert all(one.validate_integrity(messages) for one in known)
    assert [one.is_whole for one in known] == [True] * 3
    assert [one.is_whole for one in changed.earlier()] == [False] * 3


@pytest.mark.parametrize(
    ("messages", "index", "told"),
    [
        (talk(3), -3, "summarized_up_to_index must be a whole .* got -3"),
        (talk(3), 1.5, "summarized_up_to_index must be a whole .* got 1.5"),
        (talk(3), "1", "summarized_up_to_index must be a whole .* got '1'"),
        (talk(3), True, "summarized_up_to_index must be a whole .* got True"),
        (["one", "two"], 1, r"messages\[0\] must be a Message, got str: convert"),
        (None, 1, "messages must be a Sequence, got None"),
        (iter(talk(3)), 1, "messages must be a Sequence, got .*iterator"),
    ],
)
def test_what_is_no_history_or_no_index_is_refused(messages: Any, index: Any, told: str) -> None:
    """The error says which argument is wrong, and what it is."""
    with pytest.raises(ConfigError, match=told):
        reduction(messages, index, message_count_at_reduction=1)


def spoken(words: str) -> list[Message]:
    """Return a message for each letter: a user's, calls `a` and `b`, their answers `1` and `2`, words."""
    kinds = {
        "u": Message.user("go on"),
        "a": Message.assistant(tool_calls=[ToolCallPart("a", "look_up", "{}")]),
        "b": Message.assistant(tool_calls=[ToolCallPart("b", "look_up", "{}")]),
        "1": Message.tool("a", "found"),
        "2": Message.tool("b", "found"),
        "w": Message.assistant("well"),
    }
    return [kinds[word] for word in words]


@pytest.mark.parametrize(
    ("words", "index"),
    [("ua1", 2), ("uabw12", 4), ("uab12w", 4), ("ua1a1", 4), ("a1u", 1), ("uau1", 2)],
)
@pytest.mark.parametrize("kind", [list, History])
def test_a_cut_between_a_call_and_its_answer_is_refused(
    kind: Callable[[list[Message]], Sequence[Message]], words: str, index: int
) -> None:
    """What is left after it would not be a valid request."""
    text = f"^summarized_up_to_index={index} separates a tool call from its answer$"
    with pytest.raises(ConfigError, match=text):
        reduction(kind(spoken(words)), index)


@pytest.mark.parametrize(
    ("words", "index"),
    [("ua1w", 3), ("ua1w", 1), ("ua1a1", 3), ("u1a", 1), ("ua", 2), ("uau", 2), ("ua1", 9)],
)
@pytest.mark.parametrize("kind", [list, History])
def test_a_cut_beside_calls_and_answers_is_accepted(
    kind: Callable[[list[Message]], Sequence[Message]], words: str, index: int
) -> None:
    """A call without an answer may be cut off, and so may an answer to no call."""
    assert reduction(kind(spoken(words)), index).summarized_up_to_index == index


def test_a_cut_where_a_window_begins_is_taken() -> None:
    """What is not in memory is not looked at: the code that cut there has done so."""
    known = History(spoken("ua1"))
    opening = Prefix(length=3, digest=known.digest(), tokens=known.tokens(), users=1)
    window = History(spoken("w1u"), prefix=opening)

    assert reduction(window, 3).message_hash == hash_of(known, 3)


def test_a_summary_that_no_request_carries_is_cleaned() -> None:
    """Lone surrogates and NUL leave the summary, so that it can be written as JSON."""
    state = reduction(talk(3), 2, summary_content="a\0b\ud800")

    assert state.summary_content == "ab?"
    assert HistoryReductionState.from_json(state.to_json()) == state


def test_an_error_never_quotes_what_was_read() -> None:
    """A value in a wrong place may be text of a conversation."""
    data = reduction(talk(3), 2).to_json().replace(b'"messages"', b'"a secret of ours"')
    with pytest.raises(FormatError, match="not a reduction") as caught:
        HistoryReductionState.from_json(data)

    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "changes",
    [
        {"summary_content": "Another summary"},
        {"pinned_index": 1},
        {"summarized_up_to_index": 2},
        {"layers": (SummaryLayer(summary="new", start=0, end=3, message_hash="x"),)},
    ],
)
def test_a_changed_summary_is_not_applied(changes: dict[str, object]) -> None:
    """The record's hash covers what it shows, through JSON too."""
    state = msgspec.structs.replace(reduction(talk(5), 3), **changes)
    again = HistoryReductionState.from_json(state.to_json())

    assert not again.is_whole
    assert not again.validate_integrity(talk(5))
    with pytest.raises(IntegrityError):
        again.apply_to_messages(talk(5))


QUOTE = Quote(index=1, kind="user", role="user", text="Message 1", tokens=20)
ENTRY = Shortened(index=4, digest="aa", tokens=9, note="[cleared]")
KEPT: dict[str, Any] = {
    "quotes": (QUOTE,),
    "shortened": (ENTRY,),
    "sealed_item": Message.assistant("sealed"),
    "sealed_index": 1,
    "history_length": 5,
}


@pytest.mark.parametrize(
    "changes",
    [
        {"quotes": ()},
        {"quotes": (msgspec.structs.replace(QUOTE, text="Message 2"),)},
        {"shortened": ()},
        {"shortened": (msgspec.structs.replace(ENTRY, note="[other]"),)},
        {"shortened": (msgspec.structs.replace(ENTRY, head=5),)},
        {"sealed_item": None},
        {"sealed_item": Message.assistant("other")},
        {"sealed_index": 0},
        {"history_length": 4},
    ],
)
def test_the_hash_covers_what_is_kept(changes: dict[str, object]) -> None:
    """Quotes, shortened messages and a sealed item are shown too, so a change of them is seen."""
    state = msgspec.structs.replace(reduction(talk(5), 3), **KEPT).sealed()
    again = HistoryReductionState.from_json(state.to_json())
    changed = msgspec.structs.replace(again, **changes)

    assert again == state
    assert again.is_whole
    assert not HistoryReductionState.from_json(changed.to_json()).is_whole


def test_what_is_kept_stands_around_the_summary() -> None:
    """A sealed item first, then the summary with the quotes in it, or the layers before them."""
    state = msgspec.structs.replace(reduction(talk(9), 9), **KEPT)
    layered = msgspec.structs.replace(state, layers=layers_of(talk(9)))
    quotes = joined("", (QUOTE,))

    assert [one.text for one in state.front_messages()] == ["sealed", f"Summary\n\n{quotes}"]
    assert [one.text for one in layered.front_messages()][3:] == ["layer 2", quotes]
    labels = [one.metadata or {} for one in layered.summary_messages()]
    assert [label["__summarized_range__"] for label in labels] == [[0, 3], [3, 6], [6, 9], [0, 9]]


@pytest.mark.parametrize("layers", [False, True])
@pytest.mark.parametrize("summary", ["", "Summary"])
@pytest.mark.parametrize("quotes", [(), (QUOTE,)])
def test_front_tokens_are_enough_for_what_is_in_front(
    summary: str, quotes: tuple[Quote, ...], *, layers: bool
) -> None:
    """They are known without reading the texts again, and never too few."""
    known = layers_of(talk(9)) if layers else ()
    state = msgspec.structs.replace(
        reduction(talk(9), 9),
        layers=known,
        summary_content=join_layers(known) or summary,
        summary_tokens=6 if layers else len(summary),
        quotes=quotes,
    )
    real = sum(count_message(one, TokenEstimator()) for one in state.front_messages())

    assert real <= state.front_tokens
    assert bool(real) == bool(state.front_tokens)


FORMAT_1 = b"""{"summarized_up_to_index": 3, "message_count_at_reduction": 5,
"summary_content": "They talked.", "created_at": "2026-11-20T12:00:00Z",
"message_hash": "sha256-2:HASH", "target_count": 2, "reduction_threshold": 0,
"counting_unit": "messages", "layers": [], "pinned_index": null, "summary_tokens": 4,
"config_fingerprint": "f", "previous": null, "number": 1,
"summary_hash": "c5f429cee8e4ff834c32761ea8eaf04fc823fb676933dfdfb6535f2da09bcb10", "format": 1}"""


def test_a_record_of_format_1_is_read_and_used() -> None:
    """What was stored before there were quotes is whole, and shows the same view as then."""
    messages = talk(5)
    data = FORMAT_1.replace(b"HASH", hash_of(messages, 3).partition(":")[2].encode())
    state = HistoryReductionState.from_json(data)
    history = History(messages)
    found = active_reduction(history, state, unit="messages", config_fingerprint="f")

    assert (state.format, state.history_length, state.quotes) == (1, 0, ())
    assert state.is_whole
    assert found is state
    assert [one.text for one in view_of(history, found)] == [
        "They talked.",
        "Message 3",
        "Message 4",
    ]


def test_a_record_without_a_hash_of_its_summary_is_read() -> None:
    """Records of earlier versions have none, and what they noted of failures is ignored."""
    data = msgspec.json.decode(reduction(talk(5), 3).to_json())
    del data["summary_hash"], data["number"]
    data |= {"failed_hash": "h", "failed_index": 2, "failed_attempts": 3, "failed_units": 9}
    state = HistoryReductionState.from_json(msgspec.json.encode(data))

    assert state.is_whole
    assert state.apply_to_messages(talk(5))[0].text == "Summary"


def test_a_reduction_nested_too_deeply_is_refused() -> None:
    """A chain of earlier reductions that no reader can follow is a format error."""
    data = reduction(talk(3), 2).to_json()
    start, end = data.split(b'"previous":null')
    deep = (start + b'"previous":') * 50_000 + b"null" + end * 50_000
    with pytest.raises(FormatError, match="nested too deeply"):
        HistoryReductionState.from_json(deep)
