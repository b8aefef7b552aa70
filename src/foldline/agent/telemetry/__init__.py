"""
What a turn does, as spans and metrics of OpenTelemetry.

The loop only knows an `Observer`. `Telemetry` is the observer that makes spans; it loads the
OpenTelemetry package when one is created, and not before.
"""

from foldline.agent.telemetry.observer import Observation, ObservedModel, Observer
from foldline.agent.telemetry.spans import Telemetry


__all__ = ["Observation", "ObservedModel", "Observer", "Telemetry"]
