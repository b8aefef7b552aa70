"""`foldline threads search` over all threads of a tenant."""

import asyncio
from pathlib import Path

import pytest

from foldline.history.messages import Message
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.apps.conftest import Run


@pytest.fixture(autouse=True)
def _store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FOLDLINE_STORE", str(tmp_path / "a.db"))

    async def fill() -> None:
        async with SQLiteStore(tmp_path / "a.db") as store:
            for name, exchanges in (("ann", 6), ("ben", 2), ("cleo", 8)):
                thread = await store.thread(name)
                said = [
                    one
                    for number in range(exchanges)
                    for one in (
                        Message.user(f"{name} asks for parcel {number} " + "again " * 20),
                        Message.assistant(f"it is in depot {number} " + "still " * 20),
                    )
                ]
                await thread.add_messages(said)

    asyncio.run(fill())


def test_all_threads_are_searched(run: Run) -> None:
    """A text alone is searched in every thread of the tenant, page by page, and shown in columns."""
    first = run("threads", "search", '"parcel 1"', "--limit", "2", "--json").json()
    assert [one["id"] for one in first["matches"]] == ["ann", "ben"]
    rest = run("threads", "search", '"parcel 1"', "--after", first["next"], "--json").json()
    assert ([one["id"] for one in rest["matches"]], rest["next"]) == (["cleo"], "")
    shown = run("threads", "search", "parcel", "--limit", "1")
    assert "ann" in shown.out
    assert "more: --after" in shown.out
    assert "1 message found" in run("threads", "search", "ben", '"parcel 1"').out
    found = run("threads", "search", '"parcel 1"').out.splitlines()
    assert len({line.index("user") for line in found if "user" in line}) == 1
