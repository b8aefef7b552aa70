"""What the tests of turns that run once share: stores and a clock."""

from tests.threads.conftest import clock, store


__all__ = ["clock", "store"]
