"""Several processes on one thread: nothing lost, nothing doubled, nothing split."""

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from foldline.history.messages import Message
from foldline.reduction.state import HistoryReductionState
from tests.threads.concurrency.stores import store_at
from tests.threads.concurrency.writers import BATCH, THREAD, Report


ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(params=["sqlite", "postgres", "redis"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of an empty store, one of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "shared.db")
    fixture = {"postgres": "postgres_dsn", "redis": "redis_url"}[request.param]
    return str(request.getfixturevalue(fixture))


def run_together(address: str, *jobs: tuple[str, str, int]) -> list[Report]:
    """
    Run a process for each of *jobs* (work, name, count), all at once; return what each printed.
    """
    asyncio.run(_make(address))
    program = [sys.executable, "-m", "tests.threads.concurrency.writers", address]
    processes = [
        subprocess.Popen(
            [*program, work, name, str(count)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for work, name, count in jobs
    ]
    with ExitStack() as left:
        pipes = [(left.enter_context(one), one.stdin, one.stdout) for one in processes]
        assert [output and output.readline() for _, _, output in pipes] == ["ready\n"] * len(jobs)
        for _, start, _ in pipes:
            assert start is not None
            start.close()
        return [json.loads(output.read()) for _, _, output in pipes if output is not None]


async def _make(address: str) -> None:
    async with store_at(address) as store:
        await store.thread(THREAD)


def stored(address: str) -> tuple[list[Message], HistoryReductionState | None]:
    """Return what the shared thread holds."""

    async def read() -> tuple[list[Message], HistoryReductionState | None]:
        async with store_at(address) as store:
            thread = await store.thread(THREAD)
            return await thread.get_messages(), thread.last_reduction

    return asyncio.run(read())


def test_batches_of_eight_processes(address: str) -> None:
    """480 batches of eight processes are all there, once, whole and in the order of each."""
    reports = run_together(address, *(("batches", f"p{number}", 60) for number in range(8)))
    texts = [message.text for message in stored(address)[0]]
    batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
    seen: Counter[str] = Counter()

    assert sum(report["acknowledged"] for report in reports) == 480
    assert len(texts) == 480 * BATCH
    assert sum(report["conflicts"] for report in reports) > 0
    for batch in batches:
        name = batch[0].split()[0]
        assert batch == [f"{name} {seen[name]} {place}" for place in range(BATCH)]
        seen[name] += 1
    assert set(seen.values()) == {60}


def test_turns_of_four_processes(address: str) -> None:
    """100 turns that four processes run on one thread are all there, each before its answer."""
    reports = run_together(address, *(("turns", f"p{number}", 25) for number in range(4)))
    messages, _ = stored(address)
    questions, answers = messages[::2], messages[1::2]

    assert sum(report["acknowledged"] for report in reports) == 100
    assert len(messages) == 200
    assert [one.text for one in questions] == [one.text for one in answers]
    assert {one.role for one in questions} == {"user"}
    assert len({one.text for one in questions}) == 100


def test_appends_against_folds(address: str) -> None:
    """While one process folds 15 times, another loses none of its messages."""
    reports = run_together(address, ("append", "a", 100), ("folds", "f", 15))
    messages, reduction = stored(address)
    written = reports[0]["acknowledged"]

    assert reports[1]["acknowledged"] == 15
    assert [one.text.split()[1] for one in messages] == [str(number) for number in range(written)]
    assert reduction is not None
    assert reduction.summarized_up_to_index > 15
    assert reduction.validate_integrity(messages)
