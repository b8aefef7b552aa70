"""No input makes reading slower than in proportion to its size."""

import gzip
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from foldline.errors import FormatError
from foldline.history.formats.responses import joined_events
from foldline.history.messages import NativeFormat
from foldline.logs import read_sessions
from tests.linearity import is_linear
from tests.logs.reading import lines


HI = {"role": "user", "content": "Hi."}
SPAN = {"attributes": [{"key": "gen_ai.input.messages", "value": {"stringValue": "[]"}}]}
ANSWER = {"functionResponse": {"name": "look", "response": {}}}
OBSERVATION = {
    "traceId": "t",
    "type": "GENERATION",
    "startTime": "",
    "input": [HI],
    "output": {**HI, "role": "assistant"},
}


def claude(uuid: Any, parent: Any, **fields: Any) -> dict[str, Any]:
    line = {"type": "user", "sessionId": "s", "uuid": f"{uuid}", "parentUuid": f"{parent}"}
    return {**line, "message": {**HI, **fields.pop("message", {})}, **fields}


def pieces(n: int) -> bytes:
    """Return a message of the model in *n* lines."""
    block = {"type": "text", "text": "x"}
    said = [{"id": "m", "role": "assistant", "content": [{**block, "n": k}]} for k in range(n)]
    return lines(*(claude(k, k - 1, message=one) for k, one in enumerate(said)))


def restarts(n: int) -> bytes:
    """Return *n* trees of lines, each of which follows the end of a long chain of notices."""
    chain = [claude(k, k - 1, type="system") for k in range(n)]
    trees = [claude(f"t{k}", "", logicalParentUuid=f"{n - 1}") for k in range(n)]
    return lines(claude("a", ""), claude("b", "a"), claude("c", "a"), *chain, *trees)


def codex(n: int) -> bytes:
    """Return a log whose token counts have no answer to go to."""
    said = {"type": "response_item", "payload": {"type": "message", **HI}}
    usage = {"last_token_usage": {"input_tokens": 1, "output_tokens": 1}}
    count = {"type": "event_msg", "payload": {"type": "token_count", "info": usage}}
    return lines(*[said] * n, *[count] * n)


ASKED = {"type": "response_item", "payload": {"type": "message", **HI}}
BACK = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}
ACTION = {
    "kind": "ActionEvent",
    "source": "agent",
    "timestamp": "",
    "llm_response_id": "r",
    "tool_call": {"id": "c", "name": "look", "arguments": "{}"},
}
FLAT = "gen_ai.prompt"
INPUTS: dict[str, Callable[[int], bytes]] = {
    "gzip members": lambda n: gzip.compress(b" ") * n + gzip.compress(lines(HI)),
    "escapes": lambda n: b'{"a": "' + b'\\"' * n,
    "NUL bytes": lambda n: b"\x00 \n" * n,
    "blank lines": lambda n: lines(HI) + b"\n" * n + lines(HI),
    "aider headings": lambda n: b"# aider chat started at \nx\n" * n,
    "aider heading in one line": lambda n: b"# aider chat started at " * n,
    "aider marks": lambda n: b"# aider chat started at \n" + b"#### x\n> y\n" * n,
    "claude pieces": pieces,
    "claude restarts": restarts,
    "codex counts": codex,
    "codex turns taken back": lambda n: lines(*[ASKED, BACK] * n),
    "openhands actions": lambda n: lines(*[ACTION] * n),
    "attributes of a message": lambda n: lines(
        {"attributes": {f"{FLAT}.{at}.role": "user" for at in range(n)}}
    ),
    "chat without ids": lambda n: lines(*[HI, {"role": "tool", "content": "x"}] * n),
    "equal ids": lambda n: lines(*[{"id": "a", "messages": [HI]}] * n),
    "spans": lambda n: lines({"resourceSpans": [{"scopeSpans": [{"spans": [SPAN] * n}] * 2}]}),
    "observations": lambda n: lines({"observations": [OBSERVATION] * n}),
    "results of no call": lambda n: lines([{"role": "user", "parts": [ANSWER]}] * n),
    "equal bodies": lambda n: lines(*[{"model": "m", "messages": [HI]}] * n),
}


@pytest.mark.parametrize("make", INPUTS.values(), ids=INPUTS)
def test_reading_is_linear(make: Callable[[int], bytes]) -> None:
    """Four times as many of an input's own literals take about four times as long to read."""

    def read(text: str) -> None:
        with suppress(FormatError):
            read_sessions(make(len(text)))

    assert is_linear(read, "", "a")


@pytest.mark.parametrize(
    ("native", "delta"),
    [
        (NativeFormat.ANTHROPIC, {"text": "x" * 1_000}),
        (NativeFormat.ANTHROPIC, {"citation": {}}),
        (NativeFormat.OPENAI_CHAT, {"content": "x" * 1_000}),
        (NativeFormat.OPENAI_CHAT, {"tool_calls": [{"function": {"name": "x" * 1_000}}]}),
    ],
)
def test_joining_a_stream_is_linear(native: NativeFormat, delta: dict[str, Any]) -> None:
    """The pieces of a long answer are joined once."""
    start: dict[str, Any] = {"type": "message_start", "message": {"id": "m"}}
    event = {"type": "content_block_delta", "delta": delta, "choices": [{"delta": delta}]}

    assert is_linear(lambda text: joined_events([start, *[event] * len(text)], native), "", "a")
