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
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from foldline.history.tokens import TokenCounter
from foldline.replay.quality.identifiers import Pattern, generic, has_word, identifiers, wants
from foldline.replay.quality.moments import Moment, Transcript, text_of_all, tokens_of
from foldline.replay.tape import Tape


DIGEST = "foldline"
"""The way of foldline's own view."""

LEDGER = "ledger"
"""The way of a plain ledger: the identifiers of a generic pattern, the newest first."""

WAYS = (DIGEST, LEDGER, "random", "first", "mask", "recency", "none", "chance")
"""What is compared; `chance` is the summary of another conversation."""

_SEED = 7
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+|(?<=\}), ")
_MASKED_TOKENS, _WHOLE_RESULTS = 25, 6
_MASKED_CHARS = 4 * _MASKED_TOKENS


class Ways:
    """Tells which ways still have a value at one call after another of a session."""

    def __init__(self, transcript: Transcript, counter: TokenCounter, *, other: str = "") -> None:
        """Compare on *transcript*; *other* is the summary of another conversation."""
        self._said, self._counter, self._other = transcript, counter, other
        lines = [(at, line) for at, text in enumerate(transcript.texts) for line in _lines(text)]
        self._places = [at for at, _ in lines]
        self._lines = [(line, counter.count(line) + 1) for _, line in lines]
        self._order = list(range(len(lines)))
        random.Random(_SEED).shuffle(self._order)  # noqa: S311 - chance that can be repeated
        self._known: tuple[object, int, dict[str, str]] = (None, 0, {})

    def keeping(self, moment: Moment, values: Iterable[str]) -> dict[str, frozenset[str]]:
        """Return the ways that have each of *values* at *moment*."""
        retained = text_of_all(moment.retained)
        texts = self._instead(moment) | {"none": ""}
        if not moment.cut:
            texts = dict.fromkeys(texts, "")
        whole = {"recency": self._recent(moment), "mask": self._masked(moment)}
        found: dict[str, frozenset[str]] = {}
        for value in values:
            kept = {way for way, text in whole.items() if has_word(text, value)}
            if has_word(retained, value):
                kept.update(texts)
            else:
                kept.update(way for way, text in texts.items() if has_word(text, value))
            found[value] = frozenset(kept)
        return found

    def _instead(self, moment: Moment) -> dict[str, str]:
        """Return what stands in the place of the folded messages, by way."""
        front = moment.front
        known, room, texts = self._known
        if known == front:
            return texts
        room = tokens_of(front, self._counter)
        texts = {
            DIGEST: text_of_all(front),
            LEDGER: self._ledger(moment.cut, room),
            "random": self._filled(self._order, moment.cut, room),
            "first": self._filled(range(len(self._lines)), moment.cut, room),
            "chance": self._other,
        }
        self._known = front, room, texts
        return texts

    def _filled(self, order: Sequence[int], cut: int, room: int) -> str:
        taken: list[int] = []
        for place in order:
            cost = self._lines[place][1]
            if self._places[place] < cut and cost <= room:
                room -= cost
                taken.append(place)
                if room <= 1:
                    break
        return "\n".join(self._lines[place][0] for place in sorted(taken))

    def _ledger(self, cut: int, room: int) -> str:
        """Return the identifiers of the folded messages, the newest first, in *room* tokens."""
        taken: dict[str, None] = {}
        for text in reversed(self._said.texts[:cut]):
            for value in reversed(list(generic(text))):
                if value in taken:
                    continue
                room -= self._counter.count(value) + 1
                if room < 0:
                    return ", ".join(taken)
                taken[value] = None
        return ", ".join(taken)

    def _recent(self, moment: Moment) -> str:
        room = tokens_of(moment.said, self._counter)
        said, start = self._said, moment.index
        while start and said.sizes[start - 1] <= room:
            start -= 1
            room -= said.sizes[start]
        begin = said.starts[start]
        if start:
            # Of the message that does not fit, as much of its end as there is room for.
            begin -= len(said.texts[start - 1]) * room // said.sizes[start - 1]
        return said.text[begin : said.starts[moment.index]]

    def _masked(self, moment: Moment) -> str:
        room = tokens_of(moment.said, self._counter)
        taken: list[str] = []
        results = 0
        for at in range(moment.index - 1, -1, -1):
            text, size = self._said.texts[at], self._said.sizes[at]
            if self._said.messages[at].role == "tool":
                results += 1
                if results > _WHOLE_RESULTS and size > _MASKED_TOKENS:
                    text, size = text[:_MASKED_CHARS], _MASKED_TOKENS
            room -= size
            if room < 0:
                break
            taken.append(text)
        return "\n".join(reversed(taken))


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


def needed_later(
    tape: Tape, seen: Iterable[Moment], *, pattern: Pattern = identifiers, other: str = ""
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
