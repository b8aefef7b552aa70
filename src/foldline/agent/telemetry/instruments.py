"""The metrics."""

from typing import TYPE_CHECKING

from foldline.agent.telemetry.attributes import (
    Attributes,
    in_force,
    saved_tokens,
)
from foldline.agent.telemetry.names import (
    ERROR_TYPE,
    FOLD_STATUS,
    FOLD_STRATEGY,
    OPERATION_NAME,
    RESPONSE_MODEL,
    TOKEN_TYPE,
)
from foldline.providers.model import ChatResponse
from foldline.reduction.event import HistoryReductionEvent


if TYPE_CHECKING:
    from opentelemetry.metrics import Meter


__all__ = ["Instruments"]


# Source: OpenTelemetry GenAI semantic conventions, page gen-ai-metrics.
_TOKEN_BOUNDARIES = tuple(4**power for power in range(14))
_SECOND_BOUNDARIES = tuple(0.01 * 2**power for power in range(14))


class Instruments:
    """
    What counts and measures; the names are those of the conventions, or ours under `foldline.`.
    """

    def __init__(self, meter: "Meter") -> None:
        """Make the instruments of *meter*."""
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=_TOKEN_BOUNDARIES,
        )
        self._durations = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="GenAI operation duration.",
            explicit_bucket_boundaries_advisory=_SECOND_BOUNDARIES,
        )
        self._folds = meter.create_counter(
            "foldline.folds", unit="{fold}", description="Folds that were tried."
        )
        self._fold_durations = meter.create_histogram(
            "foldline.fold.duration",
            unit="s",
            description="How long folds took.",
            explicit_bucket_boundaries_advisory=_SECOND_BOUNDARIES,
        )
        self._hits = meter.create_counter(
            "foldline.hits",
            unit="{hit}",
            description="Model calls whose view used a reduction that was there before.",
        )
        self._saved = meter.create_counter(
            "foldline.tokens.saved",
            unit="{token}",
            description="Tokens that views were shorter than their histories, by estimate.",
        )
        self._summarizer_calls = meter.create_counter(
            "foldline.summarizer.calls",
            unit="{call}",
            description="How often summarizers were asked.",
        )

    def called(
        self,
        seconds: float,
        attributes: Attributes,
        response: ChatResponse | None,
        *,
        error: str | None = None,
    ) -> None:
        """
        Count a model call.

        Args:
            seconds: How long it took.
            attributes: The provider and the model.
            response: What the model said; None where it failed.
            error: The kind of its error.
        """
        named: Attributes = {OPERATION_NAME: "chat"} | attributes
        if response is not None and response.model is not None:
            named[RESPONSE_MODEL] = response.model
        usage = None if response is None else response.usage
        if usage is not None:
            self._tokens.record(usage.input_tokens, named | {TOKEN_TYPE: "input"})
            self._tokens.record(usage.output_tokens, named | {TOKEN_TYPE: "output"})
        self._durations.record(seconds, named if error is None else named | {ERROR_TYPE: error})

    def folded(self, event: HistoryReductionEvent) -> None:
        """Count a fold."""
        attributes: Attributes = {
            FOLD_STATUS: event.status,
            FOLD_STRATEGY: event.strategy,
        }
        self._folds.add(1, attributes)
        self._fold_durations.record(event.duration, attributes)
        self._summarizer_calls.add(event.summarizer_calls, attributes)

    def viewed(self, event: HistoryReductionEvent) -> None:
        """Count the view that a model call sends."""
        attributes: Attributes = {FOLD_STRATEGY: event.strategy}
        if event.status == "cache_hit":
            self._hits.add(1, attributes)
        if in_force(event):
            self._saved.add(saved_tokens(event), attributes)
