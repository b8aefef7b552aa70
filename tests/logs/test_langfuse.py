"""Observations of Langfuse."""

import json
from typing import Any

import pytest

from foldline.history.messages import Usage
from tests.logs.reading import read


HI = {"role": "user", "content": "Where is AB12?"}
FUNCTION = {"name": "look", "arguments": "{}"}
CALLS = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c", "type": "function", "function": FUNCTION}],
}
FOUND = {"role": "tool", "tool_call_id": "c", "content": "Lisbon"}
SAID = {"role": "assistant", "content": "In Lisbon."}


def observation(minute: int, given: Any, answer: Any, kind: str = "GENERATION") -> dict[str, Any]:
    return {
        "id": f"o{minute}",
        "traceId": "t",
        "type": kind,
        "startTime": f"2026-01-01T10:{minute:02d}:00.000Z",
        "model": "gpt-5-mini",
        "input": given,
        "output": answer,
    }


@pytest.mark.parametrize("is_body", [False, True])
@pytest.mark.parametrize("answer", [SAID, "In Lisbon.", [SAID], {"choices": [{"message": SAID}]}])
def test_generations_that_grow_are_one_session(answer: Any, *, is_body: bool) -> None:
    """In the order of their times, with calls, results and the last answer; spans are left out."""
    first, second = ([HI], [HI, CALLS, FOUND])
    given = [{"messages": one} if is_body else one for one in (first, second)]

    (session,) = read(
        observation(9, {"city": "x"}, None, "SPAN"),
        observation(2, given[1], answer),
        observation(1, given[0], CALLS),
    )

    assert (session.id, session.format, session.calls) == ("t", "langfuse", (1, 3))
    assert [one.role for one in session.messages] == ["user", "assistant", "tool", "assistant"]
    assert session.messages[-1].text == "In Lisbon."


def test_a_trace_names_its_session() -> None:
    """The observations of a trace are of the session that it names."""
    (session,) = read({"id": "t", "sessionId": "s", "observations": [observation(1, [HI], SAID)]})

    assert (session.id, len(session.messages)) == ("s", 2)


def test_an_export_to_a_storage_is_read() -> None:
    """There the names have underscores, and what was given and answered is JSON text."""
    exported = {
        "id": "o1",
        "trace_id": "t",
        "session_id": "s",
        "type": "GENERATION",
        "start_time": "2026-01-01 10:00:00.000000",
        "input": json.dumps([HI]),
        "output": json.dumps(SAID),
        "usage_details": {"input": 7, "output": 2, "total": 9},
    }
    (session,) = read(exported, {**exported, "type": "SPAN", "input": "", "output": ""})

    assert [one.text for one in session.messages] == ["Where is AB12?", "In Lisbon."]
    assert (session.id, session.messages[1].usage) == ("s", Usage(input_tokens=7, output_tokens=2))


def test_counts_are_apart() -> None:
    """What was read from the cache, written into it and thought is in no other count."""
    counts = {
        "input": 1,
        "input_cached_tokens": 2,
        "cache_creation_input_tokens": 4,
        "output": 8,
        "output_reasoning_tokens": 16,
        "total": 31,
    }
    (session,) = read({**observation(1, [HI], SAID), "usageDetails": counts})

    assert session.messages[1].usage == Usage(
        input_tokens=7,
        output_tokens=24,
        cache_read_tokens=2,
        cache_write_tokens=4,
        reasoning_tokens=16,
    )


def test_messages_of_open_telemetry_and_blocks_of_anthropic() -> None:
    """Parts are read as OpenTelemetry writes them, and blocks without a message as its content."""
    given = [{"role": "user", "parts": [{"type": "text", "content": "Hi."}]}]
    (session,) = read(observation(1, given, [{"type": "text", "text": "Yes."}]))

    assert [one.text for one in session.messages] == ["Hi.", "Yes."]


def test_messages_of_the_ai_sdk() -> None:
    """An answer that only calls is the list of its calls."""
    call = {"toolCallId": "c", "toolName": "look", "args": '{"n":1}'}
    result = {"type": "tool-result", "toolCallId": "c", "toolName": "look", "output": "Lisbon"}
    called = {"type": "tool-call", "toolCallId": "c", "toolName": "look", "input": {"n": 1}}
    grown = [
        HI,
        {"role": "assistant", "content": [called]},
        {"role": "tool", "content": [result]},
    ]

    (first,) = read(observation(1, {"messages": [HI]}, [call]))
    (last,) = read(observation(1, grown, "In Lisbon."))

    assert first.messages[1].tool_calls == last.messages[1].tool_calls
    assert [one.response for one in last.messages[2].tool_call_responses] == ["Lisbon"]
    assert last.messages[3].text == "In Lisbon."


def test_an_empty_answer_is_no_message() -> None:
    """Nothing was said in an empty list."""
    (session,) = read(observation(1, [HI], []))

    assert [one.role for one in session.messages] == ["user"]


def test_an_answer_may_look_like_json() -> None:
    """A text that begins like JSON and is none stays a text."""
    (session,) = read(observation(1, [HI], "{x} is a set."))

    assert session.messages[1].text == "{x} is a set."
