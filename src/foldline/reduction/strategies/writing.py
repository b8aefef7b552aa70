"""
Asking for one text until it is good: again, then the next summarizer, then the next.
"""

import msgspec

from foldline.history.tokens import TokenCounter
from foldline.reduction.contract import cleaned, defects, source_tokens
from foldline.reduction.flow import Flow
from foldline.reduction.request import SummaryFailure, SummaryRequest
from foldline.reduction.strategies.draft import Task, Writing


__all__ = ["ATTEMPTS", "budget_for", "write"]


ATTEMPTS = 2
"""How often one summarizer is asked for one text."""

_LEAST_BUDGET = 64


def budget_for(source: int, most: int) -> int:
    """
    Return the tokens that a summary of *source* tokens may have: half of them, within limits.
    """
    return max(1, min(most, max(source // 2, _LEAST_BUDGET), source - 1))


def write(task: Task, request: SummaryRequest) -> Flow[Writing]:
    """
    Ask the summarizers of *task* in turn until one gives a text that keeps the contract.

    The second request to a summarizer lists what was wrong with its first text.
    """
    counter = task.history.counter
    source = source_tokens(request, counter)
    request = msgspec.structs.replace(request, budget=budget_for(source, task.summary_budget))
    calls = 0
    for summarizer in range(task.summarizers):
        request = msgspec.structs.replace(request, summarizer=summarizer, defects=())
        for _ in range(ATTEMPTS):
            calls += 1
            reply = yield request
            text, faults = _judged(reply, request, counter)
            if text is not None:
                return Writing(
                    text=text,
                    tokens=counter.count(text),
                    summarizer=summarizer,
                    calls=calls,
                    tokens_read=calls * source,
                )
            request = msgspec.structs.replace(request, defects=faults)
    return Writing(calls=calls, tokens_read=calls * source)


def _judged(
    reply: str | SummaryFailure, request: SummaryRequest, counter: TokenCounter
) -> tuple[str | None, tuple[str, ...]]:
    if isinstance(reply, SummaryFailure):
        return None, ()
    text = cleaned(reply)
    faults = defects(text, request, counter)
    return (None if faults else text), faults
