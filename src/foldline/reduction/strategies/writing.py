"""
Asking for one text until it is good: again, then the next summarizer, then the next.
"""

import msgspec

from foldline.reduction.contract import cleaned, defects
from foldline.reduction.flow import Flow
from foldline.reduction.request import SummaryFailure, SummaryRequest
from foldline.reduction.strategies.draft import Task, Writing


__all__ = ["ATTEMPTS", "budget_for", "write"]


ATTEMPTS = 2
"""How often one summarizer is asked for one text."""

_LEAST_BUDGET = 64


def budget_for(room: int, most: int) -> int:
    """
    Return the tokens that a summary in place of *room* tokens may have: half of them, in limits.
    """
    return max(1, min(most, max(room // 2, _LEAST_BUDGET), room - 1))


def write(task: Task, request: SummaryRequest, room: int, source: int) -> Flow[Writing]:
    """
    Ask the summarizers of *task* in turn until one gives a text that keeps the contract.

    The second request to a summarizer lists what was wrong with its first text.

    Args:
        task: The fold that the text is for.
        request: What to ask.
        room: The tokens whose place the text takes; it has to be smaller.
        source: The tokens of everything that *request* gives to read.
    """
    counter = task.history.counter
    request = msgspec.structs.replace(request, budget=budget_for(room, task.summary_budget))
    calls = 0
    for summarizer in range(task.summarizers):
        request = msgspec.structs.replace(request, summarizer=summarizer, defects=())
        for _ in range(ATTEMPTS):
            calls += 1
            reply = yield request
            if isinstance(reply, SummaryFailure):
                continue
            text = cleaned(reply)
            tokens = counter.count(text)
            faults = defects(text, request, tokens=tokens, room=room)
            if not faults:
                return Writing(
                    text=text,
                    tokens=tokens,
                    summarizer=summarizer,
                    calls=calls,
                    tokens_read=calls * source,
                )
            request = msgspec.structs.replace(request, defects=faults)
    return Writing(calls=calls, tokens_read=calls * source)
