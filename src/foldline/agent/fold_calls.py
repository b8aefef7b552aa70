"""Asking summarizers within one time limit for the whole fold."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from time import monotonic
from traceback import walk_tb
from typing import TypeAlias, TypeVar

from foldline.agent.bounded import bounded
from foldline.agent.breaker import Breaker
from foldline.agent.recorded import RecordedSummarizer
from foldline.agent.unfinished import UnfinishedFolds, key_of
from foldline.errors import FoldlineError, SummarizerError
from foldline.history.messages import Message, Usage, total_usage
from foldline.providers.model import Summarizer
from foldline.providers.summarizer import metered
from foldline.reduction.reading import Reading
from foldline.reduction.request import (
    Flow,
    Remembered,
    Reply,
    Summary,
    SummaryFailure,
    SummaryRequest,
    Written,
    run_flow,
)
from foldline.reduction.writing import Writing


_RESTING = SummaryFailure("not asked after earlier failures", was_asked=False)
_TIME_IS_UP = SummaryFailure("not asked: no time was left for it", was_asked=False)

NOT_ASKED = frozenset({_RESTING.reason, _TIME_IS_UP.reason})
"""What the event of a fold says about summarizers that were not asked."""

_LOG = logging.getLogger("foldline")

_Read: TypeAlias = tuple[SummaryRequest, str | Written]
_Result = TypeVar("_Result")


def log_writing(names: Sequence[str], writing: Writing) -> None:
    """Log what went wrong in a fold whose summarizers have these *names*, if anything did."""
    failures = [one for one in writing.failures if one not in NOT_ASKED]
    wrote = writing.summarizer
    author = "" if wrote is None else names[wrote]
    if failures:
        failed = ", ".join(names[: wrote or 1] if author else names)
        why = "; ".join(dict.fromkeys(one.rstrip(".") for one in failures))
        end = f"{author} wrote the summary" if author else "no summary was written"
        _LOG.warning("summarizer %s failed (%s): %s", failed, why, end)
    if writing.dropped:
        _LOG.info(
            "statements of the summary by %s that name what was never said, left out: %d",
            author,
            writing.dropped,
        )


class FoldCalls:
    """What one fold asks its summarizers."""

    def __init__(
        self,
        chain: Sequence[Summarizer | RecordedSummarizer],
        breakers: Sequence[Breaker | None],
        *,
        seconds: float,
        timer: Callable[[], float] = monotonic,
        unfinished: tuple[UnfinishedFolds, str] | None = None,
    ) -> None:
        """Ask the summarizers of *chain*; those with a breaker have *seconds* together."""
        self._chain = chain
        self._breakers = breakers
        self._seconds = seconds
        self._timer = timer
        self._end: float | None = None
        self._admitted: dict[int, bool] = {}
        self._answered: Breaker | None = None
        self._place = 0
        self._sealed: tuple[int, Message] | None = None
        self._unfinished, self._scope = unfinished or (UnfinishedFolds(), "")
        # With what was asked: most folds end, and then nobody needs the key of it.
        self._texts: list[_Read] = []
        self._last: _Read | None = None
        self._since: float | None = None
        self._longest = 0.0
        self._is_late = False
        self._asked: dict[int, list[tuple[int, list[Usage]]]] = {}

    def _note_sealed(self, request: SummaryRequest, value: object) -> None:
        sealed = value.sealed if isinstance(value, Summary | Written) else None
        self._sealed = None if sealed is None else (len(request.messages), sealed)

    def sealed_for(self, count: int) -> Message | None:
        """Return what only a vendor can read of the last text, if that was of *count* messages."""
        if self._sealed is None or self._sealed[0] != count:
            return None
        return self._sealed[1]

    @property
    def readings(self) -> tuple[Reading, ...]:
        """What each summarizer that was asked was given to read, the first of the chain first."""
        return tuple(self._reading(place) for place in sorted(self._asked))

    def _reading(self, place: int) -> Reading:
        asked, summarizer = self._asked[place], self._chain[place]
        spent = [usage for _, counted in asked for usage in counted]
        model: object = getattr(summarizer, "model_name", "")
        return Reading(
            summarizer=summarizer.name,
            model=model if isinstance(model, str) else "",
            calls=len(asked),
            tokens=sum(tokens for tokens, _ in asked),
            usage=total_usage(spent) if spent else None,
        )

    async def run(self, flow: Flow[_Result]) -> _Result:
        """Run *flow* to its end."""
        is_whole = False
        try:
            result = await run_flow(flow, self._ask, self._in_thread)
            self._judge(is_refused=False)
            is_whole = not self._is_late
        finally:
            if not is_whole:
                read = self._texts
                self._unfinished.keep({key_of(one, self._scope): text for one, text in read})
        return result

    async def _in_thread(self, work: Callable[[], None]) -> None:
        try:
            await asyncio.to_thread(work)
        except asyncio.CancelledError:
            # The text that was being reviewed is reviewed again when the fold is made again.
            if self._last is not None:
                self._texts.append(self._last)
            raise

    async def _ask(self, request: SummaryRequest) -> Reply:
        # The request that follows a text shows whether it was good.
        self._judge(is_refused=bool(request.defects) or request.summarizer > self._place)
        self._place = request.summarizer
        breaker = self._breakers[self._place]
        if breaker is None:
            return await self._reply(request, None, None)
        known = None
        if len(self._unfinished) and not request.defects:
            known = self._unfinished.take(key_of(request, self._scope))
        if known is not None:
            self._last = request, known
            self._note_sealed(request, known)
            return Remembered(reply=known)
        now = self._timer()
        left = self._left(request, now)
        if left <= 0:
            self._is_late = True
            return _TIME_IS_UP
        if not self._may_ask(breaker):
            return _RESTING
        reply = await self._reply(request, breaker, left)
        if isinstance(reply, str | Written):
            self._last, self._since = (request, reply), now
        return reply

    def _left(self, request: SummaryRequest, now: float) -> float:
        """Return the seconds that are left; none if they are too few for what took longer before."""
        if self._end is None:
            self._end = now + self._seconds
            return self._seconds
        if self._since is not None:
            self._longest = max(self._longest, now - self._since)
            self._since = None
        left = self._end - now
        is_next = bool(request.messages) and not request.defects and not request.summarizer
        return 0 if is_next and left < self._longest else left

    def _judge(self, *, is_refused: bool) -> None:
        breaker, self._answered = self._answered, None
        last, self._last = self._last, None
        if last is not None and not is_refused:
            self._texts.append(last)
        if breaker is not None and is_refused:
            breaker.failed()
        elif breaker is not None:
            breaker.succeeded()

    def _may_ask(self, breaker: Breaker) -> bool:
        if self._place in self._admitted:
            return self._admitted[self._place] and not breaker.is_open
        return self._admitted.setdefault(self._place, breaker.admits())

    async def _reply(
        self, request: SummaryRequest, breaker: Breaker | None, seconds: float | None
    ) -> Reply:
        summarizer = self._chain[request.summarizer]
        with metered() as spent:
            # What a call spends that is still being cancelled counts too.
            self._asked.setdefault(request.summarizer, []).append((request.source, spent))
            outcome = await bounded(lambda: summarizer.summarize(request), seconds=seconds)
        value = outcome.value
        self._note_sealed(request, value)
        if isinstance(value, Summary):
            value = value.text
        # A custom summarizer may return anything, whatever its annotation says.
        if isinstance(value, str | Written):
            self._answered = breaker
            return value
        is_slow = False
        failure = SummaryFailure(f"no text, but {type(value).__name__}")
        error = outcome.error
        if outcome.has_expired:
            self._end, self._is_late = self._timer(), True
            # Less than half of the time is what others have left of it, and who has answered may again.
            is_slow = seconds is not None and seconds * 2 >= self._seconds and not self._texts
            failure = SummaryFailure("TimeoutError")
        elif error is not None:
            _LOG.debug("summarizer %s failed", summarizer.name, exc_info=error)
            defect = error.defect if isinstance(error, SummarizerError) else ""
            failure = SummaryFailure(_told(error), defect=defect)
        if breaker is not None:
            breaker.failed(is_slow=is_slow)
        return failure


def _told(error: BaseException) -> str:
    """Return the class of *error*, and the text of ours: another's may quote, for DEBUG alone."""
    kind = type(error).__name__
    if isinstance(error, FoldlineError):
        return f"{kind}: {error}" if str(error) else kind
    steps = walk_tb(error.__traceback__)
    places = ((str(frame.f_globals.get("__name__")), line) for frame, line in steps)
    # Ours called what the caller has given.
    theirs = (one for one in places if not one[0].startswith("foldline."))
    return next((f"{kind} in {name}, line {line}" for name, line in theirs), kind)
