"""
What a caller without a type checker may get wrong, said in one line.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from foldline.errors import ConfigError
from foldline.history.messages import Message
from foldline.threads.change import COMMIT_ID_SIZE


__all__ = [
    "check_commit_id",
    "check_messages",
    "check_metadata",
    "check_moment",
    "check_ttl",
]


def check_messages(messages: Iterable[object]) -> None:
    """
    See that *messages* are messages.

    Raises:
        ConfigError: One is something else.
    """
    for message in messages:
        if not isinstance(message, Message):
            text = f"a message is a {type(message).__name__}: allowed are Message objects"
            raise ConfigError(text)


def check_commit_id(commit_id: object) -> None:
    """
    See that *commit_id* is the id of a commit, or None.

    Raises:
        ConfigError: It is something else.
    """
    if commit_id is None or (isinstance(commit_id, bytes) and len(commit_id) == COMMIT_ID_SIZE):
        return
    message = f"commit_id is a {type(commit_id).__name__}: allowed are {COMMIT_ID_SIZE} bytes"
    raise ConfigError(message)


def check_metadata(metadata: Mapping[str, object] | None, display_name: object) -> None:
    """
    See that *metadata* has names for keys, and *display_name* is a text or None.

    Raises:
        ConfigError: It is not so.
    """
    for key in metadata or ():
        _check_key(key)
    if display_name is not None and not isinstance(display_name, str):
        message = f"display_name is a {type(display_name).__name__}: allowed is a text"
        raise ConfigError(message)


def _check_key(key: object) -> None:
    if not isinstance(key, str) or not key.strip():
        message = "metadata has a blank key: allowed are names"
        raise ConfigError(message)


def check_moment(name: str, moment: object) -> None:
    """
    See that *moment* is a time with a zone, or None.

    Raises:
        ConfigError: It is not; the message says *name*.
    """
    if moment is None:
        return
    if not isinstance(moment, datetime) or moment.utcoffset() is None:
        message = f"{name} is a {type(moment).__name__}: allowed is a datetime with a time zone"
        raise ConfigError(message)


def check_ttl(ttl: object) -> None:
    """
    See that *ttl* is a span above zero, or None.

    Raises:
        ConfigError: It is not.
    """
    if ttl is not None and (not isinstance(ttl, timedelta) or ttl <= timedelta(0)):
        message = f"ttl={ttl!r}: allowed is a timedelta above zero"
        raise ConfigError(message)
