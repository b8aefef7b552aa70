"""Events of OpenHands since its version 1."""

from typing import Any

from foldline.history.parts import (
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from foldline.logs.importer import Session
from tests.logs.reading import read_one


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def event(kind: str, source: str = "environment", **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "source": source, "timestamp": "2031-01-01T00:00:00.000000", **fields}


def asked(source: str, said: str, **fields: Any) -> dict[str, Any]:
    role = "assistant" if source == "agent" else "user"
    message = {"role": role, "content": [text(said)]}
    return event("MessageEvent", source, llm_message=message, **fields)


def acted(id: str, response: str, **fields: Any) -> dict[str, Any]:
    call = {"id": id, "name": "look", "arguments": "{}", "origin": "completion"}
    fields = {"thought": [], "tool_name": "look", "tool_call_id": id, "tool_call": call, **fields}
    return event("ActionEvent", "agent", llm_response_id=response, **fields)


def saw(id: str, kind: str = "ObservationEvent", **fields: Any) -> dict[str, Any]:
    return event(kind, tool_name="look", tool_call_id=id, **fields)


def read(*events: dict[str, Any]) -> Session:
    return read_one({"instance_id": "i", "history": list(events)})


def test_events_become_messages() -> None:
    """The prompt, what is said, and calls with their results are messages, at their times."""
    session = read(
        event("ConversationStateUpdateEvent", key="x"),
        event(
            "SystemPromptEvent",
            "agent",
            system_prompt=text("Be good."),
            dynamic_context=text("Host a."),
        ),
        asked("user", "Fix it."),
        acted("c1", "r1", thought=[text("I look.")], reasoning_content="Hm."),
        saw("c1", observation={"content": [text("a"), text("b")], "kind": "TerminalObservation"}),
        asked("agent", "Done.", llm_response_id="r2"),
    )
    system, user, call, answer, end = session.messages

    assert (session.id, session.format) == ("i", "openhands")
    assert (system.role, system.text) == ("system", "Be good.\n\nHost a.")
    assert (user.role, user.text) == ("user", "Fix it.")
    assert call.parts == (
        ReasoningPart("Hm."),
        TextPart("I look."),
        ToolCallPart("c1", "look", "{}"),
    )
    assert (answer.name, answer.parts) == ("look", (ToolCallResponsePart("c1", "a\n\nb"),))
    assert (end.role, end.text, end.id) == ("assistant", "Done.", "r2")
    assert user.created_at is not None
    assert session.notes == ("records left out: ConversationStateUpdateEvent (1)",)


def test_calls_and_answers_of_each_kind() -> None:
    """Calls in the form of OpenAI Chat are read too, and rejections and errors answer as results do."""
    thinking = [{"type": "thinking", "thinking": "Hm.", "signature": "s"}]
    session = read(
        asked("user", "Fix it."),
        acted("c1", "r1", thinking_blocks=thinking),
        acted("c2", "r1", tool_call={"id": "c2", "function": {"name": "f", "arguments": "{}"}}),
        saw("c1", observation={"output": "one"}),
        saw("c2", "UserRejectObservation", rejection_reason="No."),
        acted("c3", "r2"),
        saw("c3", "AgentErrorEvent", error="No such tool."),
    )

    assert [message.parts for message in session.messages[1:]] == [
        (ReasoningPart("Hm."), ToolCallPart("c1", "look", "{}")),
        (ToolCallPart("c2", "f", "{}"),),
        (ToolCallResponsePart("c1", "one"),),
        (ToolCallResponsePart("c2", "No."),),
        (ToolCallPart("c3", "look", "{}"),),
        (ToolCallResponsePart("c3", "No such tool."),),
    ]
    assert [message.id for message in session.messages[1:3]] == ["r1", "r1"]


def test_what_the_program_adds_is_printed() -> None:
    """Skills beside a message and notices of the environment are not the user's words."""
    session = read(
        asked("user", "Fix it.", extended_content=[text("Use tabs.")]),
        asked("environment", "Use a tool."),
        acted("c1", "r1"),
        saw("c1", observation={"content": [text("a")]}, extended_content=[text("Rule.")]),
    )

    assert [(message.role, message.text) for message in session.messages[:3]] == [
        ("user", "Fix it."),
        ("tool", "Use tabs."),
        ("tool", "Use a tool."),
    ]
    assert session.messages[4].parts == (ToolCallResponsePart("c1", "a\n\nRule."),)


def test_a_condensation_puts_nothing_aside() -> None:
    """The summary of a condensation is with the message before it."""
    session = read(asked("user", "Hi."), event("Condensation", summary="We said hi."))

    assert session.messages[0].metadata == {"compaction": {"summary": "We said hi."}}


def test_pictures() -> None:
    """A picture in a result stays beside its text."""
    content = [text("a"), {"type": "image", "image_urls": ["https://example.org/a.png"]}]
    session = read(acted("c1", "r1"), saw("c1", observation={"content": content}))

    assert session.messages[1].parts == (
        ToolCallResponsePart("c1", (TextPart("a"), UriPart("image", "https://example.org/a.png"))),
    )


def test_a_page_of_the_server() -> None:
    """The server answers with the events under `items`."""
    session = read_one({"items": [asked("user", "Hi.")], "next_page_id": None})

    assert [message.text for message in session.messages] == ["Hi."]
