"""The environment of a PostgreSQL store: the server and its settings."""

from collections.abc import AsyncIterator, Mapping

from foldline.errors import MissingExtraError
from foldline.threads.storage import Fact
from foldline.threads.stores.postgres.link import store_error


_TIMEOUT = 10
_ASK = "SELECT name, setting FROM pg_settings WHERE name = ANY(%s)"
# What to do about a setting that is off, and whether data is in danger until then.
_SETTINGS: Mapping[str, tuple[str, bool]] = {
    "fsync": ("set fsync = on: a power cut may damage the whole database", True),
    "full_page_writes": ("set full_page_writes = on: a power cut may damage pages", True),
    "synchronous_commit": ("nothing: foldline turns it on for its own commits", False),
}


async def postgres_facts(dsn: str) -> AsyncIterator[Fact]:
    """Yield the facts about the server at *dsn*."""
    try:
        import psycopg  # noqa: PLC0415 - an optional package
    except ImportError:
        raise MissingExtraError(package="psycopg", extra="postgres") from None
    try:
        connection = await psycopg.AsyncConnection.connect(dsn, connect_timeout=_TIMEOUT)
        async with connection:
            cursor = await connection.execute(_ASK, [["server_version", *_SETTINGS]])
            found = {str(name): str(value) for name, value in await cursor.fetchall()}
    except psycopg.Error as error:
        raise store_error(error) from None
    yield Fact(name="PostgreSQL", value=found["server_version"])
    for name, (advice, is_danger) in _SETTINGS.items():
        is_off = found[name] == "off"
        yield Fact(
            name=name,
            value=found[name],
            advice=advice if is_off else "",
            is_danger=is_off and is_danger,
        )
