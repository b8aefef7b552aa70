"""Redis as a storage: the promises of the kit, and its keys."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from foldline.errors import StoreCorruptError
from foldline.history.messages import Message
from foldline.testing.storage import StorageCheck, StorageConformance
from foldline.threads.change import Document
from foldline.threads.stores.redis.store import RedisStore
from tests.threads.stores.redis_image import image, tell
from tests.threads.stores.writing import lab_of


NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def key_of(kind: str, name: str = "t") -> bytes:
    """Return a key of the tenant `acme`."""
    return f"{{foldline}}/{kind}/acme/{name}".encode()


@pytest.mark.parametrize("check", StorageConformance.checks(), ids=lambda one: one.name)
async def test_conformance(redis_url: str, check: StorageCheck) -> None:
    """Redis keeps every promise of a storage, and no key is left of what a check wrote."""
    assert await StorageConformance(lambda: RedisStore(redis_url).context.storage).prove(check)
    assert await image(redis_url) == {}


@pytest.mark.parametrize("start", [0, 3, 5])
async def test_gap_is_refused(redis_url: str, start: int) -> None:
    """Rows whose numbers do not follow the stored ones are refused with all of their commit."""
    async with lab_of(RedisStore(redis_url).context.storage) as lab:
        scribe = lab.scribe("t")
        await scribe.write(4)
        before = await image(redis_url)
        with pytest.raises(StoreCorruptError):
            await scribe.commit(scribe.change(scribe.drawn(2, at=start)))
        assert await image(redis_url) == before


@pytest.mark.parametrize(
    "damage",
    [
        ("HDEL", key_of("thread"), "head"),
        ("HDEL", key_of("thread"), "metadata/"),
        ("DEL", key_of("names")),
    ],
    ids=["head", "document", "names"],
)
async def test_a_damaged_thread_hides_no_other(
    redis_url: str, damage: tuple[str | bytes, ...]
) -> None:
    """A thread that has lost keys is refused as damaged, listed without head, and can be deleted."""
    async with lab_of(RedisStore(redis_url).context.storage) as lab:
        for name in "at":
            await lab.scribe(name).write(1, put=[Document("metadata", "", b"m")])
        await tell(redis_url, *damage)
        with pytest.raises(StoreCorruptError):
            await lab.storage.load(lab.key("t"))
        found = await lab.storage.threads("acme")
        assert await lab.storage.delete(lab.key("t"))
        assert not [key for key in await image(redis_url) if key.endswith(b"/acme/t")]
        assert [(one.key.id, bool(one.head)) for one in found] == [("a", True), ("t", False)]


async def test_a_thread_can_be_made_in_place_of_an_evicted_one(redis_url: str) -> None:
    """If Redis has dropped the hash of a thread, one made again has nothing of its other keys."""
    async with lab_of(RedisStore(redis_url).context.storage) as lab:
        old = lab.scribe("t")
        await old.write(3, system=(0,), put=[Document("tool", "a", b"x")])
        await old.rewind(1, 1)
        await tell(redis_url, "DEL", key_of("thread"))
        listed = [one.key.id for one in await lab.storage.threads("acme")]
        new = lab.scribe("t")
        await new.write(2)
        await new.verify()
        assert await new.documents() == {}
        await lab.storage.delete(new.key)

    assert listed == []
    assert await image(redis_url) == {}


async def test_many_system_messages(redis_url: str) -> None:
    """System messages come alone, in order, however many there are, at earlier epochs too."""
    async with lab_of(RedisStore(redis_url).context.storage) as lab:
        scribe = lab.scribe()
        await scribe.write(2_500, system=range(0, 2_500, 2))
        await scribe.rewind(2_000, 100)
        for epoch in (scribe.epoch, *scribe.left):
            rows = scribe.rows if epoch == scribe.epoch else scribe.left[epoch]
            wanted = [row for row in rows[10:2_450] if row.system]
            assert await scribe.read(10, 2_450, epoch=epoch, system=True) == wanted


async def test_tenant_is_in_every_key(redis_url: str) -> None:
    """Every key begins with the prefix in braces, and every key of a thread names its tenant."""
    async with lab_of(RedisStore(redis_url, prefix="app:1").context.storage) as lab:
        scribe = lab.scribe("t")
        await scribe.write(4, system=(1,), put=[Document("tool", "a/b\0", b"x")])
        await scribe.rewind(2)
    keys = set(await image(redis_url))

    shared = {b"{app:1}/format", b"{app:1}/tenants"}
    assert shared < keys
    assert all(key.split(b"/")[0::2][:2] == [b"{app:1}", b"acme"] for key in keys - shared)


async def test_expiry_is_of_the_store(redis_url: str) -> None:
    """An expired thread is gone, though no key of Redis has a time to live."""
    clock = [NOW]
    async with RedisStore(redis_url, clock=lambda: clock[0]) as store:
        await store.thread("t", ttl=timedelta(hours=1))
        assert {await tell(redis_url, "TTL", key) for key in await image(redis_url)} == {-1}
        clock[0] += timedelta(hours=2)
        assert await store.find("t") is None
        assert await store.purge_expired() == 1
    assert await image(redis_url) == {}


async def test_more_tasks_than_connections(redis_url: str) -> None:
    """Many more tasks than connections wait for each other, within their time."""
    async with RedisStore(redis_url) as store:

        async def turn(number: int) -> int:
            thread = await store.thread(f"t{number}")
            await thread.add_messages([Message.user("x")] * 4)
            return (await store.thread(f"t{number}")).head.count

        counts = await asyncio.gather(*(turn(number) for number in range(200)))
        total, clients = sum(counts), await tell(redis_url, "INFO", "clients")

    assert total == 800
    assert isinstance(clients, dict)
    assert clients["connected_clients"] <= 17
