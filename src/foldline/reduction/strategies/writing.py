"""Asking for one text until it is good: again, then the next summarizer, then the next."""

import msgspec

from foldline.reduction.contract import cleaned, defects
from foldline.reduction.flow import Flow
from foldline.reduction.request import SummaryFailure, SummaryRequest
from foldline.reduction.strategies.draft import Task, Writing


__all__ = ["ATTEMPTS", "budget_for", "write"]


ATTEMPTS = 2
"""How often one summarizer is asked for one text."""

_LEAST_BUDGET = 64


def budget_for(room: int, most: int, *, before: int = 0) -> int:
    """
    Return the tokens that a summary in place of *room* tokens may have.

    It may hold on to all of the summary *before* it and to three quarters of what is new, so that
    a rolling summary does not shrink to the size of one span; never more than *most*, and always
    less than *room*.
    """
    wished = max(before + (room - before) * 3 // 4, _LEAST_BUDGET)
    return max(1, min(most, wished, room - 1))


def write(
    task: Task, request: SummaryRequest, *, room: int, source: int, before: int = 0
) -> Flow[Writing]:
    """
    Ask the summarizers of *task* in turn until one gives a text that keeps the contract.

    The second request to a summarizer lists what was wrong with its first text, or what it has to
    do better where it gave none.

    Args:
        task: The fold that the text is for.
        request: What to ask.
        room: The tokens whose place the text takes; it has to be smaller.
        before: Those of them that are a summary already.
        source: The tokens of everything that *request* gives to read.
    """
    counter = task.history.counter
    request = msgspec.structs.replace(
        request, budget=budget_for(room, task.summary_budget, before=before)
    )
    calls = 0
    failures: tuple[str, ...] = ()
    for summarizer in range(task.summarizers):
        request = msgspec.structs.replace(request, summarizer=summarizer, defects=())
        for _ in range(ATTEMPTS):
            calls += 1
            reply = yield request
            if isinstance(reply, SummaryFailure):
                failures += (reply.defect or reply.reason,)
                request = _told(request, reply)
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
                    failures=failures,
                )
            failures += faults
            request = msgspec.structs.replace(request, defects=faults)
    return Writing(calls=calls, tokens_read=calls * source, failures=failures)


def _told(request: SummaryRequest, failure: SummaryFailure) -> SummaryRequest:
    if not failure.defect:
        return request
    return msgspec.structs.replace(request, defects=(failure.defect,))
