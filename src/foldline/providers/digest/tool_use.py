"""A call of a tool as extractors see it, and what they read from it."""

import re
from collections import deque
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from msgspec import Struct

from foldline.providers.digest.failures import failure_of
from foldline.providers.digest.span import Argument, Result, Span
from foldline.reduction.record import Artefact


READS = frozenset({"read", "view", "open", "cat", "show", "get", "load", "goto"})
"""Verbs of tools that show something."""

# Tools that look or talk, whatever else their name says, except those that replace or apply.
_LOOKING = r"search|find|grep|list|diff|history|validate|check|review|comment|http|fetch|request"
_LOOKS = frozenset({*_LOOKING.split("|"), "send"})
LOOKS_FIRST = re.compile(_LOOKING, re.IGNORECASE).match
"""Matches the name of a tool that looks or talks first of all."""

_CHANGES = frozenset({"replace", "apply"})


class ToolUse(Struct, frozen=True, kw_only=True):
    """One call of a tool, and what it answered; the result is empty if there was none."""

    position: int
    """The place of its message among those of the fold, from 0."""

    name: str
    """The name of the tool; empty for a result without its call."""

    arguments: tuple[Argument, ...]
    """The values of its arguments as text, each with the name that it stands under."""

    result: str = ""
    """What it answered, as text; empty if it has not yet."""

    failure: str = ""
    """The line in which the result says that the call failed; empty if it did not."""

    def argument(self, *labels: str) -> str:
        """Return the first value that one of *labels* names; empty without one."""
        return next((one.value for one in self.arguments if one.label in labels), "")


class Facts(Struct, frozen=True, kw_only=True):
    """What one call shows: each of them one line without breaks, or less."""

    files: tuple[Artefact, ...] = ()
    """The files that it worked on, and what it did to each."""

    commits: tuple[str, ...] = ()
    """The commits that it made: the hash and the subject of each."""

    open_tasks: tuple[str, ...] = ()
    """The tasks that are to be done."""

    done_tasks: tuple[str, ...] = ()
    """The tasks that are done."""

    has_tasks: bool = False
    """Whether the two lists of tasks take the place of the ones before."""
    values: tuple[tuple[str, str], ...] = ()
    """Names and the value that each of them has from now on."""
    result: str | None = None
    """What the answer says, in one line; None for the beginning of it."""


Extractor: TypeAlias = Callable[[ToolUse], Facts | None]
"""Reads the facts of a call; None if it does not know the schema."""


def is_looking(name: str, words: AbstractSet[str]) -> bool:
    """Whether the tool *name*, put together of *words*, looks or talks and changes nothing."""
    looks = LOOKS_FIRST(name) is not None or not words.isdisjoint(_LOOKS)
    return looks and words.isdisjoint(_CHANGES)


def uses_of(span: Span) -> list[ToolUse]:
    """Return the calls of *span* in order, each with its result; a result alone has no name."""
    results: dict[str, deque[Result]] = {}
    for result in span.results:
        results.setdefault(result.id, deque()).append(result)
    alone: list[Result] = []
    uses: list[ToolUse] = []
    none: deque[Result] = deque()
    for call in span.calls:
        # An id may come again: a result answers the last call with its id before it.
        answers = results.get(call.id, none) if call.id else none
        while answers and answers[0].position < call.position:
            alone.append(answers.popleft())
        uses.append(_use(call.position, call.name, call.arguments, answers))
    alone.extend(result for answers in results.values() for result in answers)
    uses.extend(_use(one.position, "", (), deque([one])) for one in alone)
    return sorted(uses, key=lambda use: use.position)


def _use(
    position: int, name: str, arguments: tuple[Argument, ...], answers: deque[Result]
) -> ToolUse:
    found = answers.popleft() if answers else None
    return ToolUse(
        position=position,
        name=name,
        arguments=arguments,
        result=found.text if found else "",
        failure=failure_of(found.text, is_marked=found.is_error) if found else "",
    )
