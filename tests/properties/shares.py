"""How much of a property a run tries: a twentieth in `make test`, all of it in `make test-all`."""

from typing import Final

import pytest


__all__ = ["SHARES"]

SHARES: Final = pytest.mark.parametrize(
    "share",
    [pytest.param(20, id="a twentieth"), pytest.param(1, id="all", marks=pytest.mark.slow)],
)
"""By what the number of cases is divided."""
