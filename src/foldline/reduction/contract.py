"""
What a summary has to be before it may replace anything.

Only facts that need no model are checked, by what is in a text and not by how it begins. A text that
is no summary as a whole is refused. A statement that names what its source does not have, or gives an
order, is left out, and the rest stays.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from foldline.reduction.orders import frames, imitates, is_order
from foldline.reduction.provenance import Source
from foldline.reduction.request import SummaryRequest
from foldline.reduction.sendable import cleaned
from foldline.reduction.shape import shape_defects
from foldline.reduction.speech import calls_tool, is_turn
from foldline.reduction.statements import kept, statements
from foldline.reduction.wishes import Wishes


__all__ = ["BUDGET_TOLERANCE", "Review", "reviewed"]


BUDGET_TOLERANCE = 1.25
"""
How many times its budget of tokens a text may have.

Summarizers are given a number, count differently from us, and cannot count well.
"""

# Who is wrong in more of what he says, and not once or twice, is not trusted for the rest. Good
# summaries lose one statement in thirty.
_MOST_BAD = 1 / 3
_SOME_BAD = 2
_MANY_BAD = (
    "{} of {} statements have names, numbers or dates that the conversation does not have, or give "
    "orders."
)
_HAS_WORD = re.compile(r"[^\W_]").search


class Review(Struct, frozen=True, kw_only=True):
    """A text without its bad statements, and what is wrong with it as a whole."""

    text: str
    tokens: int
    defects: tuple[str, ...] = ()
    """One sentence each, without text of the conversation; empty if the text may be used."""

    dropped: int = 0
    """How many statements were left out."""


def reviewed(
    text: str,
    request: SummaryRequest,
    *,
    count: Callable[[str], int],
    room: int,
    by_code: bool = False,
    merges: bool = False,
) -> Review:
    """
    Return what may be used of *text* as an answer to *request*, or why nothing may.

    Args:
        text: The answer.
        request: What was asked.
        count: Counts the tokens of a text.
        room: The tokens whose place *text* takes.
        by_code: Whether code wrote it: what it copied is neither dropped nor judged by its shape.
        merges: Whether code carries on what records in the earlier texts list.
    """
    text = cleaned(text)
    tokens = count(text)
    faults = tuple(_size_faults(text, request, tokens, room))
    # The rest reads the source: only a text that may be used is worth that.
    if faults or by_code:
        return Review(text=text, tokens=tokens, defects=faults)
    said = statements(text)
    bad = _unfounded(said, request) | Source(request).lacking(said)
    left = kept(text, bad.__contains__)
    faults = tuple(_kind_faults(text, left.text)) or tuple(
        shape_defects(text, request, merges=merges)
    )
    if not faults and (not left.text or left.dropped > max(_SOME_BAD, left.statements * _MOST_BAD)):
        faults = (_MANY_BAD.format(left.dropped, left.statements),)
    if faults:
        return Review(text=text, tokens=tokens, defects=faults)
    if left.dropped:
        return Review(text=left.text, tokens=count(left.text), dropped=left.dropped)
    return Review(text=text, tokens=tokens)


def _unfounded(said: Iterable[str], request: SummaryRequest) -> set[str]:
    """Return the orders among *said* that are not the user's, and wishes that only a tool told."""
    wishes = Wishes(request)

    def is_bad(line: str) -> bool:
        return (imitates(line) and not wishes.are_reported(line)) or (
            is_order(line) and not wishes.is_of_user(line)
        )

    # A sentence may go over several lines, each of which is read as one.
    return {
        one for one in said if any(map(is_bad, {one, *one.split("\n")})) or wishes.is_foreign(one)
    }


def _size_faults(text: str, request: SummaryRequest, tokens: int, room: int) -> Iterator[str]:
    if not _HAS_WORD(text):
        yield "The text is empty."
    elif tokens >= room:
        yield f"The text has {tokens} tokens; it has to be shorter than the {room} it replaces."
    elif tokens > request.budget * BUDGET_TOLERANCE:
        yield f"The text has {tokens} tokens; it has to keep to {request.budget}."


def _kind_faults(text: str, left: str) -> Iterator[str]:
    if calls_tool(text):
        yield "The text is a tool call, not a summary."
    if frames(text):
        yield "The text imitates the marks around a record or a turn."
    if is_turn(left):
        yield "The text continues the conversation instead of summarizing it."
