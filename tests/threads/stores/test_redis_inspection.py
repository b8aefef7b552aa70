"""
Keys of a Redis that do not fit together: told by a verification, and mended where that is safe.
"""

import asyncio
from collections.abc import Mapping
from types import MappingProxyType

import pytest
from foldline.threads.repair import carry_out, plan_repair
from foldline.threads.salvage import Salvage
from foldline.threads.verification import verify_store

from foldline.errors import FoldlineError, StoreCorruptError
from foldline.history.messages import Message
from foldline.threads.fault import Fault, FaultKind
from foldline.threads.key import ThreadKey
from foldline.threads.stores.redis.storage import RedisStorage
from foldline.threads.stores.redis.store import RedisStore
from tests.servers.redis import RedisServer
from tests.threads.stores.redis_image import image, tell


HOME = "{foldline}"
ONE = f"{HOME}/thread/default/one"

Damage = tuple[tuple[str, ...], ...]

# MINE, LEFT and THEIRS stand for the branches of one, which it has left before, and of its fork two.
MENDED: Mapping[str, Damage] = MappingProxyType(
    {
        "owner of nobody": (("HSET", f"{HOME}/branch/default/MINE", "owner", "x"),),
        "owner of another": (("HSET", f"{HOME}/branch/default/MINE", "owner", "two"),),
        "no owner": (("HDEL", f"{HOME}/branch/default/LEFT", "owner"),),
        "no owned": (("DEL", f"{HOME}/owned/default/one"),),
        "owned by another": (("SADD", f"{HOME}/owned/default/two", "MINE", "LEFT"),),
        "no children": (("DEL", f"{HOME}/children/default/LEFT"),),
        "fewer shared rows": (("ZADD", f"{HOME}/children/default/LEFT", "1", "THEIRS"),),
        "a foreign child": (("ZADD", f"{HOME}/children/default/MINE", "9", "THEIRS"),),
        "no first number": (("HDEL", f"{HOME}/branch/default/LEFT", "at"),),
        "half a first number": (("HSET", f"{HOME}/branch/default/MINE", "at", "0.5"),),
        "a huge first number": (("HSET", f"{HOME}/branch/default/LEFT", "at", "-1e300"),),
        "no system message": (("DEL", f"{HOME}/system/default/LEFT"),),
        "half a system message": (("ZADD", f"{HOME}/system/default/LEFT", "0.5", "0"),),
        "a system message more": (("ZADD", f"{HOME}/system/default/LEFT", "1", "1"),),
        "a system message too far": (("ZADD", f"{HOME}/system/default/LEFT", "999", "999"),),
        "a system message of no number": (("ZADD", f"{HOME}/system/default/LEFT", "1", "x"),),
        "not listed": (("ZREM", f"{HOME}/threads/default", "one"),),
        "no tenant": (("DEL", f"{HOME}/tenants"),),
    }
)
STRAY: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "a branch of nobody": ("HSET", f"{HOME}/branch/default/ff", "at", "0"),
        "rows of no branch": ("RPUSH", f"{HOME}/rows/default/ff", "mx"),
        "numbers of no branch": ("ZADD", f"{HOME}/system/default/ff", "0", "0"),
        "documents of no thread": ("ZADD", f"{HOME}/names/default/x", "0", "metadata/"),
        "branches of no thread": ("SADD", f"{HOME}/owned/default/x", "ff"),
        "a branch that is gone": ("SADD", f"{HOME}/owned/default/one", "ff"),
    }
)


async def fill(store: RedisStore) -> None:
    """Make the thread one, which has left a branch that two shares, and the thread other."""
    one = await store.thread("one")
    texts = [Message.user(f"{at}") for at in range(250)]
    await one.add_messages([Message.system("rule"), *texts, Message.system("rule")])
    await one.fork("two", at=200)
    await one.rewind(100)
    await one.add_messages([Message.user("new"), Message.system("late")])
    await (await store.thread("other", tenant="acme")).add_message(Message.user("x"))


async def damage(url: str, commands: Damage) -> None:
    """Run *commands* with the names of the branches."""
    mine = await tell(url, "HGET", ONE, "branch")
    theirs = await tell(url, "HGET", f"{HOME}/thread/default/two", "branch")
    assert isinstance(mine, bytes)
    assert isinstance(theirs, bytes)
    left = await tell(url, "HGET", f"{HOME}/branch/default/{mine.decode()}", "parent")
    assert isinstance(left, bytes)
    for words in commands:
        named = [
            word.replace("MINE", mine.decode())
            .replace("LEFT", left.decode())
            .replace("THEIRS", theirs.decode())
            for word in words
        ]
        await tell(url, *named)


async def faults(store: RedisStore) -> list[Fault]:
    """Return everything that a verification finds."""
    return [fault async for one in verify_store(store) for fault in one.faults]


async def mend(store: RedisStore) -> list[Fault]:
    """Mend what can be."""
    storage = store.backing.storage
    assert isinstance(storage, RedisStorage)
    return await storage.mend()


def test_a_whole_store_is_whole(redis_url: str) -> None:
    """In a store that has lived nothing is found, and nothing of it is mended."""

    async def live() -> tuple[list[Fault], list[Fault], bool]:
        async with RedisStore(redis_url) as store:
            await fill(store)
            assert isinstance(store.backing.storage, Salvage)
            before = await image(redis_url)
            return await faults(store), await mend(store), await image(redis_url) == before

    assert asyncio.run(live()) == ([], [], True)


@pytest.mark.parametrize("name", MENDED)
def test_what_does_not_fit_is_told_and_mended(redis_url: str, name: str) -> None:
    """A verification tells that keys do not fit together; mended they are as before the damage."""

    async def live() -> tuple[bool, bool, bool, list[Fault]]:
        async with RedisStore(redis_url) as store:
            await fill(store)
            before = await image(redis_url)
            await damage(redis_url, MENDED[name])
            is_told = bool(await faults(store))
            is_mended = bool(await mend(store))
            is_same = await image(redis_url) == before
            return is_told, is_mended, is_same, await faults(store)

    assert asyncio.run(live()) == (True, True, True, [])


@pytest.mark.parametrize("name", STRAY)
def test_what_belongs_to_nothing_is_told(redis_url: str, name: str) -> None:
    """A key that belongs to nothing is stray, and stays."""

    async def live() -> tuple[list[str], list[Fault], bool]:
        async with RedisStore(redis_url) as store:
            await fill(store)
            await tell(redis_url, *STRAY[name])
            before = await image(redis_url)
            kinds: list[str] = sorted({one.kind for one in await faults(store)})
            return kinds, await mend(store), await image(redis_url) == before

    kinds, mended, is_same = asyncio.run(live())

    assert (kinds, mended, is_same) == (["stray"], [], True)


@pytest.mark.parametrize("mends", [False, True])
def test_what_is_deleted_meanwhile_is_neither_told_nor_mended(
    redis_url: str, *, mends: bool
) -> None:
    """
    Beside somebody who makes, forks, clears and deletes threads a whole store is looked at as whole.
    """

    async def live() -> tuple[list[Fault], list[Fault], list[bytes]]:
        async with RedisStore(redis_url) as store, RedisStore(redis_url) as beside:
            await fill(store)
            is_over, told = asyncio.Event(), list[Fault]()
            writers = [asyncio.create_task(write(beside, n, is_over)) for n in range(4)]
            storage = store.backing.storage
            assert isinstance(storage, RedisStorage)
            for _ in range(40):
                told += await (storage.mend() if mends else storage.inspect())
            is_over.set()
            await asyncio.gather(*writers)
            left = await faults(store)
            for tenant, id in await storage.names():
                await store.delete(id, tenant=tenant)
            kept = [
                key for key in await image(redis_url) if not key.endswith((b"format", b"epoch"))
            ]
            return told, left, kept

    assert asyncio.run(live()) == ([], [], [])


async def write(store: RedisStore, number: int, is_over: asyncio.Event) -> None:
    """Make threads of a tenant of their own and delete them, until it is over."""
    tenant = f"tenant-{number}"
    while not is_over.is_set():
        thread = await store.thread("a", tenant=tenant)
        await thread.add_messages([Message.user("x"), Message.system("rule")])
        await thread.fork("b")
        await thread.clear()
        await store.delete("a", tenant=tenant)
        await store.delete("b", tenant=tenant)


@pytest.mark.parametrize("command", ["SET KEY x", "RPUSH KEY x", "SADD KEY x", "ZADD KEY 1 x"])
def test_a_branch_that_is_none_stops_nobody(redis_url: str, command: str) -> None:
    """Where the key of a branch holds something else, that is told, and all else is mended."""

    async def live() -> tuple[list[Fault], set[FaultKind], bool]:
        async with RedisStore(redis_url) as store:
            await fill(store)
            before = await image(redis_url)
            found = await tell(redis_url, "HGET", f"{HOME}/thread/acme/other", "branch")
            assert isinstance(found, bytes)
            key = f"{HOME}/branch/acme/{found.decode()}"
            await damage(redis_url, MENDED["not listed"])
            await tell(redis_url, "DEL", key)
            await tell(redis_url, *(key if word == "KEY" else word for word in command.split()))
            mended = await mend(store)
            after = await image(redis_url)
            left: set[FaultKind] = {one.kind for one in await faults(store)}
            whole = {name for name in before if name != key.encode()}
            return mended, left, all(before[name] == after[name] for name in whole)

    mended, left, is_same = asyncio.run(live())

    assert [one.kind for one in mended] == ["store"]
    assert "store" in left
    assert is_same


def test_a_branch_of_two_owners_is_left_alone(redis_url: str) -> None:
    """Where a thread stands on what another one takes for its own, that is told and not mended."""

    async def live() -> tuple[list[str], list[Fault]]:
        async with RedisStore(redis_url) as store:
            await fill(store)
            await damage(redis_url, (("HSET", ONE, "branch", "THEIRS"),))
            mended = await mend(store)
            return [one.kind for one in await faults(store)], mended

    kinds, mended = asyncio.run(live())

    assert (sorted(kinds), mended) == (["head", "store"], [])


def test_a_lost_branch_name_is_repaired(redis_url: str) -> None:
    """A thread whose head names another branch than the store goes on with every message."""

    async def live() -> tuple[tuple[str, ...], int, list[Fault]]:
        async with RedisStore(redis_url) as store:
            await fill(store)
            await tell(redis_url, "HSET", ONE, "branch", "ff" * 16)
            repair = await plan_repair(store.backing, ThreadKey("default", "one"))
            await carry_out(store.backing, repair)
            thread = await store.thread("one")
            await thread.add_message(Message.user("on"))
            return repair.deeds, thread.count, await faults(store)

    deeds, count, left = asyncio.run(live())

    assert len(deeds) == 1
    assert (count, left) == (104, [])


def test_a_deletion_takes_nothing_of_another(redis_url: str) -> None:
    """A thread that lists the branches of another one is deleted without them."""

    async def live() -> tuple[int, list[Fault]]:
        async with RedisStore(redis_url) as store:
            await fill(store)
            await damage(redis_url, MENDED["owned by another"])
            await store.delete("two")
            thread = await store.thread("one")
            return len(await thread.get_messages()), await faults(store)

    assert asyncio.run(live()) == (103, [])


@pytest.mark.parametrize("number", ["0.5", "-1e300", "nan", "x", "-1", "4294967297", "1" * 400])
def test_a_damaged_number_is_of_its_thread(redis_url: str, number: str) -> None:
    """
    Where the first number of a branch is none, its thread is refused as damaged; others are whole.
    """

    async def live() -> tuple[set[str], object, object]:
        async with RedisStore(redis_url) as store:
            await fill(store)
            thread = await store.thread("other", tenant="acme")
            found = await tell(redis_url, "HGET", f"{HOME}/thread/acme/other", "branch")
            assert isinstance(found, bytes)
            link = f"{HOME}/branch/acme/{found.decode()}"
            await tell(redis_url, "HSET", link, "at", number)
            damaged = {
                "" if one.key is None else one.key.id
                async for one in verify_store(store)
                if one.faults
            }
            before = await image(redis_url)
            for attempt in (thread.get_messages(), thread.add_message(Message.user("y"))):
                with pytest.raises(StoreCorruptError):
                    await attempt
            after = await image(redis_url)
            assert await store.delete("other", tenant="acme")
            assert await faults(store) == []
            return damaged, before, after

    damaged, before, after = asyncio.run(live())

    assert damaged == {"other", ""}
    assert after == before


@pytest.mark.parametrize("score", ["0.5", "inf", "-1"])
def test_a_damaged_share_is_not_cut(redis_url: str, score: str) -> None:
    """Where it is not known how many rows are shared, deleting them is refused as a whole."""

    async def live() -> tuple[object, object]:
        async with RedisStore(redis_url) as store:
            await fill(store)
            shared = ("ZADD", f"{HOME}/children/default/LEFT", score, "THEIRS")
            mine = ("ZREM", f"{HOME}/children/default/LEFT", "MINE")
            await damage(redis_url, (shared, mine))
            before = await image(redis_url)
            with pytest.raises(StoreCorruptError):
                await store.delete("one")
            return before, await image(redis_url)

    before, after = asyncio.run(live())

    assert after == before


def test_a_damaged_revision_is_damage(redis_url: str) -> None:
    """A commit by an open thread whose stored revision is no number is refused as damage."""

    async def live() -> None:
        async with RedisStore(redis_url) as store:
            thread = await store.thread("t")
            for odd in ("abc", "9" * 5000, ""):
                await tell(redis_url, "HSET", f"{HOME}/thread/default/t", "revision", odd)
                with pytest.raises(StoreCorruptError, match="revision"):
                    await thread.add_message(Message.user("x"))

    asyncio.run(live())


@pytest.mark.parametrize("way", ["clear", "delete"])
def test_deleting_costs_as_much_as_there_is(
    redis_server: RedisServer, redis_url: str, way: str
) -> None:
    """
    Deleting what an often edited thread has kept takes Redis some twenty commands for each edit.
    """
    edits = 300

    async def live() -> tuple[int, dict[bytes, object]]:
        async with RedisStore(redis_url) as store:
            thread = await store.thread("t")
            for turn in range(edits):
                await thread.add_messages([Message.user("q"), Message.assistant("a")])
                await thread.edit(2 * turn + 1, Message.assistant("b"))
            await tell(redis_url, "CONFIG", "RESETSTAT")
            await (thread.clear() if way == "clear" else store.delete("t"))
            found = await tell(redis_url, "INFO", "commandstats")
            assert isinstance(found, dict)
            total = sum(one["calls"] for one in found.values())
            await store.delete("t")
            return total, await image(redis_url)

    total, left = asyncio.run(live())

    assert total < 30 * edits
    assert left == {}


@pytest.mark.parametrize("way", ["delete", "clear"])
@pytest.mark.parametrize("at", [0, 1, 5])
@pytest.mark.parametrize("is_shared", [True, False])
def test_what_nobody_owns_is_not_forked(
    redis_url: str, way: str, at: int, *, is_shared: bool
) -> None:
    """A branch that no thread owns any more is shared no more, however little is asked for."""

    async def live() -> bool:
        async with RedisStore(redis_url) as store:
            thread = await store.thread("t")
            await thread.add_messages([Message.user(f"{number}") for number in range(9)])
            if is_shared:
                await thread.fork("first")
            stale = await store.thread("t")
            await (store.delete("t") if way == "delete" else thread.clear())
            with pytest.raises(FoldlineError):
                await stale.fork("second", at=at)
            return await store.find("second") is None

    assert asyncio.run(live())
