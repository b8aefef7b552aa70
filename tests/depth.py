"""How deep a run looks: `make test` takes a sample of what `make test-all` goes through."""

import os
from typing import Final


__all__ = ["IS_DEEP", "by_depth"]

IS_DEEP: Final = os.environ.get("HYPOTHESIS_PROFILE", "fast") != "fast"
"""Whether everything is tried, and not a sample."""


def by_depth(sample: int, everything: int) -> int:
    """Return the number for this run."""
    return everything if IS_DEEP else sample
