"""The tables of a PostgreSQL store: making them, and bringing them up to date."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from foldline.errors import StoreVersionError
from foldline.threads.stores.flatten import Branch, flatten
from foldline.threads.stores.statements import migrations, statements


if TYPE_CHECKING:
    from psycopg import AsyncConnection


__all__ = ["PACKAGE", "migrate", "read_statements"]


PACKAGE: Final = "foldline.threads.stores.postgres"
"""The package with the SQL."""

_FLAT_ROWS: Final = 3


def read_statements() -> Mapping[str, bytes]:
    """Return the statements of the store by their names."""
    return {name: text.encode() for name, text in statements(PACKAGE).items()}


async def migrate(
    connection: "AsyncConnection[Any]", sql: Mapping[str, bytes], schema: str
) -> None:
    """
    Bring the tables in *schema* up to date, all of it in one transaction.

    A user who may not make tables can use those that are up to date.

    Raises:
        StoreVersionError: A newer foldline has written there.
    """
    known = migrations(PACKAGE)
    newest = known[-1][0]
    if await _version(connection, sql, schema) == newest:
        return
    async with connection.transaction():
        # Others who want the same wait here, and find it done.
        await connection.execute(sql["lock_migrations"], {"schema": schema})
        found = await _version(connection, sql, schema)
        if found > newest:
            raise StoreVersionError(what="the store", found=found, known=newest)
        await _make_place(connection, sql, schema)
        for number, pieces in known:
            if number > found:
                # Bodies of functions hold semicolons: the pieces are one script again.
                await connection.execute(";\n".join(pieces).encode())
                if number == _FLAT_ROWS:
                    await _flatten(connection, sql)
                await connection.execute(sql["add_migration"], {"number": number})


async def _flatten(connection: "AsyncConnection[Any]", sql: Mapping[str, bytes]) -> None:
    """Copy the rows that threads shared on branches, byte for byte, to each that reads them."""
    branches: dict[int | str, Branch] = {}
    owned: dict[int, list[Branch]] = {}
    ids: dict[int | str, bytes] = {}
    for pk, thread, parent, at, stop, id in await _all(connection, sql["old_branches"]):
        branches[pk], ids[pk] = Branch(pk, parent, at, stop), id
        if thread is not None:
            owned.setdefault(thread, []).append(branches[pk])
    for thread, current in await _all(connection, sql["old_threads"]):
        own = owned.get(thread) or [branches[current]]
        numbers = dict[int | str, int]()
        for branch in own:
            values = {"thread": thread, "id": ids[branch.name]}
            numbers[branch.name] = int(await _first(connection, sql["add_epoch"], values))
        place = {"thread": thread, "live": numbers[own[0].name], "epoch": ids[own[-1].name]}
        await connection.execute(sql["set_epoch"], place)
        for part in flatten(own, branches):
            for span in part.spans:
                rows = {"branch": span.branch, "start": span.start, "stop": span.stop}
                target = {"target": numbers[part.epoch], "id": ids[span.branch]}
                await connection.execute(sql["copy_old_rows"], {**rows, **target})
    await connection.execute(sql["drop_old"])


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
