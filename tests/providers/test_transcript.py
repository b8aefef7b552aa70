"""Transcripts: what each part looks like, what they leave out, and that nothing breaks out."""

import pytest

from foldline.history.messages import SUMMARY_KEY, Message
from foldline.history.parts import (
    BlobPart,
    CompactionPart,
    FilePart,
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from foldline.providers.transcript import write_transcript


def body(*messages: Message, earlier: tuple[str, ...] = (), most_result: int = 100) -> str:
    text, mark = write_transcript(messages, earlier=earlier, most_result=most_result)
    first, *lines, last = text.split("\n")
    assert first == f"====== TRANSCRIPT {mark} ======"
    assert last == f"====== END {mark} ======"
    assert text.count(mark) == 2
    return "\n".join(lines).strip("\n")


def part(one: Part) -> str:
    return body(Message(role="assistant", parts=(one,))).removeprefix("=== 1 assistant ===\n")


def test_a_conversation_is_written_in_order() -> None:
    """Earlier summaries come first, then each message under its number and role."""
    call = ToolCallPart("call_abcdefgh", "look_up", '{"q": "Rome"}')
    written = body(
        Message.user("where to?", name="Anna"),
        Message.assistant("I look", tool_calls=[call]),
        Message.tool("call_abcdefgh", "sunny"),
        Message(role="assistant"),
        Message(role="assistant", parts=(TextPart("a"),), metadata={SUMMARY_KEY: True}),
        earlier=("They spoke of trains.", "And of planes."),
    )

    assert written == (
        "=== earlier summary 1 ===\n"
        "They spoke of trains.\n\n"
        "=== earlier summary 2 ===\n"
        "And of planes.\n\n"
        "=== 1 user (Anna) ===\n"
        "where to?\n\n"
        "=== 2 assistant ===\n"
        "I look\n"
        '[call 1: look_up] {"q": "Rome"}\n\n'
        "=== 3 tool ===\n"
        "[result of call 1] sunny\n\n"
        "=== 4 assistant ===\n"
        "(nothing)\n\n"
        "=== 5 summary ===\n"
        "a"
    )


@pytest.mark.parametrize(
    ("one", "line"),
    [
        (TextPart("a\nb"), "a\nb"),
        (TextPart(""), "(nothing)"),
        (ReasoningPart("hm"), "[thought] hm"),
        (ReasoningPart(""), "(nothing)"),
        (CompactionPart("old"), "[summary by the vendor] old"),
        (CompactionPart(""), "(nothing)"),
        (ToolCallPart("", "f", "not json"), "[call 1: f] not json"),
        (ToolCallResponsePart("gone", "a"), "[result of an earlier call] a"),
        (
            ToolCallResponsePart("c", (TextPart("here"), FilePart("image", "file-2"))),
            "[result of an earlier call] here\n[image file-2, not shown]",
        ),
        (BlobPart("image", "image/png", "aGVs" * 500), "[image image/png, 1,500 bytes, not shown]"),
        (BlobPart("audio", "", ""), "[audio, 0 bytes, not shown]"),
        (
            UriPart("image", "https://a.example/b.png"),
            "[image at https://a.example/b.png, not shown]",
        ),
        (UriPart("image", "data:image/png;base64,aGVs"), "[image at inline, not shown]"),
        (FilePart("document", "file-1"), "[document file-1, not shown]"),
        (GenericPart("x", '{"type":"x"}'), '[x] {"type":"x"}'),
        (GenericPart("x", f'{{"result":"iVBORw0KGgo{"A" * 99}"}}'), '[x] {"result":}'),
        (TextPart("a\ud800b\0"), "a b "),
    ],
)
def test_each_kind_of_part_has_its_line(one: Part, line: str) -> None:
    """Content that is not text is a short note; what is sealed or empty takes no line."""
    assert part(one) == line


def test_a_long_result_loses_its_middle() -> None:
    """Beyond the limit the beginning and the end stay, and the number of characters left out."""
    text = "a" * 600 + "m" * 300 + "z" * 300

    assert part(ToolCallResponsePart("c", "x" * 100)).endswith(" " + "x" * 100)
    assert part(ToolCallResponsePart("c", text)) == (
        "[result of an earlier call] " + "a" * 66 + "\n[1,100 characters left out]\n" + "z" * 34
    )
    assert part(TextPart(text)) == text


SECRET = "sk-ant-" + "a1B2" * 8


@pytest.mark.parametrize(
    "one",
    [
        TextPart(f"key {SECRET}"),
        ReasoningPart(f"key {SECRET}"),
        CompactionPart(f"key {SECRET}"),
        ToolCallPart("c", "f", f'{{"key":"{SECRET}"}}'),
        ToolCallPart("c", SECRET, ""),
        ToolCallResponsePart("c", f"{'x' * 50} {SECRET} {'y' * 500}"),
        ToolCallResponsePart("c", (TextPart(SECRET),)),
        UriPart("image", f"https://a.example/?k={SECRET}"),
        FilePart("image", SECRET),
        GenericPart("x", f'"{SECRET}"'),
    ],
)
def test_secrets_are_taken_out(one: Part) -> None:
    """No part shows a secret of a known shape, not half of one either, nor does a name."""
    assert "a1B2" not in part(one)
    assert "a1B2" not in body(Message.user("a", name=SECRET), earlier=(SECRET,))


def test_an_unended_private_key_takes_nothing_else_along() -> None:
    """What looks like a key without an end ends with its own part, not with the transcript."""
    written = body(Message.user("-----BEGIN PRIVATE KEY-----\nabc"), Message.assistant("fine"))

    assert written.endswith("=== 2 assistant ===\nfine")


def test_a_stolen_mark_is_of_no_use() -> None:
    """A conversation that holds the mark of a transcript gets another mark."""
    _, first = write_transcript([Message.user("a")], most_result=9)
    text, second = write_transcript([Message.user(f"a {first}")], most_result=9)

    assert second != first
    assert text.count(second) == 2
