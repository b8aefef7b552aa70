"""Scripts of what owners of a conversation commit, and of the first openings of a file."""

import sqlite3
from contextlib import closing
from pathlib import Path

from foldline.threads.stores.sqlite.file import APPLICATION_ID
from foldline.threads.thread import ConversationThread
from tests.threads.crashes.batch import said
from tests.threads.crashes.disk import DATABASE
from tests.threads.crashes.script import Script, Stage
from tests.threads.crashes.turns import appending, fold, save


async def _talk(stage: Stage) -> ConversationThread:
    found = await stage.store.find("talk")
    assert found is not None
    return found


async def _fold_twice(stage: Stage) -> None:
    thread = await _talk(stage)
    await fold(stage, thread, 4, archive=False)
    await fold(stage, thread, 8, archive=True)


async def _forks(stage: Stage) -> None:
    thread = await _talk(stage)
    first = await thread.fork("fork-1")
    stage.ack("fork-1")
    await first.add_messages(said("in-fork-1", 3))
    stage.ack("fork-1")
    second = await first.fork("fork-2", at=6)
    stage.ack("fork-2")
    await second.add_messages(said("in-fork-2", 2))
    stage.ack("fork-2")
    await save(stage, "talk", "in-talk", 2)


async def _rewinds(stage: Stage) -> None:
    thread = await _talk(stage)
    for at, batch in ((12, "x"), (6, "y")):
        await thread.rewind(at)
        stage.ack("talk")
        await thread.add_messages(said(batch, 3))
        stage.ack("talk")


async def _edits(stage: Stage) -> None:
    thread = await _talk(stage)
    for index in (9, 2):
        (old,) = (await thread.get_messages())[index : index + 1]
        await thread.edit(index, type(old)(role=old.role, parts=old.parts, id="edited"))
        stage.ack("talk")


async def _undoes(stage: Stage) -> None:
    thread = await _talk(stage)
    for _ in range(2):
        await thread.undo_reduction()
        stage.ack("talk")
        await thread.add_messages(said(f"after-{thread.head.revision}", 2))
        stage.ack("talk")


async def _deletes(stage: Stage) -> None:
    for name in ("talk", "fork-1", "fork-2", "other"):
        await stage.store.delete(name)
        stage.ack(name)
    await save(stage, "talk", "again", 2)


async def _clears(stage: Stage) -> None:
    for name in ("talk", "other"):
        thread = await stage.store.thread(name)
        await thread.clear()
        stage.ack(name)
        await save(stage, name, "again", 3)


async def _other(stage: Stage) -> None:
    await save(stage, "other", "other", 5)


async def _erases(stage: Stage) -> None:
    for name in ("talk", "fork-1", "fork-2", "other"):
        await stage.store.delete(name)
        stage.ack(name)


async def _settings(stage: Stage) -> None:
    thread = await _talk(stage)
    for name in ("first", "second"):
        await thread.set_metadata({"name": name}, display_name=name)
        stage.ack("talk")
        await thread.set_expiry(thread.created_at.replace(year=9000))
        stage.ack("talk")


def _empty_file(folder: Path) -> None:
    (folder / DATABASE).touch()


def _file_without_tables(folder: Path) -> None:
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


_OLD = (appending(("a", 6), ("b", 6), ("c", 4)),)
_FOLDED = (*_OLD, _fold_twice)
_START = (appending(("first", 2)),)

FORK = Script(name="fork", fewest=68, before=_FOLDED, acts=(_forks,))

REWIND = Script(name="rewind", fewest=40, before=_FOLDED, acts=(_rewinds,))

EDIT = Script(name="edit", fewest=42, before=_FOLDED, acts=(_edits,))

UNDO = Script(name="undo", fewest=30, before=_FOLDED, acts=(_undoes,))

DELETE = Script(name="delete", fewest=150, before=(*_FOLDED, _forks, _other), acts=(_deletes,))

ERASE = Script(name="erase", before=(*_FOLDED, _forks, _other), acts=(_erases,))

CLEAR = Script(name="clear", fewest=62, before=(*_FOLDED, _other), acts=(_clears,))

SETTINGS = Script(name="settings", fewest=24, before=_OLD, acts=(_settings,))

CREATE = Script(name="create", fewest=80, acts=_START)

EMPTY_FILE = Script(name="empty file", fewest=80, found=_empty_file, acts=_START)

MIGRATE = Script(name="migrate", fewest=80, found=_file_without_tables, acts=_START)
