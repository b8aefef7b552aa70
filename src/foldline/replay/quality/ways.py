"""
What later calls needed, and which ways to spend the tokens of a view still had it.

A value is needed if it is an identifier in the arguments of a call and stands as a whole word in an
earlier message. It is old if its last mention is folded away. All figures are upper bounds: a value
that is there need not be used.

Each way gets the tokens of foldline's view of the same call. `none` to `ledger` keep the same newest
messages and put something else in the place of the summary; `recency` and `mask` keep more messages.
"""

import random
import re
from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Iterator
from functools import cached_property
from itertools import takewhile
from typing import TypeAlias

from msgspec import Struct

from foldline.history.messages import Message
from foldline.replay.quality.identifiers import Pattern, generic, has_word, identifiers, wants
from foldline.replay.quality.moments import Moment, Transcript, text_of_all


DIGEST = "foldline"
"""The way of foldline's own view."""

LEDGER = "ledger"
"""The way of a plain ledger: the identifiers of a generic pattern, the newest first."""

WAYS = (DIGEST, LEDGER, "random", "first", "mask", "recency", "none", "chance")
"""What is compared; `chance` is the summary of another conversation."""

_Has: TypeAlias = Callable[[str], bool]
_SEED = 7
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+|(?<=\}), ")
_MASKED_TOKENS, _WHOLE_RESULTS = 25, 6
_MASKED_CHARS = 4 * _MASKED_TOKENS


class Ways:
    """Tells which ways still have a value at one call after another of a session."""

    def __init__(self, transcript: Transcript, *, other: str = "") -> None:
        """Compare on *transcript*; *other* is the summary of another conversation."""
        self.transcript, self._other = transcript, other
        self._known: tuple[object, int, dict[str, str]] = (None, 0, {})
        # What the ledger has of the first messages.
        self._listed, self._ledgered = 0, dict[str, None]()

    @cached_property
    def _lines(self) -> list[tuple[int, str, int]]:
        """Each line, with the message that has it and its tokens and those of a break."""
        count = self.transcript.counter.count
        lines = (
            (at, line) for at, text in enumerate(self.transcript.texts) for line in _lines(text)
        )
        return [(at, line, count(line) + 1) for at, line in lines]

    @cached_property
    def _order(self) -> list[int]:
        order = list(range(len(self._lines)))
        random.Random(_SEED).shuffle(order)  # noqa: S311 - chance that can be repeated
        return order

    @cached_property
    def _least(self) -> int:
        return min((cost for *_, cost in self._lines), default=0)

    def keeping(self, moment: Moment, values: Iterable[str]) -> dict[str, frozenset[str]]:
        """Return the ways that have each of *values* at *moment*."""
        retained, texts = moment.retained, {"none": ""}
        texts |= self._instead(moment)
        room = self._known[1] + sum(map(self.transcript.size, retained))
        if not moment.cut:
            texts = dict.fromkeys(texts, "")
        has_kept = self._retained(moment, retained)
        whole = {"recency": self._recent(moment, room), "mask": self._masked(moment, room)}
        found: dict[str, frozenset[str]] = {}
        for value in values:
            kept = {way for way, has in whole.items() if has(value)}
            if has_kept(value):
                kept.update(texts)
            else:
                kept.update(way for way, text in texts.items() if has_word(text, value))
            found[value] = frozenset(kept)
        return found

    def _retained(self, moment: Moment, retained: Iterable[Message]) -> _Has:
        said, listing = self.transcript, self.transcript.listing
        places = range(moment.cut, moment.index)
        plain = {id(said.messages[at]): at for at in places if at not in listing}
        shown = {plain[id(one)] for one in retained if id(one) in plain}
        text = text_of_all([one for one in retained if id(one) not in plain])
        return self._has(text, places, shown)

    def _has(self, text: str, places: range, among: Container[int]) -> _Has:
        """Return whether a value stands in *text*, or in a message at *places* that is *among* some."""

        def has(value: str) -> bool:
            found = self.transcript.mentions(value, places.stop)
            return any(at in among for at in takewhile(places.__contains__, found)) or has_word(
                text, value
            )

        return has

    def _instead(self, moment: Moment) -> dict[str, str]:
        """Return what stands in the place of the folded messages, by way."""
        front = moment.front
        known, room, texts = self._known
        if known == front:
            return texts
        room = sum(map(self.transcript.size, front))
        texts = {
            DIGEST: text_of_all(front),
            LEDGER: self._ledger(moment.cut, room),
            "random": self._filled(self._order, moment.cut, room),
            "first": self._filled(range(len(self._lines)), moment.cut, room),
            "chance": self._other,
        }
        self._known = front, room, texts
        return texts

    def _filled(self, order: Iterable[int], cut: int, room: int) -> str:
        taken: list[int] = []
        for place in order:
            if room < self._least:
                break
            at, _, cost = self._lines[place]
            if at < cut and cost <= room:
                room -= cost
                taken.append(place)
        return "\n".join(self._lines[place][1] for place in sorted(taken))

    def _ledger(self, cut: int, room: int) -> str:
        """Return the identifiers of the folded messages, the newest first, in *room* tokens."""
        if cut < self._listed:
            self._listed, self._ledgered = 0, {}
        for text in self.transcript.texts[self._listed : cut]:
            for value in generic(text):
                # What is said again comes last.
                self._ledgered.pop(value, None)
                self._ledgered[value] = None
        self._listed = cut
        taken: list[str] = []
        for value in reversed(self._ledgered):
            room -= self.transcript.counter.count(value) + 1
            if room < 0:
                break
            taken.append(value)
        return ", ".join(taken)

    def _recent(self, moment: Moment, room: int) -> _Has:
        said, end = self.transcript, moment.index
        start = bisect_left(said.tokens, said.tokens[end] - room, 0, end)
        text = ""
        if start:
            # Of the message that does not fit, as much of its end as there is room for.
            room -= said.tokens[end] - said.tokens[start]
            text = said.texts[start - 1]
            # The break after it is a part of it.
            text = text[len(text) + 1 - len(text) * room // said.sizes[start - 1] :]
        places = range(start, end)
        return self._has(text, places, places)

    def _masked(self, moment: Moment, room: int) -> _Has:
        said = self.transcript
        masked: list[str] = []
        whole = set[int]()
        results = 0
        for at in range(moment.index - 1, -1, -1):
            size, is_whole = said.sizes[at], True
            if said.messages[at].role == "tool":
                results += 1
                is_whole = results <= _WHOLE_RESULTS or size <= _MASKED_TOKENS
            room -= size if is_whole else _MASKED_TOKENS
            if room < 0:
                break
            if is_whole:
                whole.add(at)
            else:
                masked.append(said.texts[at][:_MASKED_CHARS])
        places = range(min(whole, default=moment.index), moment.index)
        return self._has("\n".join(masked), places, whole)


def _lines(text: str) -> list[str]:
    return [line for line in _SENTENCE.split(text) if line.strip()]


class Need(Struct, frozen=True, kw_only=True):
    """A value that a call needed."""

    value: str
    # Which call, by the number of messages before it.
    call: int
    # The tokens since its last mention.
    age: int
    # Whether its last mention is folded away.
    is_old: bool
    # The ways whose views have it.
    kept: frozenset[str]


def needed_at(ways: Ways, moment: Moment, pattern: Pattern = identifiers) -> Iterator[Need]:
    """Yield what the call at *moment* needed, and the *ways* that still had it."""
    transcript = ways.transcript
    values = () if moment.answer is None else wants(moment.answer, pattern)
    found = {value: next(transcript.mentions(value, moment.index), None) for value in values}
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
