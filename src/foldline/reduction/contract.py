"""
What a summary has to be before it may replace anything.

Only facts that need no model are checked. A text that is no summary as a whole is refused; a
statement that names what its source does not have is left out, and the rest stays.
"""

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from foldline.reduction.provenance import Source
from foldline.reduction.request import SummaryRequest
from foldline.reduction.statements import kept


__all__ = ["BUDGET_TOLERANCE", "Review", "cleaned", "reviewed", "sendable"]


BUDGET_TOLERANCE = 1.25
"""
How many times its budget of tokens a text may have.

Summarizers are given a number, count differently from us, and cannot count well.
"""

# A text with more bad statements than this is not trusted for the others.
_MOST_BAD = 1 / 3

_TOOL_CALL = re.compile(
    r"\s*(?:<tool_call|<function_call|<invoke|\{\s*\"(?:name|tool|function|tool_calls)\")"
).match

# How an assistant begins to answer, or to refuse, and how it ends.
_ANSWER = re.compile(
    r"\s*(?:sure|certainly|absolutely|of course|great question|hello|hi there"
    r"|(?:i['’]?m|i am) (?:so |very )?sorry|sorry|my apologies|i apologi[sz]e"
    r"|i (?:can(?:no|['’])t|am unable to|['’]m unable to) (?:help|assist|summari[sz]e)"
    r"|as an ai)\b(?=\s*[,.!:;–—-]|\s+(?:but|i|here|for|about|that|this|with|language|model)\b)",
    re.IGNORECASE,
).match
_OFFER = re.compile(
    r"(?:(?:would|do|did|can|could|will) you (?:like|want|need|prefer|have|please|tell)"
    r"|(?:how|what) (?:else )?(?:can|may|should) i (?:help|assist|do)"
    r"|(?:anything|something) else (?:i can|you)|what would you like|shall i\b)[^.!?\n]{0,200}\?\W*+$"
    r"|let me know if [^.!?\n]{0,120}+[.!]?\W*+$",
    re.IGNORECASE,
)


class Review(Struct, frozen=True, kw_only=True):
    """A text without its bad statements, and what is wrong with it as a whole."""

    text: str
    tokens: int
    defects: tuple[str, ...] = ()
    """One sentence each, without text of the conversation; empty if the text may be used."""

    dropped: int = 0
    """How many statements were left out."""


def sendable(text: str) -> str:
    """Return *text* without what no request can carry: NUL and lone surrogates."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def cleaned(text: str) -> str:
    """Return *text* as it is sent, without space around it."""
    return sendable(text).strip()


def reviewed(
    text: str,
    request: SummaryRequest,
    *,
    count: Callable[[str], int],
    room: int,
    by_code: bool = False,
) -> Review:
    """
    Return what may be used of *text* as an answer to *request*, or why nothing may.

    Args:
        text: The answer.
        request: What was asked.
        count: Counts the tokens of a text.
        room: The tokens whose place *text* takes.
        by_code: Whether code wrote it: what it copied is neither dropped nor judged by its shape.
    """
    text = cleaned(text)
    tokens = count(text)
    faults = tuple(_faults(text, request, tokens, room, by_code=by_code))
    if faults or by_code:
        return Review(text=text, tokens=tokens, defects=faults)
    # Each name is searched for: only a text that may be used, so has not too many, is worth that.
    left = kept(text, Source(request).invented)
    if not left.dropped:
        return Review(text=text, tokens=tokens)
    if left.dropped > left.statements * _MOST_BAD:
        fault = (
            f"{left.dropped} of {left.statements} statements have names, numbers or dates that the "
            "conversation does not have."
        )
        return Review(text=text, tokens=tokens, defects=(fault,))
    return Review(text=left.text, tokens=count(left.text), dropped=left.dropped)


def _faults(
    text: str, request: SummaryRequest, tokens: int, room: int, *, by_code: bool
) -> Iterator[str]:
    if not text.strip():
        yield "The text is empty."
        return
    if not by_code:
        if _TOOL_CALL(text):
            yield "The text is a tool call, not a summary."
        if _is_answer(text):
            yield "The text continues the conversation instead of summarizing it."
    if tokens >= room:
        yield f"The text has {tokens} tokens; it has to be shorter than the {room} it replaces."
    elif tokens > request.budget * BUDGET_TOLERANCE:
        yield f"The text has {tokens} tokens; it has to keep to {request.budget}."


def _is_answer(text: str) -> bool:
    """
    Whether *text* answers the user, as an assistant would.

    Only plain openings and closings in English are recognized; quoted lines of a list are not.
    """
    last = text.rstrip().rpartition("\n")[2].lstrip()
    is_listed = last.startswith(("-", "*", "#", ">", "|"))
    return bool(_ANSWER(text)) or (not is_listed and bool(_OFFER.search(last)))
