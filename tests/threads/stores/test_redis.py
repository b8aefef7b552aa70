"""Threads in Redis: what they keep, what they refuse, and what is left of them."""

import asyncio
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from foldline.errors import FoldlineError, ThreadConflictError
from foldline.history.messages import Message
from foldline.reduction.state import HistoryReductionState
from foldline.testing.histories import legal_history
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.stores.redis.store import RedisStore
from foldline.threads.tools import ToolRun
from tests.threads.stores.redis_image import image, tell


NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def talk(count: int, start: int = 0) -> list[Message]:
    """Return a conversation with a system message now and then."""
    return [
        Message.system(f"rule {at}") if at % 7 == 3 else Message.user(f"said-{at}-")
        for at in range(start, start + count)
    ]


def plain(messages: list[Message]) -> list[Message]:
    """Return *messages* without system messages."""
    return [message for message in messages if message.role != "system"]


def loop_state(*, iteration: int) -> AgentLoopState:
    """Return the state of a run."""
    return AgentLoopState(run_id="r", conversation_id="c", started_at=NOW, iteration=iteration)


@pytest.mark.parametrize("seed", range(5))
def test_messages_come_back(redis_url: str, seed: int) -> None:
    """Whatever an agent says, odd characters included, is read back by another store as it was."""
    messages = legal_history(Random(seed), exchanges=30)

    async def keep() -> list[Message]:
        async with RedisStore(redis_url) as store:
            await (await store.thread("t")).add_messages(messages)
        async with RedisStore(redis_url) as store:
            return await (await store.thread("t")).get_messages()

    assert asyncio.run(keep()) == messages


def test_big_commit(redis_url: str) -> None:
    """A commit of 10,000 messages is one commit."""
    messages = talk(10_000)

    async def keep() -> tuple[int, list[Message]]:
        async with RedisStore(redis_url) as store:
            thread = await store.thread("t")
            before = thread.revision
            await thread.add_messages(messages)
            found = await store.thread("t")
            return found.revision - before, await found.get_messages()

    assert asyncio.run(keep()) == (1, messages)


def test_state_comes_back(redis_url: str) -> None:
    """Execution state, reduction, open tool calls and metadata come with the thread."""

    async def keep() -> None:
        async with RedisStore(redis_url) as store:
            thread = await store.thread("t")
            messages = plain(talk(9))
            await thread.add_messages(messages)
            reduction = HistoryReductionState.create(
                messages,
                "Summary",
                4,
                target_count=2,
                reduction_threshold=1,
                message_count_at_reduction=len(messages),
                created_at=NOW,
            )
            run = ToolRun(call_id="a/b\0\u2028*", name="f")
            state = loop_state(iteration=3)
            await thread.commit(execution=state, reduction=reduction, tools=[run])
            await thread.set_metadata({"b'{*}\r\n": "\0"}, display_name="GET *\r\n")
            found = await store.thread("t")

            assert found.last_reduction == thread.last_reduction
            assert found.execution_state == thread.execution_state
            assert found.pending_tools == (run,)
            assert (found.metadata, found.display_name) == ({"b'{*}\r\n": "\0"}, "GET *\r\n")

    asyncio.run(keep())


def test_everything_goes(redis_url: str) -> None:
    """
    Threads that were rewound, edited, forked, cleared and checkpointed leave no key when deleted.
    """

    async def live() -> None:
        async with RedisStore(redis_url, checkpoints="full") as store:
            thread = await store.thread("a:b", tenant="x")
            await thread.add_messages(talk(20))
            await thread.commit(execution=loop_state(iteration=1))
            await thread.rewind(12)
            await thread.edit(4, Message.user("edited"))
            fork = await thread.fork("fork", at=8)
            await fork.add_messages(talk(5))
            await (await fork.fork("fork:2", at=2)).add_messages(talk(3))
            await thread.clear()
            await thread.add_messages(talk(2))
            for name in ("fork", "a:b", "fork:2"):
                assert await store.delete(name, tenant="x")

    asyncio.run(live())

    assert asyncio.run(image(redis_url)) == {}


def test_fork_keeps_what_it_shares(redis_url: str) -> None:
    """A deleted thread leaves what a fork shares and no other message, in no key."""

    async def live() -> list[Message]:
        async with RedisStore(redis_url) as store:
            thread = await store.thread("t")
            await thread.add_messages(talk(20))
            fork = await thread.fork("fork", at=5)
            await store.delete("t")
            return await fork.get_messages()

    found = asyncio.run(live())
    kept = asyncio.run(image(redis_url))

    assert plain(found) == plain(talk(20))[:5]
    assert not [key for key, data in kept.items() for at in range(8, 20) if holds(data, at)]
    assert not [key for key in kept if key.endswith(b"/t")]


def holds(content: object, number: int) -> bool:
    """Tell whether the content of a key has a message of `talk`."""
    return f"said-{number}-" in repr(content)


def test_conflict(redis_url: str) -> None:
    """
    Of two that read the same revision the second to write gets a conflict, and nothing is written.
    """

    async def race() -> tuple[int, list[Message]]:
        async with RedisStore(redis_url) as store:
            first, second = await store.thread("t"), await store.thread("t")
            await first.add_message(Message.user("first"))
            with pytest.raises(ThreadConflictError) as caught:
                await second.add_messages(talk(3))
            await second.append([Message.user("second")])
            await first.refresh()
            return caught.value.actual, await first.get_messages()

    expected = [Message.user("first"), Message.user("second")]

    assert asyncio.run(race()) == (2, expected)


def test_appends_of_many_stores(redis_url: str) -> None:
    """Batches that several stores append to one thread stay whole, and none is lost."""

    async def append(name: int) -> None:
        async with RedisStore(redis_url) as store:
            thread = await store.thread("t")
            for turn in range(10):
                await thread.append([Message.user(f"{name} {turn}")] * 3)

    async def race() -> list[str]:
        await asyncio.gather(*(append(name) for name in range(5)))
        async with RedisStore(redis_url) as store:
            return [one.text for one in await (await store.thread("t")).get_messages()]

    found = asyncio.run(race())

    assert found[::3] == found[1::3] == found[2::3]
    assert sorted(found[::3]) == sorted(f"{name} {turn}" for name in range(5) for turn in range(10))


def test_fork_of_a_deleted_thread(redis_url: str) -> None:
    """Forking a thread that somebody has deleted is refused and makes nothing."""

    async def race() -> None:
        async with RedisStore(redis_url) as store:
            thread = await store.thread("t")
            await thread.add_messages(plain(talk(3)))
            await store.delete("t")
            with pytest.raises(FoldlineError):
                await thread.fork("fork")

    asyncio.run(race())

    assert asyncio.run(image(redis_url)) == {}


@pytest.mark.parametrize(
    ("first", "second"),
    [(("a:b", "c"), ("a", "b:c")), (("a", "rows"), ("rows", "a")), (("a.b", "c"), ("a-b", "c"))],
)
def test_names_do_not_meet(redis_url: str, first: tuple[str, str], second: tuple[str, str]) -> None:
    """Threads whose names look alike, in whatever way, know nothing of each other."""

    async def live() -> list[list[Message]]:
        async with RedisStore(redis_url) as store:
            threads = [await store.thread(id, tenant=tenant) for tenant, id in (first, second)]
            for at, thread in enumerate(threads):
                await thread.add_message(Message.user(f"{at}"))
            return [await thread.get_messages() for thread in threads]

    assert asyncio.run(live()) == [[Message.user("0")], [Message.user("1")]]


@pytest.mark.parametrize(
    "odd", ["*", "acme/t", "a]b", "{acme}", "acme\r\nFLUSHALL", "\ud800", "\0"]
)
def test_odd_tenants_have_no_threads(redis_url: str, odd: str) -> None:
    """
    A tenant or a start that could be a pattern, a path or a command finds nothing, and harms nothing.
    """

    async def live() -> tuple[int, int, list[str]]:
        async with RedisStore(redis_url) as store:
            await store.thread("t", tenant="acme")
            storage = store.backing.storage
            foreign = await storage.threads(odd)
            behind = await storage.threads("acme", after=odd)
            return len(foreign), len(behind) <= 1, await store.tenants()

    assert asyncio.run(live()) == (0, True, ["acme"])


def test_prefixes_are_apart(redis_url: str) -> None:
    """Stores with different prefixes in one Redis share nothing."""

    async def live() -> list[list[str]]:
        async with RedisStore(redis_url, prefix="a") as one, RedisStore(redis_url) as other:
            await one.thread("t", tenant="x")
            return [await one.tenants(), await other.tenants()]

    assert asyncio.run(live()) == [["x"], []]


def test_search_reads(redis_url: str) -> None:
    """A search finds words in Redis too, the newest message first."""

    async def live() -> list[int]:
        async with RedisStore(redis_url) as store:
            thread = await store.thread("t")
            await thread.add_messages([Message.user(f"green {at % 2}") for at in range(600)])
            return [match.number for match in await thread.search("green 1", limit=2)]

    assert asyncio.run(live()) == [599, 597]


def test_expiry_is_of_the_store(redis_url: str) -> None:
    """An expired thread is gone, though no key of Redis has a time to live."""

    async def live() -> tuple[list[object], bool, int]:
        clock = [NOW]
        async with RedisStore(redis_url, clock=lambda: clock[0]) as store:
            await store.thread("t", ttl=timedelta(hours=1))
            lives = [await tell(redis_url, "TTL", key) for key in await image(redis_url)]
            clock[0] += timedelta(hours=2)
            return lives, await store.find("t") is None, await store.purge_expired()

    lives, is_gone, purged = asyncio.run(live())

    assert set(lives) == {-1}
    assert (is_gone, purged) == (True, 1)
    assert asyncio.run(image(redis_url)) == {}


def test_more_tasks_than_connections(redis_url: str) -> None:
    """Many more tasks than connections wait for each other, within their time."""

    async def live() -> tuple[int, object]:
        async with RedisStore(redis_url) as store:

            async def turn(number: int) -> int:
                thread = await store.thread(f"t{number}")
                await thread.add_messages(plain(talk(4)))
                return (await store.thread(f"t{number}")).count

            counts = await asyncio.gather(*(turn(number) for number in range(200)))
            return sum(counts), await tell(redis_url, "INFO", "clients")

    total, clients = asyncio.run(live())

    assert total == 200 * len(plain(talk(4)))
    assert isinstance(clients, dict)
    assert clients["connected_clients"] <= 17
