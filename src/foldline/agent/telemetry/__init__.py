"""
What a turn does, for those who watch: spans and metrics of OpenTelemetry.

The loop knows an `Observer` and nothing of OpenTelemetry. `Telemetry` is the observer that makes
spans; its package is loaded when one is made, and not before.
"""

from foldline.agent.telemetry.observed_model import ObservedModel
from foldline.agent.telemetry.observer import UNOBSERVED, Observer, Unobserved
from foldline.agent.telemetry.telemetry import Telemetry


__all__ = ["UNOBSERVED", "ObservedModel", "Observer", "Telemetry", "Unobserved"]
