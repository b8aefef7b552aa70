"""
A strategy as a generator, and the two drivers that run one.

A strategy yields `SummaryRequest`s, is sent the texts, and returns its result; it knows no model
and no event loop. A driver asks whoever writes summaries. It sends in a `SummaryFailure` where
that failed, so that what follows a failure is decided in one place, the strategy.
"""

from collections.abc import Awaitable, Callable, Generator
from typing import TypeAlias, TypeVar

from foldline.reduction.request import SummaryFailure, SummaryRequest


__all__ = ["Flow", "Reply", "run_flow", "run_flow_async"]


_Result = TypeVar("_Result")

Reply: TypeAlias = str | SummaryFailure
"""What is sent into a strategy: a text, or that there is none."""

Flow: TypeAlias = Generator[SummaryRequest, Reply, _Result]
"""A strategy at work."""


def run_flow(flow: Flow[_Result], ask: Callable[[SummaryRequest], Reply]) -> _Result:
    """Run *flow* to its end, calling *ask* for each text, and return its result."""
    try:
        request = next(flow)
        while True:
            request = flow.send(ask(request))
    except StopIteration as end:
        result: _Result = end.value
        return result


async def run_flow_async(
    flow: Flow[_Result], ask: Callable[[SummaryRequest], Awaitable[Reply]]
) -> _Result:
    """Run *flow* to its end, awaiting *ask* for each text, and return its result."""
    try:
        request = next(flow)
        while True:
            request = flow.send(await ask(request))
    except StopIteration as end:
        result: _Result = end.value
        return result
