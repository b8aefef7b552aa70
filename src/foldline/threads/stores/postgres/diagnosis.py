"""What endangers a PostgreSQL store: the modes of the server."""

from collections.abc import AsyncIterator, Mapping
from types import MappingProxyType

from foldline.errors import MissingExtraError, StoreError
from foldline.threads.finding import Finding, Weight


__all__ = ["diagnose_postgres"]


_TIMEOUT = 10
_ASK = "SELECT name, setting FROM pg_settings WHERE name = ANY(%s)"
# What each mode must not be, what it means where it is, and what to do.
_MODES: Mapping[str, tuple[str, Weight, str]] = MappingProxyType(
    {
        "fsync": (
            "off",
            "danger",
            "a power cut may damage the whole database: set fsync = on",
        ),
        "full_page_writes": (
            "off",
            "danger",
            "a power cut may damage pages: set full_page_writes = on",
        ),
        "synchronous_commit": (
            "off",
            "note",
            "other programs lose the newest commits in a crash; foldline sets it to on for itself",
        ),
    }
)


async def diagnose_postgres(dsn: str) -> AsyncIterator[Finding]:
    """
    Give the findings about the server at *dsn*.

    Raises:
        MissingExtraError: The `postgres` extra is not installed.
        StoreError: The server cannot be asked.
    """
    try:
        import psycopg  # noqa: PLC0415 - an optional package
    except ImportError:
        raise MissingExtraError(package="psycopg", extra="postgres") from None
    try:
        connection = await psycopg.AsyncConnection.connect(dsn, connect_timeout=_TIMEOUT)
        async with connection:
            names = ("server_version", *_MODES)
            cursor = await connection.execute(_ASK, [list(names)])
            found = {str(name): str(value) for name, value in await cursor.fetchall()}
    except psycopg.Error as error:
        message = f"PostgreSQL cannot be asked ({type(error).__name__})"
        raise StoreError(message) from None
    yield Finding(name="PostgreSQL", value=found["server_version"])
    for name, (bad, weight, advice) in _MODES.items():
        is_bad = found[name] == bad
        yield Finding(
            name=name,
            value=found[name],
            weight=weight if is_bad else "fine",
            advice=advice if is_bad else "",
        )
