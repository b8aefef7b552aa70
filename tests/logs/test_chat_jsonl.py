"""Plain chat logs."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from foldline.history.messages import Message
from foldline.history.parts import TextPart, ToolCallPart, ToolCallResponsePart
from foldline.logs import read_sessions
from tests.logs.reading import read


HI = [{"role": "user", "content": "Hi."}, {"content": "Yes.", "role": "assistant"}]
SAID = (Message.user("Hi."), Message.assistant("Yes."))


@pytest.mark.parametrize(
    "data",
    [
        "\n".join(map(json.dumps, HI)),
        json.dumps(HI),
        json.dumps(HI, indent=2),
        *(
            json.dumps({key: HI})
            for key in ("messages", "traj", "conversation", "conversations", "history", "items")
        ),
        json.dumps([{"from": "human", "value": "Hi."}, {"from": "gpt", "value": "Yes."}], indent=1),
    ],
)
def test_messages_come_in_many_wrappings(data: str) -> None:
    """Lines, a list, an object around a list and ShareGPT's names are all one conversation."""
    (session,) = read_sessions(data.encode())

    assert (session.format, session.messages) == ("chat-jsonl", SAID)


def test_a_list_a_line_is_a_session_a_line() -> None:
    """Sessions keep the ids and titles that they have; an empty list is none."""
    lines = [
        {"task_id": 7, "title": "A", "traj": HI},
        {"id": "b", "messages": HI},
        {"traj": []},
        HI,
    ]
    sessions = read(*lines, name="log")

    assert [(s.id, s.title) for s in sessions] == [("7", "A"), ("b", ""), ("log", "")]


def test_calls_pair_by_id_and_keep_no_second_copy() -> None:
    """The order of keys in a log is not what was sent, so nothing is kept beside the parts."""
    function = {"arguments": "{}", "name": "look"}
    (session,) = read(
        [
            {
                "content": None,
                "tool_calls": [{"function": function, "id": "c"}],
                "role": "assistant",
            },
            {"content": "seen", "tool_call_id": "c", "name": "look", "role": "tool"},
        ]
    )

    assert session.messages == (
        Message.assistant(tool_calls=[ToolCallPart("c", "look", "{}")]),
        Message.tool("c", "seen", name="look"),
    )


def test_fields_of_the_log_are_metadata() -> None:
    """What is no field of a message is never sent, and never lost."""
    (session,) = read([{"role": "user", "content": "Hi.", "id": 3, "timestamp": 1e9, "mood": {}}])
    (message,) = session.messages

    assert message.id == "3"
    assert message.created_at == datetime(2001, 9, 9, 1, 46, 40, tzinfo=UTC)
    assert message.metadata == {"id": 3, "timestamp": 1e9, "mood": {}}
    assert message.native is None


@pytest.mark.parametrize(
    ("time", "created_at"),
    [
        (1_000_000_000_000, datetime(2001, 9, 9, 1, 46, 40, tzinfo=UTC)),
        ("2031-01-01T00:00:00", datetime(2031, 1, 1, tzinfo=UTC)),
        ("2031-01-01T02:00:00+02:00", datetime(2031, 1, 1, tzinfo=UTC)),
        ("yesterday", None),
        (True, None),
        (1e300, None),
        (float("nan"), None),
    ],
)
def test_times_have_zones(time: Any, created_at: datetime | None) -> None:
    """Milliseconds and ISO 8601 are read, UTC if there is no zone; what is no time is left open."""
    (session,) = read([{"role": "user", "content": "Hi.", "timestamp": time}])
    (of_cline,) = read([{"role": "user", "content": "Hi.", "ts": time}])

    assert session.messages[0].created_at == created_at
    assert of_cline.messages[0].created_at == created_at


def test_calls_without_ids_are_answered_in_order() -> None:
    """Answers without ids answer the calls before them that have none; the rest was printed."""
    call = {"function": {"name": "look", "arguments": {"at": 1}}}
    (session,) = read(
        [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "content": "seen"},
            {"role": "tool", "content": "Battery low."},
        ]
    )
    _, answer, printed = session.messages

    assert session.messages[0].tool_calls == (ToolCallPart("", "look", '{"at":1}'),)
    assert answer.parts == (ToolCallResponsePart("", "seen"),)
    assert printed.parts == (TextPart("Battery low."),)
    assert printed.native is None


def test_sharegpt_calls_are_calls() -> None:
    """A call in ShareGPT's form is one where its value is a call, else text."""
    (session,) = read(
        [
            {"from": "system", "value": "Be good.", "weight": 0},
            {"from": "function_call", "value": '{"name": "look", "arguments": {"at": 1}}'},
            {"from": "observation", "value": "seen"},
            {"from": "function_call", "value": "look!"},
            {"from": "function_call", "value": "{}"},
        ]
    )

    assert [message.parts for message in session.messages] == [
        (TextPart("Be good."),),
        (ToolCallPart("", "look", '{"at":1}'),),
        (ToolCallResponsePart("", "seen"),),
        (TextPart("look!"),),
        (TextPart("{}"),),
    ]
    assert session.messages[0].metadata == {"weight": 0}


def test_other_vendors_messages_in_a_log_are_read_as_theirs() -> None:
    """The messages of a log show which vendor's they are."""
    use = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
    anthropic = {"turn": 1, "role": "assistant", "content": [use]}
    call = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
    sessions = read({"conversation": [HI[0], anthropic]}, {"conversation": [HI[0], call]})

    assert [session.messages[1].parts for session in sessions] == [
        (ToolCallPart("c", "look", "{}"),)
    ] * 2
    assert sessions[0].messages[1].metadata == {"turn": 1}


@pytest.mark.parametrize("is_list", [False, True])
@pytest.mark.parametrize("key", ["conversation_id", "thread_id", "session_id", "chatId"])
def test_lines_are_sorted_by_conversation(key: str, is_list: bool) -> None:
    """Mixed lines, or rows of one list, are a session per conversation; one that names none follows."""
    lines = [
        {"role": "system", "content": "S"},
        *({**item, key: name} for item in HI for name in ("a", "b")),
        {"role": "user", "content": "more"},
    ]

    first, second = read(lines) if is_list else read(*lines)

    assert (first.id, [message.text for message in first.messages]) == ("a", ["S", "Hi.", "Yes."])
    assert (second.id, [one.text for one in second.messages]) == ("b", ["Hi.", "Yes.", "more"])


def test_records_that_grow_are_one_session() -> None:
    """Lines that each hold the conversation so far are that conversation; others stay apart."""
    lines = [{"messages": HI[:1]}, {"messages": [*HI, *HI[:1]]}, {"messages": HI[1:]}]

    first, second = read(*lines)

    assert (len(first.messages), first.calls) == (3, (1, 3))
    assert (len(second.messages), second.calls) == (1, ())
