"""`foldline threads due`, `refold` and `search` over all threads of a tenant."""

import asyncio
from pathlib import Path

import pytest

from foldline.history.messages import Message
from foldline.reduction.fold_rule import FoldRule
from foldline.threads.change import Change
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.apps.conftest import Run


CONFIG = "[history_reduction]\ntarget_count = 2\nsummarization_threshold = 1\n"


@pytest.fixture(autouse=True)
def _store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FOLDLINE_STORE", str(tmp_path / "a.db"))
    (tmp_path / "agent.toml").write_text(CONFIG)

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
                rule = FoldRule(unit="exchanges", most=3)
                await thread.commit(Change(messages=said, fold_rule=rule))

    asyncio.run(fill())


def test_due_folds_are_listed(run: Run) -> None:
    """The threads beyond their rule are listed in pages, and the last page names no other."""
    first = run("threads", "due", "--limit", "1", "--json").json()
    assert [one["id"] for one in first["threads"]] == ["ann"]
    rest = run("threads", "due", "--after", first["next"], "--json").json()
    assert ([one["id"] for one in rest["threads"]], rest["next"]) == (["cleo"], "")
    shown = run("threads", "due", "--limit", "1")
    assert "1 fold due of tenant default" in shown.out
    assert f"more: --after {first['next']}" in shown.out


def test_threads_are_folded_for_an_agent(run: Run, tmp_path: Path) -> None:
    """Each thread that the agent would fold is folded once, and its folds are due no longer."""
    config = str(tmp_path / "agent.toml")
    found = run("threads", "refold", "--config", config, "--shard", "0/1", "--json").json()
    assert found["counts"] == {"folded": 2, "not_due": 1}
    assert found["is_complete"] is True
    assert run("threads", "due", "--json").json()["threads"] == []
    again = run("threads", "refold", "--config", config)
    assert "3 threads: current: 2, not due: 1" in again.out
    only = run("threads", "refold", "--due", "--config", config, "--requests", "5")
    assert "0 threads: none" in only.out


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
