"""Runs of LangSmith."""

import json
from typing import Any

import pytest

from foldline.history.messages import Usage
from foldline.history.parts import TextPart, ToolCallPart, ToolCallResponsePart
from foldline.logs.sessions import read_sessions
from tests.logs.reading import lines, read_one


USER, ASSISTANT = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}


def dumped(kind: str, content: str, **beside: Any) -> dict[str, Any]:
    kwargs = {"content": content, **beside}
    return {"lc": 1, "type": "constructor", "id": ["langchain", f"{kind}Message"], "kwargs": kwargs}


def run(
    given: list[Any], outputs: dict[str, Any] | None, *, at: int = 0, kind: str = "llm"
) -> dict[str, Any]:
    return {
        "id": f"r{at}",
        "trace_id": "t",
        "session_id": "project",
        "run_type": kind,
        "start_time": f"2026-01-01T00:00:{at:02}",
        "inputs": {"messages": given},
        "outputs": outputs,
    }


def test_runs_that_continue_each_other_are_one_session() -> None:
    """Model calls, the newest first as they are exported, are one conversation; others are not read."""
    call = dumped("AI", "", tool_calls=[{"name": "ls", "args": {}, "id": "c"}])
    result = dumped("Tool", "a.py", tool_call_id="c")
    human, end = dumped("Human", "Hi"), dumped("AI", "Done")
    runs = [
        run([[human, call, result]], {"generations": [[{"message": end}]]}, at=2),
        run([[human]], {"generations": [[{"message": call}]]}, at=1),
        run([human], {"messages": [human, end]}, kind="chain"),
    ]
    session = read_one(runs)

    assert [message.parts for message in session.messages] == [
        (TextPart("Hi"),),
        (ToolCallPart("c", "ls", "{}"),),
        (ToolCallResponsePart("c", "a.py"),),
        (TextPart("Done"),),
    ]
    assert session.calls == (1, 3)
    assert session.id == "t"
    assert [one.messages for one in read_sessions(lines(*runs))] == [session.messages]


@pytest.mark.parametrize(
    "outputs",
    [
        {"generations": [[{"text": "Yes"}]]},
        {"generations": [{"text": "Yes", "message": dumped("AI", "Yes")}]},
        {"choices": [{"message": ASSISTANT}]},
        {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Yes"}]},
        {"output": [{"type": "message", **ASSISTANT}]},
        {"output": "Yes"},
        {"output": dumped("AI", "Yes")},
        {"message": {"type": "ai", "content": "Yes"}},
        {"messages": [USER, ASSISTANT]},
        {"messages": [ASSISTANT]},
        ASSISTANT,
    ],
)
def test_answers_of_all_clients_are_read(outputs: dict[str, Any]) -> None:
    """What LangChain, the vendors' clients and a graph answer follows what was asked, once."""
    session = read_one(run([USER], outputs, kind="chain"))

    assert [(one.role, one.text) for one in session.messages] == [
        ("user", "Hi"),
        ("assistant", "Yes"),
    ]


def test_a_failed_run_is_what_it_was_asked() -> None:
    """A run without an answer is read, system instructions and the thread of its metadata too."""
    failed = run([USER], None) | {"extra": {"metadata": {"thread_id": "th"}}}
    session = read_one(failed | {"inputs": {"system": "S", "messages": [USER]}})

    assert [one.text for one in session.messages] == ["S", "Hi"]
    assert session.id == "th"


def test_a_bulk_export_is_read() -> None:
    """There inputs, outputs and what is beside them are JSON text, and the counts beside the answer."""
    whole = run(
        [USER], {"choices": [{"message": ASSISTANT}], "usage_metadata": {"input_tokens": 7}}
    )
    extra = json.dumps({"metadata": {"thread_id": "x"}})
    texts = {key: json.dumps(whole[key]) for key in ("inputs", "outputs")}
    session = read_one({**whole, **texts, "extra": extra})

    assert [message.text for message in session.messages] == ["Hi", "Yes"]
    assert (session.id, session.messages[1].usage) == ("x", Usage(input_tokens=7))
