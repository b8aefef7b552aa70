"""
A summary beside what it stands for: which messages hold each of its lines, and what it left out.

A line stands for the messages that have it word for word, or else for the few that together have most
of its words, rare ones first. This is a guess by words: nobody noted where a line came from.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain

from msgspec import Struct

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.view import view_of
from foldline.replay.quality.identifiers import identifiers, said, spelled_out, wants
from foldline.replay.quality.moments import text_of_all
from foldline.replay.quality.words import Told, requests, rules


_WORD = re.compile(r"[\w./@#:+-]{3,}")
_EDGE = ".:/+-#_"
_MARK = re.compile(
    r"^\s*(?:[-*>] |#+ |\d+[.)] )*(?:(?:user|assistant|tool)(?: \([^)\n]{1,99}\))?: )?"
)
# A message that is quoted in one line.
_QUOTED = re.compile(r"\[(\d{1,9})\] user: ")
# A heading, or the count of messages with which a digest begins.
_HEADING = re.compile(
    r"\s{0,20}(?:#|</?quote\b|(?:Record|Digest) of \d|\[[^\]\n]{0,200}\]$|[^\s-].{0,200}:$|$)"
)
_SHORTEST = 8
_MOST_MESSAGES = 6
_ENOUGH = 0.8
_COMMON = 0.5


class SummaryLine(Struct, frozen=True, kw_only=True):
    """One line of a summary, and the messages that it stands for."""

    text: str
    # Their numbers, oldest first; none for a heading, or if no message has its words.
    messages: tuple[int, ...] = ()
    # Whether each of these messages has the line word for word.
    is_verbatim: bool = False


class Lost(Struct, frozen=True, kw_only=True):
    """Something that the folded messages have and the view lacks."""

    text: str
    # The number of the message that had it last.
    message: int


class Inspection(Struct, frozen=True, kw_only=True):
    """A summary line by line, and what of the messages it stands for is lost."""

    # How many messages are folded away: those before this number.
    covered: int
    lines: tuple[SummaryLine, ...]
    # Those that the view lacks; those in the arguments of calls first, then the newest.
    identifiers: tuple[Lost, ...]
    # How many identifiers the folded messages have.
    known: int
    # The user messages that are folded away, and the rules in them, kept word for word or not.
    requests: tuple[Told, ...]
    rules: tuple[Told, ...]


def inspect_summary(history: History, state: HistoryReductionState) -> Inspection:
    """Return what *state* shows for the beginning of *history*, line by line, and what it lost."""
    folded = history[: state.summarized_up_to_index]
    return Inspector(folded).inspect(state, view_of(history, state))


class Inspector:
    """Inspects any number of reductions of one history; its messages are read once."""

    def __init__(self, messages: Sequence[Message]) -> None:
        """Inspect reductions of *messages*, of which none is a system message."""
        self._messages = messages
        self._texts = list(map(said, messages))

    @cached_property
    def _holders(self) -> "_Holders":
        return _Holders(self._texts)

    @cached_property
    def _values(self) -> list[list[str]]:
        return [list(dict.fromkeys(identifiers(text))) for text in self._texts]

    def inspect(self, state: HistoryReductionState, view: Sequence[Message]) -> Inspection:
        """Return what stands for the messages that *state* covers, and what *view* has lost."""
        cut = state.summarized_up_to_index
        folded, seen = self._messages[:cut], text_of_all(view)
        lines = chain.from_iterable(one.text.splitlines() for one in state.front_messages())
        last: dict[str, int] = {}
        for index, values in enumerate(self._values[:cut]):
            last.update(dict.fromkeys(values, index))
        used = {value for message in folded for value in wants(message)}
        kept = set(identifiers(seen))
        gone = [value for value in last if value not in kept and value not in seen]
        gone.sort(key=lambda value: (value not in used, -last[value]))
        return Inspection(
            covered=cut,
            lines=tuple(self._holders.origin(line, cut) for line in lines),
            identifiers=tuple(Lost(text=value, message=last[value]) for value in gone),
            known=len(last),
            requests=tuple(requests(folded, seen)),
            rules=tuple(rules(folded, seen)),
        )


class _Holders:
    """Which messages have which words."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [" ".join(text.split()) for text in texts]
        self._by_word: defaultdict[str, list[int]] = defaultdict(list)
        for index, text in enumerate(self._texts):
            for word in {word.strip(_EDGE).lower() for word in set(_WORD.findall(text))}:
                self._by_word[word].append(index)

    def _of(self, word: str, end: int) -> list[int]:
        found = self._by_word.get(word, [])
        return found[: bisect_left(found, end)]

    def origin(self, line: str, end: int) -> SummaryLine:
        """Return *line* with those of the first *end* messages that it was made of."""
        if (quoted := _QUOTED.match(line)) and (at := int(quoted[1])) < end:
            words = " ".join(line[quoted.end() :].split())
            if words in self._texts[at]:
                return SummaryLine(text=line, messages=(at,), is_verbatim=True)
        if _HEADING.match(line):
            return SummaryLine(text=line)
        core = " ".join(_MARK.sub("", line).split()).partition(" …")[0]
        if len(core) >= _SHORTEST:
            holders = [self._of(word, end) for word in _words(core)]
            rarest = min(holders, key=len) if holders else ()
            if whole := tuple(at for at in rarest if core in self._texts[at]):
                return SummaryLine(text=line, messages=whole[-_MOST_MESSAGES:], is_verbatim=True)
        return SummaryLine(text=line, messages=tuple(sorted(self._covering(line, end))))

    def _covering(self, line: str, end: int) -> Iterator[int]:
        """Yield few messages that together have most of the words of *line*."""
        found = ((word, self._of(word, end)) for word in _words(spelled_out(line)))
        held = {word: holders for word, holders in found if holders}
        most = max(1, end * _COMMON)
        # A file that most messages are about is all that its line has.
        rare = {word: holders for word, holders in held.items() if len(holders) <= most} or held
        left = {word: 1 / len(holders) for word, holders in rare.items()}
        total = sum(left.values())
        for _ in range(_MOST_MESSAGES):
            if sum(left.values()) <= total * (1 - _ENOUGH):
                return
            weights: defaultdict[int, float] = defaultdict(float)
            for word, weight in left.items():
                for index in rare[word]:
                    weights[index] += weight
            best = max(weights, key=lambda index: (weights[index], index))
            left = {word: weight for word, weight in left.items() if best not in rare[word]}
            yield best


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(word.strip(_EDGE).lower() for word in _WORD.findall(text)))
