"""Messages of the Vercel AI SDK."""

from typing import Any

from foldline.history.parts import (
    BlobPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from tests.logs.reading import read, read_one


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "text": content}


def tool(id: str, state: str = "output-available", **fields: Any) -> dict[str, Any]:
    return {"type": "tool-look-up", "toolCallId": id, "state": state, "input": {"n": 1}, **fields}


def call(id: str) -> dict[str, Any]:
    return {"type": "tool-call", "toolCallId": id, "toolName": "look-up", "input": {"n": 1}}


def result(id: str, output: Any) -> dict[str, Any]:
    return {"type": "tool-result", "toolCallId": id, "toolName": "look-up", "output": output}


CALL = ToolCallPart("a", "look-up", '{"n":1}')
HI = {"id": "1", "role": "user", "parts": [text("Hi.")]}


def test_each_step_is_an_answer_with_its_results() -> None:
    """A call holds its result, by its state; sources and data are for the screen."""
    dynamic = {**tool("d", output=[1]), "type": "dynamic-tool", "toolName": "other"}
    session = read_one(
        [
            HI,
            {
                "id": "2",
                "role": "assistant",
                "createdAt": "2031-01-01T00:00:00Z",
                "parts": [
                    {"type": "step-start"},
                    {"type": "reasoning", "text": "Hm."},
                    tool("a", output=None),
                    tool("b", "output-error", errorText="No."),
                    tool("c", "input-available"),
                    dynamic,
                    {"type": "step-start"},
                    {"type": "source-url", "url": "https://example.org"},
                    {"type": "data-x", "data": {}},
                    text("Done."),
                ],
            },
        ]
    )

    _, said, *told, last = session.messages
    others = [(one.id, one.name) for one in said.tool_calls[1:]]
    assert said.parts[:2] == (ReasoningPart("Hm."), CALL)
    assert others == [("b", "look-up"), ("c", "look-up"), ("d", "other")]
    answers = [(one.id, one.response) for m in told for one in m.tool_call_responses]
    assert answers == [("a", "null"), ("b", "No."), ("d", "[1]")]
    assert [one.name for one in told] == ["look-up", "look-up", "other"]
    assert last.parts == (TextPart("Done."),)
    assert [said.id, last.id, f"{said.created_at}"] == ["2", None, "2031-01-01 00:00:00+00:00"]


def test_version_4_has_calls_in_the_text_or_beside_it() -> None:
    """An invocation is a part, or in a list beside the text that follows it."""
    made = {"toolCallId": "a", "toolName": "look-up", "args": {"n": 1}}
    made |= {"state": "result", "result": {"t": 3}}
    asked = {"role": "user", "content": "Hi."}
    told = {"role": "assistant", "content": "It is 3."}
    beside = [asked, {**told, "toolInvocations": [made]}]
    invoked = {"type": "tool-invocation", "toolInvocation": made}
    within = [asked, {**told, "parts": [invoked, text("It is 3.")]}]

    (first,), (second,) = read(beside), read(within)

    parts = [part for message in first.messages for part in message.parts]
    assert parts[1:] == [CALL, ToolCallResponsePart("a", '{"t":3}'), TextPart("It is 3.")]
    assert [one.role for one in first.messages] == ["user", "assistant", "tool", "assistant"]
    assert second.messages == first.messages


def test_messages_for_a_model_are_read() -> None:
    """Results come in a message of their own, or within the answer if the vendor ran the tool."""
    shown = [text("See."), {"type": "media", "data": "AAAA", "mediaType": "image/png"}]
    file = {"type": "file", "data": "https://example.org/a.pdf", "mediaType": "application/pdf"}
    body = {
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": [{"type": "image", "image": "AAAA"}, file]},
            {"role": "assistant", "content": [call("a"), result("a", None), text("So.")]},
            {"role": "assistant", "content": [call("b"), call("c"), call("d")]},
            {
                "role": "tool",
                "content": [
                    result("b", {"type": "text", "value": "x"}),
                    result("c", {"type": "error-json", "value": {"y": 1}}),
                    result("d", {"type": "content", "value": shown}),
                ],
            },
        ],
    }

    session = read_one(body)

    roles = ["system", "user", "assistant", "tool", "assistant", "assistant", *["tool"] * 3]
    assert [one.role for one in session.messages] == roles
    assert session.messages[1].parts == (
        BlobPart("image", "", "AAAA"),
        UriPart("document", "https://example.org/a.pdf"),
    )
    answers = [one.response for m in session.messages[6:] for one in m.tool_call_responses]
    assert answers == ["x", '{"y":1}', (TextPart("See."), BlobPart("image", "image/png", "AAAA"))]


def test_rows_of_several_chats_are_a_session_each() -> None:
    """As a table of messages has them: one that begins as another does is not its rest."""
    yes = {"role": "assistant", "parts": [text("Yes.")]}
    rows = [
        {**said, "chatId": chat}
        for said, chats in ((HI, "ab"), (yes, "ab"), (HI, "b"))
        for chat in chats
    ]

    for found in (read(*rows), read(rows)):
        assert [(one.id, len(one.messages)) for one in found] == [("a", 2), ("b", 3)]
