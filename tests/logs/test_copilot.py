"""Sessions of GitHub Copilot CLI."""

from typing import Any

from foldline.history.formats.wire import FAILED
from foldline.history.parts import ReasoningPart, TextPart, ToolCallPart
from foldline.logs.importer import Session
from tests.logs.reading import read_one


def event(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "timestamp": "2031-01-01T00:00:00Z"}


def start(id: str = "s") -> dict[str, Any]:
    return event("session.start", sessionId=id, version=1)


def session_of(*events: dict[str, Any]) -> Session:
    return read_one(start(), event("user.message", content="Hi."), *events)


def test_an_answer_has_its_thoughts_and_calls() -> None:
    """Results follow in the order of the log; a failed one says so."""
    calls = [
        {"toolCallId": "a", "name": "bash", "arguments": {"n": 1}},
        {"toolCallId": "b", "name": "view", "arguments": '{"n": 2}'},
    ]
    answer = {"reasoningText": "Hm.", "content": "I look.", "toolRequests": calls, "model": "t"}
    shown = {"content": "Short.", "detailedContent": "For the screen."}
    session = session_of(
        event("assistant.turn_start", turnId="0"),
        event("assistant.message", **answer),
        event("tool.execution_start", toolCallId="a", toolName="bash"),
        event("tool.execution_complete", toolCallId="b", success=False, error={"message": "No."}),
        event("tool.execution_complete", toolCallId="a", success=True, result=shown),
        event("assistant.message", content="", toolRequests=[]),
        event("assistant.message", content="Done."),
    )

    user, said, *told, last = session.messages
    assert said.parts == (
        ReasoningPart("Hm."),
        TextPart("I look."),
        ToolCallPart("a", "bash", '{"n":1}'),
        ToolCallPart("b", "view", '{"n": 2}'),
    )
    assert said.metadata == {"model": "t"}
    answers = [(one.id, one.response) for m in told for one in m.tool_call_responses]
    assert answers == [("b", (TextPart("No."), FAILED)), ("a", "Short.")]
    assert (session.id, last.text, f"{user.created_at}") == (
        "s",
        "Done.",
        "2031-01-01 00:00:00+00:00",
    )
    left_out = "assistant.message (1), assistant.turn_start (1), tool.execution_start (1)"
    assert session.notes == (f"records left out: {left_out}",)


def test_only_what_a_user_says_is_the_users() -> None:
    """Skills, notices and what users ran themselves are printed; other agents are left out."""
    result = {"toolCallId": "x", "success": True, "result": {"content": "main"}}
    session = session_of(
        event("system.message", role="system", content="Be brief."),
        event("user.message", content="<skill>", source="skill-pdf"),
        event("system.notification", content="It ended."),
        event("tool.execution_complete", isUserRequested=True, **result),
        event("assistant.message", content="Inner.", parentToolCallId="c"),
        {**event("user.message", content="Inner."), "agentId": "a"},
    )

    said = [(one.role, one.text) for one in session.messages]
    assert said == [
        ("user", "Hi."),
        ("system", "Be brief."),
        ("tool", "<skill>"),
        ("tool", "It ended."),
        ("tool", "main"),
    ]
    assert not any(one.tool_call_responses for one in session.messages)


def test_a_compaction_is_kept_beside_its_message() -> None:
    """All messages are in the log; one that failed wrote nothing."""
    session = session_of(
        event("session.compaction_complete", success=False, error="No."),
        event("session.compaction_complete", success=True, summaryContent="They met."),
    )

    (message,) = session.messages
    assert (message.metadata or {})["compaction"] == {"summary": "They met."}
    assert (
        session.notes[0] == "after message 0 the agent compacted its context; all messages are here"
    )
