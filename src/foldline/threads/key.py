"""The name of a thread: who owns it, and which of theirs it is."""

import re
from hashlib import sha256

from msgspec import Struct

from foldline.checks import expect
from foldline.errors import ConfigError, ThreadIdError


DEFAULT_TENANT = "default"
"""The tenant of those who name none."""

# Nothing that a path, a query or a key of any store could take for more than a name.
_ALLOWED = re.compile(r"[A-Za-z0-9._:-]{1,200}", re.ASCII)
_OTHERS = re.compile(r"[^A-Za-z0-9._:-]+", re.ASCII)
# What `named` makes of other texts, and of a text that looks like it: see there.
_MADE = re.compile(r"named-[0-9a-f]{40}", re.ASCII)
_SLUG, _HASH = 60, 40


class ThreadKey(Struct, frozen=True, order=True):
    """The tenant and the id of a thread, checked on construction."""

    tenant: str
    """The owner; threads of two tenants never meet."""

    id: str
    """The id within the tenant."""

    def __post_init__(self) -> None:
        _check("tenant", self.tenant)
        _check("thread id", self.id)

    @classmethod
    def named(cls, text: str, *, tenant: str = DEFAULT_TENANT) -> "ThreadKey":
        """
        Return the key of any *text*: an address, a path, a sentence, the id of another program.

        A text that is allowed as an id is the id. Of any other the id is a readable part, a colon
        and `named-` with the first 40 hexadecimal digits of the SHA-256 of the text in UTF-8:
        `user@example.com` is `user-example.com:named-b4c9a289323b21a01c3e940f150eb9b8c542587f`. The
        readable part is the text with a `-` for each run of other characters, 60 characters of it,
        without a `-` at its ends; if nothing is left, it and the colon are left out. A text that has
        this form already is hashed too, so no two texts have the same id. Nothing is folded:
        another case or another normal form of Unicode is another text. The formula never changes.
        """
        expect("text", text, str)
        if _ALLOWED.fullmatch(text) and not _MADE.fullmatch(text.rpartition(":")[2]):
            return cls(tenant, str.__str__(text))
        # A lone surrogate, which UTF-8 has no form of, is a character like any other.
        digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
        slug = _OTHERS.sub("-", text)[:_SLUG].strip("-")
        return cls(tenant, f"{slug and f'{slug}:'}named-{digest}")


def key_of(thread_id: str | ThreadKey, tenant: str) -> ThreadKey:
    """Return the key of *thread_id*, which may be a key itself: of *tenant*, or of none before."""
    if not isinstance(thread_id, ThreadKey):
        return ThreadKey(tenant, thread_id)
    if thread_id.tenant == DEFAULT_TENANT != tenant:
        return ThreadKey(tenant, thread_id.id)
    if tenant not in {DEFAULT_TENANT, thread_id.tenant}:
        raise ConfigError(f"tenant must be {thread_id.tenant!r}, as the key says, got {tenant!r}")
    return thread_id


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
        found = _OTHERS.search(value)
        index = None if found is None else found.start()
        raise ThreadIdError(name=name, value=value, index=index)
