"""The tables of a PostgreSQL store: making them, and bringing them up to date."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from foldline.errors import StoreVersionError
from foldline.threads.stores.flatten import Branch, Span, flatten
from foldline.threads.stores.statements import migrations, statements


if TYPE_CHECKING:
    from psycopg import AsyncConnection


__all__ = ["PACKAGE", "migrate", "read_statements"]


PACKAGE: Final = "foldline.threads.stores.postgres"
"""The package with the SQL."""

_FLAT_ROWS: Final = 3
# How many rows are copied before the server answers.
_MOST_ROWS: Final = 5_000


def read_statements() -> Mapping[str, bytes]:
    """Return the statements of the store by their names."""
    return {name: text.encode() for name, text in statements(PACKAGE).items()}


async def migrate(
    connection: "AsyncConnection[Any]",
    sql: Mapping[str, bytes],
    schema: str,
    *,
    alive: Callable[[], None],
) -> None:
    """
    Bring the tables in *schema* up to date, all of it in one transaction.

    A user without the right to create tables can use those that are up to date.

    Args:
        connection: A connection that nobody else uses.
        sql: The statements of the store.
        schema: The schema of the tables.
        alive: Called whenever the server has answered, since a migration may take long.

    Raises:
        StoreVersionError: A newer foldline has written there.
    """
    known = migrations(PACKAGE)
    newest = known[-1][0]
    if await _version(connection, sql, schema) == newest:
        return
    async with connection.transaction():
        # Other programs wait here, and then find it done.
        await connection.execute(sql["lock_migrations"], {"schema": schema})
        found = await _version(connection, sql, schema)
        if found > newest:
            raise StoreVersionError(what="the store", found=found, known=newest)
        await _make_place(connection, sql, schema)
        for number, pieces in [one for one in known if one[0] > found]:
            # Bodies of functions have semicolons: the pieces become one script again.
            await connection.execute(";\n".join(pieces).encode())
            if number == _FLAT_ROWS:
                await _flatten(connection, sql, alive)
            await connection.execute(sql["add_migration"], {"number": number})


async def _flatten(
    connection: "AsyncConnection[Any]", sql: Mapping[str, bytes], alive: Callable[[], None]
) -> None:
    """Copy the rows that threads shared on branches, byte for byte, to each that reads them."""
    branches: dict[int | str, Branch] = {}
    owned: dict[int, list[Branch]] = {}
    ids: dict[int | str, bytes] = {}
    for pk, thread, parent, at, stop, id in await _all(connection, sql["old_branches"]):
        branches[pk], ids[pk] = Branch(pk, parent, at, stop), id
        if thread is not None:
            owned.setdefault(thread, []).append(branches[pk])
    for thread, current in await _all(connection, sql["old_threads"]):
        own = owned.get(thread) or [branches[one] for one in (current,) if one in branches]
        numbers = dict[int | str, int]()
        for branch in own:
            values = {"thread": thread, "id": ids[branch.name]}
            numbers[branch.name] = int(await _first(connection, sql["add_epoch"], values))
        for span, owner in _spans(own, branches):
            rows = {"branch": span.branch, "start": span.start, "stop": span.stop}
            target = {"target": numbers[owner], "id": ids[span.branch]}
            await connection.execute(sql["copy_old_rows"], {**rows, **target})
            alive()
        # A damaged thread that has lost its branch has no rows: no epoch has the number 0.
        live, epoch = (numbers[own[0].name], ids[own[-1].name]) if own else (0, b"")
        place = {"thread": thread, "live": live, "epoch": epoch}
        await connection.execute(sql["set_epoch"], place)
        alive()
    await connection.execute(sql["drop_old"])


def _spans(
    own: Sequence[Branch], branches: Mapping[int | str, Branch]
) -> Iterator[tuple[Span, int | str]]:
    """Yield where rows are and which epoch gets them, some rows at a time."""
    for part in flatten(own, branches) if own else ():
        for span in part.spans:
            for start in range(span.start, span.stop, _MOST_ROWS):
                stop = min(start + _MOST_ROWS, span.stop)
                yield Span(span.branch, start, stop), part.epoch


async def _make_place(
    connection: "AsyncConnection[Any]", sql: Mapping[str, bytes], schema: str
) -> None:
    from psycopg.sql import SQL, Identifier  # noqa: PLC0415 - an optional package

    values = {"schema": schema}
    if not await _first(connection, sql["has_schema"], values):
        await connection.execute(SQL("CREATE SCHEMA {}").format(Identifier(schema)))
    if not await _first(connection, sql["has_migrations"], values):
        await connection.execute(sql["make_migrations"])


async def _version(
    connection: "AsyncConnection[Any]", sql: Mapping[str, bytes], schema: str
) -> int:
    if not await _first(connection, sql["has_migrations"], {"schema": schema}):
        return 0
    return int(await _first(connection, sql["version"], {}))


async def _all(connection: "AsyncConnection[Any]", sql: bytes) -> list[tuple[Any, ...]]:
    cursor = await connection.execute(sql)
    return await cursor.fetchall()


async def _first(
    connection: "AsyncConnection[Any]", sql: bytes, values: Mapping[str, object]
) -> Any:
    cursor = await connection.execute(sql, values)
    row = await cursor.fetchone()
    return None if row is None else row[0]
