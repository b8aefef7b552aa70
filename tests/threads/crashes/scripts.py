"""Every script."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import pytest

from tests.threads.crashes.changes import (
    CLEAR,
    CREATE,
    DELETE,
    EDIT,
    EMPTY_FILE,
    FORK,
    MIGRATE,
    REWIND,
    SETTINGS,
    UNDO,
)
from tests.threads.crashes.script import Script
from tests.threads.crashes.turns import (
    APPEND,
    CHECKPOINTS,
    FOLD,
    PARALLEL,
    PLAIN,
    RESUME,
    SEQUENTIAL,
    SHARED,
)


TURNS = (APPEND, PLAIN, SEQUENTIAL, PARALLEL, RESUME, FOLD, CHECKPOINTS, SHARED)

_CORE = (APPEND, SEQUENTIAL, FOLD)

CHANGES = (
    FORK,
    REWIND,
    EDIT,
    UNDO,
    DELETE,
    CLEAR,
    SETTINGS,
    CREATE,
    EMPTY_FILE,
    MIGRATE,
)

SCRIPTS = (*TURNS, *CHANGES)

# Lengths of texts and the last connection to be closed move the number a little, hence no exact one.
FEWEST: Mapping[Script, int] = MappingProxyType(
    {
        APPEND: 115,
        PLAIN: 50,
        SEQUENTIAL: 60,
        PARALLEL: 52,
        RESUME: 50,
        FOLD: 50,
        CHECKPOINTS: 62,
        SHARED: 80,
        FORK: 68,
        REWIND: 40,
        EDIT: 42,
        UNDO: 30,
        DELETE: 150,
        CLEAR: 62,
        SETTINGS: 24,
        CREATE: 80,
        EMPTY_FILE: 80,
        MIGRATE: 80,
    }
)


def each(scripts: Iterable[Script] = SCRIPTS) -> pytest.MarkDecorator:
    """Return the mark of a test of each of *scripts*; all but the three core scripts are slow."""
    cases = [
        script if script in _CORE else pytest.param(script, marks=pytest.mark.slow)
        for script in scripts
    ]
    return pytest.mark.parametrize("script", cases, ids=str)
