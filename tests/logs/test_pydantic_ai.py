"""Message histories of Pydantic AI."""

from typing import Any

import pytest

from foldline.errors import UnknownFormatError
from foldline.history.messages import Message, Usage
from foldline.history.parts import (
    BlobPart,
    FilePart,
    GenericPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    UriPart,
)
from tests.logs.reading import read, read_one


TIME = "2031-01-01T00:00:00Z"
PICTURE = {"kind": "binary", "data": "__8=", "media_type": "image/png", "identifier": "a"}


def part(kind: str, content: Any = None, **fields: Any) -> dict[str, Any]:
    return {"part_kind": kind, "content": content, "timestamp": TIME, **fields}


def tool(kind: str, content: Any, id: str) -> dict[str, Any]:
    return part(kind, content, tool_name="look", tool_call_id=id)


def request(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"kind": "request", "parts": list(parts), **fields}


def response(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"kind": "response", "parts": list(parts), **fields}


def test_what_was_asked_is_a_message_a_part() -> None:
    """Prompts, results, media and what asks for another try each keep who says them."""
    look = {"kind": "image-url", "url": "https://example.org/a.png", "media_type": "image/png"}
    session = read_one(
        [
            request(
                part("system-prompt", "Be brief."), part("user-prompt", ["See", look, PICTURE])
            ),
            response(tool("tool-call", None, "a")),
            request(
                tool("tool-return", {"n": [1]}, "a"),
                tool("tool-return", ["Here", PICTURE], "b"),
                tool("tool-return", ["x", "y"], "c"),
                tool("retry-prompt", "Again.", "d"),
                part("retry-prompt", [{"msg": "missing"}], tool_name=None, tool_call_id="e"),
            ),
        ]
    )

    system, user, _, *told = session.messages
    seen = BlobPart("image", "image/png", "//8=")
    assert (system.role, system.text, user.role) == ("system", "Be brief.", "user")
    assert user.parts == (
        TextPart("See"),
        UriPart("image", "https://example.org/a.png"),
        seen,
    )
    assert f"{user.created_at}" == "2031-01-01 00:00:00+00:00"
    answers = [(one.id, one.response) for m in told for one in m.tool_call_responses]
    assert answers == [
        ("a", '{"n":[1]}'),
        ("b", (TextPart("Here"), seen)),
        ("c", '["x","y"]'),
        ("d", "Again."),
    ]
    assert [one.name for one in told] == ["look"] * 4 + ["retry-prompt"]
    assert (told[-1].role, told[-1].text) == ("tool", '{"msg":"missing"}')


def test_an_answer_has_its_thoughts_calls_and_counts() -> None:
    """Arguments are what the model wrote; what its vendor ran itself is no call of ours."""
    own = tool("builtin-tool-call", None, "v")
    usage = {"input_tokens": 9, "cache_read_tokens": 4, "output_tokens": 2, "details": {}}
    session = read_one(
        [
            request(part("user-prompt", "Hi.")),
            response(
                part("thinking", "Hm."),
                part("thinking", ""),
                part("text", "I look."),
                {**tool("tool-call", None, "a"), "args": {"n": 1}},
                {**tool("tool-call", None, "b"), "args": '{"n": '},
                tool("tool-call", None, "c"),
                own,
                part("file", PICTURE),
                usage=usage,
                model_name="tiny",
            ),
            response(usage={"request_tokens": 1, "response_tokens": 1}),
            response(part("text", "Bye."), usage={"request_tokens": 3, "response_tokens": 1}),
        ]
    )

    _, said, last = session.messages
    assert said.parts[:5] == (
        ReasoningPart("Hm."),
        TextPart("I look."),
        ToolCallPart("a", "look", '{"n":1}'),
        ToolCallPart("b", "look", '{"n": '),
        ToolCallPart("c", "look", "{}"),
    )
    assert isinstance(said.parts[5], GenericPart)
    assert said.parts[6] == BlobPart("image", "image/png", "//8=")
    assert said.usage == Usage(input_tokens=9, output_tokens=2, cache_read_tokens=4)
    assert last.usage == Usage(input_tokens=3, output_tokens=1)
    assert said.metadata == {"model": "tiny"}


def test_what_is_no_word_of_the_user_is_no_text() -> None:
    """A mark for the vendor's cache, a file kept there, and what the framework notes of itself."""
    file = {"kind": "uploaded-file", "file_id": "file-1", "media_type": "image/png"}
    marked = part("user-prompt", ["See", {"kind": "cache-point", "ttl": "5m"}, file])
    noted = {"part_kind": "tool-availability-delta", "added": ["look"]}

    said, note = read_one([request(marked, noted)]).messages

    assert said.text == "See"
    assert said.parts[1:] == (GenericPart("cache-point", ""), FilePart("image", "file-1"))
    assert (note.role, note.text) == ("system", "")


def test_a_history_that_goes_on_as_another_conversation_is_one_session() -> None:
    """With `conversation_id="new"` its older messages keep the name of the first one."""
    asked = (request(part("user-prompt", one), conversation_id=one) for one in ("first", "second"))

    assert [one.text for one in read_one([*asked]).messages] == ["first", "second"]


def test_the_newest_instructions_are_the_system_message() -> None:
    """They are sent beside the messages, once; lists that continue each other are one session."""
    first = [request(part("user-prompt", "Hi."), instructions="Old.")]
    grown = [
        *first,
        response(part("text", "Yes.")),
        request(part("user-prompt", "Bye."), instructions="New."),
    ]

    (session,) = read(first, grown)

    assert session.messages[0] == Message.system("New.")
    assert [one.text for one in session.messages[1:]] == ["Hi.", "Yes.", "Bye."]


def test_messages_without_a_list_are_refused() -> None:
    """One a line, whose instructions would have no place, are in no known format."""
    with pytest.raises(UnknownFormatError, match="no known format fits"):
        read(request(part("user-prompt", "Hi.")), response(part("text", "Yes.")))
