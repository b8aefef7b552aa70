"""Asking for one text until it is good: again, then the next summarizer, then the next."""

import msgspec
from msgspec import Struct

from foldline.history.history import History
from foldline.reduction.contract import cleaned, defects
from foldline.reduction.request import Flow, SummaryFailure, SummaryRequest
from foldline.reduction.state import HistoryReductionState


__all__ = ["ATTEMPTS", "Task", "Writing", "budget_for", "write"]


ATTEMPTS = 2
"""How often one summarizer is asked for one text."""

_LEAST_BUDGET = 64


class Task(Struct, frozen=True, kw_only=True):
    """A fold to make."""

    history: History
    """The full history."""

    base: HistoryReductionState | None
    """The active reduction, which the fold continues."""

    cut: int
    """The cut to move to."""

    leaving: int
    """The tokens of the messages that leave the view; a summary has to be smaller."""

    prompt: str
    """The instruction for summarizers."""

    summarizers: int
    """How many summarizers there are to ask, one after the other."""

    summary_budget: int
    """The tokens that one summary is asked to keep to."""

    window: int | None = None
    """The most tokens that a summarizer may be given to read at once; None is any number."""

    @property
    def start(self) -> int:
        """The index of the first message that is newly aged."""
        return 0 if self.base is None else self.base.summarized_up_to_index


class Writing(Struct, frozen=True, kw_only=True):
    """The text that was asked for, and what it cost."""

    text: str | None = None
    """The text; None if every summarizer failed."""

    tokens: int = 0
    """Its estimated tokens."""

    summarizer: int | None = None
    """The place in the chain of the summarizer that wrote it."""

    calls: int = 0
    """How often a summarizer was asked."""

    tokens_read: int = 0
    """The tokens that were given to read, over all calls."""

    failures: tuple[str, ...] = ()
    """What went wrong before: kinds of errors, and defects of texts."""


def budget_for(room: int, most: int, *, before: int = 0) -> int:
    """
    Return the tokens that a summary in place of *room* tokens may have.

    It may keep all of the summary *before* it and three quarters of what is new, so that a rolling
    summary does not shrink to the size of one span; never more than *most*, and always less than
    *room*.
    """
    wished = max(before + (room - before) * 3 // 4, _LEAST_BUDGET)
    return max(1, min(most, wished, room - 1))


def write(
    task: Task, request: SummaryRequest, *, room: int, source: int, before: int = 0
) -> Flow[Writing]:
    """
    Ask the summarizers of *task* in turn until one gives a text that keeps the contract.

    The second request to a summarizer lists what was wrong with its first text, or what it should do
    better if it gave none.

    Args:
        task: The fold that the text is for.
        request: What to ask.
        room: The tokens that the text replaces; it has to be smaller.
        before: Those of them that are a summary already.
        source: The tokens of everything that *request* gives to read.
    """
    request = msgspec.structs.replace(
        request, budget=budget_for(room, task.summary_budget, before=before)
    )
    calls = 0
    failures: tuple[str, ...] = ()
    for attempt in range(task.summarizers * ATTEMPTS):
        summarizer, repeated = divmod(attempt, ATTEMPTS)
        known = request.defects if repeated else ()
        request = msgspec.structs.replace(request, summarizer=summarizer, defects=known)
        calls += 1
        reply = yield request
        if isinstance(reply, SummaryFailure):
            failures += (reply.defect or reply.reason,)
            faults = (reply.defect,) if reply.defect else known
        else:
            text = cleaned(reply)
            tokens = task.history.counter.count(text)
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
