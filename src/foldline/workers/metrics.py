"""How a queue stands and what becomes of its jobs, as metrics of OpenTelemetry."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from foldline.agent.telemetry.conventions import ERROR_TYPE, Attributes, error_type
from foldline.errors import MissingExtraError
from foldline.workers.status import QueueStatus


if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation


_STATES: Final = ("waiting", "paused", "running", "stalled", "failed")
_SECOND_BOUNDARIES: Final = tuple(0.01 * 2**power for power in range(16))


class WorkerMetrics:
    """
    Measures a queue and its jobs; one instance serves one `Workers`.

    Each worker reports how the whole queue stands, so take the largest of them, not the sum.
    """

    def __init__(self, *, meter_provider: "MeterProvider | None" = None) -> None:
        """
        Measure with *meter_provider*, or with that of the process.

        Raises:
            MissingExtraError: The `otel` extra is not installed.
        """
        try:
            from opentelemetry import metrics  # noqa: PLC0415 - an optional package
        except ImportError as error:
            raise MissingExtraError(package="opentelemetry-api", extra="otel") from error
        meter = metrics.get_meter("foldline", meter_provider=meter_provider)
        self._observation = metrics.Observation
        self._status: QueueStatus | None = None
        meter.create_observable_gauge(
            "foldline.queue.jobs", [self._jobs], "{job}", "Jobs, by what they do."
        )
        for name, field, unit, text in (
            ("queue.oldest", "oldest", "s", "How long the oldest job has waited."),
            ("queue.workers", "workers", "{worker}", "Workers that live."),
            ("folds.due", "folds_due", "{thread}", "Threads whose fold is due."),
        ):
            told = partial(self._figure, field)
            meter.create_observable_gauge(f"foldline.{name}", [told], unit, text)
        self._ended = meter.create_counter(
            "foldline.jobs.ended", "{job}", "Attempts that ended, by task and outcome."
        )
        self._seconds = meter.create_histogram(
            "foldline.job.duration",
            "s",
            "Duration of attempts.",
            explicit_bucket_boundaries_advisory=_SECOND_BOUNDARIES,
        )
        self._taken_over = meter.create_counter(
            "foldline.jobs.taken_over", "{job}", "Jobs of dead workers that were taken over."
        )

    def stood(self, status: QueueStatus) -> None:
        """Note how the queue stands."""
        self._status = status

    def took_over(self, count: int) -> None:
        """Note that *count* jobs of dead workers were taken over."""
        self._taken_over.add(count)

    def ended(
        self, task: str, seconds: float, error: BaseException | None, *, is_last: bool
    ) -> None:
        """Note that an attempt has ended, perhaps with *error*, and whether it *is_last*."""
        outcome = "done" if error is None else "given_up" if is_last else "tried_again"
        said: Attributes = {"foldline.task": task, "foldline.outcome": outcome}
        if error is not None:
            said[ERROR_TYPE] = error_type(error)
        self._ended.add(1, said)
        self._seconds.record(seconds, {"foldline.task": task})

    def _jobs(self, _: "CallbackOptions") -> "Iterable[Observation]":
        status = self._status
        for state in _STATES if status is not None else ():
            yield self._observation(getattr(status, state), {"foldline.state": state})

    def _figure(self, field: str, _: "CallbackOptions") -> "Iterable[Observation]":
        if self._status is not None:
            yield self._observation(getattr(self._status, field))
