"""
What a held message costs beside its text, in a fresh process.

Goal: at most 250 bytes, in a plain list and in a `History` with its digests and counts, for a
conversation of text and for one with calls of tools. The strings of the caller are there before and
not counted; `anthropic` has text in blocks of its own, which are kept beside the parts as they came.
"""

import gc
import json
import tracemalloc
from collections.abc import Callable, Iterable
from typing import Any

from bench import measure, plain_lists
from foldline import History, Message
from foldline.formats import from_anthropic, from_openai_chat


COUNT = 20_000
READERS: dict[str, Callable[[object], tuple[Message, ...]]] = {
    "text": from_openai_chat,
    "tools": from_openai_chat,
    "anthropic": from_anthropic,
}


def _bytes(make: Callable[[], Iterable[Message]]) -> float:
    gc.collect()
    tracemalloc.start()
    held = make()
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del held
    return size / COUNT


def _tracked(make: Callable[[], Iterable[Message]]) -> float:
    gc.collect()
    before = len(gc.get_objects())
    held = make()
    gc.collect()
    count = len(gc.get_objects()) - before
    del held
    return count / COUNT


def figures() -> dict[str, Any]:
    """Measure lists of messages and histories of them, here."""
    found: dict[str, Any] = {"messages": COUNT}
    for name, read in READERS.items():
        items = plain_lists.KINDS[name](COUNT)
        for place, kind in (("list", list[Message]), ("history", History)):

            def make(
                kind: Callable[[Iterable[Message]], Iterable[Message]] = kind,
                read: Callable[[object], tuple[Message, ...]] = read,
                items: object = items,
            ) -> Iterable[Message]:
                return kind(read(items))

            found[f"{name}_{place}_bytes"] = _bytes(make)
            found[f"{name}_{place}_gc_objects"] = _tracked(make)
    return found


def run() -> dict[str, Any]:
    """Measure in a process that has held nothing before."""
    return measure.apart("bench.memory")


def goals(figures: dict[str, Any]) -> list[tuple[str, float, float]]:
    """Return each goal: what, the figure, and the most it may be."""
    return [
        (
            f"a message in {held} ({name}), bytes beside its text",
            figures[f"{name}_{place}_bytes"],
            250,
        )
        for name in ("text", "tools")
        for place, held in (("list", "a list"), ("history", "a History"))
    ]


if __name__ == "__main__":
    print(json.dumps(figures()))
