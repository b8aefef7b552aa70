"""
LangChain on the lists of the bench: `python -m bench.peers.langchain_lists`.

Runs in an environment of its own (`bench/peers/requirements.txt`) and is asked line by line. It is
given its own message objects, made beforehand: only `trim_dictionaries` starts from what we start from.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from langchain.agents.middleware import (  # type: ignore[import-not-found]
    SummarizationMiddleware,
)
from langchain_core.language_models import (  # type: ignore[import-not-found]
    FakeListChatModel,
)
from langchain_core.messages import (  # type: ignore[import-not-found]
    convert_to_messages,
    trim_messages,
)

from bench import measure, plain_lists
from bench.peers.child import serve


_NEVER = 1 << 40


class Lists:
    """One list at a time, in LangChain's form and in ours."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        never = ("tokens", _NEVER)
        model = FakeListChatModel(responses=[""])
        self._middleware = SummarizationMiddleware(model, trigger=never, keep=("messages", 20))
        self._items: list[dict[str, Any]] = []
        self._messages: list[Any] = []
        self._trim = partial(
            trim_messages,
            max_tokens=2_500,
            token_counter="approximate",
            strategy="last",
            start_on="human",
            include_system=True,
        )

    def load(self, kind: str, size: int) -> None:
        """Take the list of *kind* with *size* items."""
        self._items = plain_lists.KINDS[kind](size)
        self._messages = convert_to_messages(self._items)

    def hit(self, times: int) -> float:
        """Return the seconds of one call before the model that summarizes nothing."""
        return _seconds(
            lambda: self._middleware.before_model({"messages": self._messages}, None), times
        )

    def trim(self, times: int) -> float:
        """Return the seconds of one `trim_messages`."""
        return _seconds(lambda: self._trim(self._messages), times)

    def trim_dictionaries(self, times: int) -> float:
        """Return the seconds of one `trim_messages` of dictionaries."""
        return _seconds(lambda: self._trim(self._items), times)


def _seconds(work: Callable[[], object], times: int) -> float:
    started = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - started) / times


if __name__ == "__main__":
    measure.pin()
    lists = Lists()
    serve(
        {
            "load": lists.load,
            "hit": lists.hit,
            "trim": lists.trim,
            "trim_dictionaries": lists.trim_dictionaries,
        }
    )
