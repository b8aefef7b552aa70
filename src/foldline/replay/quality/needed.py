"""
What later calls needed, and which views still had it.

A value is needed if it is an identifier in the arguments of a call and stands as a whole word in an
earlier message. It is old if its last mention is folded away. All figures are upper bounds: a value
that is there need not be used.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from foldline.replay.quality.identifiers import Pattern, identifiers, wants
from foldline.replay.quality.moments import Moment, Transcript
from foldline.replay.quality.ways import Ways
from foldline.replay.tape import Tape


__all__ = ["Need", "needed_later"]


class Need(Struct, frozen=True, kw_only=True):
    """A value that a call needed."""

    value: str

    call: int
    """Which call, by the number of messages before it."""

    age: int
    """The tokens since its last mention."""

    is_old: bool
    """Whether its last mention is folded away."""

    kept: frozenset[str]
    """The ways whose views have it."""


def needed_later(
    tape: Tape,
    seen: Iterable[Moment],
    *,
    pattern: Pattern = identifiers,
    other: str = "",
) -> Iterator[Need]:
    """Yield what the calls *seen* of *tape* needed; for chance, *other* is another summary."""
    transcript = Transcript(tape)
    ways = Ways(transcript, tape.counter, other=other)
    for moment in seen:
        values = () if moment.answer is None else wants(moment.answer, pattern)
        found = {value: transcript.last_mention(value, moment.index) for value in values}
        known = {value: at for value, at in found.items() if at is not None}
        kept = ways.keeping(moment, known) if known else {}
        for value, at in known.items():
            yield Need(
                value=value,
                call=moment.index,
                age=transcript.tokens[moment.index] - transcript.tokens[at + 1],
                is_old=at < moment.cut,
                kept=kept[value],
            )
