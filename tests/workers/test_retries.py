"""Which errors are tried again, and when."""

import asyncio
from typing import Any

import pytest

from foldline.errors import (
    CommitUnknownError,
    ConfigError,
    ContextOverflowError,
    MissingExtraError,
    ModelError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreKeyError,
    SummarizerError,
    ThreadConflictError,
    ThreadNotFoundError,
    ToolDecisionError,
    TurnRunningError,
)
from foldline.workers.retries import Retries, is_passing


PASSING = [
    ModelError("no answer"),
    ModelError("slow", status=408),
    ModelError("too many", status=429),
    ModelError("broken", status=503),
    StoreError(),
    StoreBusyError(),
    CommitUnknownError(),
    SummarizerError(),
    ThreadConflictError(thread_id="t", expected=1, actual=2),
    TurnRunningError(thread_id="t"),
    ConnectionResetError(),
    TimeoutError(),
]
LASTING = [
    ModelError("no such model", status=404),
    ModelError("wrong key", status=401),
    ContextOverflowError(),
    StoreCorruptError(),
    StoreKeyError(),
    ConfigError(),
    ThreadNotFoundError(thread_id="t"),
    ToolDecisionError(thread_id="t", call_ids=["c"]),
    MissingExtraError(package="p", extra="e"),
    TypeError(),
    KeyError(),
]


@pytest.mark.parametrize("error", PASSING, ids=repr)
def test_what_passes_is_tried_again(error: Exception) -> None:
    """A vendor or a server that is away, busy or broken may come back."""
    assert is_passing(error)
    assert Retries().pause(error, tried=0) is not None


@pytest.mark.parametrize("error", LASTING, ids=repr)
def test_what_lasts_is_given_up(error: Exception) -> None:
    """Mistakes of the caller, keys, damage and unknown errors stay what they are."""
    assert not is_passing(error)
    assert Retries().pause(error, tried=0) is None


def test_pauses_grow_up_to_a_limit() -> None:
    """Each pause is about twice as long as the one before, and all of them are two minutes at most."""
    retries = Retries()
    pauses = [retries.pause(StoreError(), tried=tried) for tried in range(8)]

    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0, None]
    longest = [retries.pause(StoreError(), tried=tried, job=1) or 0 for tried in range(7)]
    assert sum(longest) <= 120


def test_jobs_do_not_come_back_at_once() -> None:
    """A thousand jobs that failed together are spread over half of the pause."""
    pauses = [Retries().pause(StoreError(), tried=3, job=job) or 0 for job in range(1000)]

    assert 4.0 <= min(pauses) < 4.1
    assert 7.9 < max(pauses) <= 8.0


@pytest.mark.parametrize("most", [1, 8])
def test_a_shutdown_gives_back_at_once(most: int) -> None:
    """A cancelled job waits for nothing, and is tried again where an error would end it, but not for ever."""
    retries = Retries(most=most)

    assert retries.pause(asyncio.CancelledError(), tried=6) == 0
    assert retries.pause(asyncio.CancelledError(), tried=7) is None


def test_errors_of_theirs_may_pass() -> None:
    """What a model of theirs raises is tried again if they say so."""
    retries = Retries(passing=(KeyError,))

    assert retries.pause(KeyError(), tried=0) is not None
    assert retries.pause(TypeError(), tried=0) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"most": 0},
        {"first": -1.0},
        {"longest": float("nan")},
        {"passing": KeyError},
        {"passing": ("KeyError",)},
    ],
)
def test_a_policy_is_checked(wrong: dict[str, Any]) -> None:
    """No worker finds out that it tries nothing."""
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Retries(**wrong)
