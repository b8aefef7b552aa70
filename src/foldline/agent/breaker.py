"""Not asking summarizers that fail: a timeout, or the third failure in a row, starts a rest."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from foldline.agent.log import log
from foldline.providers.digest import is_digest
from foldline.providers.model import Summarizer


MOST_FAILURES = 3
"""After how many failures in a row a summarizer is not asked for a while."""

REST = timedelta(minutes=10)
"""How long it is not asked at most."""

REST_FOLDS = 10
"""How many folds do without it at most, if it did not time out."""


class Breaker:
    """Knows whether one summarizer is worth asking, for all folds of a reducer."""

    def __init__(self, name: str, clock: Callable[[], datetime]) -> None:
        """Start with a summarizer called *name* that has not failed."""
        self._name = name
        self._clock = clock
        self._failures = 0
        self._folds = 0
        self._is_slow = False
        self._since = datetime.min.replace(tzinfo=UTC)

    @property
    def is_open(self) -> bool:
        """Whether the summarizer rests."""
        return self._failures >= MOST_FAILURES

    def admits(self) -> bool:
        """Whether the fold that begins may ask; at the end of a rest one fold may."""
        if not self.is_open:
            return True
        # Who hangs would delay every tenth turn, where each one folds.
        is_resting = self._is_slow or self._folds < REST_FOLDS
        if is_resting and self._now() - self._since < REST:
            self._folds += 1
            return False
        # Folds that run at the same time do not wait for a summarizer that may be dead still.
        self._begin_rest()
        return True

    def failed(self, *, is_slow: bool = False) -> None:
        """Note a failure; one that *is_slow* has used up the time of a fold, and starts a rest alone."""
        was_open = self.is_open
        self._failures += MOST_FAILURES if is_slow else 1
        if self.is_open:
            self._is_slow = is_slow
            self._begin_rest()
            if not was_open:
                minutes = f"{REST.total_seconds() / 60:.0f} minutes"
                rest = minutes if is_slow else f"{REST_FOLDS} folds or {minutes}"
                log().warning("summarizer %s has failed: it is not asked for %s", self._name, rest)

    def succeeded(self) -> None:
        """Note a good answer."""
        self._failures = 0

    def _begin_rest(self) -> None:
        self._folds, self._since = 0, self._now()

    def _now(self) -> datetime:
        now = self._clock()
        return now.replace(tzinfo=UTC) if now.tzinfo is None else now


def breakers_of(
    given: Sequence[Summarizer], clock: Callable[[], datetime]
) -> tuple[Breaker | None, ...]:
    """Return a breaker for each of *given* and the digest behind them; None for what is a digest."""
    made = (None if is_digest(one) else Breaker(one.name, clock) for one in given)
    return (*made, None)
