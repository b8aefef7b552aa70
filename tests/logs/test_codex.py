"""Sessions of Codex."""

from datetime import UTC, datetime
from typing import Any

from foldline.history.messages import Usage
from foldline.history.parts import CompactionPart, ToolCallPart, ToolCallResponsePart
from tests.logs.reading import read_one


def line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2031-01-01T00:00:00Z", "type": kind, "payload": payload}


def said(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def test_items_become_messages() -> None:
    """Messages, calls and their outputs are read as the vendor's items, with the line's time."""
    session = read_one(
        line("session_meta", id="s1", cwd="/x", base_instructions={"text": "Be good."}),
        line("session_meta", id="parent"),
        line("turn_context", model="tiny"),
        line("response_item", **said("user", "Hi.")),
        line("response_item", type="function_call", call_id="c", name="ls", arguments="{}"),
        line("response_item", type="function_call_output", call_id="c", output={"content": "a"}),
        line("response_item", type="ghost_snapshot", ghost_commit={}),
        line("response_item", type="compaction", encrypted_content="zz"),
    )
    system, user, call, answer, compaction = session.messages

    assert session.id == "s1"
    assert (system.role, system.text) == ("system", "Be good.")
    assert (user.text, user.created_at) == ("Hi.", datetime(2031, 1, 1, tzinfo=UTC))
    assert call.parts == (ToolCallPart("c", "ls", "{}"),)
    assert answer.parts == (ToolCallResponsePart("c", "a"),)
    assert compaction.parts == (CompactionPart(""),)
    assert session.notes == ("records left out: ghost_snapshot (1), turn_context (1)",)


def test_instructions_that_were_said_are_not_repeated() -> None:
    """Instructions that are in the history are not added before it."""
    session = read_one(
        line("session_meta", id="s", instructions="Use tabs."),
        line("response_item", **said("user", "<doc>Use tabs.</doc>")),
    )

    assert [message.role for message in session.messages] == ["user"]


def test_token_counts_go_to_the_newest_answer() -> None:
    """A count belongs to the assistant's message that closed the call; repeated counts are one."""
    counts = {
        "input_tokens": 9,
        "cached_input_tokens": 4,
        "output_tokens": 3,
        "reasoning_output_tokens": 1,
    }
    event = line("event_msg", type="token_count", info={"last_token_usage": counts})
    session = read_one(
        event,
        line("response_item", **said("user", "Hi.")),
        event,
        line("response_item", **said("assistant", "Yes.")),
        line("response_item", **said("user", "And?")),
        event,
        event,
        line("event_msg", type="agent_message", message="Yes."),
        line("event_msg", type="token_count", info=None),
    )

    assert [message.usage for message in session.messages] == [
        None,
        Usage(input_tokens=9, output_tokens=3, cache_read_tokens=4, reasoning_tokens=1),
        None,
    ]


def test_a_compaction_puts_nothing_aside() -> None:
    """All messages stay; the summary is with the message before it."""
    session = read_one(
        line("response_item", **said("user", "Hi.")),
        line("compacted", message="We said hi."),
        line("response_item", **said("user", "Go on.")),
    )

    assert [message.text for message in session.messages] == ["Hi.", "Go on."]
    assert session.messages[0].metadata == {"compaction": {"summary": "We said hi."}}
    assert len(session.notes) == 1


def test_a_summary_with_nothing_before_it_is_a_message() -> None:
    """A summary that starts the log is all that is known of what was said."""
    assert read_one(line("compacted", message="We said hi.")).messages[0].text == "We said hi."


def test_older_logs_hold_bare_items() -> None:
    """Older versions wrote a header and then the items alone."""
    session = read_one(
        {"id": "s0", "timestamp": "2031-01-01T00:00:00Z", "instructions": "Use tabs."},
        {"record_type": "state"},
        said("user", "Hi."),
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
        said("assistant", "Yes."),
    )

    assert session.id == "s0"
    assert [message.role for message in session.messages] == [
        "system",
        "user",
        "assistant",
        "assistant",
    ]
    assert session.notes == ("records left out: state (1)",)
