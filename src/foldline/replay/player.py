"""Playing a session, message by message, against a reducer."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import msgspec
from msgspec import Struct

from foldline.agent.reduced import ReducedHistory
from foldline.agent.reducer import HistoryReducer
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.meter import PrefixMeter, PrefixReading
from foldline.providers.digest.summarizer import DigestSummarizer
from foldline.providers.model import Summarizer
from foldline.reduction.budget import budget_of
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.event import HistoryReductionEvent
from foldline.reduction.request import SummaryRequest
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.verdict import Verdict
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
    recorder = _Recorder(tape, config, check=check)
    for position in tape.calls:
        recorder.record(position)
        if stretches:
            recorder.follow()
        if on_call is not None:
            on_call()
    return recorder.result(name)


class Player:
    """A session on its way through a reducer, one model call after the other."""

    def __init__(
        self,
        tape: Tape,
        config: HistoryReductionConfig,
        *,
        summarizer: Summarizer | None = None,
        budget: int | None = None,
        restarts: bool = False,
    ) -> None:
        """
        Play *tape* under *config*; the digest writes unless there is a *summarizer*.

        With *restarts* each reduction goes through JSON before it is used, as in another process.
        """
        self._tape = tape
        # A fold has the price of its summary: what wraps the digest is taken for a model.
        self.log = ReadingLog(DigestSummarizer(counter=tape.counter), tape.said)
        self.reducer = HistoryReducer(
            config,
            summarizer=self.log if summarizer is None else summarizer,
            counter=tape.counter,
            summary_budget=budget,
            clock=lambda: tape.clock(self.history.total),
        )
        # Most configurations are ours, and a table says what each of them is.
        self.reducer.warning = ""
        self.history = History(counter=tape.counter)
        self.state: HistoryReductionState | None = None
        self._restarts = restarts
        self._from_json: HistoryReductionState | None = None

    def verdict(self, position: int) -> Verdict:
        """Return what is to be done at the call before which *position* messages had been said."""
        self._tape.fill(self.history, position)
        return self.reducer.plan(self.history, state=self.state)

    def call(self, position: int) -> tuple[ReducedHistory[Message], Sequence[Message]]:
        """Return what was done at that call, and its request; a turn that ends there is run again."""
        self._tape.fill(self.history, position)
        first = reduced = self._reduce()
        if reduced.termination_reason is not None:
            reduced = self._reduce()
        return first, reduced.messages

    def _reduce(self) -> ReducedHistory[Message]:
        state = self.state
        # What came out of JSON and was given back holds nothing else.
        if self._restarts and state is not None and state is not self._from_json:
            state = self._from_json = HistoryReductionState.from_json(state.to_json())
        reduced = self.reducer.reduce_sync(self.history, state=state)
        self.state = reduced.state
        return reduced


class _Recorder(Player):
    """A player that notes what is done at each call, and judges the requests."""

    def __init__(self, tape: Tape, config: HistoryReductionConfig, *, check: bool) -> None:
        super().__init__(tape, config, restarts=check)
        self._check = check
        self._meter = PrefixMeter(tape.size, marks=False)
        self._judge = Judge()
        self._request: tuple[Message, ...] = ()
        self._stretches: list[Stretch] = []
        self._records: list[CallRecord] = []

    def record(self, position: int) -> None:
        """Make the model call before which *position* messages had been said."""
        first, sent = self.call(position)
        request = settled(self._request, sent)
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
            full_tokens=self.history.system_tokens + self.history.tokens(),
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
        state = self.state
        if self._stretches and _is_same(self._stretches[-1].state, state):
            first = self._stretches.pop().first
        said = len(self.history)
        self._stretches.append(
            Stretch(first=first, last=number, said=said, view=self._request, state=state)
        )

    def _check_request(
        self, request: tuple[Message, ...], reading: PrefixReading
    ) -> tuple[str, ...]:
        if not self._check:
            return ()
        if reading.broke:
            self._check_last_whole()
        lost = losses(request, self.history, self.state)
        return (*lost, *self._judge.violations(request))

    def _check_last_whole(self) -> None:
        if self._check and self._records and not self._records[-1].violations:
            self._records[-1] = msgspec.structs.replace(
                self._records[-1], violations=violations(self._request)
            )

    def _fold(self, event: HistoryReductionEvent, cut: int) -> FoldRecord:
        read, written = self.log.take()
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
            config=ConfigRecord.of(self.reducer.config),
            session=self._tape.session,
            totals=Totals.of(
                self._records,
                most_reads=self.log.most,
                checked=self._check,
                window=budget_of(self.reducer.config).window,
            ),
            calls=tuple(self._records),
        )
        return Replay(
            report=report, view=self._request, state=self.state, stretches=tuple(self._stretches)
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

    def __init__(self, digest: DigestSummarizer, said: Sequence[Message]) -> None:
        """Record which messages of *said* are read by *digest*, whose name its summaries keep."""
        self._digest = digest
        self.name = digest.name
        """The name of the digest."""
        # Kept alive, so that their identities are not given to other objects.
        self._said = said
        self._positions = {id(message): at for at, message in enumerate(said)}
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
