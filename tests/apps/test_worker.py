"""A worker from the command line, and how its queue stands."""

import asyncio
import sys
from pathlib import Path

import pytest

from foldline.errors import ModelError
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.workers.workers import Workers
from tests.apps.conftest import Run
from tests.workers.scenes import agent_of, said


PROGRAM = """
from foldline import Agent, PostgresStore
from foldline.testing.model import ScriptedModel
from foldline.workers import Workers

agent = Agent(ScriptedModel(repeat="hello"))
workers = Workers(agent, PostgresStore({dsn!r}))
others = Workers(agent, PostgresStore({dsn!r}), queue="others")
number = 7
"""


@pytest.fixture
def module(run: Run, tmp_path: Path, postgres_dsn: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a program in the folder where the command runs."""
    name = f"program_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(PROGRAM.format(dsn=postgres_dsn), encoding="utf-8")
    monkeypatch.setattr(sys, "path", sys.path.copy())
    return name


def post(dsn: str, *steps: ModelError, turn: str = "one") -> list[tuple[str, str]]:
    """Post a turn, and return what the thread holds."""

    async def work() -> list[tuple[str, str]]:
        async with Workers(agent_of(*steps)[0], PostgresStore(dsn)) as workers:
            await workers.answer("t", "hi", turn_id=turn)
            return await said(workers.store, "t")

    return asyncio.run(work())


@pytest.mark.parametrize("name", ["workers", "agent"])
def test_a_worker_answers_what_waits(run: Run, module: str, postgres_dsn: str, name: str) -> None:
    """Both the workers of a program and an agent for a store do the work."""
    assert post(postgres_dsn) == []

    place = ("worker", "--app", f"{module}:{name}", "--store", postgres_dsn)
    outcome = run(*place, "--drain", "--json")

    assert (outcome.code, outcome.json()["waiting"]) == (0, 0)
    assert "runs 10 turns at once" in outcome.err
    assert post(postgres_dsn) == [("user", "hi"), ("assistant", "hello")]


def test_the_status_counts(run: Run, postgres_dsn: str) -> None:
    """It shows what waits, as text and as JSON."""
    post(postgres_dsn)
    shown = run("worker", "status", "--store", postgres_dsn)
    document = run("worker", "status", "--store", postgres_dsn, "--json").json()

    assert shown.code == 0
    assert "foldline: 1 waiting, 0 paused, 0 running, 0 stalled, 0 failed; 0 workers" in shown.out
    assert (document["queue"], document["waiting"], document["failed_jobs"]) == ("foldline", 1, [])


def test_failed_turns_are_named(run: Run, postgres_dsn: str) -> None:
    """What was given up is listed with its thread and its turn."""

    async def fail() -> None:
        agent, _ = agent_of(ModelError("no such model", status=404))
        async with Workers(agent, PostgresStore(postgres_dsn)) as workers:
            await workers.answer("t", "hi", turn_id="[one]")
            await workers.run(wait=False)

    asyncio.run(fail())
    shown = run("worker", "status", "--store", postgres_dsn)

    assert "1 failed" in shown.out
    assert shown.out.splitlines()[-1].split()[1:] == [
        "foldline:answer",
        "default",
        "t",
        "[one]",
        "1",
        "model",
    ]


def test_the_queue_of_a_program_is_shown(run: Run, module: str, postgres_dsn: str) -> None:
    """With --app the status is that of its workers, whatever the name of their queue."""
    post(postgres_dsn)
    shown = run("worker", "status", "--app", f"{module}:workers")
    document = run("worker", "status", "--app", f"{module}:others", "--json").json()

    assert "foldline: 1 waiting" in shown.out
    assert (document["queue"], document["waiting"]) == ("others", 0)


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (
            "import os\nos.environ['NO_SUCH_NAME']\n",
            "NAME ends with KeyError: run `python -m NAME`",
        ),
        ("agent = Agent(\n", "NAME ends with SyntaxError"),
        ("import no_such_package\n", "NAME ends with ModuleNotFoundError"),
        ("from foldline import Agent\nAgent('a b')\n", "model must be 'vendor:model'"),
    ],
)
def test_a_program_that_fails_is_told_of(
    run: Run, module: str, tmp_path: Path, program: str, told: str
) -> None:
    """The kind of the error is named, without its text, and how to see the rest."""
    (tmp_path / f"{module}.py").write_text(program, encoding="utf-8")
    outcome = run("worker", "--app", f"{module}:workers")

    assert outcome.code in {1, 2}
    assert told.replace("NAME", module) in outcome.err
    assert "NO_SUCH_NAME" not in outcome.err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--app", "nowhere:workers"], "there is no nowhere:workers"),
        (["--app", "MODULE:nothing"], "there is no"),
        (["--app", "MODULE:number"], "must be Workers or an Agent, got int"),
        (["--app", "MODULE"], "--app MODULE:NAME"),
        ([], "--app MODULE:NAME"),
        (["walk"], "'walk' is neither run nor status"),
        (["--app", "MODULE:others", "--queue", "more"], "whose queue is others: leave it out"),
        (["status", "--app", "MODULE:others", "--queue", "more"], "--queue has no effect on"),
        (["--app", "MODULE:agent", "--store", "a.db"], "no store at"),
        (["status", "--store", "DSN"], "no queue yet"),
    ],
)
def test_a_wrong_call_is_one_line(
    run: Run, module: str, postgres_dsn: str, arguments: list[str], problem: str
) -> None:
    """What is missing or of another kind is said, with the code 2."""
    names = {"DSN": postgres_dsn}
    given = [names.get(one, one.replace("MODULE", module)) for one in arguments]
    outcome = run("worker", *given)

    assert outcome.code == 2
    assert problem in outcome.err
