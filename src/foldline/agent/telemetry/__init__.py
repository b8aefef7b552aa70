"""What a turn does, as spans and metrics of OpenTelemetry, whose package `Telemetry` loads."""

from foldline.agent.telemetry.observer import Observation, ObservedModel, Observer
from foldline.agent.telemetry.spans import Telemetry


__all__ = ["Observation", "ObservedModel", "Observer", "Telemetry"]
