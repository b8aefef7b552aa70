"""Sessions of Claude Code."""

from datetime import UTC, datetime
from typing import Any

import pytest

from foldline.history.messages import Usage
from foldline.history.parts import TextPart, ToolCallPart, ToolCallResponsePart
from tests.logs.reading import read


def line(kind: str, content: Any, **fields: Any) -> dict[str, Any]:
    """Return a line of the session `s`; `id` and `usage` are those of the message."""
    message = {"role": kind, "content": content}
    for key in ("id", "usage", "model"):
        if key in fields:
            message[key] = fields.pop(key)
    uuid = f"{kind}: {content}"
    return {"type": kind, "sessionId": "s", "uuid": uuid, "message": message, **fields}


def use(id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "Look", "input": {"at": 1}}


def result(id: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": "seen"}


def test_messages_are_the_vendors() -> None:
    """Lines become messages with the line's id and time and the vendor's counts."""
    (session,) = read(
        line("user", "Hi.", uuid="u", timestamp="2031-01-01T00:00:00Z", requestId="r"),
        line(
            "assistant",
            [{"type": "text", "text": "Yes."}],
            id="m",
            model="tiny",
            usage={
                "input_tokens": 1,
                "cache_read_input_tokens": 2,
                "cache_creation_input_tokens": 3,
                "output_tokens": 4,
            },
        ),
    )
    user, assistant = session.messages

    assert (session.id, session.format) == ("s", "claude-code")
    assert (user.role, user.text, user.id) == ("user", "Hi.", "u")
    assert user.created_at == datetime(2031, 1, 1, tzinfo=UTC)
    assert user.metadata == {"requestId": "r"}
    assert assistant.metadata == {"model": "tiny"}
    assert assistant.native is None
    assert assistant.usage == Usage(
        input_tokens=6, output_tokens=4, cache_read_tokens=2, cache_write_tokens=3
    )


def test_lines_of_one_message_are_one_message() -> None:
    """The program writes a line per block; neighbours with one message id are joined."""
    (session,) = read(
        line("assistant", [{"type": "text", "text": "Look."}], id="m", uuid="u1"),
        line("assistant", [use("a")], id="m", uuid="u2", usage={"output_tokens": 9}),
        line("assistant", [use("a"), use("b")], id="m", uuid="u3"),
        line("user", [result("a")]),
        line("user", [result("b")]),
    )
    message, *answers = session.messages

    assert message.parts == (
        TextPart("Look."),
        ToolCallPart("a", "Look", '{"at":1}'),
        ToolCallPart("b", "Look", '{"at":1}'),
    )
    assert message.id == "u1"
    assert message.usage == Usage(output_tokens=9)
    assert [answer.parts for answer in answers] == [
        (ToolCallResponsePart("a", "seen"),),
        (ToolCallResponsePart("b", "seen"),),
    ]


def test_the_usage_of_a_message_counts_once() -> None:
    """If results come between the lines of one message, only the last line keeps the usage."""
    (session,) = read(
        line("assistant", [use("a")], id="m", usage={"output_tokens": 9}),
        line("user", [result("a")]),
        line("assistant", [use("b")], id="m", usage={"output_tokens": 9}),
    )

    assert [message.usage for message in session.messages] == [
        None,
        None,
        Usage(output_tokens=9),
    ]


def test_subagents_have_sessions_of_their_own() -> None:
    """A side chain is a session of its agent, or of the line that started it."""
    sessions = read(
        line("user", "Main.", uuid="1"),
        line("user", "Side.", uuid="2", isSidechain=True, parentUuid=None),
        line("assistant", "Done.", uuid="3", isSidechain=True, parentUuid="2"),
        line("user", "Other.", uuid="4", isSidechain=True, parentUuid="1", agentId="a9"),
        line("assistant", "Main again.", uuid="5", parentUuid="1"),
    )

    assert [(s.id, [m.text for m in s.messages]) for s in sessions] == [
        ("s", ["Main.", "Main again."]),
        ("s/2", ["Side.", "Done."]),
        ("s/a9", ["Other."]),
    ]


def test_a_file_may_hold_several_sessions() -> None:
    """Every session id is a session; a line without one belongs to the newest."""
    sessions = read(
        line("user", "A."),
        {**line("user", "B."), "sessionId": "t"},
        {"type": "assistant", "message": {"role": "assistant", "content": "C."}},
    )

    assert [(s.id, len(s.messages)) for s in sessions] == [("s", 1), ("t", 2)]


def test_summaries_are_titles() -> None:
    """A summary names the session of its leaf; those of other files name none."""
    (session,) = read(
        {"type": "summary", "summary": "Other work", "leafUuid": "elsewhere"},
        {"type": "summary", "summary": "This work", "leafUuid": "u"},
        line("user", "Hi.", uuid="u"),
    )

    assert session.title == "This work"


def test_titles_have_lines_of_their_own() -> None:
    """The user's title comes before the program's, whichever was written last."""
    (session,) = read(
        line("user", "Hi."),
        {"type": "custom-title", "customTitle": "Mine", "sessionId": "s"},
        {"type": "ai-title", "aiTitle": "Greeting", "sessionId": "s"},
    )

    assert (session.title, session.notes) == ("Mine", ())


def test_a_compaction_puts_nothing_aside() -> None:
    """A compaction's summary is not said twice: it is with the message before it."""
    (session,) = read(
        line("user", "Hi."),
        {
            "type": "system",
            "subtype": "compact_boundary",
            "content": "",
            "uuid": "b",
            "sessionId": "s",
        },
        line("user", "We said hi.", isCompactSummary=True),
        line("user", "Go on."),
    )

    assert [message.text for message in session.messages] == ["Hi.", "Go on."]
    assert session.messages[0].metadata == {"compaction": {"summary": "We said hi."}}
    assert session.notes == (
        "after message 0 the agent compacted its context; all messages are here",
        "records left out: system (1)",
    )


def test_a_continued_session_starts_with_its_summary() -> None:
    """A compaction's summary with nothing before it is a message."""
    (session,) = read(line("user", "We said hi.", isCompactSummary=True))

    assert session.messages[0].text == "We said hi."


def test_a_compaction_may_write_lines_again() -> None:
    """A line with the id of an earlier one is a copy, even behind the end of a tree."""
    rows = [linked("u1", None), linked("a1", "u1", "assistant")]
    (session,) = read(
        *rows,
        linked("u2", "a1"),
        *rows,
        {"type": "system", "sessionId": "s", "uuid": "hook", "parentUuid": "a1"},
        linked("u3", "hook"),
    )

    assert [message.id for message in session.messages] == ["u1", "a1", "u3"]
    assert session.notes == (
        "records left out: line written again (2), message of a left branch (1), system (1)",
    )


def queued(uuid: str, prompt: Any, **fields: Any) -> dict[str, Any]:
    attachment = {"type": "queued_command", "prompt": prompt, "commandMode": "prompt", **fields}
    return {"type": "attachment", "sessionId": "s", "uuid": uuid, "attachment": attachment}


def test_what_was_said_during_the_work_is_an_attachment() -> None:
    """A queued command of the user is his message; a notice or another agent's is printed."""
    (session,) = read(
        line("user", "Build it."),
        queued("1", "And test it."),
        queued("2", [{"type": "text", "text": "Like this."}], origin={"kind": "human"}),
        queued("3", "Task b1 is done.", commandMode="task-notification"),
        queued("4", "I am done.", origin={"kind": "peer"}),
        {"type": "attachment", "sessionId": "s", "attachment": {"type": "date_change"}},
    )

    assert [(message.role, message.text) for message in session.messages] == [
        ("user", "Build it."),
        ("user", "And test it."),
        ("user", "Like this."),
        ("tool", "Task b1 is done."),
        ("tool", "I am done."),
    ]
    assert session.notes == ("records left out: attachment (1)",)


@pytest.mark.parametrize(
    "attachment",
    [
        {"type": "file", "content": {"type": "text", "file": {"content": "A.\n\nB."}}},
        {"type": "nested_memory", "content": {"path": "/x", "content": "A.\n\nB."}},
        {"type": "instructions", "files": [{"content": "A."}, {"path": "/y"}, {"content": "B."}]},
        {"type": "hook_additional_context", "content": ["A.", "B."]},
        {"type": "hook_additional_context", "content": "A.\n\nB."},
    ],
)
def test_what_is_added_to_the_context_is_printed(attachment: dict[str, Any]) -> None:
    """Files, instructions and what hooks add are shown to the model; a branch of them is none."""
    added = {"type": "attachment", "sessionId": "s", "attachment": attachment}
    (session,) = read(
        linked("u1", None, content="<command-name>/init</command-name>"),
        {**added, "uuid": "x1", "parentUuid": "u1"},
        {**added, "uuid": "x0", "attachment": {"type": "file", "content": {"type": "image"}}},
        linked("a1", "u1", "assistant"),
        linked("u2", "a1"),
        {**added, "uuid": "x2", "parentUuid": "u2"},
        {**added, "uuid": "x3", "parentUuid": "x2"},
        linked("u3", "a1"),
        {**added, "uuid": "x4", "parentUuid": "a1"},
    )

    assert [message.id for message in session.messages] == ["u1", "x1", "a1", "u3", "x4"]
    assert [session.messages[at].role for at in (1, 4)] == ["tool", "tool"]
    assert session.messages[1].text == "A.\n\nB."
    assert session.notes == ("records left out: attachment (1), message of a left branch (1)",)


def test_the_program_is_not_the_user() -> None:
    """What the program says in the user's place is printed, but the text of a command is the user's."""
    (session,) = read(
        line("user", "<command-name>/quick</command-name>"),
        line("user", "Answer in one line.", isMeta=True),
        line("user", "Stop hook feedback: run the tests.", isMeta=True),
        line("user", "Go on from there.", isSynthetic=True),
        line("user", "A task has ended.", origin={"kind": "task-notification"}),
        line("user", "Thanks.", origin={"kind": "human"}),
        line("user", "By phone.", origin={"kind": "channel"}, isMeta=True),
        line("user", [result("a")], isMeta=True),
    )

    assert [(message.role, message.name) for message in session.messages] == [
        ("user", None),
        ("user", None),
        ("tool", "claude-code"),
        ("tool", "claude-code"),
        ("tool", "claude-code"),
        ("user", None),
        ("user", None),
        ("tool", None),
    ]


def test_odd_lines_are_noted() -> None:
    """What cannot be read is left out, and the session says which lines."""
    (session,) = read(
        line("user", "Hi."),
        42,
        {"type": "user", "sessionId": "s", "message": "no object"},
        line("assistant", ["no block"]),
        line("assistant", []),
    )

    assert len(session.messages) == 1
    assert session.notes == tuple(
        f"line {number} is no message that could be read; left out" for number in (2, 3, 4, 5)
    )


def test_the_sdk_streams_the_same_lines() -> None:
    """The lines of the SDK's stream name the session in another way."""
    message = {"role": "user", "content": "Hi."}
    stream = {"type": "user", "session_id": "s", "message": message}
    sessions = read(
        stream, {**stream, "parent_tool_use_id": "t1"}, {"type": "result", "session_id": "s"}
    )

    assert [session.id for session in sessions] == ["s", "s/t1"]
    assert sessions[0].notes == ("records left out: result (1)",)


def linked(uuid: str, parent: str | None, kind: str = "user", **fields: Any) -> dict[str, Any]:
    content = fields.pop("content", uuid)
    return line(kind, content, **fields) | {"uuid": uuid, "parentUuid": parent}


def test_what_the_user_took_back_is_left_out() -> None:
    """Behind a fork the branch of the newest message is read, and a note counts what was left."""
    (session,) = read(
        linked("u1", None),
        linked("a1", "u1", "assistant"),
        linked("u2", "a1"),
        linked("a2", "u2", "assistant", id="m", content=[{"type": "text", "text": "wrong"}]),
        linked("a3", "a2", "assistant", id="m", content=[use("c")]),
        linked("r3", "a3", content=[result("c")]),
        linked("u4", "a1"),
        linked("a4", "u4", "assistant"),
        {"type": "system", "sessionId": "s", "uuid": "n", "parentUuid": "r3"},
    )

    assert [message.id for message in session.messages] == ["u1", "a1", "u4", "a4"]
    assert session.notes == ("records left out: message of a left branch (3), system (1)",)


def test_agents_and_compactions_make_no_fork() -> None:
    """An agent's lines after a line of the session, and a new start, leave the session whole."""
    first, second = read(
        linked("u1", None),
        linked("a1", "u1", "assistant"),
        linked("s1", "u1", isSidechain=True),
        linked("s2", "u1", isSidechain=True),
        {
            "type": "system",
            "sessionId": "s",
            "uuid": "cut",
            "parentUuid": None,
            "logicalParentUuid": "a1",
        },
        linked("sum", "cut", isCompactSummary=True),
        linked("u2", "sum"),
    )[:2]

    assert [message.id for message in first.messages] == ["u1", "a1", "u2"]
    assert len(second.messages) == 1


def test_errors_of_the_api_are_no_answers() -> None:
    """What the program says about a failed call is counted and not read."""
    (session,) = read(
        linked("u", None),
        linked("e", "u", "assistant", isApiErrorMessage=True),
        linked("a", "u", "assistant"),
    )

    assert [message.id for message in session.messages] == ["u", "a"]
    assert session.notes == ("records left out: error of the API (1)",)
