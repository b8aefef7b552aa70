"""Playing a session, message by message, against a reducer."""

from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
from msgspec import Struct

from foldline.agent.reducer import HistoryReducer, ReducedHistory
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.providers.digest import DigestSummarizer
from foldline.providers.summarizer import Summarizer
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.event import HistoryReductionEvent
from foldline.reduction.state import HistoryReductionState
from foldline.replay.meter import PrefixMeter, PrefixReading
from foldline.replay.reads import ReadingLog, spans
from foldline.replay.record import (
    CallRecord,
    ConfigRecord,
    FoldRecord,
    ReplayReport,
    Totals,
)
from foldline.replay.tape import Tape
from foldline.replay.validity import losses, violations, violations_behind


__all__ = ["Replay", "play"]


# The same session gives the same reductions whenever it is played.
_NO_TIME = datetime(2000, 1, 1, tzinfo=UTC)


class Replay(Struct, frozen=True, kw_only=True):
    """What playing a session came to."""

    report: ReplayReport
    """What was found; it holds no word of the conversation."""

    view: tuple[Message, ...]
    """The last request."""

    state: HistoryReductionState | None
    """The last reduction; None where there was none."""


def play(
    tape: Tape,
    config: HistoryReductionConfig,
    *,
    name: str,
    summarizer: Summarizer | None = None,
    check: bool = True,
    on_call: Callable[[], None] | None = None,
) -> Replay:
    """
    Play *tape* under *config*: before each model call the reducer prepares the request.

    The reducer gets the history as far as it had come, and the state of the call before, which
    goes through JSON each time, as it does when every call is a process of its own. A turn that
    the circuit breaker ends is run again at once.

    Args:
        tape: The session.
        config: How and when to reduce.
        name: What the configuration is called in the report.
        summarizer: Who writes summaries; the offline digest where nobody is given.
        check: Whether every request is judged by the grammars of two vendors.
        on_call: Is called after each model call, for those who show progress.
    """
    player = _Player(
        tape, config, summarizer or DigestSummarizer(counter=tape.counter), check=check
    )
    for position in tape.calls:
        player.call(position)
        if on_call is not None:
            on_call()
    return player.result(name)


class _Player:
    """One session on its way through a reducer."""

    def __init__(
        self,
        tape: Tape,
        config: HistoryReductionConfig,
        summarizer: Summarizer,
        *,
        check: bool,
    ) -> None:
        self._tape = tape
        self._config = config
        self._check = check
        self._log = ReadingLog(summarizer)
        self._reducer = HistoryReducer(
            config, summarizer=self._log, counter=tape.counter, clock=lambda: _NO_TIME
        )
        self._history = History(counter=tape.counter)
        self._meter = PrefixMeter(tape.size)
        self._state: HistoryReductionState | None = None
        self._request: tuple[Message, ...] = ()
        self._records: list[CallRecord] = []

    def call(self, position: int) -> None:
        """Make the model call before which *position* messages had been said."""
        for message in self._tape.messages[self._history.total : position]:
            self._log.follow(message)
            self._history.append(message)
        first = reduced = self._reduce()
        if reduced.termination_reason is not None:
            reduced = self._reduce()
        request = tuple(reduced.messages)
        reading = self._meter.read(request)
        found = self._judge(request, reading)
        self._request = request
        self._records.append(self._record(position, first, reading, len(request), found))

    def _reduce(self) -> ReducedHistory[Message]:
        reduced = self._reducer.reduce_sync(self._history, state=_restored(self._state))
        self._state = reduced.state
        return reduced

    def _judge(self, request: tuple[Message, ...], reading: PrefixReading) -> tuple[str, ...]:
        if not self._check:
            return ()
        lost = losses(request, self._history)
        if reading.broke:
            self._judge_last_whole()
            return (*lost, *violations(request))
        return (*lost, *violations_behind(request, reading.kept_messages))

    def _judge_last_whole(self) -> None:
        if self._check and self._records and not self._records[-1].violations:
            self._records[-1] = msgspec.structs.replace(
                self._records[-1], violations=violations(self._request)
            )

    def _record(
        self,
        position: int,
        reduced: ReducedHistory[Message],
        reading: PrefixReading,
        view_messages: int,
        found: tuple[str, ...],
    ) -> CallRecord:
        event, verdict = reduced.event, reduced.verdict
        return CallRecord(
            number=len(self._records) + 1,
            position=position,
            verdict=verdict.kind,
            reason=(verdict if event is None else event).reason.value,
            status="skipped" if event is None else event.status,
            view_messages=view_messages,
            view_tokens=reading.tokens,
            full_tokens=self._history.system_tokens + self._history.tokens(),
            kept_tokens=reading.kept,
            fresh_tokens=reading.fresh,
            prior_tokens=reading.prior,
            prefix_broke=reading.broke,
            fold=self._fold(event, verdict.cut) if event and verdict.folds else None,
            violations=found,
        )

    def _fold(self, event: HistoryReductionEvent, cut: int) -> FoldRecord:
        return FoldRecord(
            cut=cut,
            summarizer=event.summarizer,
            summarizer_calls=event.summarizer_calls,
            tokens_read=event.summarizer_tokens,
            messages_read=spans(self._log.take()),
        )

    def result(self, name: str) -> Replay:
        """Return what the calls came to."""
        self._judge_last_whole()
        report = ReplayReport(
            name=name,
            kind="reducer",
            config=ConfigRecord.of(self._config),
            session=self._tape.session,
            totals=Totals.of(self._records, most_reads=self._log.most, checked=self._check),
            calls=tuple(self._records),
        )
        return Replay(report=report, view=self._request, state=self._state)


def _restored(state: HistoryReductionState | None) -> HistoryReductionState | None:
    return None if state is None else HistoryReductionState.from_json(state.to_json())
