"""What the threads of one store have in common."""

import os
from collections.abc import Callable
from datetime import UTC, datetime

from msgspec import Struct

from foldline.history.tokens import TokenCounter, TokenEstimator
from foldline.threads.checkpoint import CheckpointRetention
from foldline.threads.cipher import Vault
from foldline.threads.old_storage import ThreadStorage


__all__ = ["Backing", "now_utc"]


def now_utc() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


class Backing(Struct, frozen=True, kw_only=True):
    """Where threads lie, and what counts, protects, names and dates them."""

    storage: ThreadStorage
    """Where they lie."""

    counter: TokenCounter = TokenEstimator()
    """What counts the tokens of their messages."""

    vault: Vault = Vault()
    """What protects their bytes."""

    clock: Callable[[], datetime] = now_utc
    """What tells the time, with a time zone."""

    random_bytes: Callable[[int], bytes] = os.urandom
    """What names branches and commits."""

    checkpoints: CheckpointRetention = "latest"
    """Which checkpoints are kept."""

    ends_commits: bool = False
    """Whether the storage is a `SteadyStorage`."""
