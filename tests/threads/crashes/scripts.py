"""
Every script.
"""

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


__all__ = ["CHANGES", "SCRIPTS", "TURNS"]

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
