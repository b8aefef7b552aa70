"""Workers on a real PostgreSQL: what is posted is answered, in order, and once."""

import asyncio
from functools import partial
from signal import SIGTERM, raise_signal, signal
from typing import Any

import psycopg
import pytest
from procrastinate import App, PsycopgConnector
from psycopg.conninfo import conninfo_to_dict

from foldline.agent.agent import Agent
from foldline.agent.pace import RateLimit
from foldline.errors import ConfigError, ModelError, StoreError, TurnFailedError, TurnPendingError
from foldline.history.messages import Message
from foldline.providers.model import ChatRequest
from foldline.reduction.config import HistoryReductionConfig
from foldline.testing.model import ScriptedModel
from foldline.testing.summarizer import ScriptedSummarizer
from foldline.threads.cipher import AesCipher
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.workers.queue import is_open
from foldline.workers.retries import Retries
from foldline.workers.workers import Workers
from tests.servers.postgres import PostgresServer
from tests.workers.scenes import agent_of, listening, said, working


# Without a channel that wakes them, readers would be this late.
LATE = 30.0


def echo(request: ChatRequest) -> str:
    """Answer with what was asked."""
    return f"answer to {request.messages[-1].text}"


async def test_a_job_is_answered(postgres_dsn: str) -> None:
    """The handle gives the result, and it is woken."""
    agent, _ = agent_of("hello")
    async with working(Workers(agent, PostgresStore(postgres_dsn))) as workers:
        job = await workers.answer("t", "hi")
        result = await workers.turn("t", job.turn_id, looks=LATE).result(timeout=20)

    assert result.text == "hello"
    assert (result.is_complete, result.iterations) == (True, 1)


async def test_a_job_holds_ids_only(postgres_dsn: str) -> None:
    """With a cipher, no table of the database has a word of the message or of the answer."""
    agent = Agent(ScriptedModel(["a confidential answer, word by word"], delay=0.01))
    store = PostgresStore(postgres_dsn, cipher=AesCipher(bytes(32)))
    workers = Workers(agent, store, show_every=0.001)
    async with workers:
        job = await workers.answer("t", "a confidential question", turn_id="one")
        waiting = _everything(postgres_dsn)
        async with working(workers):
            texts = [(text, _everything(postgres_dsn)) async for text in job.stream()]

    assert len(texts) > 1
    assert "one" in waiting
    assert not [1 for _, held in [("", waiting), *texts] if "confidential" in held]


def _everything(dsn: str) -> str:
    tables = (
        "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables "
        "WHERE schemaname LIKE 'foldline%'"
    )
    with psycopg.connect(dsn) as connection:
        names = [name for (name,) in connection.execute(tables).fetchall()]
        found = [connection.execute(f"SELECT * FROM {name}".encode()).fetchall() for name in names]
    return repr(found)


async def test_the_turns_of_a_thread_come_in_order(postgres_dsn: str) -> None:
    """What is posted at once to a few threads is answered in the order in which it was posted."""
    agent, _ = agent_of(repeat=echo)
    async with working(Workers(agent, PostgresStore(postgres_dsn)), concurrency=8) as workers:
        jobs = [await workers.answer(f"t{at % 3}", f"question {at}") for at in range(15)]
        for job in jobs:
            await job.result(timeout=60)
        told = [await said(workers.store, f"t{number}") for number in range(3)]

    for number, one in enumerate(told):
        asked = [f"question {at}" for at in range(15) if at % 3 == number]
        assert [text for role, text in one if role == "user"] == asked
        assert [text for role, text in one if role != "user"] == [f"answer to {t}" for t in asked]


async def test_a_queue_is_drained_to_its_last_turn(postgres_dsn: str) -> None:
    """A worker that does not wait ends behind the last turn of each thread, however long it takes."""
    agent = Agent(ScriptedModel(repeat=echo, delay=0.3))
    async with Workers(agent, PostgresStore(postgres_dsn)) as workers:
        jobs = [await workers.answer(f"t{at % 2}", f"question {at}") for at in range(6)]
        await workers.run(wait=False, patience=0.1)
        texts = [(await job.result(timeout=0.1)).text for job in jobs]

    assert texts == [f"answer to question {at}" for at in range(6)]


async def test_a_program_hears_its_own_signals(postgres_dsn: str) -> None:
    """A web server that runs workers beside it hears that it is to stop, and they go on until then."""
    heard: list[int] = []
    before = signal(SIGTERM, lambda number, _: heard.append(number))
    try:
        agent, _ = agent_of(repeat=echo)
        async with working(Workers(agent, PostgresStore(postgres_dsn))) as workers:
            await (await workers.answer("t", "hi")).result(timeout=20)
            raise_signal(SIGTERM)
            result = await (await workers.answer("t", "bye")).result(timeout=20)
    finally:
        signal(SIGTERM, before)

    assert heard == [SIGTERM]
    assert result.text == "answer to bye"


async def test_a_double_click_is_one_turn(postgres_dsn: str) -> None:
    """Posted twice at once under one id, a message is stored once and answered once."""
    agent, model = agent_of(repeat=echo)
    async with working(Workers(agent, PostgresStore(postgres_dsn))) as workers:
        jobs = await asyncio.gather(*(workers.answer("t", "hi", turn_id="one") for _ in range(4)))
        results = [await job.result(timeout=20) for job in jobs]
        await workers.answer("t", "bye", turn_id="two")
        await workers.turn("t", "two").result(timeout=20)
        told = await said(workers.store, "t")

    assert {result.text for result in results} == {"answer to hi"}
    assert len(model.requests) == 2
    assert [text for role, text in told if role == "user"] == ["hi", "bye"]


async def test_a_vendor_that_is_busy_is_asked_again(postgres_dsn: str) -> None:
    """A 429 and a 503 cost a pause each, and what was posted after the turn comes after it."""
    agent, model = agent_of(
        ModelError("too many", status=429), ModelError("broken", status=503), repeat=echo
    )
    store, retries = PostgresStore(postgres_dsn), Retries(first=0.01)
    async with working(Workers(agent, store, retries=retries)) as workers:
        jobs = [await workers.answer("t", text) for text in ("first", "second")]
        for job in jobs:
            await job.result(timeout=30)
        told = await said(store, "t")

    assert len(model.requests) == 4
    assert [text for role, text in told if role == "user"] == ["first", "second"]


async def test_a_mistake_is_given_up(postgres_dsn: str) -> None:
    """The handle raises, the job stays to be looked at, and the next message is answered."""
    agent, _ = agent_of(ModelError("no such model", status=404), repeat=echo)
    async with working(Workers(agent, PostgresStore(postgres_dsn))) as workers:
        bad, good = [await workers.answer("t", text, turn_id=text) for text in ("bad", "good")]
        with pytest.raises(TurnFailedError, match="no such model"):
            await bad.result(timeout=20)
        assert (await good.result(timeout=20)).text == "answer to good"
        status, failed = await workers.status(), await workers.failed()

    assert (status.failed, status.waiting, status.workers) == (1, 0, 1)
    assert [(one.thread, one.turn, one.task) for one in failed] == [("t", "bad", "foldline:answer")]


async def test_a_turn_that_is_posted_again_has_not_failed(postgres_dsn: str) -> None:
    """The failed job says why it failed, and goes when its turn is posted again; others stay."""
    agent, _ = agent_of(*(ModelError("no such model", status=404) for _ in range(2)), "hello")
    async with Workers(agent, PostgresStore(postgres_dsn)) as workers:
        for turn in ("one", "two"):
            await workers.answer(turn, "hi", turn_id=turn)
        await workers.run(wait=False, concurrency=1)
        before = [(one.turn, one.error) for one in await workers.failed()]
        again = await workers.answer("one", "hi", turn_id="one")
        await workers.run(wait=False)
        after = [(one.turn, one.error) for one in await workers.failed()]

        assert before == [("two", "model"), ("one", "model")]
        assert after == [("two", "model")]
        assert (await again.result(timeout=20)).text == "hello"


async def test_a_thread_is_folded_after_its_turns(postgres_dsn: str) -> None:
    """A fold is a job of the thread like any other."""
    agent, _ = agent_of(repeat="yes " * 60)
    async with working(Workers(agent, PostgresStore(postgres_dsn))) as workers:
        for number in range(4):
            await workers.answer("t", f"question {number} " * 60)
        await workers.fold("t")
        await (await workers.answer("t", "and now?")).result(timeout=30)
        thread = await workers.store.thread("t")

    assert thread.last_reduction is not None
    assert thread.count == 10


async def test_a_tenant_is_folded_again(postgres_dsn: str) -> None:
    """Two jobs share its threads, and each thread is folded once."""
    config = HistoryReductionConfig(
        strategy="message_counting", target_count=4, summarization_threshold=2
    )
    agent = Agent(ScriptedModel(), history_reduction=config)
    async with Workers(agent, PostgresStore(postgres_dsn)) as workers:
        for number in range(6):
            thread = await workers.store.thread(f"t{number}", tenant="acme")
            for turn in range(8):
                await thread.add_messages(
                    [Message.user(f"question {turn} " * 40), Message.assistant("yes " * 40)]
                )
        await workers.refold("acme", shards=2)
        due = (await workers.status()).folds_due
        await workers.run(wait=False)
        folded = [one.last_reduction async for one in workers.store.threads(tenant="acme")]
        status = await workers.status()

    assert len(folded) == 6
    assert all(folded)
    assert (status.failed, status.waiting) == (0, 0)
    assert status.folds_due <= due


async def test_a_tenant_is_folded_for_another_agent(postgres_dsn: str) -> None:
    """Workers of a queue of their own fold with another configuration and model, within limits."""
    writer = ScriptedSummarizer(repeat="They said yes to each question.")
    config = HistoryReductionConfig(target_count=2, summarization_threshold=1)
    other = Agent(ScriptedModel(), history_reduction=config, summarizer=writer)
    store = PostgresStore(postgres_dsn)
    async with Workers(agent_of()[0], store) as workers, Workers(other, store, queue="new") as new:
        for number in range(3):
            thread = await store.thread(f"t{number}", tenant="acme")
            for turn in range(8):
                await thread.add_messages(
                    [Message.user(f"question {turn} " * 40), Message.assistant("yes " * 40)]
                )
        limits = {"openai": RateLimit(requests=100, tokens=1)}
        await new.refold("acme", shards=2, limits=limits)
        jobs = await new.app.job_manager.list_jobs_async(queue="new")
        await new.run(wait=False)
        folded = [one.last_reduction async for one in store.threads(tenant="acme")]
        status = await workers.status()

    assert [one.task_kwargs["limits"] for one in jobs] == [
        {"openai": {"requests": 50, "tokens": 1}}
    ] * 2
    assert {one and one.config_fingerprint for one in folded} == {other.reducer.config_fingerprint}
    assert len(writer.requests) == 3
    assert status.waiting == 0


def _let(server: PostgresServer, place: str, *, in_: bool) -> None:
    """Close a database to all, or open it again."""
    name = str(conninfo_to_dict(place)["dbname"])
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS {in_}".encode())
        end = "SELECT pg_terminate_backend(pid, 9000) FROM pg_stat_activity WHERE datname = %s"
        connection.execute(end, [name])


async def _until_tried(app: App) -> None:
    while not [one for one in await app.job_manager.list_jobs_async() if one.attempts]:
        pass


@pytest.mark.slow
async def test_a_turn_ends_when_that_can_be_told(
    postgres_server: PostgresServer, postgres_dsn: str
) -> None:
    """The store is away when the last try fails: the turn is tried again until who waits is told."""
    failure = ModelError("no such model", status=404)

    async def fail(_: ChatRequest) -> str:
        if len(model.requests) == 1:
            await asyncio.to_thread(_let, postgres_server, place, in_=False)
        raise failure

    agent, model = agent_of(repeat=fail)
    app = App(connector=PsycopgConnector(conninfo=postgres_dsn))
    with postgres_server.database() as place:
        store, retries = PostgresStore(place, timeout=1.0), Retries(first=0.1, longest=0.1)
        workers = Workers(agent, store, app=app, retries=retries)
        async with app.open_async(), working(workers):
            await app.schema_manager.apply_schema_async()
            job = await workers.answer("t", "hi")
            await _until_tried(app)
            await asyncio.to_thread(_let, postgres_server, place, in_=True)
            with pytest.raises(TurnFailedError, match="no such model"):
                await job.result(timeout=100)


async def test_an_app_without_tables(postgres_dsn: str) -> None:
    """Who has not made the tables of an app of their own is told how, in the log of a worker too."""
    app = App(connector=PsycopgConnector(conninfo=postgres_dsn))
    workers = Workers(agent_of()[0], PostgresStore(postgres_dsn), queue="support", app=app)
    async with app.open_async(), listening("--apply") as heard, working(workers):
        for ask in (workers.status, workers.failed, workers.refold, partial(workers.fold, "t")):
            with pytest.raises(StoreError, match=r"^run `procrastinate schema --apply`"):
                await ask()
        await asyncio.wait_for(heard.wait(), 30)


async def test_a_queue_that_is_away(postgres_server: PostgresServer) -> None:
    """Who asks how a queue stands while the server is away gets an error of foldline."""
    with postgres_server.database() as place:
        async with Workers(agent_of()[0], PostgresStore(place)) as workers:
            _let(postgres_server, place, in_=False)
            with pytest.raises(StoreError, match="cannot be reached"):
                await workers.status()
            _let(postgres_server, place, in_=True)


async def test_the_tasks_join_an_app(postgres_dsn: str) -> None:
    """An app of the user's own, with tables of its own, takes the tasks and does the jobs."""
    app = App(connector=PsycopgConnector(conninfo=postgres_dsn))
    agent, _ = agent_of(repeat="hello")
    workers = Workers(agent, PostgresStore(postgres_dsn), queue="support", app=app)
    async with app.open_async(), workers:
        await app.schema_manager.apply_schema_async()
        job = await workers.answer("t", "hi")
        await app.run_worker_async(wait=False, queues=["support"], install_signal_handlers=False)
        result = await job.result(timeout=20)

        for _ in range(3):
            await (
                app.tasks["support:take_over"]
                .configure(queueing_lock=None)
                .defer_async(timestamp=0)
            )
        later = await workers.answer("t", "bye")
        await app.run_worker_async(wait=False, queues=["support"], install_signal_handlers=False)
        jobs = list(await app.job_manager.list_jobs_async(task="support:take_over"))
        last = await app.job_manager.list_jobs_async(task="support:answer")

    assert result.text == "hello"
    # Those that sweep come before the turns that wait, and leave one job in the table.
    assert [(one.status, one.priority) for one in jobs] == [("succeeded", 1)]
    assert [one.status for one in last] == ["succeeded"] * 2
    assert later.turn_id != job.turn_id


async def test_an_app_is_opened_unless_it_is_open(postgres_dsn: str) -> None:
    """A program that only posts needs no context but that of the workers, and leaves it as it was."""
    app = App(connector=PsycopgConnector(conninfo=postgres_dsn))
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
    agent, _ = agent_of("hello")
    workers = Workers(agent, PostgresStore(postgres_dsn), queue="support", app=app)
    async with working(workers):
        job = await workers.answer("t", "hi")
        assert (await job.result(timeout=20)).text == "hello"
    assert not is_open(app)

    async with app.open_async():
        async with workers:
            assert (await workers.status()).waiting == 0
        assert is_open(app)


async def test_a_handle_waits_as_long_as_it_is_told(postgres_dsn: str) -> None:
    """Without a worker nothing happens, and the status shows what waits."""
    agent, _ = agent_of()
    async with Workers(agent, PostgresStore(postgres_dsn)) as workers:
        job = await workers.answer("t", "hi")
        with pytest.raises(TurnPendingError, match=r"within 0\.01 seconds"):
            await job.result(timeout=0.01)
        status = await workers.status()

    assert (status.waiting, status.workers, status.running) == (1, 0, 0)
    assert status.oldest > 0


async def test_two_programs_make_the_tables_at_once(postgres_dsn: str) -> None:
    """Those that start together find one queue."""
    agent, _ = agent_of()
    several = [Workers(agent, PostgresStore(postgres_dsn)) for _ in range(4)]
    await asyncio.gather(*(one.open() for one in several))
    await several[0].answer("t", "hi")
    waiting = [(await one.status()).waiting for one in several]
    await asyncio.gather(*(one.close() for one in several))

    assert waiting == [1] * 4


async def test_a_server_that_is_not_there_is_named() -> None:
    """It is an error of the store, and quotes no address."""
    agent, _ = agent_of()
    with pytest.raises(StoreError):
        await Workers(agent, PostgresStore("host=/nowhere password=secret")).open()


def test_the_queue_needs_a_postgresql() -> None:
    """Another store has no place for the jobs."""
    agent, _ = agent_of()

    with pytest.raises(ConfigError, match="PostgresStore"):
        Workers(agent, MemoryStore())


async def test_workers_that_are_not_open_say_so() -> None:
    """Whatever is asked of them then is refused with what to do."""
    agent, _ = agent_of()
    workers = Workers(agent, PostgresStore("postgresql://"))

    for ask in (workers.status, workers.failed, workers.refold):
        with pytest.raises(StoreError, match="the workers are not open: use `async with`"):
            await ask()


async def test_a_limit_of_a_refold_is_a_rate_limit() -> None:
    """Anything else is refused by the name of its vendor."""
    agent, _ = agent_of()
    wrong: Any = {"openai": 5}

    with pytest.raises(ConfigError, match=r"limits\['openai'\] must be a RateLimit, got int"):
        await Workers(agent, PostgresStore("postgresql://")).refold(limits=wrong)


@pytest.mark.parametrize("name", ["", "Two Words", "a" * 41, "1st"])
def test_the_name_of_a_queue_is_a_word(name: str) -> None:
    """It is part of the names of tasks and channels."""
    agent, _ = agent_of()

    with pytest.raises(ConfigError, match="queue"):
        Workers(agent, PostgresStore("postgresql://"), queue=name)


async def test_files_of_a_message_wait_with_it(postgres_dsn: str) -> None:
    """A post keeps whole messages, several if there are."""
    given = [Message.user("look"), Message.user("and this")]
    agent, model = agent_of("seen")
    async with working(Workers(agent, PostgresStore(postgres_dsn))) as workers:
        await (await workers.answer("t", given)).result(timeout=20)

    assert [one.text for one in model.requests[0].messages] == ["look", "and this"]
