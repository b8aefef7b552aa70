"""Every script."""

from collections.abc import Mapping
from types import MappingProxyType

from tests.threads.crashes.changes import (
    CLEAR,
    CREATE,
    DELETE,
    EDIT,
    EMPTY_FILE,
    FORK,
    MIGRATE,
    REWIND,
    SEARCH,
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


__all__ = ["CHANGES", "FEWEST", "SCRIPTS", "TURNS"]

TURNS = (APPEND, PLAIN, SEQUENTIAL, PARALLEL, RESUME, FOLD, CHECKPOINTS, SHARED)
"""What a running agent commits."""

CHANGES = (
    FORK,
    REWIND,
    EDIT,
    UNDO,
    DELETE,
    CLEAR,
    SEARCH,
    SETTINGS,
    CREATE,
    EMPTY_FILE,
    MIGRATE,
)
"""What owners commit, and first openings."""

SCRIPTS = (*TURNS, *CHANGES)
"""All of them."""

# Lengths of texts and the last connection to be closed move the number a little, hence no exact one.
FEWEST: Mapping[Script, int] = MappingProxyType(
    {
        APPEND: 90,
        PLAIN: 48,
        SEQUENTIAL: 60,
        PARALLEL: 52,
        RESUME: 42,
        FOLD: 45,
        CHECKPOINTS: 55,
        SHARED: 65,
        FORK: 48,
        REWIND: 34,
        EDIT: 36,
        UNDO: 20,
        DELETE: 150,
        CLEAR: 60,
        SEARCH: 40,
        SETTINGS: 20,
        CREATE: 50,
        EMPTY_FILE: 50,
        MIGRATE: 50,
    }
)
"""
How many writes, flushes, truncates and deletes a script has at least.

Fewer mean that it has lost commits or the harness its sight. What is asked of every script and of
all of them together is derived from these numbers.
"""
