"""A store by its address, for programs that share one."""

from foldline.threads.store import ThreadStore
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.threads.stores.redis.store import RedisStore
from foldline.threads.stores.sqlite.store import SQLiteStore


def store_at(address: str) -> ThreadStore:
    """Return the store at *address*: a file, or the URL of a server."""
    if address.startswith(("postgres", "host=")):
        return PostgresStore(address)
    if address.startswith(("redis", "unix:")):
        return RedisStore(address)
    return SQLiteStore(address)
