"""The stores on which messages are answered once."""

from tests.agent.once.conftest import clock, store


__all__ = ["clock", "store"]
