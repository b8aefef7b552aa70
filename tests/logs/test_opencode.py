"""Sessions of opencode."""

from datetime import UTC, datetime
from typing import Any

from foldline.history.messages import Usage
from foldline.history.parts import (
    BlobPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from foldline.logs.importer import Session
from tests.logs.reading import read_one


FINISH = {"input": 1, "output": 2, "reasoning": 3, "cache": {"read": 4, "write": 5}}


def said(role: str, *parts: dict[str, Any], **info: Any) -> dict[str, Any]:
    time = {"created": 1_900_000_000_000}
    return {"info": {"id": "m", "role": role, "time": time, **info}, "parts": list(parts)}


def text(content: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": content, **fields}


def tool(id: str, **state: Any) -> dict[str, Any]:
    return {"type": "tool", "callID": id, "tool": "bash", "state": {"input": {"n": 1}, **state}}


def finish() -> dict[str, Any]:
    return {"type": "step-finish", "reason": "stop", "tokens": FINISH}


def read(*messages: dict[str, Any]) -> Session:
    return read_one({"info": {"id": "ses", "title": "Work"}, "messages": list(messages)})


def test_a_step_is_an_answer_with_its_results() -> None:
    """Each step of a message is one answer with its counts, and the results of its calls follow."""
    session = read(
        said("user", text("Fix it.")),
        said(
            "assistant",
            {"type": "step-start"},
            {"type": "reasoning", "text": "Hm."},
            text("I look."),
            tool("c1", status="completed", output="a.py"),
            tool("c2", status="error", error="No."),
            tool("c3", status="running"),
            finish(),
            {"type": "step-start"},
            text("Done."),
            finish(),
            {"type": "patch", "files": []},
            modelID="tiny",
        ),
    )
    user, step, one, two, end = session.messages

    assert (session.id, session.title, session.format) == ("ses", "Work", "opencode")
    assert (user.role, user.text) == ("user", "Fix it.")
    assert user.created_at == datetime.fromtimestamp(1_900_000_000, UTC)
    assert step.parts == (
        ReasoningPart("Hm."),
        TextPart("I look."),
        ToolCallPart("c1", "bash", '{"n":1}'),
        ToolCallPart("c2", "bash", '{"n":1}'),
        ToolCallPart("c3", "bash", '{"n":1}'),
    )
    assert step.metadata == {"model": "tiny"}
    assert step.usage == Usage(
        input_tokens=10,
        output_tokens=5,
        cache_read_tokens=4,
        cache_write_tokens=5,
        reasoning_tokens=3,
    )
    assert (one.name, one.parts) == ("bash", (ToolCallResponsePart("c1", "a.py"),))
    assert two.parts == (ToolCallResponsePart("c2", "No."),)
    assert (end.text, end.usage) == ("Done.", step.usage)


def test_a_step_that_was_interrupted_is_read() -> None:
    """What was said before an interruption has no counts."""
    session = read(said("user", text("Hi.")), said("assistant", text("Well")))

    assert (session.messages[1].text, session.messages[1].usage) == ("Well", None)


def test_pictures_of_a_tool_are_read() -> None:
    """What a tool attached to its text is part of the result."""
    files = [{"type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA"}]
    shown = tool("c", status="completed", output="Read.", attachments=files)
    session = read(said("user", text("Look.")), said("assistant", shown))

    (result,) = session.messages[2].tool_call_responses
    assert result.response == (TextPart("Read."), BlobPart("image", "image/png", "AAAA"))


def test_what_the_program_adds_is_printed() -> None:
    """Synthetic texts are printed; ignored ones and files that they repeat are left out."""
    url = "https://example.org/a.png"
    session = read(
        said(
            "user",
            text("Read @a.py."),
            text("Read was called.", synthetic=True),
            text("For the screen.", ignored=True),
            {"type": "file", "mime": "text/plain", "url": "file:///a.py"},
            {"type": "file", "mime": "image/png", "url": url},
        )
    )
    user, added = session.messages

    assert user.parts == (TextPart("Read @a.py."), UriPart("image", url))
    assert (added.role, added.name, added.text) == ("tool", "opencode", "Read was called.")


def test_a_compaction_puts_nothing_aside() -> None:
    """A compaction's summary is with the message before it, and nothing asks for it."""
    session = read(
        said("user", text("Hi.")),
        said("user", {"type": "compaction", "auto": True}),
        said("assistant", text("We said hi."), finish(), summary=True),
        said("user", text("Go on."), summary={"diffs": []}),
    )

    assert [message.text for message in session.messages] == ["Hi.", "Go on."]
    assert session.messages[0].metadata == {"compaction": {"summary": "We said hi."}}


def test_a_list_of_messages() -> None:
    """The server answers with the messages alone."""
    assert read_one([said("user", text("Hi."))]).messages[0].text == "Hi."
