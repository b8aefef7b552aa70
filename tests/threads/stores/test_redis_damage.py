"""One damaged thread in a Redis, beside others."""

import asyncio
from datetime import timedelta
from typing import cast

import pytest
from foldline.threads.verification import verify_store

from foldline.errors import StoreCorruptError, StoreError
from foldline.history.messages import Message
from foldline.threads.key import ThreadKey
from foldline.threads.stores.redis.storage import RedisStorage
from foldline.threads.stores.redis.store import RedisStore
from tests.threads.canaries import NOW
from tests.threads.stores.redis_image import image, tell


DAY = timedelta(days=1)
THREAD = "{foldline}/thread/default/b"
NAMES = "{foldline}/names/default/b"
OWNED = "{foldline}/owned/default/b"

Commands = tuple[tuple[str | bytes, ...], ...]

DAMAGE: dict[str, Commands] = {
    "a document": (("HDEL", THREAD, "metadata/"),),
    "a document, another beside": (("HDEL", THREAD, "metadata/"), ("HSET", THREAD, "odd", "x")),
    "the head": (("HDEL", THREAD, "head"),),
    "the head, another beside": (("HDEL", THREAD, "head"), ("HSET", THREAD, "odd", "x")),
    "the revision": (("HDEL", THREAD, "revision"),),
    "an odd revision": (("HSET", THREAD, "revision", "x"),),
    "an odd expiry": (("HSET", THREAD, "expires", "x"),),
    "an odd name": (
        ("HSET", THREAD, b"metadata/\xff", "x"),
        ("ZADD", NAMES, "0", b"metadata/\xff"),
    ),
    "an odd name of a tool": (
        ("HSET", THREAD, b"tool/\xff", "x"),
        ("ZADD", NAMES, "0", b"tool/\xff"),
    ),
    "the names": (("DEL", NAMES),),
    "other names": (("SET", NAMES, "x"),),
    "another thread": (("SET", THREAD, "x"),),
    "other branches": (("SET", OWNED, "x"),),
}

# BRANCH stands for the branch of the thread.
BELOW: dict[str, tuple[str, ...]] = {
    "another branch": ("SET", "{foldline}/branch/default/BRANCH", "x"),
    "its first number": ("HSET", "{foldline}/branch/default/BRANCH", "at", "x"),
    "half of its first number": ("HSET", "{foldline}/branch/default/BRANCH", "at", "0.5"),
    "other rows": ("SET", "{foldline}/rows/default/BRANCH", "x"),
    "other numbers": ("SET", "{foldline}/system/default/BRANCH", "x"),
    "other children": ("SET", "{foldline}/children/default/BRANCH", "x"),
}


async def prepare(url: str, commands: Commands) -> None:
    """Make the threads a, b and c, which live for a day, and damage b."""
    async with RedisStore(url, clock=lambda: NOW) as store:
        for name in "abc":
            thread = await store.thread(name, ttl=DAY)
            await thread.set_metadata({"a": 1})
            await thread.add_message(Message.user("x"))
    for words in commands:
        await tell(url, *words)


async def branch_of_b(url: str) -> str:
    """Return the branch on which b stands."""
    return cast("bytes", await tell(url, "HGET", THREAD, "branch")).decode()


async def damage_below(url: str, damage: str, branch: str = "") -> None:
    """Damage what lies there of *branch*, by default that of b."""
    name = branch or await branch_of_b(url)
    await tell(url, *(word.replace("BRANCH", name) for word in BELOW[damage]))


async def verdicts(store: RedisStore) -> list[tuple[str, int, bool]]:
    """Return of each thread its id, how many messages are whole, and whether anything is not."""
    return [
        ("" if one.key is None else one.key.id, one.messages, bool(one.faults))
        async for one in verify_store(store)
    ]


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_others_are_listed(redis_url: str, damage: str) -> None:
    """A list passes a damaged thread over, and asking for it alone tells of the damage."""

    async def live() -> list[str]:
        await prepare(redis_url, DAMAGE[damage])
        async with RedisStore(redis_url, clock=lambda: NOW) as store:
            with pytest.raises(StoreCorruptError):
                await store.find("b")
            return [thread.id async for thread in store.threads()]

    assert asyncio.run(live()) == ["a", "c"]


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_others_expire(redis_url: str, damage: str) -> None:
    """A damaged thread stays, and the expired ones before and behind it go."""

    async def live() -> tuple[int, int, list[str]]:
        await prepare(redis_url, DAMAGE[damage])
        async with RedisStore(redis_url, clock=lambda: NOW + 2 * DAY) as store:
            idle = await store.delete_inactive(DAY, dry_run=True)
            purged = await store.purge_expired()
            left = await store.backing.storage.threads("default")
            return idle, purged, [stored.key.id for stored in left]

    assert asyncio.run(live()) == (2, 2, ["b"])


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_damaged_one_is_named(redis_url: str, damage: str) -> None:
    """The verification of a store names the damaged thread and finds the others whole."""

    async def live() -> list[tuple[str, int, bool]]:
        await prepare(redis_url, DAMAGE[damage])
        async with RedisStore(redis_url) as store:
            return await verdicts(store)

    before, (name, _, is_faulty), behind = asyncio.run(live())

    assert (before, behind) == (("a", 1, False), ("c", 1, False))
    assert (name, is_faulty) == ("b", True)


@pytest.mark.parametrize("damage", ["other names", "another thread", "other branches"])
def test_documents_beside_another_key_are_refused(redis_url: str, damage: str) -> None:
    """Asking for the documents of a thread of which a key is something else tells of the damage."""

    async def live() -> None:
        await prepare(redis_url, DAMAGE[damage])
        async with RedisStore(redis_url) as store:
            with pytest.raises(StoreCorruptError):
                await store.backing.storage.documents(ThreadKey("default", "b"), "checkpoint")

    asyncio.run(live())


@pytest.mark.parametrize("damage", BELOW)
def test_a_damaged_branch_is_named(redis_url: str, damage: str) -> None:
    """
    Where what lies there of a branch cannot be used, its thread is named, and the store itself.
    """

    async def live() -> list[tuple[str, int, bool]]:
        await prepare(redis_url, ())
        await damage_below(redis_url, damage)
        async with RedisStore(redis_url) as store:
            return await verdicts(store)

    found = asyncio.run(live())

    assert found == [("a", 1, False), ("b", 0, True), ("c", 1, False), ("", 0, True)]


@pytest.mark.parametrize("damage", BELOW)
def test_a_damaged_branch_is_left_alone(redis_url: str, damage: str) -> None:
    """Writing to a thread with a damaged branch is refused as a whole."""

    async def live() -> tuple[object, object]:
        await prepare(redis_url, ())
        async with RedisStore(redis_url, clock=lambda: NOW) as store:
            thread = await store.thread("b")
            await damage_below(redis_url, damage)
            before = await image(redis_url)
            with pytest.raises(StoreCorruptError):
                await thread.add_message(Message.user("y"))
            return before, await image(redis_url)

    before, after = asyncio.run(live())

    assert after == before


@pytest.mark.parametrize("damage", BELOW)
def test_a_damaged_branch_is_deleted_or_not(redis_url: str, damage: str) -> None:
    """
    A thread with a damaged branch is deleted with all its keys, or the deletion changes nothing.
    """

    async def live() -> tuple[bool, dict[bytes, object], dict[bytes, object], bytes]:
        await prepare(redis_url, ())
        branch = (await branch_of_b(redis_url)).encode()
        await damage_below(redis_url, damage)
        before = await image(redis_url)
        async with RedisStore(redis_url) as store:
            try:
                is_gone = await store.delete("b")
            except StoreCorruptError:
                is_gone = False
        return is_gone, before, await image(redis_url), branch

    is_gone, before, after, branch = asyncio.run(live())

    assert is_gone is (damage not in {"another branch", "other children"})
    assert is_gone or after == before
    assert not is_gone or not any(key.endswith((b"/b", branch)) for key in after)


@pytest.mark.parametrize("damage", ["other names", "the head", "a document"])
def test_a_damaged_thread_can_be_deleted(redis_url: str, damage: str) -> None:
    """A thread that cannot be read is deleted with all its keys."""

    async def live() -> tuple[bool, list[bytes]]:
        await prepare(redis_url, DAMAGE[damage])
        branch = await branch_of_b(redis_url)
        async with RedisStore(redis_url) as store:
            is_gone = await store.delete("b")
        after = await image(redis_url)
        return is_gone, [key for key in after if key.endswith((b"/b", branch.encode()))]

    assert asyncio.run(live()) == (True, [])


@pytest.mark.parametrize("damage", BELOW)
def test_behind_a_damaged_branch_nothing_is_cleared(redis_url: str, damage: str) -> None:
    """
    A thread that has left a branch, which was damaged then, is cleared as a whole or not at all.
    """

    async def live() -> tuple[object, object]:
        await prepare(redis_url, ())
        async with RedisStore(redis_url, clock=lambda: NOW) as store:
            thread = await store.thread("b")
            left = await branch_of_b(redis_url)
            await thread.rewind(1)
            await damage_below(redis_url, damage, left)
            before = await image(redis_url)
            with pytest.raises(StoreCorruptError):
                await thread.clear()
            return before, await image(redis_url)

    before, after = asyncio.run(live())

    assert after == before


def test_a_branch_without_a_first_number_takes_no_rows(redis_url: str) -> None:
    """Where the number of a branch's first row is gone, a commit is refused as damage."""

    async def live() -> None:
        await prepare(redis_url, ())
        async with RedisStore(redis_url, clock=lambda: NOW) as store:
            thread = await store.thread("b")
            branch = await branch_of_b(redis_url)
            await tell(redis_url, "HDEL", f"{{foldline}}/branch/default/{branch}", "at")
            with pytest.raises(StoreCorruptError):
                await thread.add_message(Message.user("y"))

    asyncio.run(live())


def test_a_branch_behind_itself_ends(redis_url: str) -> None:
    """
    Reading a branch that names itself as its parent is refused, and Redis answers the next call.
    """

    async def live() -> list[tuple[str, int, bool]]:
        await prepare(redis_url, ())
        async with RedisStore(redis_url, clock=lambda: NOW, timeout=2) as store:
            await (await store.thread("b")).rewind(1)
            branch = await branch_of_b(redis_url)
            await tell(redis_url, "HSET", f"{{foldline}}/branch/default/{branch}", "parent", branch)
            return await verdicts(store)

    found = asyncio.run(live())

    assert found == [("a", 1, False), ("b", 0, True), ("c", 1, False), ("", 0, True)]


@pytest.mark.parametrize("way", ["delete", "clear"])
def test_deleting_a_branch_behind_itself_ends(redis_url: str, way: str) -> None:
    """
    What sweeps a branch that names itself as its parent comes to an end, and Redis answers on.
    """

    async def live() -> list[str]:
        async with RedisStore(redis_url, clock=lambda: NOW, timeout=2) as store:
            thread = await store.thread("b")
            await thread.add_messages([Message.user("x")] * 4)
            await thread.rewind(2)
            # What shares less than the branch itself does makes it shrink, and its parent with it.
            await thread.fork("c", at=1)
            branch = await branch_of_b(redis_url)
            await tell(redis_url, "HSET", f"{{foldline}}/branch/default/{branch}", "parent", branch)
            await (store.delete("b") if way == "delete" else thread.clear())
            return [one.id async for one in store.threads()]

    assert asyncio.run(live()) == (["c"] if way == "delete" else ["b", "c"])


def test_a_name_that_is_no_text_is_one_fault(redis_url: str) -> None:
    """A checkpoint whose name is no text is the one fault of its thread."""
    field = b"checkpoint/\xff"

    async def live() -> list[tuple[str, list[tuple[str, str]]]]:
        await prepare(redis_url, (("HSET", THREAD, field, "x"), ("ZADD", NAMES, "0", field)))
        async with RedisStore(redis_url) as store:
            return [
                (one.key.id if one.key else "", [(fault.kind, fault.name) for fault in one.faults])
                async for one in verify_store(store)
            ]

    assert asyncio.run(live()) == [("a", []), ("b", [("checkpoint", "\ufffd")]), ("c", [])]


def test_every_name_is_told(redis_url: str) -> None:
    """
    Names that nobody can ask for are among those of the store, and the lists go on without them.
    """
    ids = "{foldline}/threads/default"
    odd = (
        ("ZADD", ids, "0", b"a\xff"),
        ("ZADD", ids, "0", "a b"),
        ("ZADD", "{foldline}/tenants", "0", b"t\xed\xa0\x80"),
        ("ZADD", b"{foldline}/threads/t\xed\xa0\x80", "0", "x"),
    )

    async def live() -> tuple[list[tuple[str, str]], list[str], list[str], list[str]]:
        await prepare(redis_url, odd)
        async with RedisStore(redis_url) as store:
            storage = store.backing.storage
            assert isinstance(storage, RedisStorage)
            listed = [stored.key.id for stored in await storage.threads("default", limit=3)]
            faults = [str(fault) async for one in verify_store(store) for fault in one.faults]
            return await storage.names(), listed, await storage.tenants(), faults

    names, listed, tenants, faults = asyncio.run(live())

    assert names == [
        ("default", "a"),
        ("default", "a b"),
        ("default", "a\ufffd"),
        ("default", "b"),
        ("default", "c"),
        ("t\ufffd\ufffd\ufffd", "x"),
    ]
    assert listed == ["a", "b", "c"]
    assert tenants == ["default", "t\ufffd\ufffd\ufffd"]
    assert len(faults) == 3


@pytest.mark.parametrize("count", [0, 1, 499, 500, 501, 1_000, 1_203])
def test_every_name_is_told_once(redis_url: str, count: int) -> None:
    """However many threads there are, each is named once and in order."""
    words = [word for number in range(count) for word in ("0", f"t{number:04}")]

    async def live() -> list[tuple[str, str]]:
        if words:
            await tell(redis_url, "ZADD", "{foldline}/tenants", "0", "x")
            await tell(redis_url, "ZADD", "{foldline}/threads/x", *words)
        storage = RedisStorage(redis_url)
        await storage.open()
        found = await storage.names()
        await storage.close()
        return found

    assert asyncio.run(live()) == [("x", f"t{number:04}") for number in range(count)]


@pytest.mark.parametrize("key", ["tenants", "threads/default", "format"])
def test_a_key_of_another_program_is_told(redis_url: str, key: str) -> None:
    """Where a list of the store itself is something else, another prefix is advised."""

    async def live() -> None:
        await prepare(redis_url, ())
        async with RedisStore(redis_url) as store:
            await tell(redis_url, "DEL", f"{{foldline}}/{key}")
            await tell(redis_url, "RPUSH", f"{{foldline}}/{key}", "x")
            with pytest.raises(StoreError, match="choose another prefix"):
                await verdicts(store)

    asyncio.run(live())


@pytest.mark.parametrize("key", ["tenants", "threads/default", "format", "epoch"])
def test_beside_another_program_nothing_is_deleted(redis_url: str, key: str) -> None:
    """Where a list of the store itself is something else, a deletion is refused as a whole."""

    async def live() -> tuple[object, object]:
        await prepare(redis_url, ())
        async with RedisStore(redis_url) as store:
            await tell(redis_url, "DEL", f"{{foldline}}/{key}")
            await tell(redis_url, "RPUSH", f"{{foldline}}/{key}", "x")
            before = await image(redis_url)
            with pytest.raises(StoreError, match="choose another prefix"):
                await store.delete("a")
            return before, await image(redis_url)

    before, after = asyncio.run(live())

    assert after == before
