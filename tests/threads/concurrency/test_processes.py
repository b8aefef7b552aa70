"""Several processes on one thread: nothing lost, nothing doubled, nothing split."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from foldline.history.messages import Message
from foldline.reduction.state import HistoryReductionState
from tests.threads.concurrency.stores import store_at
from tests.threads.concurrency.writers import BATCH, THREAD, Report


ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 100


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
    moment = str(time.time() + 0.2 * len(jobs))
    program = [sys.executable, "-m", "tests.threads.concurrency.writers", address]
    processes = [
        subprocess.Popen(
            [*program, work, name, str(count), moment],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdout=subprocess.PIPE,
            text=True,
        )
        for work, name, count in jobs
    ]
    outputs = [process.communicate(timeout=PATIENCE)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(jobs)
    return [json.loads(output) for output in outputs]


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
    """1,200 batches of eight processes are all there, once, whole and in the order of each."""
    reports = run_together(address, *(("batches", f"p{number}", 150) for number in range(8)))
    texts = [message.text for message in stored(address)[0]]
    batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
    seen: Counter[str] = Counter()

    assert sum(report["acknowledged"] for report in reports) == 1_200
    assert len(texts) == 1_200 * BATCH
    assert sum(report["conflicts"] for report in reports) > 0
    for batch in batches:
        name = batch[0].split()[0]
        assert batch == [f"{name} {seen[name]} {place}" for place in range(BATCH)]
        seen[name] += 1
    assert set(seen.values()) == {150}


def test_turns_of_four_processes(address: str) -> None:
    """Of 100 turns that four processes ran on one thread, each is there with its answer behind it."""
    reports = run_together(address, *(("turns", f"p{number}", 25) for number in range(4)))
    messages, _ = stored(address)
    questions, answers = messages[::2], messages[1::2]

    assert sum(report["acknowledged"] for report in reports) == 100
    assert len(messages) == 200
    assert [one.text for one in questions] == [one.text for one in answers]
    assert {one.role for one in questions} == {"user"}
    assert len({one.text for one in questions}) == 100


def test_appends_against_folds(address: str) -> None:
    """While one process folds 15 times, another loses none of its 200 messages."""
    reports = run_together(address, ("append", "a", 200), ("folds", "f", 15))
    messages, reduction = stored(address)

    assert [report["acknowledged"] for report in reports] == [200, 15]
    assert [one.text.split()[1] for one in messages] == [str(number) for number in range(200)]
    assert reduction is not None
    assert reduction.summarized_up_to_index > 15
    assert reduction.validate_integrity(messages)
