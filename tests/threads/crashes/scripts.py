"""Every script."""

from collections.abc import Iterable

import pytest

from tests.threads.crashes import changes, turns
from tests.threads.crashes.script import Script


SCRIPTS = tuple(
    one
    for module in (turns, changes)
    for one in vars(module).values()
    if isinstance(one, Script) and one.fewest
)

IN_PLACE = tuple(script.in_place() for script in SCRIPTS)
"""The same on a store whose caller commits in place."""

_NAMES = {one.name for one in (turns.APPEND, turns.SEQUENTIAL, turns.FOLD)}
_CORE = [one for one in (*SCRIPTS, *IN_PLACE) if one.name.removesuffix(", in place") in _NAMES]


def each(scripts: Iterable[Script] = SCRIPTS) -> pytest.MarkDecorator:
    """Return the mark of a test of each of *scripts*; all but the three core scripts are slow."""
    cases = [
        script if script in _CORE else pytest.param(script, marks=pytest.mark.slow)
        for script in scripts
    ]
    return pytest.mark.parametrize("script", cases, ids=str)
