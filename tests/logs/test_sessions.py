"""Conversations of any format, from bytes."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from foldline.errors import ConfigError, FormatError, UnknownFormatError
from foldline.history.codec import encode_history
from foldline.history.messages import Message
from foldline.logs.sessions import FORMATS, read_sessions
from tests.logs.reading import lines


HI = {"role": "user", "content": "Hi."}
USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "n", "input": {}}]}
ITEM = {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"}
INPUT = {"type": "input_text", "text": "a"}
GEMINI_CLI = {"id": "m", "type": "user", "content": "Hi."}
TURN = {"role": "user", "content": [{"text": "Hi."}]}
OTEL = {"role": "user", "parts": [{"type": "text", "content": "Hi."}]}
OPENCODE = {"info": {"role": "user"}, "parts": [{"type": "text", "text": "Hi."}]}
SDK_EVENT = {
    "kind": "MessageEvent",
    "source": "user",
    "timestamp": "",
    "llm_message": {"role": "user", "content": [{"type": "text", "text": "Hi."}]},
}
EVENT = {"id": 0, "source": "user", "action": "message", "args": {"content": "Hi."}}
PYDANTIC_AI = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Hi."}]}
AI_SDK_CALL = {
    "role": "assistant",
    "content": [{"type": "tool-call", "toolCallId": "c", "toolName": "n", "input": {}}],
}
AI_SDK_TOOL = {"type": "tool-n", "toolCallId": "c", "state": "output-available", "output": 1}
OBSERVATION = {
    "traceId": "t",
    "type": "GENERATION",
    "startTime": "2026-01-01T10:00:00Z",
    "input": [HI],
    "output": {"role": "assistant", "content": "Yes."},
}
SAMPLES: list[tuple[str, bytes]] = [
    ("foldline", encode_history([Message.user("Hi.")])),
    ("foldline", lines(OTEL, OTEL)),
    ("claude-code", lines({"type": "user", "sessionId": "s", "message": HI})),
    (
        "claude-code",
        lines(
            {"type": "summary", "summary": "S", "leafUuid": "u"},
            {"type": "system", "content": "x", "uuid": "v", "sessionId": "s"},
            {"type": "user", "uuid": "u", "message": HI},
        ),
    ),
    (
        "claude-code",
        lines(
            {"type": "system", "content": "x", "uuid": "v", "sessionId": "s"},
            {"type": "user", "uuid": "u", "message": HI},
        ),
    ),
    ("codex", lines({"type": "response_item", "payload": {"type": "message", **HI}})),
    ("codex", lines({"id": "s", "timestamp": "", "instructions": None}, {"type": "message", **HI})),
    ("pi", lines({"type": "session", "id": "s"}, {"type": "message", "message": HI})),
    ("aider", b"# aider chat started at 2031-01-01 00:00:00\n#### Hi.\n"),
    ("aider", lines({"id": "a", "started_at": "", "messages": [HI]})),
    ("swe-agent", lines({"history": [{**HI, "agent": "main"}], "info": {}})),
    ("openhands", lines({"instance_id": "i", "history": [EVENT]})),
    ("openhands", lines([EVENT])),
    ("openhands", lines(EVENT, EVENT)),
    ("openhands", lines(SDK_EVENT, SDK_EVENT)),
    ("openhands", lines({"items": [SDK_EVENT]})),
    ("opencode", lines({"info": {"id": "s"}, "messages": [OPENCODE]})),
    ("opencode", lines([OPENCODE, OPENCODE])),
    ("swe-agent", lines({"trajectory_format": "mini-swe-agent-1.1", "messages": [HI]})),
    ("langchain", lines([{"type": "human", "data": {"content": "Hi."}}])),
    ("langchain", lines({"messages": [{"type": "human", "content": "Hi."}]})),
    ("langchain", lines({"type": "human", "content": "Hi."}, {"type": "ai", "content": "Yes."})),
    (
        "langchain",
        lines(
            {"lc": 1, "type": "constructor", "id": ["HumanMessage"], "kwargs": {"content": "Hi."}}
        ),
    ),
    ("openai-chat", lines({"model": "t", "messages": [HI]})),
    ("openai-chat", lines(*[{"model": "t", "messages": [HI]}] * 2)),
    ("openai-chat", lines({"model": "t", "messages": [HI], "max_tokens": 1, "tools": [{}]})),
    ("openai-responses", lines({"model": "t", "input": "Hi."})),
    ("openai-responses", lines({"model": "t", "input": [HI, ITEM]})),
    ("openai-responses", lines([HI, ITEM])),
    ("openai-responses", lines([{"role": "user", "content": [INPUT]}])),
    ("openai-responses", lines({"type": "message", **HI}, {"type": "message", **HI})),
    ("anthropic", lines({"model": "t", "system": "S", "messages": [HI]})),
    ("anthropic", lines({"model": "t", "messages": [HI], "tools": [{"input_schema": {}}]})),
    ("anthropic", lines({"model": "t", "messages": [HI, USE]})),
    ("anthropic", lines({"messages": [HI, USE]})),
    ("anthropic", lines([HI, USE])),
    ("anthropic", lines(HI, USE)),
    ("otel", lines([OTEL])),
    ("otel", lines({"gen_ai.output.messages": [OTEL]})),
    ("chat-jsonl", lines(HI, HI)),
    ("chat-jsonl", lines([HI])),
    ("chat-jsonl", lines({"messages": [HI]})),
    ("chat-jsonl", lines({"history": [HI]})),
    ("chat-jsonl", lines({"conversations": [{"from": "human", "value": "Hi."}]})),
    ("chat-jsonl", lines([{"conversations": [{"from": "human", "value": "Hi."}]}])),
    ("langsmith", lines([{"run_type": "llm", "inputs": {"messages": [HI]}}])),
    ("langsmith", lines({"inputs": {"messages": [[HI]]}})),
    ("langfuse", lines(OBSERVATION, OBSERVATION)),
    ("gemini-cli", lines({"sessionId": "s", "projectHash": "h", "messages": [GEMINI_CLI]})),
    ("gemini-cli", lines({"sessionId": "s", "projectHash": "h"}, GEMINI_CLI)),
    ("gemini", lines([{"role": "user", "parts": [{"text": "Hi."}]}])),
    ("gemini", lines([{"parts": [{"functionCall": {"name": "look"}}], "role": "model"}])),
    ("gemini", lines({"contents": [{"parts": [{"text": "Hi."}]}]})),
    ("gemini", lines({"role": "user", "parts": [{"text": "Hi."}]})),
    ("converse", lines([{"role": "user", "content": [{"text": "Hi."}]}])),
    ("converse", lines({"modelId": "m", "messages": [TURN], "system": [{"text": "Be brief."}]})),
    ("converse", lines(TURN, TURN)),
    ("copilot", lines({"type": "user.message", "data": {"content": "Hi."}})),
    ("pydantic-ai", lines([PYDANTIC_AI])),
    ("pydantic-ai", lines({"messages": [PYDANTIC_AI]})),
    ("ai-sdk", lines([{"role": "user", "parts": [{"type": "text", "text": "Hi."}]}])),
    ("ai-sdk", lines(HI, AI_SDK_CALL)),
    ("ai-sdk", lines([{"role": "assistant", "parts": [AI_SDK_TOOL]}])),
    ("langfuse", lines({"id": "t", "sessionId": "s", "observations": [OBSERVATION]})),
    ("langfuse", lines([{**OBSERVATION, "input": {"messages": [HI]}}])),
]
"""The least input of each format, in each of its forms."""


@pytest.mark.parametrize(("format", "data"), SAMPLES)
def test_formats_are_recognized(format: str, data: bytes) -> None:
    """Every form of every format is recognized; naming the format changes nothing."""
    sessions = read_sessions(data)

    assert sessions == read_sessions(data, format=format)
    assert {session.format for session in sessions} == {format}
    assert all(session.messages for session in sessions)


def damaged(value: Any) -> Iterator[Any]:
    """Yield *value* with each of its values replaced by ones of other kinds."""
    yield from (None, 7, "x", [], [7], {}, {"a": 1})
    inner = (
        value
        if isinstance(value, dict)
        else dict(enumerate(value if isinstance(value, list) else ()))
    )
    for key, held in inner.items():
        for other in damaged(held):
            copy = value.copy()
            copy[key] = other
            yield copy


@pytest.mark.parametrize(("format", "data"), SAMPLES)
def test_values_of_any_kind_are_read_or_refused(format: str, data: bytes) -> None:
    """Whatever stands in a log in the place of what belongs there, nothing but our own error is raised."""
    records = [] if data.startswith(b"#") else [json.loads(line) for line in data.splitlines()]

    for other in damaged(records):
        with suppress(FormatError, UnknownFormatError):
            read_sessions(lines(*other) if isinstance(other, list) else lines(other), format=format)


def test_every_format_has_a_sample() -> None:
    """No format escapes the tests of detection, and no two share a name."""
    names = [importer.name for importer in FORMATS]

    assert sorted(names) == sorted({format for format, _ in SAMPLES})
    assert len(set(names)) == len(names)


def test_every_format_is_documented(root: Path) -> None:
    """The page of the library lists the formats."""
    page = (root / "docs" / "library.md").read_text("utf-8")

    assert [one.name for one in FORMATS if f"`{one.name}`" not in page] == []


@pytest.mark.parametrize(
    "value",
    [
        {"a": 1},
        [1],
        [[]],
        [None],
        {"messages": 7},
        {"messages": [7]},
        {"model": "t", "messages": [OTEL]},
        {"messages": [OTEL]},
        {"role": "user"},
        {"role": "nobody", "content": "x"},
        {"type": "message", "message": 7},
        {"type": "user", "message": HI},
        {"history": [7]},
        {"lc": 1},
        {"lc": 1, "id": ["x", "Prompt"]},
        {"type": "human", "data": {}},
        {"from": "nobody", "value": ""},
        {"input": "x"},
        {"role": {}, "content": "x"},
        {"from": {}, "value": "x"},
        {"type": [], "payload": {}, "message": HI},
        {"type": {}, "content": "x"},
        {"lc": 2, "id": ["HumanMessage"], "kwargs": {}},
        {"id": "s", "timestamp": "", "instructions": None},
        [{"type": "session_start", "id": "s"}, {"type": "message", "message": HI}],
    ],
)
def test_what_is_no_conversation_is_unknown(value: Any) -> None:
    """Input that no format fits is refused, with the formats that are known and what to write."""
    hint = re.escape('or write a line {"role": "user", "content": "..."} for each message')
    with pytest.raises(
        UnknownFormatError,
        match=f"no known format fits: choose one with --format: ai-sdk, .*{hint}",
    ):
        read_sessions(lines(value))


@pytest.mark.parametrize(
    ("data", "format", "error"),
    [
        (b"[]", None, "no conversation inside"),
        (b"{}", None, "no conversation inside"),
        (
            lines({"type": "session_meta", "payload": {"id": "s"}}),
            None,
            "no conversation inside: the input is codex",
        ),
        (b"Dear diary", None, "not JSON: line 1"),
        (b"Dear diary", "codex", "not JSON: line 1 is plain text, and codex is JSON"),
    ],
)
def test_what_holds_no_conversation_is_refused(data: bytes, format: str | None, error: str) -> None:
    """Empty JSON, a log without messages and any other text are refused as what they are."""
    with pytest.raises(FormatError, match=error) as caught:
        read_sessions(data, format=format)

    assert "diary" not in str(caught.value)


CLAUDE = [{"type": "user", "sessionId": "s", "message": HI}]
CODEX = [
    {"type": "session_meta", "payload": {"id": "a"}},
    {"type": "response_item", "payload": {"type": "message", **HI}},
]
GEMINI = [{"sessionId": "a", "projectHash": "h"}, GEMINI_CLI]
COPILOT = [
    {"type": "session.start", "data": {"sessionId": "a"}},
    {"type": "user.message", "data": {"content": "Hi."}},
]
PI = [{"type": "session", "id": "a"}, {"type": "message", "message": HI}]


@pytest.mark.parametrize(
    ("first", "second"), [*permutations([CLAUDE, CODEX, COPILOT, GEMINI, PI], 2)]
)
def test_lines_of_two_programs_are_refused(first: list[Any], second: list[Any]) -> None:
    """Those of one would be left out."""
    with pytest.raises(FormatError, match=r"^lines of [a-z-]+ and [a-z-]+: pass a file of each$"):
        read_sessions(lines(*first, *second))


@pytest.mark.parametrize(
    ("log", "again"),
    [
        (CODEX, {"type": "session_meta", "payload": {"id": "b"}}),
        (
            [{"id": "a", "timestamp": "", "instructions": None}, {"type": "message", **HI}],
            {"id": "b", "timestamp": "", "instructions": None},
        ),
        (GEMINI, {"sessionId": "b", "projectHash": "h"}),
        (
            [{**GEMINI[0], "messages": [GEMINI_CLI]}],
            {"sessionId": "b", "projectHash": "h", "messages": [GEMINI_CLI]},
        ),
        (COPILOT, {"type": "session.start", "data": {"sessionId": "b"}}),
        (PI, {"type": "session", "id": "b"}),
    ],
)
def test_logs_behind_each_other_are_sessions(log: list[Any], again: dict[str, Any]) -> None:
    """A header that comes again opens none, as in a session that goes on, and other ids do."""
    one = read_sessions(lines(*log, *log))
    several = read_sessions(lines(*log, again, *log[1:]))

    assert [session.id for session in one] == ["a"]
    assert [(session.id, len(session.messages)) for session in several] == [("a", 1), ("b", 1)]


def test_an_unknown_name_is_told_its_nearest() -> None:
    """A format that does not exist is answered with the nearest that does, and with all."""
    with pytest.raises(UnknownFormatError) as caught:
        read_sessions(b"", format="Claude-Cod")

    assert str(caught.value).startswith("unknown format 'Claude-Cod': did you mean 'claude-code'?")
    with pytest.raises(
        UnknownFormatError, match=r"^unknown format 'nope': known formats: ai-sdk, "
    ):
        read_sessions(b"[]", format="nope")
    assert "swe-agent" in str(caught.value)


def test_a_cut_off_log_says_so() -> None:
    """The last session of a log that ends in half a line carries the note."""
    data = lines({"messages": [HI]}, {"messages": [HI]}) + b'\n{"messages": [{"ro'
    first, last = read_sessions(data)

    assert first.notes == ()
    assert last.notes == ("line 3, the last, is incomplete or damaged and was left out",)


def test_no_two_sessions_share_an_id() -> None:
    """Equal and missing ids get numbers, which no given id has."""
    given = ["a", "a", "a#2", "", ""]
    sessions = read_sessions(lines(*({"id": id, "messages": [HI]} for id in given)), name="log")

    assert [session.id for session in sessions] == ["a", "a#2", "a#2#2", "log", "log#2"]


@pytest.mark.parametrize(("data", "got"), [("sessions.jsonl", "str"), (None, "None")])
def test_a_path_is_not_data(data: Any, got: str) -> None:
    """What is not bytes is an error that says to read the file."""
    expected = f"data must be bytes, got {got}: pass Path(…).read_bytes()"

    with pytest.raises(ConfigError, match=re.escape(expected)):
        read_sessions(data)
