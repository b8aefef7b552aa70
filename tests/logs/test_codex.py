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


def count(given: int, total: int) -> dict[str, Any]:
    """Return the event that says what the newest call was given and all calls together."""
    last = {
        "input_tokens": given,
        "cached_input_tokens": 4,
        "cache_write_input_tokens": 2,
        "output_tokens": 3,
        "reasoning_output_tokens": 1,
    }
    info = {"total_token_usage": {"input_tokens": total}, "last_token_usage": last}
    return line("event_msg", type="token_count", info=info)


def test_token_counts_go_to_the_newest_answer() -> None:
    """A count belongs to the answer before it, once: later ones repeat it or are a compaction's."""
    session = read_one(
        count(1, 1),
        line("response_item", **said("user", "Hi.")),
        line("response_item", **said("assistant", "Yes.")),
        count(1, 1),
        count(9, 10),
        line("response_item", **said("user", "And?")),
        count(9, 10),
        line("event_msg", type="agent_message", message="Yes."),
        line("event_msg", type="token_count", info=None),
        count(11, 21),
        line("response_item", **said("assistant", "No.")),
        count(11, 21),
    )

    assert [message.usage for message in session.messages] == [
        None,
        Usage(
            input_tokens=9,
            output_tokens=3,
            cache_read_tokens=4,
            cache_write_tokens=2,
            reasoning_tokens=1,
        ),
        None,
        None,
    ]


def test_turns_that_were_taken_back_are_left_out() -> None:
    """What was said since the turns that the user took back is no part of the conversation."""
    session = read_one(
        line("response_item", **said("user", "<environment_context>x</environment_context>")),
        line("response_item", **said("user", "One.")),
        line("response_item", **said("assistant", "1")),
        line("response_item", **said("user", "Two.")),
        line("response_item", **said("assistant", "2")),
        line("event_msg", type="thread_rolled_back", num_turns=1),
        count(9, 9),
        line("response_item", **said("user", "Three.")),
        line("event_msg", type="thread_rolled_back", num_turns=0),
    )

    assert [message.text for message in session.messages[1:]] == ["One.", "1", "Three."]
    assert all(message.usage is None for message in session.messages)
    assert session.notes == ("records left out: message that was taken back (2)",)


def test_more_turns_than_there_are_take_back_what_the_user_said() -> None:
    """What Codex put before the first request stays when all turns are taken back."""
    session = read_one(
        line("response_item", **said("user", "<environment_context>x</environment_context>")),
        line("response_item", **said("user", "One.")),
        line("response_item", **said("user", "Two.")),
        line("event_msg", type="thread_rolled_back", num_turns=3),
    )

    assert [message.is_from_user for message in session.messages] == [False]


def test_what_codex_and_other_agents_say_is_not_the_users() -> None:
    """The rules of a project are a system message, and what another agent says is printed."""
    rules = said("user", "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>Tabs.</INSTRUCTIONS>")
    rules["content"].append({"type": "input_text", "text": "<environment_context/>"})
    content = [{"type": "input_text", "text": "Look."}]
    session = read_one(
        line("session_meta", id="s", history_base={"thread_id": "r"}),
        line("response_item", **rules),
        line("response_item", **said("user", "Hi.")),
        line("response_item", **said("user", "<skill>\n<name>x</name>\n</skill>")),
        line("response_item", type="agent_message", author="/a", recipient="/b", content=content),
        line("inter_agent_communication", author="/a", recipient="/b", content="Found."),
        line("inter_agent_communication", author="/a", content="", encrypted_content="zz"),
        line("world_state", full=True, state={}),
    )

    assert [(one.role, one.name, one.text) for one in session.messages[1:]] == [
        ("user", None, "Hi."),
        ("tool", "codex", "<skill>\n<name>x</name>\n</skill>"),
        ("tool", "/a", "Look."),
        ("tool", "/a", "Found."),
    ]
    assert session.messages[0].role == "system"
    assert session.messages[0].native is None
    assert session.notes == (
        "it goes on from another file: what was said before is not here",
        "records left out: inter_agent_communication (1), world_state (1)",
    )


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


def test_a_compaction_may_be_written_as_the_new_history() -> None:
    """Its last message is the summary; with nothing before it, it is all that is known."""
    history = [said("user", "Hi."), said("user", "We said hi.")]
    compacted = line("compacted", message="", replacement_history=history)
    session = read_one(line("response_item", **said("user", "Hi.")), compacted)

    assert session.messages[0].metadata == {"compaction": {"summary": "We said hi."}}
    assert [message.text for message in session.messages] == ["Hi."]
    assert [message.text for message in read_one(compacted).messages] == ["Hi.", "We said hi."]


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
