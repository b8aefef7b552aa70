"""Turns as spans and metrics of OpenTelemetry."""

from typing import TYPE_CHECKING

from foldline.agent.events import AgentEvent
from foldline.agent.telemetry.follower import Follower
from foldline.agent.telemetry.observer import Observation
from foldline.agent.telemetry.operations import (
    FoldOperation,
    ModelCallOperation,
    ToolOperation,
    TurnOperation,
)
from foldline.agent.telemetry.spans import Tracing
from foldline.agent.tools import Tool, ToolAnswer
from foldline.history.parts import ToolCallPart
from foldline.providers.model import ChatRequest, ChatResponse
from foldline.reduction.event import HistoryReductionEvent


if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider


__all__ = ["Telemetry"]


class Telemetry:
    """
    Makes spans and metrics of OpenTelemetry of the turns that it watches.

    One instance serves any number of agents and turns at once. What is said never leaves with them
    unless that is asked for.
    """

    def __init__(
        self,
        *,
        tracer_provider: "TracerProvider | None" = None,
        meter_provider: "MeterProvider | None" = None,
        capture_content: bool = False,
    ) -> None:
        """
        Trace and measure; nothing is sent anywhere unless a provider is set up to.

        Args:
            tracer_provider: What makes spans; the one of the process by default.
            meter_provider: What makes metrics; the one of the process by default.
            capture_content: Whether spans hold messages, arguments and results of tools, and
                summaries.

        Raises:
            MissingExtraError: The `otel` extra is not installed.
        """
        self._tracing = Tracing(tracer_provider, meter_provider)
        self._with_content = capture_content

    def turn(self, *, agent: str, model: str, thread_id: str) -> Observation[AgentEvent]:
        """Return the context of a turn; see `Observer`."""
        return TurnOperation(self._tracing, agent=agent, model=model, thread_id=thread_id)

    def model_call(
        self,
        request: ChatRequest,
        *,
        model: str,
        streams: bool = False,
        reduction: HistoryReductionEvent | None = None,
    ) -> Observation[ChatResponse]:
        """Return the context of a model call; see `Observer`."""
        return ModelCallOperation(
            self._tracing,
            request,
            model=model,
            streams=streams,
            reduction=reduction,
            with_content=self._with_content,
        )

    def tool(self, tool: Tool, call: ToolCallPart) -> Observation[ToolAnswer]:
        """Return the context of one run of a tool; see `Observer`."""
        return ToolOperation(self._tracing, tool, call, with_content=self._with_content)

    def fold(self) -> Observation[HistoryReductionEvent]:
        """Return the context of a fold; see `Observer`."""
        return FoldOperation(self._tracing, with_content=self._with_content)

    def follow(self) -> Follower:
        """
        Return what makes the same spans of events alone, for turns that run elsewhere.

        Those spans are never the current ones, so nothing nests under them; use it where the turn
        cannot be given this object. What is watched both ways is counted twice.
        """
        return Follower(self._tracing, with_content=self._with_content)
