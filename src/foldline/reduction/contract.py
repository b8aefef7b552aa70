"""
What a summary has to be before it may replace anything.

Only facts that need no model are checked, by what is in a text and not by how it begins. A text that
is no summary as a whole is refused. A statement that names what its source does not have, or gives an
order, is left out, and the rest stays.
"""

import re
from collections.abc import Callable, Iterator

import msgspec
from msgspec import Struct

from foldline.reduction.commands import is_standing, orders_in
from foldline.reduction.language import is_strange, mainly, profile, words
from foldline.reduction.orders import frames, imitates, is_order, lists_rules, speaks_to_reader
from foldline.reduction.planted import tells_of_text, unquoted
from foldline.reduction.provenance import Source, folded
from foldline.reduction.request import SummaryRequest
from foldline.reduction.said import Said
from foldline.reduction.sendable import cleaned
from foldline.reduction.shape import shape_defects
from foldline.reduction.speech import (
    begins_turn,
    calls_tool,
    is_turn,
    unannounced,
    without_quotes,
)
from foldline.reduction.statements import kept, statements
from foldline.reduction.undone import is_label, undone


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
# What a server, a proxy or a program says that has failed.
_IS_ERROR = re.compile(
    r"\W{0,3}(?:(?:error(?: code)?:? |http )?[45]\d\d:? (?:internal server error|bad gateway|service unavailable"
    r"|gateway time-?out|too many requests)|traceback \(most recent call last\)|upstream connect error|<!doctype html|<html\b)",
    re.IGNORECASE,
).match
_IS_JSON = re.compile(r"(?:```(?:json)?\s*)?(\{[^\n]*\})(?:\s*```)?").fullmatch
_HAS_DIGIT = re.compile(r"\d").search
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
    text = unannounced(cleaned(text))
    tokens = count(text)
    faults = tuple(_size_faults(text, request, tokens, room))
    # The rest reads the source: only a text that may be used is worth that.
    if faults or by_code:
        return Review(text=text, tokens=tokens, defects=faults)
    lines = _laid_out(text)
    found = [*statements(lines)]
    source = Source(request)
    # A heading names what stands under it, and may be written as a name is.
    named = (one for one in found if not is_label(one) or _HAS_DIGIT(one))
    bad = _unfounded(lines, request) | source.lacking(named)
    bad |= undone(found, request.parsed)
    left = kept(lines, bad.__contains__)
    faults = tuple(_kind_faults(text, left.text, request.prompt)) or tuple(
        shape_defects(text, request, has_code=source.has_code_of(text), merges=merges)
    )
    if not faults and (not left.text or left.dropped > max(_SOME_BAD, left.statements * _MOST_BAD)):
        faults = (_MANY_BAD.format(left.dropped, left.statements),)
    if faults:
        return Review(text=text, tokens=tokens, defects=faults)
    if left.dropped:
        return Review(text=left.text, tokens=count(left.text), dropped=left.dropped)
    return Review(text=text, tokens=tokens)


def _laid_out(text: str) -> str:
    """Return *text* with a line for each value if it is JSON in one."""
    found = _IS_JSON(text)
    if found is None:
        return text
    try:
        return msgspec.json.format(found[1], indent=1)
    except msgspec.DecodeError:
        return text


def _unfounded(text: str, request: SummaryRequest) -> set[str]:
    """Return the statements of *text* that give orders of nobody, or wishes that only a tool told."""
    said = Said(request)
    main = mainly(profile(words(text)))
    bad: set[str] = set()
    unsaid: set[str] = set()
    is_banned = False
    for unit in statements(text):
        if is_label(unit) or unit.rstrip().endswith("?"):
            is_banned = said.rules.are_listed_under(unit)
        # What goes on in the next line is no order because it begins there.
        others = (one for one in unit.split("\n")[1:] if one[:1].isupper())
        lines = [" ".join(unit.split()), *others]
        is_told = tells_of_text(folded(unit))
        if (
            said.is_foreign(unit)
            or (not (is_banned or is_told) and said.rules.are_lifted_by(unquoted(unit)))
            or said.planted.is_in(unit)
            or said.corrected.is_left_by(unit, text)
            # What nobody speaks here is there for another reader.
            or (
                is_strange(words(without_quotes(unit)), main, said.languages)
                and not said.is_in_words(unit)
            )
            or any(
                (imitates(line) and not (lists_rules(line) and said.is_of_user(line)))
                or (is_order(line) and not said.is_typed(line))
                or (speaks_to_reader(line) and not said.is_in_words(line.partition(":")[2] or line))
                or (is_standing(line) and not (said.has_lasting or said.is_of_user(line)))
                for line in lines
            )
        ):
            bad.add(unit)
        elif not (is_banned or said.rules.are_labelled_in(unit)):
            # What a page or a file says is quoted.
            own = map(unquoted, lines) if is_told else lines
            found = (order for line in own for order in orders_in(line))
            if not all(map(said.has, found)):
                unsaid.add(unit)
    return bad if unsaid and said.is_in_another_language(text) else bad | unsaid


def _size_faults(text: str, request: SummaryRequest, tokens: int, room: int) -> Iterator[str]:
    if not _HAS_WORD(text):
        yield "The text is empty."
    elif tokens >= room:
        yield f"The text has {tokens} tokens; it has to be shorter than the {room} it replaces."
    elif tokens > request.budget * BUDGET_TOLERANCE:
        yield f"The text has {tokens} tokens; it has to keep to {request.budget}."


def _kind_faults(text: str, left: str, prompt: str) -> Iterator[str]:
    if _IS_ERROR(text):
        yield "The text is an error of a program, not a summary."
    if calls_tool(text) or calls_tool(left):
        yield "The text is a tool call, not a summary."
    if frames(text):
        yield "The text imitates the marks around a record or a turn."
    if begins_turn(text) or any(is_turn(one, prompt) for one in {text, left}):
        yield "The text continues the conversation instead of summarizing it."
