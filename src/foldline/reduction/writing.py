"""One text of a fold: the summarizers are asked in turn until one keeps the contract."""

from collections.abc import Callable
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from foldline.reduction.budget import budget_for
from foldline.reduction.contract import BUDGET_TOLERANCE, Review, reviewed
from foldline.reduction.delta import has_headings, merged
from foldline.reduction.request import (
    Flow,
    Remembered,
    SummaryFailure,
    SummaryRequest,
    Written,
    aside,
)


ATTEMPTS = 2
"""How often one summarizer is asked for one text."""


class Writing(Struct, frozen=True, kw_only=True):
    """The text that was asked for, None if every summarizer failed, and what it cost."""

    text: str | None = None
    tokens: int = 0

    summarizer: int | None = None
    """The place in the chain of the summarizer that wrote it."""

    calls: int = 0
    """How often a summarizer was asked, the offline digest included."""

    tokens_read: int = 0
    """The tokens that were given to read, over all calls."""

    failures: tuple[str, ...] = ()
    """What went wrong: kinds of errors, and defects of texts."""

    dropped: int = 0
    """How many statements of accepted texts were left out, for what they say was never said."""


def added(total: Writing, writing: Writing) -> Writing:
    """Return *writing* with what *total* has cost before it."""
    one, other = total.summarizer, writing.summarizer
    return replace(
        writing,
        calls=total.calls + writing.calls,
        tokens_read=total.tokens_read + writing.tokens_read,
        failures=total.failures + writing.failures,
        dropped=total.dropped + writing.dropped,
        summarizer=other if one is None or other is None else max(one, other),
    )


def write(
    request: SummaryRequest,
    *,
    count: Callable[[str], int],
    places: range,
    rooms: tuple[int, int],
    source: int,
    before: int = 0,
    by_code: frozenset[int] = frozenset(),
) -> Flow[Writing]:
    """
    Ask the summarizers in turn until one gives a text that keeps the contract.

    Args:
        request: What to ask; the second one to a summarizer lists what was wrong with its reply.
        count: Counts the tokens of a text.
        places: The places of those that are asked.
        rooms: The tokens that a model's text replaces, and that of code; it has to be smaller.
        before: Those of them that are a summary already.
        source: The tokens of everything that *request* gives to read.
        by_code: The places of those that are code.
    """
    budgets = [budget_for(one, request.budget, before=before) for one in rooms]
    request, calls, attempt = replace(request, source=source), 0, places.start * ATTEMPTS
    failures: tuple[str, ...] = ()
    while attempt < places.stop * ATTEMPTS:
        summarizer, repeated = divmod(attempt, ATTEMPTS)
        known = request.defects if repeated else ()
        is_code = summarizer in by_code
        budget = budgets[is_code]
        request = replace(request, summarizer=summarizer, defects=known, budget=budget)
        reply = yield request
        if isinstance(reply, SummaryFailure) and not reply.was_asked:
            failures += (reply.reason,)
            attempt = (summarizer + 1) * ATTEMPTS
            continue
        attempt, calls = attempt + 1, calls + (not isinstance(reply, Remembered))
        if isinstance(reply, SummaryFailure):
            failures += (reply.defect or reply.reason,)
            faults = (reply.defect,) if reply.defect else known
        else:
            review = yield from _review(reply, request, count, rooms[is_code], by_code=is_code)
            faults = review.defects
            if not faults:
                cost = Writing(calls=calls, tokens_read=calls * source, failures=failures)
                return _with_text(cost, review, summarizer)
            failures += faults
        request = replace(request, defects=faults)
    return Writing(calls=calls, tokens_read=calls * source, failures=failures)


def _review(
    reply: str | Written | Remembered,
    request: SummaryRequest,
    count: Callable[[str], int],
    room: int,
    *,
    by_code: bool,
) -> Flow[Review]:
    reviewing = partial(_reviewed, reply, request, count, room, by_code=by_code)
    # Of what code wrote only the size is looked at.
    return reviewing() if by_code else (yield from aside(reviewing))


def _reviewed(
    reply: str | Written | Remembered,
    request: SummaryRequest,
    count: Callable[[str], int],
    room: int,
    *,
    by_code: bool,
) -> Review:
    reply = reply.reply if isinstance(reply, Remembered) else reply
    if isinstance(reply, str):
        return reviewed(reply, request, count=count, room=room, by_code=by_code)
    asked = request.but(budget=reply.budget)
    merges = has_headings(reply.text)
    review = reviewed(reply.text, asked, count=count, room=room, merges=merges)
    if review.defects:
        return review
    most = min(int(request.budget * BUDGET_TOLERANCE), room - 1)
    text = merged(reply.record, review.text, request, count=count, most=most)
    tokens = count(text)
    if tokens >= room:
        # A record that has no room leaves the text alone, which has to carry everything then.
        return reviewed(reply.text, asked, count=count, room=room)
    return replace(review, text=text, tokens=tokens)


def _with_text(cost: Writing, review: Review, summarizer: int) -> Writing:
    return replace(
        cost, text=review.text, tokens=review.tokens, summarizer=summarizer, dropped=review.dropped
    )
