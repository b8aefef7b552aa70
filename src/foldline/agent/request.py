"""What a caller says of a request beside its messages, and the sizes that follow."""

from collections.abc import Sequence
from math import ceil

from msgspec import Struct

from foldline.agent.recall import RECALL
from foldline.checks import expect, expect_whole
from foldline.errors import ConfigError
from foldline.history.codec import encode_json
from foldline.history.history import History
from foldline.history.messages import Message, Usage
from foldline.reduction.budget import Budget, budget_of, token_ratio
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.quotes import Pins
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.view import view_tokens


__all__ = ["FIXED_PARTS", "RequestFacts", "described", "parts_of"]


FIXED_PARTS = ("instructions", "tools", "system messages")
"""The parts of a request that no fold makes smaller."""

_NAMED_RECALL = f'"name":"{RECALL}"'


class RequestFacts(Struct, frozen=True, kw_only=True):
    """What a caller says of a request beside its messages."""

    reported: int
    """The tokens that the vendor counted for the last request; 0 if unknown."""

    instructions: str
    tools: Sequence[object]
    pins: Sequence[int | tuple[int, Message]] | None

    def budget(
        self,
        config: HistoryReductionConfig,
        window: int | None,
        history: History,
        state: HistoryReductionState | None,
    ) -> Budget:
        """Return what the next request of *history* may hold."""
        count = history.counter.count
        instructions = count(self.instructions)
        schemas = [encode_json(tool).decode() for tool in self.tools]
        tools = sum(map(count, schemas))
        ratio = 1.0
        if self.reported:
            ratio = token_ratio(
                reported=self.reported,
                estimated=instructions + tools + _sent_before(history, state),
                ceiling=budget_of(config, window=window).ceiling,
            )
        return budget_of(
            config,
            window=window,
            instructions=instructions,
            tools=tools,
            system=history.system_tokens,
            ratio=ratio,
            recall=any(_NAMED_RECALL in schema for schema in schemas),
        )

    def pinned(self, history: History) -> Pins | None:
        """Return the pins with their messages; those that are not in memory come with them."""
        if self.pins is None:
            return None
        found = [one if isinstance(one, tuple) else (one, None) for one in self.pins]
        for place, (at, _) in enumerate(found):
            expect_whole(f"pins[{place}]", at, 0)
            if at >= len(history):
                text = (
                    f"pins[{place}] must be below {len(history)}, the number of messages, got {at}"
                )
                raise ConfigError(text)
        return [(at, history[at] if message is None else message) for at, message in found]


def described(
    usage: Usage | int | None,
    instructions: str,
    tools: Sequence[object],
    pins: Sequence[int | tuple[int, Message]] | None,
) -> RequestFacts:
    """Return what a caller says of a request, checked."""
    expect("usage", usage, Usage | int | None)
    expect("instructions", instructions, str)
    expect("tools", tools, Sequence)
    expect("pins", pins, Sequence | None)
    return RequestFacts(
        reported=usage.input_tokens if isinstance(usage, Usage) else usage or 0,
        instructions=instructions,
        tools=tools,
        pins=pins,
    )


def _sent_before(history: History, state: HistoryReductionState | None) -> int:
    """Return the estimated tokens of the view to which the newest answer of *history* belongs."""
    end = len(history)
    while end > history.start and history[end - 1].role != "assistant":
        end -= 1
    while end > history.start and history[end - 1].role == "assistant":
        end -= 1
    if state is None:
        return history.system_tokens + history.tokens(0, end)
    # A fold after that request has changed the view since.
    return 0 if state.history_length > end else view_tokens(history, state) - history.tokens(end)


def parts_of(
    history: History, active: HistoryReductionState | None, budget: Budget
) -> dict[str, int]:
    """Return the sizes of the parts of a request, as the vendor counts them."""
    front = 0 if active is None else active.front_tokens
    parts = {
        "instructions": budget.instructions,
        "tools": budget.tools,
        "system messages": history.system_tokens,
        "summary and quotes": front,
        "messages": view_tokens(history, active) - history.system_tokens - front,
    }
    return {name: ceil(tokens * budget.ratio) for name, tokens in parts.items()}
