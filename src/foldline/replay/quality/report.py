"""
What the views of recorded conversations keep, in figures.

Every figure is an upper bound: what stands in a view need not be used. Each way of spending tokens has
those of foldline's view of the same call.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType

from msgspec import Struct

from foldline.agent.recall import recall
from foldline.history.messages import Message
from foldline.logs.importer import Session
from foldline.providers.model import Summarizer
from foldline.reduction.config import HistoryReductionConfig
from foldline.replay.quality.accounting import Accounting, account, invented
from foldline.replay.quality.figures import Share
from foldline.replay.quality.identifiers import Pattern, has_word, identifiers
from foldline.replay.quality.moments import Moment, Transcript, moments, text_of_all
from foldline.replay.quality.trail import trail_of
from foldline.replay.quality.ways import DIGEST, WAYS, Need, Ways, needed_at
from foldline.replay.quality.words import current_values, requests, rules
from foldline.replay.tape import Tape
from foldline.threads.reader import words_of


_NEAR, _FAR = 4_000, 16_000
_LISTED, _WHOLE = re.compile(r"(?m)^message (\d+),"), 1 << 30
# How many messages the tool recall lists.
_PAGE = 10

FEW = 40
"""A cell with fewer needed values says little."""

AGES: Mapping[str, Callable[[Need], bool]] = MappingProxyType(
    {
        "all values": lambda _: True,
        "old values": lambda need: need.is_old,
        "last 4,000 tokens": lambda need: need.age < _NEAR,
        "4,000 to 16,000": lambda need: _NEAR <= need.age < _FAR,
        "older": lambda need: need.age >= _FAR,
    }
)
"""The rows of the table: which of the needed values count. Old is what was said before the cut."""

KEPT: Mapping[str, str] = MappingProxyType(
    {
        "recalled": "values that the view lacks, found by the tool recall",
        "first requests": "first requests, their first 60 characters",
        "requests": "user messages that are folded away, word for word",
        "rules": "rules in them, word for word",
        "edited named": "edited files, named",
        "edited marked": "edited files, marked as edited",
        "commits": "commits, named",
        "current": "values that changed, the current one",
        "provenance": "identifiers of summaries that their sources have",
    }
)
"""What else is counted, and what it means; at the last call of each session where not said otherwise."""


class Cell(Struct, frozen=True, kw_only=True):
    """One row of the table: what each way keeps of some needed values."""

    name: str
    shares: Mapping[str, Share]

    @property
    def n(self) -> int:
        """How many values were needed."""
        return self.shares[DIGEST].total

    def losing(self) -> tuple[str, ...]:
        """The ways that keep more than foldline's view."""
        ours = self.shares[DIGEST].kept
        return tuple(way for way in WAYS if self.shares[way].kept > ours)


class QualityReport(Struct, frozen=True, kw_only=True):
    """What the views of some sessions keep."""

    sessions: int
    calls: int
    folds: int
    # Needed-later recall: a row for all values, for old ones, and for each age.
    cells: tuple[Cell, ...]
    # What else is counted, by the names of `KEPT`.
    kept: Mapping[str, Share]
    # The dropped tokens of all views that follow a fold, and of the last ones.
    accounting: Accounting
    # The identifiers of summaries that their sources lack.
    invented: tuple[str, ...]

    def cell(self, name: str) -> Cell:
        """Return the row *name* of `AGES`, such as `old values`."""
        return self.cells[list(AGES).index(name)]


class _Session(Struct, frozen=True, kw_only=True):
    calls: int
    folds: int
    needs: tuple[Need, ...]
    kept: Mapping[str, tuple[int, int]]
    accounting: Accounting
    invented: tuple[str, ...]
    summary: str


def quality_of(
    sessions: Iterable[Session | Tape],
    config: HistoryReductionConfig,
    *,
    summarizer: Summarizer | None = None,
    budget: int | None = None,
    pattern: Pattern = identifiers,
    on_call: Callable[[], None] | None = None,
) -> QualityReport:
    """Play *sessions* under *config*, the digest writing by default, and count what views keep."""
    found: list[_Session] = []
    for one in sessions:
        tape = one if isinstance(one, Tape) else Tape(one)
        played = moments(tape, config, summarizer=summarizer, budget=budget, on_call=on_call)
        # For chance: what stands for another conversation.
        other = found[-1].summary if found else ""
        found += _measured(Transcript(tape, pattern), played, pattern, other)
    return QualityReport(
        sessions=len(found),
        calls=sum(one.calls for one in found),
        folds=sum(one.folds for one in found),
        cells=tuple(_cell(name, found) for name in AGES),
        kept={name: Share(tuple(one.kept[name] for one in found)) for name in KEPT},
        accounting=sum((one.accounting for one in found), Accounting()),
        invented=tuple(value for one in found for value in one.invented),
    )


def _measured(
    transcript: Transcript, played: Iterable[Moment], pattern: Pattern, other: str
) -> Iterator[_Session]:
    """Yield what is counted of a session while it is *played*, if it has a call; no view is kept."""
    ways, needs = Ways(transcript, other=other), list[Need]()
    sources, accounting = list[tuple[str, bool]](), Accounting()
    calls = folds = 0
    last: Moment | None = None
    is_judged = False
    for moment in played:
        needs += needed_at(ways, moment, pattern)
        is_judged = moment.state is not (last and last.state)
        if is_judged:
            sources += invented(transcript, moment)
            accounting += account(transcript, moment)
        calls, folds, last = calls + 1, folds + moment.folded, moment
    if last is None:
        return
    yield _Session(
        calls=calls,
        folds=folds,
        needs=tuple(needs),
        kept=_kept(transcript, last, needs, sources),
        accounting=accounting if is_judged else accounting + account(transcript, last),
        invented=tuple(value for value, is_invented in sources if is_invented),
        summary=text_of_all(last.front),
    )


def _kept(
    transcript: Transcript,
    last: Moment,
    needs: Iterable[Need],
    sources: Iterable[tuple[str, bool]],
) -> Mapping[str, tuple[int, int]]:
    folded, view = transcript.messages[: last.cut], text_of_all(last.view)
    trail = trail_of(folded, text_of_all(last.front), last.summaries)
    asked = tuple(requests(folded, view))
    lost = (one for one in needs if DIGEST not in one.kept)
    return {
        "recalled": _counted(_is_found(transcript, one.call, one.value) for one in lost),
        "first requests": _counted(one.is_begun for one in asked[:1]),
        "requests": _counted(one.is_kept for one in asked),
        "rules": _counted(one.is_kept for one in rules(folded, view)),
        "edited named": (len(trail.named), len(trail.edited)),
        "edited marked": (len(trail.marked), len(trail.edited)),
        "commits": (len(trail.told), len(trail.commits)),
        "current": _counted(current_values(folded, view)),
        "provenance": _counted(not is_invented for _, is_invented in sources),
    }


def _counted(kept: Iterable[bool]) -> tuple[int, int]:
    each = list(kept)
    return sum(each), len(each)


def _is_found(transcript: Transcript, end: int, value: str) -> bool:
    """Whether a message that a search of the first *end* for *value* lists has it in full."""
    fitting, newest = transcript.holding(words_of(value), end), list[int]()
    messages, listed = list[Message](), list[int]()
    # The list has the newest messages, which are seldom far from the end.
    while len(listed) < _PAGE and (more := list(islice(fitting, 3 * len(newest) + _PAGE))):
        newest += more
        # Without its call, a result of the tool would be found.
        calls = (at for at in transcript.recalls if at < end)
        messages = [transcript.messages[at] for at in sorted({*newest, *calls})]
        found = recall(messages, search=f'"{value}"').text
        listed = [*map(int, _LISTED.findall(found))]
    whole = (recall(messages[at : at + 1], 0, page_tokens=_WHOLE).text for at in listed)
    return any(has_word(text, value) for text in whole)


def _cell(name: str, found: Sequence[_Session]) -> Cell:
    groups: dict[tuple[int, int], list[Need]] = {}
    for number, session in enumerate(found):
        for need in filter(AGES[name], session.needs):
            groups.setdefault((number, need.call), []).append(need)
    return Cell(
        name=name,
        shares={
            way: Share(
                tuple((sum(way in one.kept for one in each), len(each)) for each in groups.values())
            )
            for way in WAYS
        },
    )
