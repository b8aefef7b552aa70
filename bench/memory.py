"""
What a held message costs beside its text.

Goal: at most 250 bytes, in a plain list and in a `History` with its digests and counts.
"""

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

from bench import prepare, workload
from foldline import History


COUNT = 20_000


def _bytes(make: Callable[[list[prepare.Text]], object], texts: list[prepare.Text]) -> float:
    gc.collect()
    tracemalloc.start()
    held = make(texts)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del held
    return size / COUNT


def _tracked(make: Callable[[list[prepare.Text]], object], texts: list[prepare.Text]) -> float:
    gc.collect()
    before = len(gc.get_objects())
    held = make(texts)
    gc.collect()
    count = len(gc.get_objects()) - before
    del held
    return count / COUNT


def run() -> dict[str, Any]:
    """Measure a list of messages and a history of them."""
    texts = workload.texts(COUNT)

    def plain(texts: list[prepare.Text]) -> object:
        return [prepare.message_of(text) for text in texts]

    def history(texts: list[prepare.Text]) -> object:
        return History(map(prepare.message_of, texts))

    return {
        "messages": COUNT,
        "list_bytes": _bytes(plain, texts),
        "history_bytes": _bytes(history, texts),
        "list_gc_objects": _tracked(plain, texts),
        "history_gc_objects": _tracked(history, texts),
    }
