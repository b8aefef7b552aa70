"""Messages that are shown clipped or cleared: what stays, what the note says, what is still valid."""

import json
from typing import Any

import pytest

from foldline.history.formats.anthropic import from_anthropic
from foldline.history.formats.openai_responses import message_from_openai_responses
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import (
    BlobPart,
    CompactionPart,
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.history.tokens import TokenEstimator, count_message
from foldline.reduction.shortening import (
    Shortened,
    bare,
    clear,
    clip,
    clip_text,
    fitting,
    pointer,
    shown,
)
from tests.linearity import is_linear


COUNTER = TokenEstimator()
LONG = "".join(f"line {number}: the cache holds a summary\n" for number in range(300))
IMAGE = BlobPart("image", "image/png", "aGVsbG8=")
OPAQUE = GenericPart("own", LONG, opaque=True)


def one(*parts: Part, role: Any = "user") -> History:
    return History([Message.user("first"), Message(role=role, parts=parts)])


def entry_of(found: Shortened | None) -> Shortened:
    assert found is not None
    return found


def clipped(history: History, limit: int, **options: Any) -> tuple[Message, Shortened]:
    entry = entry_of(clip(history, 1, limit=limit, recall=False, **options))
    return shown(history[1], entry), entry


def test_a_clipped_text_is_its_head_and_tail() -> None:
    """The note between them has the number of characters left out, and where they are."""
    message, entry = clipped(one(TextPart(LONG)), 200)
    head, tail = LONG[: entry.head], LONG[-entry.tail :]
    left_out = len(LONG) - entry.head - entry.tail
    note = f"\n[… {left_out:,} characters left out: message 1 of the history …]\n"

    assert message.text == head + note + tail
    assert entry.head >= 200
    assert count_message(message, COUNTER) == entry.tokens <= 200


@pytest.mark.parametrize(
    ("recall", "said"),
    [(True, "recall(message=57) returns it"), (False, "message 57 of the history")],
)
def test_a_note_names_the_tool_if_there_is_one(said: str, *, recall: bool) -> None:
    """Only a model that can call `recall` is told to."""
    assert pointer(57, recall=recall) == said


def test_clipping_is_deterministic() -> None:
    """The same message and limit are shown in the same bytes, whatever comes after it."""
    history, longer = one(TextPart(LONG)), one(TextPart(LONG))
    longer.append(Message.assistant("more"))

    assert clipped(history, 300) == clipped(longer, 300)


def test_what_fits_is_not_clipped() -> None:
    """A message that would not get shorter stays as it is."""
    assert clip(one(TextPart("short")), 1, limit=2, recall=False) is None


def test_a_message_is_as_short_as_it_can_be() -> None:
    """A limit that cannot be reached still makes ten long results short."""
    results = [ToolCallResponsePart(f"c{number}", LONG) for number in range(10)]
    message, entry = clipped(one(*results, role="tool"), 48)

    assert entry.tokens < 1_000
    assert [part.id for part in message.tool_call_responses] == [part.id for part in results]


def test_media_are_left_out_before_words() -> None:
    """Without its image a message may fit as it is; a note says that there was one."""
    history = one(TextPart("look at this, and say what it shows"), IMAGE)
    message, entry = clipped(history, 100, media=False)

    assert clip(history, 1, limit=100, recall=False) is None
    assert message.parts == (
        TextPart("look at this, and say what it shows"),
        TextPart("[image left out]"),
    )
    assert entry.tokens < history.tokens(1, 2) // 5


@pytest.mark.parametrize("arguments", [json.dumps({"content": LONG}), LONG])
def test_clipped_arguments_are_still_an_object(arguments: str) -> None:
    """A vendor that reads them finds JSON, whatever they were before."""
    call = ToolCallPart("c", "write", arguments)
    message, entry = clipped(one(call, role="assistant"), 200)
    (short,) = message.tool_calls

    assert (short.id, short.name) == ("c", "write")
    assert json.loads(short.arguments) == {
        "shortened": f"{arguments[: entry.head]}"
        + entry.note.replace("{count}", f"{len(arguments) - entry.head - entry.tail:,}")
        + f"{arguments[-entry.tail :]}"
    }


def test_a_result_in_pieces_is_clipped_piece_by_piece() -> None:
    """Each text of a result is clipped; an unknown part stays if media do, an opaque one too."""
    odd = GenericPart("x", '{"type":"x"}')
    result = ToolCallResponsePart("c", (TextPart(LONG), IMAGE, odd, OPAQUE))
    history = one(result, role="tool")
    found = [clipped(history, limit, media=media) for limit, media in ((2_000, True), (300, False))]
    responses = [message.tool_call_responses[0].response for message, _ in found]

    for response, (_, entry) in zip(responses, found, strict=True):
        assert isinstance(response[0], TextPart)
        assert response[0].content.startswith(LONG[: entry.head])
    assert responses[0][1:] == (IMAGE, odd, OPAQUE)
    assert responses[1][1:] == (TextPart("[image left out]"), TextPart("[x left out]"))


def test_reasoning_stays_as_long_as_media() -> None:
    """What a vendor may have signed is not clipped, nor is its compaction."""
    parts = (ReasoningPart(LONG), CompactionPart(LONG), TextPart(LONG))
    message, _ = clipped(one(*parts, role="assistant"), 10)

    assert message.parts[:2] == parts[:2]
    assert message.text != LONG


def test_without_media_a_message_has_no_reasoning() -> None:
    """Its texts stay whole if they fit; a readable compaction is one, and what is opaque is nothing."""
    parts = (ReasoningPart(LONG), CompactionPart("before"), GenericPart("x", f'"{LONG}"'))
    message, _ = clipped(one(*parts, OPAQUE, TextPart("so"), role="assistant"), 100, media=False)
    empty, _ = clipped(one(ReasoningPart(LONG), role="assistant"), 100, media=False)

    assert message.parts == tuple(map(TextPart, ("before", "[x left out]", "so")))
    assert empty.parts == (TextPart("[reasoning left out]"),)


def test_an_outline_has_all_texts_as_one() -> None:
    """Two thousand short texts become the head and tail of what they say together."""
    texts = [f"line {number} of the log" for number in range(2_000)]
    message, entry = clipped(one(*map(TextPart, texts)), 200, media=False, outline=True)
    head, tail = (message.text[: entry.head], message.text[-entry.tail :])

    assert len(message.parts) == 1
    assert "\n".join(texts).startswith(head)
    assert "\n".join(texts).endswith(tail)
    assert 150 <= entry.tokens <= 200


def test_an_outline_keeps_calls_and_results_together() -> None:
    """Their ids and names stay, without arguments; a result is short, or empty in the end."""
    calls = [ToolCallPart(f"c{number}", "look", '{"page": 1}') for number in range(2)]
    answers = [
        ToolCallResponsePart("c0", LONG),
        ToolCallResponsePart("c1", (TextPart("a"), TextPart("b"), IMAGE)),
    ]
    asked, answered = one(*calls, role="assistant"), one(*answers, role="tool")
    short, _ = clipped(answered, 1, media=False, outline=True)
    ends = [shown(past[1], entry_of(bare(past, 1))) for past in (asked, answered)]

    assert clipped(asked, 1, media=False, outline=True)[0].parts == ends[0].parts
    assert ends[0].parts == tuple(ToolCallPart(one.id, "look", "{}") for one in calls)
    assert str(short.tool_call_responses[0].response).startswith(LONG[:32])
    assert short.tool_call_responses[1].response == "a\nb\n[image left out]"
    assert ends[1].parts == tuple(ToolCallResponsePart(one.id, "") for one in calls)
    assert bare(one(TextPart(LONG)), 1) is None


def test_a_sealed_compaction_is_not_shortened() -> None:
    """Nobody else can read it, and nothing can take its place."""
    blocks = [
        {"type": "compaction", "content": LONG, "encrypted_content": "sealed"},
        {"type": "text", "text": LONG},
    ]
    history = History(from_anthropic([{"role": "assistant", "content": blocks}]))

    assert clip(history, 0, limit=1, recall=False, media=False) is None
    assert bare(history, 0) is None


def test_a_cleared_result_keeps_its_identifiers() -> None:
    """Its note says what it was, how long, where it is, and the first identifiers in it."""
    text = f"see src/app/main.py:42 and order R2-D2-4711, a@b.example. {'and so on, ' * 200}"
    history = one(ToolCallResponsePart("c", text), role="tool")
    entry = entry_of(clear(history, 1, name="Result of read", recall=True))
    (answer,) = shown(history[1], entry).tool_call_responses

    assert answer == ToolCallResponsePart(
        "c",
        f"[Result of read cleared: {len(text):,} characters, recall(message=1) returns it. "
        "Identifiers in it: src/app/main.py:42, R2-D2-4711, a@b.example.]",
    )


def test_a_note_has_few_identifiers() -> None:
    """Twelve of them at most, and no more than fit into two lines."""
    short, long = (" ".join(f"{'x' * size}{number:03}" for number in range(99)) for size in (1, 60))
    notes = [
        entry_of(clear(one(TextPart(f"{text} " * 9)), 1, name="It", recall=False)).note
        for text in (short, long)
    ]

    assert [note.count("x0") for note in notes] == [12, 2]


def test_a_note_says_how_many_identifiers_it_leaves_out() -> None:
    """It has the first and the last of them, so that nobody takes the list for all there is."""
    text = "".join(f"ORD-{number:05} is open\n" for number in range(1_500))
    note = entry_of(clear(one(TextPart(text * 2)), 1, name="It", recall=False)).note

    assert note.endswith(
        "Identifiers in it: ORD-00000, ORD-00001, ORD-00002, ORD-00003, ORD-00004, ORD-00005, "
        "… (1,488 more) …, "
        "ORD-01494, ORD-01495, ORD-01496, ORD-01497, ORD-01498, ORD-01499.]"
    )


def test_a_note_has_no_figures() -> None:
    """A decimal is left out: it says nothing alone, and may be the end of a longer one."""
    text = "2026-07-04 | Leith | 412,332.10 | 0.130\n" * 30
    note = entry_of(clear(one(TextPart(text)), 1, name="It", recall=False)).note

    assert note.endswith("Identifiers in it: 2026-07-04.]")


def test_what_is_short_is_not_cleared() -> None:
    """A note that is no shorter than the message does not take its place."""
    assert clear(one(TextPart("done")), 1, name="Result", recall=False) is None


def test_clearing_leaves_media_out() -> None:
    """An image in a cleared result goes too."""
    history = one(ToolCallResponsePart("c", (TextPart(LONG), IMAGE)), role="tool")
    entry = entry_of(clear(history, 1, name="Result", recall=False))
    response = shown(history[1], entry).tool_call_responses[0].response

    assert response[1:] == (TextPart("[image left out]"),)


def test_a_vendors_item_goes_with_what_it_holds() -> None:
    """A shortened message is written again from its parts: its item would still hold everything."""
    block = {"type": "output_text", "text": LONG}
    item = {"type": "message", "id": "m", "role": "assistant", "content": [block]}
    said = message_from_openai_responses(item)
    entry = entry_of(clip(History([said]), 0, limit=200, recall=False))

    assert said.native is not None
    assert shown(said, entry).native is None


def test_only_what_fits_the_history_is_shown_shortened() -> None:
    """An entry whose message was edited, or is before the cut, is not used; the pinned one is."""
    history = History([Message.user(LONG), Message.tool("c", LONG), Message.tool("d", LONG)])
    entries = [entry_of(clip(history, at, limit=99, recall=False)) for at in range(3)]
    edited = History([history[0], history[1], Message.tool("d", "other")])

    def indexes(past: History, cut: int, pinned: int | None = None) -> list[int]:
        return [entry.index for entry in fitting(past, entries, cut=cut, pinned=pinned)]

    assert indexes(history, 0) == [0, 1, 2]
    assert indexes(history, 1) == [1, 2]
    assert indexes(history, 1, pinned=0) == [0, 1, 2]
    assert indexes(edited, 0) == [0, 1]
    assert indexes(History(history[:2]), 0) == [0, 1]


@pytest.mark.parametrize("limit", [0, 1, 20, 100, 5_000])
def test_a_long_quote_is_clipped(limit: int) -> None:
    """Down to its note alone; what is short enough stays word for word."""
    found = clip_text(LONG, limit=limit, counter=COUNTER, note="\n[{count} left out]\n")

    if limit == 5_000:
        assert found == LONG
    elif limit >= 100:
        assert found.startswith("line 0:")
        assert found.endswith(LONG[-20:])
    else:
        assert found == f"[{len(LONG):,} left out]"
    assert COUNTER.count(found) <= max(limit, 10)


@pytest.mark.parametrize(
    ("beginning", "unit"),
    [("", "a/"), ("", "word1 "), ("", "x@"), ("a1", "."), ("", "a1" * 50 + " "), ("", "é#")],
)
def test_looking_for_identifiers_is_linear(beginning: str, unit: str) -> None:
    """A note of four times the text takes no more than four times as long."""

    def use(text: str) -> object:
        return clear(one(TextPart(text)), 1, name="Result", recall=False)

    assert is_linear(use, beginning, unit)
