"""Errors of Redis and of the connection to it, as errors of foldline."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from foldline.errors import CommitUnknownError, StoreBusyError, StoreError


__all__ = ["is_elsewhere", "store_error"]


# Redis 6 puts the code of a call that failed in a script after the place in the script.
_CODE = re.compile(
    r"\b(?:BUSY|CLUSTERDOWN|CROSSSLOT|MISCONF|MOVED|NOPERM|NOREPLICAS|OOM|READONLY|WRONGTYPE)\b"
)
# Redis 6 has no code for this one.
_NO_RIGHT = "can't run this command"
# The answers of a Redis that is the wrong one, or not yet ready.
_ELSEWHERE = frozenset({"LOADING", "MASTERDOWN", "MOVED", "READONLY"})
_TROUBLE: Mapping[str, tuple[type[StoreError], str]] = MappingProxyType(
    {
        "BUSY": (StoreBusyError, "Redis is busy with the script of another program"),
        "CROSSSLOT": (StoreError, "this cluster divides the keys of a store"),
        "MASTERDOWN": (StoreError, "this Redis is a replica that has lost its primary"),
        "MISCONF": (StoreError, "Redis cannot write to its disk"),
        "MOVED": (StoreError, "the keys of this store are on another node of the cluster"),
        "NOPERM": (StoreError, "Redis does not let this user run a command"),
        "NOREPLICAS": (StoreError, "too few replicas follow this Redis"),
        "OOM": (StoreError, "Redis has reached its maxmemory: give it more, or delete threads"),
        "READONLY": (StoreError, "this Redis is a replica: give the address of the primary"),
        "WRONGTYPE": (
            StoreError,
            "a key of this store is of another program: choose another prefix",
        ),
    }
)


def store_error(error: Exception, *, is_unknown: bool) -> StoreError:
    """
    Return *error* as an error of foldline, without the values that it may quote.

    Args:
        error: What the driver raised.
        is_unknown: Whether a commit was sent, so that it may have been made without an answer.
    """
    from redis import exceptions  # noqa: PLC0415 - an optional package

    if isinstance(error, exceptions.BusyLoadingError):
        return StoreBusyError("Redis has just started and is still reading its data (LOADING)")
    if isinstance(error, exceptions.AuthenticationError | exceptions.AuthorizationError):
        return StoreError("Redis refuses this user or password (WRONGPASS)")
    if isinstance(error, exceptions.ResponseError):
        return _refusal(error)
    name = type(error).__name__
    if is_unknown:
        return CommitUnknownError(f"the connection to Redis broke in a commit ({name})")
    if isinstance(error, exceptions.TimeoutError | TimeoutError):
        return StoreBusyError(f"Redis did not answer in time ({name})")
    return StoreError(f"Redis cannot be reached ({name})")


def is_elsewhere(error: Exception) -> bool:
    """
    Return whether a Redis refused a call, and did nothing, that another one may accept.

    After a failover the address leads to that one, but the connections still lead to the old one.

    Args:
        error: What the driver raised.
    """
    return _code(error) in _ELSEWHERE


def _refusal(error: Exception) -> StoreError:
    code = _code(error)
    kind, text = _TROUBLE.get(code, (StoreError, "Redis refused a call"))
    return kind(f"{text} ({code})")


def _code(error: Exception) -> str:
    from redis import exceptions  # noqa: PLC0415 - an optional package

    # The driver removes these codes from the text.
    known: tuple[tuple[type[Exception], str], ...] = (
        (exceptions.BusyLoadingError, "LOADING"),
        (exceptions.ClusterCrossSlotError, "CROSSSLOT"),
        (exceptions.MasterDownError, "MASTERDOWN"),
        (exceptions.ClusterDownError, "CLUSTERDOWN"),
        (exceptions.MovedError, "MOVED"),
        (exceptions.NoPermissionError, "NOPERM"),
        (exceptions.OutOfMemoryError, "OOM"),
        (exceptions.ReadOnlyError, "READONLY"),
    )
    for kind, code in known:
        if isinstance(error, kind):
            return code
    if not isinstance(error, exceptions.ResponseError):
        return ""
    text = str(error)
    found = _CODE.search(text)
    if found is None and _NO_RIGHT in text:
        return "NOPERM"
    return found[0] if found else "ERR"
