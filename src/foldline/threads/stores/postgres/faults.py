"""Errors of PostgreSQL and of the connection to it, as errors of foldline."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from foldline.errors import StoreBusyError, StoreCorruptError, StoreError


if TYPE_CHECKING:
    from psycopg import Error


__all__ = ["ends_session", "is_rolled_back", "store_error"]


_CLASS_SIZE = 2
_TROUBLE: Mapping[str, tuple[type[StoreError], str]] = MappingProxyType(
    {
        "25006": (StoreError, "read-only: a replica, or default_transaction_read_only is on"),
        "28000": (StoreError, "PostgreSQL refuses this user"),
        "28P01": (StoreError, "PostgreSQL refuses this user or password"),
        "3D000": (StoreError, "there is no such database"),
        "3F000": (StoreError, "the schema of the store is gone: close and open the store"),
        "40001": (StoreBusyError, "other transactions changed the same rows repeatedly"),
        "40P01": (StoreBusyError, "other transactions waited for the same rows repeatedly"),
        "42501": (StoreError, "this user may not use or create the tables of the store"),
        "42883": (StoreError, "the functions of the store are gone: close and open the store"),
        "42P01": (StoreError, "the tables of the store are gone: close and open the store"),
        "42P07": (StoreError, "the schema has tables of another program: choose another schema"),
        "53100": (StoreError, "the disk of PostgreSQL is full"),
        "53300": (StoreBusyError, "PostgreSQL accepts no more connections"),
        "55P03": (StoreBusyError, "another transaction kept a lock for too long"),
        "57014": (StoreBusyError, "PostgreSQL did not finish in time"),
        "57P03": (StoreBusyError, "PostgreSQL is starting or stopping"),
        "XX001": (StoreCorruptError, "a table of the store is damaged"),
    }
)
# The server has rolled all of it back; the same call may succeed a moment later.
_ROLLED_BACK = frozenset({"40001", "40P01"})
# A broken connection; a server that stops.
_ENDS = frozenset({"08", "57P01", "57P02", "57P03", "57P04", "57P05"})


def store_error(error: "Error") -> StoreError:
    """Return *error* as an error of foldline, without the values that it may quote."""
    from psycopg import OperationalError  # noqa: PLC0415 - an optional package

    state = error.sqlstate
    if state is None:
        text = "cannot be reached" if isinstance(error, OperationalError) else "was not called"
        return StoreError(f"PostgreSQL {text} ({type(error).__name__})")
    kind, text = _TROUBLE.get(state, (StoreError, "PostgreSQL refused a call"))
    return kind(f"{text} ({state})")


def is_rolled_back(error: "Error") -> bool:
    """Whether nothing was written because of concurrent transactions."""
    return error.sqlstate in _ROLLED_BACK


def ends_session(error: "Error") -> bool:
    """Whether *error* means that the server closes the connection."""
    state = error.sqlstate or ""
    return state in _ENDS or state[:_CLASS_SIZE] in _ENDS
