"""Importing again what an earlier import has, or has not, brought in."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.threads.change import Change
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.tools import ToolRun
from tests.threads.sample import when


Run = Callable[..., Any]

IMPORT = ("threads", "import", "log.jsonl", "--store", "s.db")
# A disk that is full behind two threads.
FULL = (
    "CREATE TRIGGER full BEFORE INSERT ON threads WHEN (SELECT count(*) FROM threads) = 2 "
    "BEGIN SELECT RAISE(ABORT, 'full'); END"
)


def _log(path: Path, ids: str, *, more: str = "", system: str = "Be brief.") -> None:
    """Write a log of sessions of three messages each."""
    lines = [
        {"conversation_id": id, "role": role, "content": content}
        for id in ids
        for role, content in (
            ("system", system),
            ("user", f"Hello {id}{more}"),
            ("assistant", "Hello."),
        )
    ]
    (path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))


def test_an_import_that_was_cut_off_is_taken_up(run: Run, tmp_path: Path, damage: Run) -> None:
    """Threads that were imported are skipped and counted, and the rest is imported."""
    asyncio.run(_opened(tmp_path / "s.db"))
    damage(tmp_path / "s.db", FULL)
    _log(tmp_path, "abcd")
    failed = run(*IMPORT)
    damage(tmp_path / "s.db", "DROP TRIGGER full")

    again, third = run(*IMPORT, "--json"), run(*IMPORT)

    assert (failed.code, again.code, third.code) == (1, 0, 0)
    assert again.json()["threads"] == [{"id": id, "messages": 3} for id in "cd"]
    assert again.json()["already_there"] == ["a", "b"]
    assert third.out == "already there: 4 threads\n"
    assert run("verify", "--store", "s.db").out == "4 threads with 12 whole messages, 0 damaged\n"


async def _opened(path: Path) -> None:
    async with SQLiteStore(path):
        pass


async def _change(path: Path, *, made_anew: bool) -> None:
    async with SQLiteStore(path) as store:
        if made_anew:
            await store.delete("a")
        thread = await store.thread("a")
        said = [Message.system("Be brief."), Message.user("Hello a"), Message.assistant("Hello.")]
        await thread.add_messages(said if made_anew else said[:1])


@pytest.mark.parametrize(
    ("made_anew", "change"),
    [
        (False, {}),
        (True, {}),
        (None, {"more": "!"}),
        (None, {"system": "Be polite to everybody."}),
        (None, {"system": "Be brisk."}),
    ],
    ids=str,
)
def test_another_thread_of_the_id_stops_an_import(
    run: Run, tmp_path: Path, made_anew: bool | None, change: dict[str, str]
) -> None:
    """
    An import is refused before any thread is written if one of its ids is that of another thread.

    That is one that was continued, that no import has made, or in which something else is said.
    """
    _log(tmp_path, "a")
    run(*IMPORT)
    if made_anew is not None:
        asyncio.run(_change(tmp_path / "s.db", made_anew=made_anew))
    _log(tmp_path, "ba", **change)

    refused = run(*IMPORT)

    assert (refused.code, refused.out, "'a' is there already" in refused.err) == (2, "", True)
    assert [one["id"] for one in _listed(run)] == ["a"]


def test_a_snapshot_is_never_passed_over(run: Run, store: Path) -> None:
    """A snapshot under an id that is taken is refused, also where it is the same thread."""
    exported = run("threads", "export", "one").out.encode()

    once, twice = (run("threads", "import", "-", "--id", "x", stdin=exported) for _ in "ab")

    assert (once.code, twice.code) == (0, 2)
    assert "'x' is there already" in twice.err


def test_what_is_told_of_a_snapshot_is_what_is_stored(run: Run, tmp_path: Path) -> None:
    """A message that the import itself adds, where an open run is ended, is counted too."""

    async def overtaken() -> bytes:
        thread = await MemoryStore().thread("x")
        state = AgentLoopState(run_id="r", conversation_id="x", started_at=when())
        call = Message.assistant(tool_calls=[ToolCallPart("c", "look_up", "{}")])
        run = ToolRun(call_id="c", name="look_up", result="found")
        await thread.commit(
            Change(messages=[Message.user("a"), call], execution=state, tools=[run])
        )
        await thread.append([Message.user("b")])
        return await thread.to_snapshot()

    snapshot = asyncio.run(overtaken())
    made = run("threads", "import", "-", "--store", "s.db", "--json", stdin=snapshot).json()

    assert made["threads"] == [{"id": "x", "messages": 4}]
    assert [one["messages"] for one in _listed(run)] == [4]


def _listed(run: Run) -> Any:
    return run("threads", "list", "--store", "s.db", "--json").json()["threads"]
