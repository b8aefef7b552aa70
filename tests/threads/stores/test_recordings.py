"""Stores that earlier versions wrote: opened with this one, they answer as they did then."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import pytest
from _pytest.mark import ParameterSet

from foldline.history.messages import Message
from foldline.reduction.state import HistoryReductionState
from tests.threads.stores.recorded import (
    NOW,
    POSTGRES,
    REDIS,
    SQLITE,
    Json,
    expected,
    materialize_postgres,
    materialize_redis,
    materialize_sqlite,
    open_store,
)
from tests.threads.stores.recorded_answers import answers, comparable, consequences


async def _check(name: str, place: str | Path) -> None:
    """Read all of *place*, which brings it up to date; then open it again, and use it."""
    wanted = expected(name)
    async with open_store(name, place) as store:
        found = await answers(store)
    _compare(found, wanted["answers"])
    async with open_store(name, place) as store:
        found = await consequences(store)
    _compare(found, wanted["consequences"])
    runs = cast("dict[str, dict[str, Json]]", found["runs"])
    assert [one["summarizer_calls"] for one in runs.values()] == [0] * len(runs)
    assert all(one["requests"] for one in runs.values())


def _compare(found: dict[str, Json], wanted: Json) -> None:
    """Compare piece by piece, so that a failure names the thread."""
    old = _pieces(wanted)
    new = _pieces(found)
    assert new.keys() == old.keys()
    for place, value in old.items():
        assert comparable(new[place]) == comparable(value), place


def _pieces(value: Json) -> dict[str, Json]:
    """Return what is two levels deep in *value*, by the way to it."""
    found: dict[str, Json] = {}
    for name, one in cast("dict[str, Json]", value).items():
        inner = one if isinstance(one, dict) else {"": one}
        found |= {f"{name}: {key}": piece for key, piece in inner.items()}
    return found


def _some(names: Iterable[str], *fast: str) -> list[ParameterSet]:
    """Return *names*, all but the *fast* ones marked as slow."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (name not in fast)) for name in names]


@pytest.mark.parametrize("name", _some(SQLITE, "sqlite-1", "sqlite-3-encrypted"))
def test_a_file_is_what_it_was(name: str, tmp_path: Path) -> None:
    """A recorded file answers and continues as it did, and no summarizer is asked."""
    path = tmp_path / "a.db"
    materialize_sqlite(name, path)

    asyncio.run(_check(name, path))


@pytest.mark.slow
@pytest.mark.parametrize("name", _some(POSTGRES, "postgres-1-encrypted", "postgres-2"))
def test_a_schema_is_what_it_was(name: str, postgres_dsn: str) -> None:
    """A recorded schema of PostgreSQL answers and continues as it did."""
    materialize_postgres(name, postgres_dsn)

    asyncio.run(_check(name, postgres_dsn))


@pytest.mark.parametrize("name", _some(REDIS, "redis-1-encrypted"))
async def test_a_redis_is_what_it_was(name: str, redis_url: str) -> None:
    """A recorded Redis answers and continues as it did."""
    await materialize_redis(name, redis_url)
    await _check(name, redis_url)


async def test_a_new_reduction_of_old_rows_is_moved(tmp_path: Path) -> None:
    """A snapshot carries a reduction whose digest continues that of rows of version 1."""
    materialize_sqlite("sqlite-1", tmp_path / "a.db")
    async with open_store("sqlite-1", tmp_path / "a.db") as store:
        thread = await store.find("orphan", tenant="acme")
        assert thread is not None
        await thread.add_messages([Message.user("new"), Message.assistant("newer")])
        history = (await thread.window()).history
        state = HistoryReductionState.create(
            history,
            "summary",
            len(history),
            target_count=2,
            reduction_threshold=1,
            message_count_at_reduction=len(history),
            created_at=NOW,
        )
        await thread.save_reduction(state)
        moved = await store.restore(await thread.to_snapshot(), thread_id="moved")

    assert moved.last_reduction is not None
    assert moved.last_reduction.summary_content == "summary"
