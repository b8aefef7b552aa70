"""No input makes reading slower than in proportion to its size."""

import gzip
import json
from collections.abc import Callable
from contextlib import suppress
from time import process_time
from typing import Any

import pytest

from foldline.errors import FormatError
from foldline.history.formats.responses import joined_events
from foldline.history.messages import NativeFormat
from foldline.logs import read_sessions


HI = {"role": "user", "content": "Hi."}
LIMIT = 2.5
"""Linear work gives 1, quadratic work 4."""


def lines(*values: Any) -> bytes:
    """Return *values* as JSON lines."""
    return "\n".join(map(json.dumps, values)).encode()


def claude(uuid: Any, parent: Any, **fields: Any) -> dict[str, Any]:
    """Return a line of Claude Code's log."""
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


INPUTS: dict[str, tuple[int, Callable[[int], bytes]]] = {
    "gzip members": (4_000, lambda n: gzip.compress(b" ") * n + gzip.compress(lines(HI))),
    "escapes": (100_000, lambda n: b'{"a": "' + b'\\"' * n),
    "NUL bytes": (500_000, lambda n: b"\x00 \n" * n),
    "blank lines": (200_000, lambda n: lines(HI) + b"\n" * n + lines(HI)),
    "aider headings": (2_000, lambda n: b"# aider chat started at \nx\n" * n),
    "aider heading in one line": (50_000, lambda n: b"# aider chat started at " * n),
    "aider marks": (4_000, lambda n: b"# aider chat started at \n" + b"#### x\n> y\n" * n),
    "claude pieces": (250, pieces),
    "claude restarts": (400, restarts),
    "codex counts": (1_000, codex),
    "chat without ids": (250, lambda n: lines(*[HI, {"role": "tool", "content": "x"}] * n)),
    "equal ids": (500, lambda n: lines(*[{"id": "a", "messages": [HI]}] * n)),
    "equal bodies": (500, lambda n: lines(*[{"model": "m", "messages": [HI]}] * n)),
}


def slowdown(run: Callable[[int], object], n: int) -> float:
    """Return how many times the CPU time of four runs of *n* one of four times *n* takes."""
    small: list[float] = []
    large: list[float] = []
    for _ in range(3):
        for sizes, times in (([n] * 4, small), ([4 * n], large)):
            start = process_time()
            for size in sizes:
                run(size)
            times.append(process_time() - start)
    return min(large) / min(small)


def is_linear(run: Callable[[int], object], n: int) -> bool:
    """Whether one of three tries is fast enough: a busy machine makes some of them slow."""
    return any(slowdown(run, n) < LIMIT for _ in range(3))


@pytest.mark.parametrize(("n", "make"), INPUTS.values(), ids=INPUTS)
def test_reading_is_linear(n: int, make: Callable[[int], bytes]) -> None:
    """Four times as many of an input's own literals take about four times as long to read."""
    inputs = {size: make(size) for size in (n, 4 * n)}

    def read(size: int) -> None:
        with suppress(FormatError):
            read_sessions(inputs[size])

    assert is_linear(read, n)


@pytest.mark.parametrize(
    ("native", "delta", "n"),
    [
        (NativeFormat.ANTHROPIC, {"text": "x" * 1_000}, 1_000),
        (NativeFormat.ANTHROPIC, {"citation": {}}, 4_000),
        (NativeFormat.OPENAI_CHAT, {"content": "x" * 1_000}, 1_000),
        (NativeFormat.OPENAI_CHAT, {"tool_calls": [{"function": {"name": "x" * 1_000}}]}, 1_000),
    ],
)
def test_joining_a_stream_is_linear(native: NativeFormat, delta: dict[str, Any], n: int) -> None:
    """The pieces of a long answer are joined once."""
    start: dict[str, Any] = {"type": "message_start", "message": {"id": "m"}}
    event: dict[str, Any] = {
        "type": "content_block_delta",
        "delta": delta,
        "choices": [{"delta": delta}],
    }
    events: dict[int, list[dict[str, Any]]] = {
        size: [start, *[event] * size] for size in (n, 4 * n)
    }

    assert is_linear(lambda size: joined_events(events[size], native), n)
