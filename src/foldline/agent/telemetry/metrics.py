"""The metrics, with the names of the conventions or ours under `foldline.`."""

from typing import TYPE_CHECKING

from foldline.agent.telemetry.conventions import (
    ERROR_TYPE,
    OPERATION,
    RESPONSE_MODEL,
    Attributes,
    is_compacted,
)
from foldline.providers.model import ChatResponse
from foldline.reduction.event import HistoryReductionEvent


if TYPE_CHECKING:
    from opentelemetry.metrics import Meter


__all__ = ["Metrics"]


# Source: OpenTelemetry GenAI semantic conventions, page gen-ai-metrics.
_TOKEN_BOUNDARIES = tuple(4**power for power in range(14))
_SECOND_BOUNDARIES = tuple(0.01 * 2**power for power in range(14))


class Metrics:
    """Counts and measures model calls, folds and views."""

    def __init__(self, meter: "Meter") -> None:
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
            description="Duration of folds.",
            explicit_bucket_boundaries_advisory=_SECOND_BOUNDARIES,
        )
        self._hits = meter.create_counter(
            "foldline.hits",
            unit="{hit}",
            description="Model calls that used an existing reduction.",
        )
        self._saved = meter.create_counter(
            "foldline.tokens.saved",
            unit="{token}",
            description="Estimated tokens that views saved, summed over model calls.",
        )
        self._summarizer_calls = meter.create_counter(
            "foldline.summarizer.calls", unit="{call}", description="Calls of summarizers."
        )

    def called(
        self,
        seconds: float,
        named: Attributes,
        response: ChatResponse | None,
        *,
        error: str | None = None,
    ) -> None:
        """Count a model call; *named* are the attributes of the model."""
        attributes: Attributes = {OPERATION: "chat"} | named
        if response is not None and response.model is not None:
            attributes[RESPONSE_MODEL] = response.model
        if response is not None and response.usage is not None:
            counts = {"input": response.usage.input_tokens, "output": response.usage.output_tokens}
            for kind, tokens in counts.items():
                self._tokens.record(tokens, attributes | {"gen_ai.token.type": kind})
        failed: Attributes = {} if error is None else {ERROR_TYPE: error}
        self._durations.record(seconds, attributes | failed)

    def folded(self, event: HistoryReductionEvent) -> None:
        """Count a fold."""
        attributes = {
            "foldline.fold.status": event.status,
            "foldline.fold.strategy": event.strategy,
        }
        self._folds.add(1, attributes)
        self._fold_durations.record(event.duration, attributes)
        self._summarizer_calls.add(event.summarizer_calls, attributes)

    def viewed(self, event: HistoryReductionEvent) -> None:
        """Count the view that a model call sends."""
        attributes = {"foldline.fold.strategy": event.strategy}
        if event.status == "cache_hit":
            self._hits.add(1, attributes)
        if is_compacted(event):
            self._saved.add(max(0, event.original_tokens - event.reduced_tokens), attributes)
