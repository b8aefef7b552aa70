"""Playing a session, message by message, against a reducer."""

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise

import msgspec
from msgspec import Struct

from foldline.agent.reduced import ReducedHistory
from foldline.agent.reducer import HistoryReducer
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.meter import PrefixMeter, PrefixReading
from foldline.providers.digest.summarizer import DigestSummarizer
from foldline.reduction.budget import budget_of
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.event import HistoryReductionEvent
from foldline.reduction.request import SummaryRequest
from foldline.reduction.state import HistoryReductionState
from foldline.replay.record import CallRecord, ConfigRecord, FoldRecord, ReplayReport, Totals
from foldline.replay.tape import Tape
from foldline.replay.validity import Judge, losses, settled, violations


class Stretch(Struct, frozen=True, kw_only=True):
    """Model calls in a row whose requests were made through the same reduction."""

    # The numbers of the first and the last of them, counted from 1.
    first: int
    last: int
    # How many messages had been said before the last one, system messages not counted.
    said: int
    # The request of the last one.
    view: tuple[Message, ...]
    # None before the first fold.
    state: HistoryReductionState | None


class Replay(Struct, frozen=True, kw_only=True):
    """The result of playing a session."""

    # It holds no word of the conversation.
    report: ReplayReport
    # The last request.
    view: tuple[Message, ...]
    # The last reduction; None if nothing was folded.
    state: HistoryReductionState | None = None
    stretches: tuple[Stretch, ...] = ()


def play(
    tape: Tape,
    config: HistoryReductionConfig,
    *,
    name: str,
    check: bool = True,
    stretches: bool = True,
    on_call: Callable[[], None] | None = None,
) -> Replay:
    """
    Play *tape* under *config*: before each call the reducer prepares the request.

    Without *stretches* the result has none, and no view but the last one is kept in memory.
    """
    player = _Player(tape, config, check=check)
    for position in tape.calls:
        player.call(position)
        if stretches:
            player.follow()
        if on_call is not None:
            on_call()
    return player.result(name)


class _Player:
    """One session on its way through a reducer."""

    def __init__(self, tape: Tape, config: HistoryReductionConfig, *, check: bool) -> None:
        self._tape = tape
        self._config = config
        self._check = check
        self._log = ReadingLog(DigestSummarizer(counter=tape.counter))
        self._reducer = HistoryReducer(
            config,
            summarizer=self._log,
            counter=tape.counter,
            clock=lambda: tape.clock(self._history.total),
        )
        self._history = History(counter=tape.counter)
        self._meter = PrefixMeter(tape.size, marks=False)
        self._judge = Judge()
        self._state: HistoryReductionState | None = None
        self._from_json: HistoryReductionState | None = None
        self._request: tuple[Message, ...] = ()
        self._stretches: list[Stretch] = []
        self._records: list[CallRecord] = []

    def call(self, position: int) -> None:
        """Make the model call before which *position* messages had been said."""
        for message in self._tape.messages[self._history.total : position]:
            self._log.follow(message)
        self._tape.fill(self._history, position)
        first = reduced = self._reduce()
        if reduced.termination_reason is not None:
            reduced = self._reduce()
        request = settled(self._request, reduced.messages)
        reading = self._meter.read(request)
        found = self._check_request(request, reading)
        self._request = request
        event, verdict = first.event, first.verdict
        number = len(self._records)
        record = CallRecord(
            number=number + 1,
            position=position,
            verdict=verdict.kind,
            reason=event.reason.value,
            status=event.status,
            view_messages=len(request),
            view_tokens=reading.tokens,
            full_tokens=self._history.system_tokens + self._history.tokens(),
            kept_tokens=reading.kept,
            fresh_tokens=reading.fresh,
            prior_tokens=reading.prior,
            prefix_broke=reading.broke,
            fold=self._fold(event, verdict.cut) if verdict.folds else None,
            violations=found,
            idle=self._tape.idle[number],
            answer_tokens=self._tape.answer_tokens(number),
        )
        self._records.append(record)

    def follow(self) -> None:
        """Add the last call to the stretch that it continues, or begin one."""
        first = number = len(self._records)
        state = self._state
        if self._stretches and _is_same(self._stretches[-1].state, state):
            first = self._stretches.pop().first
        said = len(self._history)
        self._stretches.append(
            Stretch(first=first, last=number, said=said, view=self._request, state=state)
        )

    def _reduce(self) -> ReducedHistory[Message]:
        state = self._state
        # What came out of JSON and was given back holds nothing else.
        if self._check and state is not None and state is not self._from_json:
            state = self._from_json = HistoryReductionState.from_json(state.to_json())
        reduced = self._reducer.reduce_sync(self._history, state=state)
        self._state = reduced.state
        return reduced

    def _check_request(
        self, request: tuple[Message, ...], reading: PrefixReading
    ) -> tuple[str, ...]:
        if not self._check:
            return ()
        if reading.broke:
            self._check_last_whole()
        lost = losses(request, self._history, self._state)
        return (*lost, *self._judge.violations(request))

    def _check_last_whole(self) -> None:
        if self._check and self._records and not self._records[-1].violations:
            self._records[-1] = msgspec.structs.replace(
                self._records[-1], violations=violations(self._request)
            )

    def _fold(self, event: HistoryReductionEvent, cut: int) -> FoldRecord:
        read, written = self._log.take()
        return FoldRecord(
            cut=cut,
            summarizer=event.summarizer,
            summarizer_calls=event.summarizer_calls,
            tokens_read=event.summarizer_tokens,
            messages_read=spans(read),
            tokens_written=sum(map(self._tape.counter.count, written)),
        )

    def result(self, name: str) -> Replay:
        """Return the result of all calls."""
        self._check_last_whole()
        report = ReplayReport(
            name=name,
            kind="reducer",
            config=ConfigRecord.of(self._config),
            session=self._tape.session,
            totals=Totals.of(
                self._records,
                most_reads=self._log.most,
                checked=self._check,
                window=budget_of(self._config).window,
            ),
            calls=tuple(self._records),
        )
        return Replay(
            report=report, view=self._request, state=self._state, stretches=tuple(self._stretches)
        )


def _is_same(one: HistoryReductionState | None, other: HistoryReductionState | None) -> bool:
    """Whether views through both are the same; one may have gone through JSON."""
    if one is None or other is None:
        return one is other
    return one.summary_hash == other.summary_hash


class ReadingLog:
    """A summarizer that passes every request on to the digest and records which messages it holds."""

    is_code = True
    """What it passes on is a record already."""

    def __init__(self, digest: DigestSummarizer) -> None:
        """Record what *digest* reads; its name stays, so that its summaries stay valid."""
        self._digest = digest
        self.name = digest.name
        """The name of the digest."""
        self._positions: dict[int, int] = {}
        self._messages: list[Message] = []
        self._counts: Counter[int] = Counter()
        self._news: list[int] = []
        self._written: list[str] = []

    async def summarize(self, request: SummaryRequest) -> str:
        """Record the messages of *request* and pass it on."""
        positions = [self._positions[id(message)] for message in request.messages]
        self._counts.update(positions)
        self._news.extend(positions)
        self._written.append(await self._digest.summarize(request))
        return self._written[-1]

    def follow(self, message: Message) -> None:
        """Add *message*, the next one of the history."""
        if message.role != "system":
            # Kept alive, so that its identity is not given to another object.
            self._positions[id(message)] = len(self._messages)
            self._messages.append(message)

    def take(self) -> tuple[list[int], list[str]]:
        """Return the positions that were read, and the summaries, since the last call."""
        taken = self._news, self._written
        self._news, self._written = [], []
        return taken

    @property
    def most(self) -> int:
        """How often the message was read that was read most often."""
        return max(self._counts.values(), default=0)


def spans(positions: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Return *positions* as ranges from a first one up to but not including a last one."""
    ordered = sorted(set(positions))
    if not ordered:
        return ()
    edges = [(one + 1, other) for one, other in pairwise(ordered) if other > one + 1]
    starts = [ordered[0], *(start for _, start in edges)]
    ends = [*(end for end, _ in edges), ordered[-1] + 1]
    return tuple(zip(starts, ends, strict=True))
