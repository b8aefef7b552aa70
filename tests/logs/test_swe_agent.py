"""Trajectories of SWE-agent."""

from typing import Any

from foldline.history.messages import Message, Usage
from foldline.history.parts import ReasoningPart, TextPart, ToolCallPart, ToolCallResponsePart
from foldline.logs.importer import Session
from tests.logs.reading import read_one


def read(*items: dict[str, Any], **beside: Any) -> Session:
    history = [{"agent": "main", "content": "", **item} for item in items]
    return read_one({"history": history, **beside})


def test_calls_and_observations_pair_by_id() -> None:
    """An observation answers the call that it names."""
    function = {"arguments": "{}", "name": "ls"}
    session = read(
        {"role": "system", "content": "Fix it.", "message_type": "system_prompt"},
        {
            "role": "assistant",
            "content": "Look.",
            "thought": "Look.",
            "action": "ls",
            "tool_calls": [{"function": function, "id": "c1", "type": "function"}],
        },
        {"role": "tool", "content": "a.py", "tool_call_ids": ["c1"]},
        environment="box",
        instance_id="i1",
    )
    system, call, answer = session.messages

    assert system.metadata == {"agent": "main", "message_type": "system_prompt"}
    assert call.parts == (TextPart("Look."), ToolCallPart("c1", "ls", "{}"))
    assert call.native is None
    assert call.metadata == {"agent": "main"}
    assert answer.parts == (ToolCallResponsePart("c1", "a.py"),)
    assert (session.id, session.title) == ("i1", "box")


def test_text_actions_stay_text() -> None:
    """Without function calling the action is in the text and the user answers, as it was sent."""
    session = read(
        {"role": "assistant", "content": "Look.\nls", "thought": "Look.\n", "action": "ls"},
        {"role": "user", "content": "a.py"},
    )

    assert session.messages[0].text == "Look.\nls"
    assert session.messages[0].metadata == {"agent": "main"}
    assert session.messages[1].role == "user"


def test_an_action_that_the_text_lacks_is_kept() -> None:
    """Thought and action that the content does not repeat go to the metadata."""
    (message,) = read({"role": "assistant", "content": "?", "thought": "T", "action": "A"}).messages

    assert message.metadata == {"agent": "main", "thought": "T", "action": "A"}


def test_one_observation_may_answer_several_calls() -> None:
    """The first call gets the text, and no call stays without an answer."""
    (message,) = read({"role": "tool", "content": "ok", "tool_call_ids": ["a", "b"]}).messages

    assert message.parts == (ToolCallResponsePart("a", "ok"), ToolCallResponsePart("b", ""))


def test_thinking_comes_first() -> None:
    """Thinking blocks become reasoning before what was said."""
    blocks = [{"type": "thinking", "thinking": "Hm."}]
    (message,) = read({"role": "assistant", "content": "x", "thinking_blocks": blocks}).messages

    assert message.parts == (ReasoningPart("Hm."), TextPart("x"))


def test_an_observation_without_call_is_printed() -> None:
    """A tool message that names no call keeps its text."""
    (message,) = read({"role": "tool", "content": "ready"}).messages

    assert message == Message(role="tool", parts=(TextPart("ready"),), metadata={"agent": "main"})


def mini(*items: dict[str, Any]) -> Session:
    messages = [*items, {"role": "exit", "content": "a patch", "extra": {"submission": "a patch"}}]
    return read_one({"trajectory_format": "mini-swe-agent-1.1", "info": {}, "messages": messages})


def test_mini_swe_agent_keeps_what_its_model_said() -> None:
    """A message of mini-SWE-agent is its vendor's; the one that hands in is none."""
    function = {"arguments": "{}", "name": "bash"}
    report = {"usage": {"prompt_tokens": 9, "completion_tokens": 2}}
    session = mini(
        {"role": "user", "content": "Fix it."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"function": function, "id": "c1", "type": "function"}],
            "extra": {"response": report, "timestamp": 1_900_000_000.5},
        },
        {"role": "tool", "tool_call_id": "c1", "content": "a.py", "extra": {"returncode": 0}},
    )
    user, call, answer = session.messages

    assert (session.format, user.text) == ("swe-agent", "Fix it.")
    assert call.parts == (ToolCallPart("c1", "bash", "{}"),)
    assert call.usage == Usage(input_tokens=9, output_tokens=2)
    assert call.created_at is not None
    assert answer.parts == (ToolCallResponsePart("c1", "a.py"),)
    assert session.notes == ("records left out: exit (1)",)


def test_mini_swe_agent_may_keep_whole_responses() -> None:
    """With OpenAI's Responses API its messages are responses and items."""
    call = {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"}
    report = {"input_tokens": 9, "output_tokens": 2}
    session = mini(
        {"role": "user", "content": "Fix it."},
        {"object": "response", "id": "r", "output": [call], "usage": report, "extra": {}},
        {"type": "function_call_output", "call_id": "c1", "output": "a.py", "extra": {}},
    )

    assert [message.parts for message in session.messages[1:]] == [
        (ToolCallPart("c1", "bash", "{}"),),
        (ToolCallResponsePart("c1", "a.py"),),
    ]
    assert session.messages[1].usage == Usage(input_tokens=9, output_tokens=2)
