"""The data export of Claude.ai."""

from typing import Any

from foldline.history.formats.wire import FAILED
from foldline.history.parts import ReasoningPart, TextPart
from foldline.logs.importer import Session
from tests.logs.reading import read_one


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "text": content, "citations": []}


def said(sender: str, *content: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"sender": sender, "text": "", "content": list(content), **fields}


def chat(*messages: dict[str, Any]) -> Session:
    return read_one([{"uuid": "u", "name": "Trip", "chat_messages": list(messages)}])


def test_a_conversation_is_a_session() -> None:
    """It has its name and times; what an attachment says is the user's, and old exports have the text alone."""
    file = {"file_name": "a.txt", "extracted_content": "Line 1"}
    session = chat(
        said(
            "human", text("Read."), attachments=[file], created_at="2031-01-01T00:00:00Z", uuid="1"
        ),
        said("assistant", {"type": "thinking", "thinking": "Hm."}, text("Yes.")),
        said("human", text="Bye."),
        said("assistant", {"type": "token_budget"}, text(""), files=[{"file_name": "a.png"}]),
    )

    asked, answered, last = session.messages
    assert (session.id, session.title) == ("u", "Trip")
    assert (asked.id, asked.role) == ("1", "user")
    assert f"{asked.created_at}" == "2031-01-01 00:00:00+00:00"
    assert asked.parts == (TextPart("Read."), TextPart("Line 1"))
    assert answered.parts == (ReasoningPart("Hm."), TextPart("Yes."))
    assert (last.role, last.text) == ("user", "Bye.")
    assert session.notes == ("records left out: file (1), token_budget (1)",)


def test_an_answer_holds_its_results() -> None:
    """They follow their calls, which need no ids, and what is said after them is another answer."""

    def use(number: int, **fields: Any) -> dict[str, Any]:
        return {"type": "tool_use", "name": "search", "input": {"n": number}, **fields}

    def result(said: str, **fields: Any) -> dict[str, Any]:
        return {"type": "tool_result", "name": "search", "content": [text(said)], **fields}

    session = chat(
        said("human", text("Look.")),
        said(
            "assistant",
            text("I look."),
            use(1, id=None),
            result("One."),
            use(2, id="b"),
            result("Two.", tool_use_id="b", is_error=True),
            text("Done."),
        ),
    )

    _, called, one, two, last = session.messages
    assert [call.arguments for call in called.tool_calls] == ['{"n":1}', '{"n":2}']
    ids = [call.id for call in called.tool_calls]
    results = [part for message in (one, two) for part in message.tool_call_responses]
    assert [part.id for part in results] == ids
    assert ids[0]
    assert ids[1] == "b"
    assert [part.response for part in results] == ["One.", (TextPart("Two."), FAILED)]
    assert (last.role, last.text) == ("assistant", "Done.")


def test_left_branches_are_left_out() -> None:
    """What was asked again takes the place of what was asked before."""
    session = chat(
        said("human", text("Hi."), uuid="a", parent_message_uuid="0"),
        said("assistant", text("Yes."), uuid="b", parent_message_uuid="a"),
        said("human", text("Old."), uuid="c", parent_message_uuid="b"),
        said("human", text("New."), uuid="d", parent_message_uuid="b"),
    )

    assert [one.text for one in session.messages] == ["Hi.", "Yes.", "New."]
    assert session.notes == ("records left out: message of a left branch (1)",)
