"""What every test of crashes needs."""

from tests.faults.conftest import folder, hookable


__all__ = ["folder", "hookable"]
