"""The tables of a PostgreSQL store: making them, and bringing them up to date."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from foldline.errors import StoreVersionError
from foldline.threads.stores.flatten import Branch, flatten
from foldline.threads.stores.statements import migrations, statements


PACKAGE: Final = "foldline.threads.stores.postgres"
"""The package with the SQL."""

_Run: TypeAlias = Callable[..., Awaitable[list[tuple[Any, ...]]]]

_FLAT_ROWS: Final = 3
# How many rows are copied before the server answers.
_MOST_ROWS: Final = 5_000


def read_statements() -> Mapping[str, bytes]:
    """Return the statements of the store by their names."""
    found = {name: text.encode() for name, text in statements(PACKAGE).items()}
    # Written out, since a parameter would not use the index of these rows.
    found["system_rows"] = found["rows"].replace(b"OFFSET 0", b"AND o.system OFFSET 0")
    return found


async def migrate(run: _Run, sql: Mapping[str, bytes], schema: str) -> None:
    """Bring the tables in *schema* up to date in one transaction, on a connection of its own."""
    known, place = migrations(PACKAGE), {"schema": schema}
    newest = known[-1][0]
    # A user without the right to create tables can use those that are up to date.
    if await _version(run, sql, place) == newest:
        return
    await run(b"BEGIN")
    # Other programs wait here, and then find it done.
    await run(sql["lock_migrations"], place)
    found = await _version(run, sql, place)
    if found > newest:
        raise StoreVersionError(what="the store", found=found, known=newest)
    if not await run(sql["has_schema"], place):
        await run(f'CREATE SCHEMA "{schema}"'.encode())
    await run(sql["make_migrations"])
    for number, pieces in [one for one in known if one[0] > found]:
        # Bodies of functions have semicolons: the pieces become one script again.
        await run(";\n".join(pieces).encode())
        if number == _FLAT_ROWS:
            await _flatten(run, sql)
        await run(sql["add_migration"], {"number": number})
    await run(b"COMMIT")


async def _version(run: _Run, sql: Mapping[str, bytes], place: Mapping[str, str]) -> int:
    if not await run(sql["has_migrations"], place):
        return 0
    ((number,),) = await run(sql["version"])
    return int(number)


async def _flatten(run: _Run, sql: Mapping[str, bytes]) -> None:
    """Copy the rows that threads shared on branches, byte for byte, to each that reads them."""
    branches: dict[int | str, Branch] = {}
    owned = defaultdict[int | None, list[Branch]](list)
    for pk, thread, parent, at, stop, id in await run(sql["old_branches"]):
        branches[pk] = Branch(pk, parent, at, stop, id)
        owned[thread].append(branches[pk])
    for thread, current in await run(sql["old_threads"]):
        own = owned[thread] or [branches[one] for one in (current,) if one in branches]
        live, epoch = await _give_rows(run, sql, thread, own, branches)
        await run(sql["set_epoch"], {"thread": thread, "live": live, "epoch": epoch})
    await run(sql["drop_old"])


async def _give_rows(
    run: _Run,
    sql: Mapping[str, bytes],
    thread: int,
    own: Sequence[Branch],
    branches: Mapping[int | str, Branch],
) -> tuple[int, bytes]:
    """Give a thread rows of its own; return where its live rows lie, and its epoch."""
    numbers = dict[int | str, int]()
    for branch in own:
        values = {"thread": thread, "id": branch.id}
        ((numbers[branch.name],),) = await run(sql["add_epoch"], values)
    for epoch, spans in flatten(own, branches) if own else ():
        for span in spans:
            for start in range(span.start, span.stop, _MOST_ROWS):
                stop = min(start + _MOST_ROWS, span.stop)
                rows = {"branch": span.branch, "start": start, "stop": stop}
                target = {"target": numbers[epoch], "id": branches[span.branch].id}
                await run(sql["copy_old_rows"], {**rows, **target})
    # A damaged thread that has lost its branch has no rows: no epoch has the number 0.
    return (numbers[own[0].name], own[-1].id) if own else (0, b"")
