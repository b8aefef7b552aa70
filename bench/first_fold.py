"""
The first fold of a long history: from a list of dictionaries or messages to the view.

Goals: growth exponent at most 1.05 from 1,000 to 8,000 messages; at most 1.5 times the processor
time of LangChain's `trim_messages` (approximate tokens), measured in the same run by
`bench/peers/trim.py` in an environment of its own.
The bound holds for a `History`, which has hashed and counted each message when it was appended;
the other row starts from bare messages, all of which are hashed and counted first. A scripted
summarizer answers at once; the last row has the offline digest write, at the largest size.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from bench import measure, prepare, workload
from foldline import History, HistoryReducer, Message


SIZES = (1_000, 2_000, 4_000, 8_000)
ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / ".venv-peers" / "bin" / "python"


def run() -> dict[str, Any]:
    """Measure the first fold at all sizes, and the peer where its environment exists."""
    fold, build = [], []
    messages: list[Message] = []
    reducer = prepare.reducer_of()
    for size in SIZES:
        messages = [prepare.message_of(text) for text in workload.texts(size)]
        history = History(messages)

        def whole(messages: list[Message] = messages) -> int:
            reducer.reduce_sync(messages)
            return 1

        def kept(history: History = history) -> int:
            for _ in range(20):
                reducer.reduce_sync(history)
            return 20

        build.append(measure.rounds(whole))
        fold.append(measure.rounds(kept))
    digest = measure.rounds(lambda: _with_digest(messages), count=3)
    peer = _peer()
    return {
        "sizes": list(SIZES),
        "messages_ms": [seconds * 1e3 for seconds in build],
        "messages_exponent": measure.exponent(SIZES, build),
        "history_ms": [seconds * 1e3 for seconds in fold],
        "history_exponent": measure.exponent(SIZES, fold),
        "with_digest_ms": digest * 1e3,
        "trim_messages_ms": peer,
        "history_times_trim": peer and [f * 1e3 / p for f, p in zip(fold, peer, strict=True)],
        "messages_times_trim": peer and [b * 1e3 / p for b, p in zip(build, peer, strict=True)],
    }


def _with_digest(messages: list[Message]) -> int:
    HistoryReducer(prepare.CONFIG).reduce_sync(messages)
    return 1


def _peer() -> list[float] | None:
    if not PEERS.exists():
        return None
    environment = {"PATH": os.environ["PATH"], "LANGSMITH_TRACING": "false"}
    done = subprocess.run(
        [PEERS, "-m", "bench.peers.trim", *map(str, SIZES)],
        capture_output=True,
        check=True,
        cwd=ROOT,
        env=environment,
        text=True,
    )
    result: list[float] = json.loads(done.stdout)
    return result
