"""The name of a thread: who owns it, and which of theirs it is."""

import re

from msgspec import Struct

from foldline.checks import expect
from foldline.errors import ThreadIdError


__all__ = ["DEFAULT_TENANT", "ThreadKey", "check_tenant", "listed_key", "name_of"]


DEFAULT_TENANT = "default"
"""The tenant of those who name none."""

# Nothing that a path, a query or a key of any store could take for more than a name.
_ALLOWED = re.compile(r"[A-Za-z0-9._:-]{1,200}", re.ASCII)


class ThreadKey(Struct, frozen=True, order=True):
    """The tenant and the id of a thread, checked on construction."""

    tenant: str
    """The owner; threads of two tenants never meet."""

    id: str
    """The id within the tenant."""

    def __post_init__(self) -> None:
        _check("tenant", self.tenant)
        _check("thread id", self.id)


def check_tenant(tenant: str) -> None:
    """Check that *tenant* has only characters that a name may have."""
    _check("tenant", tenant)


def listed_key(tenant: str, id: str) -> ThreadKey | None:
    """Return the key of a thread that a storage lists; None if its name was damaged."""
    try:
        return ThreadKey(tenant, id)
    except ThreadIdError:
        return None


def name_of(word: bytes | None) -> str:
    """Return a name read as bytes, which no damage stops; what is not text is replaced."""
    return (word or b"").decode("utf-8", "replace")


def _check(name: str, value: str) -> None:
    expect(name, value, str)
    if not _ALLOWED.fullmatch(value):
        raise ThreadIdError(name=name, length=len(value))
