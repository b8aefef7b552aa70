"""Logs of JSON lines, written and read."""

import json
from typing import Any

from foldline.logs import Session, read_sessions


def lines(*values: Any) -> bytes:
    return "\n".join(map(json.dumps, values)).encode()


def read(*values: Any, **options: Any) -> tuple[Session, ...]:
    return read_sessions(lines(*values), **options)


def read_one(*values: Any) -> Session:
    (session,) = read(*values)
    return session
