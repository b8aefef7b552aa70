"""
LangChain on the lists of the bench: `python -m bench.peers.langchain_lists`.

Runs in an environment of its own (`bench/peers/requirements.txt`) and is asked line by line. It is
given its own message objects, made beforehand: only `trim_dictionaries` starts from what we start from.
"""

import gc
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
from bench.peers.timed import timed


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
        # What it leaves behind is no part of what comes next.
        gc.collect()

    def hit(self, times: int) -> float:
        """Return the seconds of one call before the model that summarizes nothing."""
        state = {"messages": self._messages}
        return timed(lambda: self._middleware.before_model(state, None), times=times)[0]

    def trim(self, times: int) -> float:
        """Return the seconds of one `trim_messages`."""
        return timed(lambda: self._trim(self._messages), times=times)[0]

    def trim_dictionaries(self, times: int) -> float:
        """Return the seconds of one `trim_messages` of dictionaries."""
        return timed(lambda: self._trim(self._items), times=times)[0]


if __name__ == "__main__":
    measure.pin()
    serve(Lists())
