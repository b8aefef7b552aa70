"""What every store can be told about damage, and what it cannot."""

import asyncio
from collections.abc import Callable

import msgspec
import pytest
from foldline.threads.repair import (
    WholeRows,
    carry_out,
    find_last_good,
    plan_repair,
    whole_rows,
)
from foldline.threads.verification import verify_store, verify_thread
from msgspec.structs import replace

from foldline.errors import (
    StoreCorruptError,
    StoreKeyError,
    StoreVersionError,
    ThreadNotFoundError,
)
from foldline.history.messages import Message
from foldline.reduction.state import HistoryReductionState, hash_of
from foldline.threads.cipher import AesCipher, Vault
from foldline.threads.head import HEAD_FORMAT, close_head, decode_record, document
from foldline.threads.key import ThreadKey
from foldline.threads.loop_state import AgentLoopState, CurrentMessages
from foldline.threads.step import Document, DocumentKind, Step, StoredRow
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage, MemoryStore
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.threads.stores.redis.store import RedisStore
from tests.threads.sample import COUNT, ONE, fill, said, when


@pytest.fixture(params=["memory", "postgres", "redis"])
def make(request: pytest.FixtureRequest) -> Callable[[], ThreadStore]:
    """Return what makes a store of each kind that is no file."""
    match request.param:
        case "postgres":
            dsn = str(request.getfixturevalue("postgres_dsn"))
            return lambda: PostgresStore(dsn)
        case "redis":
            url = str(request.getfixturevalue("redis_url"))
            return lambda: RedisStore(url)
        case _:
            return MemoryStore


async def _put(store: ThreadStore, document: Document, *, head: bytes | None = None) -> None:
    """Write *document* as it is, and the right head, or *head*."""
    stored = await store.backing.storage.load(ONE)
    assert stored is not None
    before = decode_record(stored, store.backing.vault).head
    moved = before.moved(bytes(8), before.last_activity)
    right = close_head(store.backing.vault, ONE, moved)
    expires_at = None if moved.expires_at is None else moved.expires_at.timestamp()
    step = Step(
        id=bytes(8),
        expected=before.revision,
        head=right if head is None else head,
        branch=moved.branch,
        put=[document],
        last_activity=moved.last_activity.timestamp(),
        expires_at=expires_at,
    )
    await store.backing.storage.commit(ONE, step)


def test_a_whole_store_of_any_kind_has_no_faults(make: Callable[[], ThreadStore]) -> None:
    """What any store gives back is what was written, to the last document."""

    async def run() -> list[tuple[int, int]]:
        async with make() as store:
            await fill(store)
            return [(one.messages, len(one.faults)) async for one in verify_store(store)]

    assert asyncio.run(run()) == [(14, 0), (COUNT, 0), (13, 0)]


def test_a_damaged_document_is_dropped_in_any_store(make: Callable[[], ThreadStore]) -> None:
    """The loss of a document is told, and costs neither a message nor another document."""

    async def run() -> tuple[list[str], tuple[str, ...], list[str], int]:
        async with make() as store:
            await fill(store)
            await _put(store, Document("tool", "late", b"garbage of some length"))
            found = await verify_thread(store.backing, ONE)
            repair = await plan_repair(store.backing, ONE)
            await carry_out(store.backing, repair)
            left = await verify_thread(store.backing, ONE)
            thread = await store.find(ONE.id)
            assert thread is not None
            return [one.kind for one in found], repair.deeds, list(map(str, left)), thread.count

    kinds, deeds, left, count = asyncio.run(run())

    assert (kinds, left, count) == (["tool"], [], COUNT)
    what = "what is known of the call late: whether its tool has run is not known"
    assert deeds == (f"loses {what}: it is damaged",)


def test_nothing_is_emptied_where_the_rows_cannot_be_found() -> None:
    """Without a head a store that knows no branch refuses the repair, and does not begin anew."""

    async def run() -> list[str]:
        async with MemoryStore() as store:
            await fill(store)
            await _put(store, Document("tool", "x", b""), head=b"garbage of some length")
            with pytest.raises(StoreCorruptError, match="go back to a backup"):
                await plan_repair(store.backing, ONE)
            with pytest.raises(StoreCorruptError, match="go back to a backup"):
                await find_last_good(store.backing, ONE)
            return [one.kind for one in await verify_thread(store.backing, ONE)]

    assert "head" in asyncio.run(run())


class _Busy(MemoryStorage):
    """A storage to which somebody writes while it is read, as often as is said."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0

    async def documents(
        self, key: ThreadKey, kind: DocumentKind, *, limit: int | None = None
    ) -> list[Document]:
        if self.writes:
            self.writes -= 1
            thread = await ThreadStore(self).thread(key.id)
            await thread.add_messages(said(1))
        return await super().documents(key, kind, limit=limit)


@pytest.mark.parametrize("writes", [1, 6])
def test_who_writes_meanwhile_does_not_look_like_damage(writes: int) -> None:
    """A whole thread that grows while it is looked at is looked at anew, and needs nothing."""

    async def run() -> tuple[object, int]:
        storage = _Busy()
        async with ThreadStore(storage) as store:
            await fill(store)
            storage.writes = writes
            repair = await plan_repair(store.backing, ONE)
            return repair.step, repair.kept

    step, kept = asyncio.run(run())

    assert step is None
    assert kept >= COUNT


@pytest.mark.parametrize("key", [None, bytes(31) + b"x"], ids=["none", "wrong"])
def test_another_key_is_no_damage(key: bytes | None) -> None:
    """Without its key a thread is neither verified, nor repaired, nor read: that is no damage."""

    async def run() -> None:
        async with MemoryStore(cipher=AesCipher(bytes(32))) as store:
            await fill(store)
            vault = Vault(None if key is None else AesCipher(key))
            backing = msgspec.structs.replace(store.backing, vault=vault)
            for call in (verify_thread, plan_repair, find_last_good, whole_rows):
                with pytest.raises(StoreKeyError):
                    await call(backing, ONE)

    asyncio.run(run())


def test_what_a_newer_foldline_wrote_is_not_repaired() -> None:
    """A head of a newer format is no damage: it is told, and a repair is refused."""

    async def run() -> list[str]:
        async with MemoryStore() as store:
            await fill(store)
            thread = await store.find(ONE.id)
            assert thread is not None
            packed = msgspec.msgpack.encode({"format": HEAD_FORMAT + 1})
            revision = str(thread.revision + 1)
            data = store.backing.vault.close_up(packed, "head", "default", "one", revision)
            await _put(store, Document("tool", "x", b""), head=data)
            with pytest.raises(StoreVersionError):
                await plan_repair(store.backing, ONE)
            return [one.kind for one in await verify_thread(store.backing, ONE)]

    assert asyncio.run(run()) == ["version"]


def test_a_whole_thread_needs_nothing() -> None:
    """Of a whole thread there is nothing to do, and of none at all it is said so."""

    async def run() -> tuple[object, tuple[str, ...], int]:
        async with MemoryStore() as store:
            await fill(store)
            repair = await plan_repair(store.backing, ONE)
            await carry_out(store.backing, repair)
            with pytest.raises(ThreadNotFoundError):
                await plan_repair(store.backing, ThreadKey("default", "none"))
            thread = (await find_last_good(store.backing, ONE)).thread
            assert await thread.get_messages() == said()
            return repair.step, repair.deeds, thread.revision

    step, deeds, revision = asyncio.run(run())

    assert (step, deeds) == (None, ())
    assert revision > 1


def _execution(count: int, digest: bytes) -> bytes:
    state = AgentLoopState(run_id="run", conversation_id="one", started_at=when())
    return state.with_current(CurrentMessages(count, digest)).to_json()


def _reduction(cut: int, messages: list[Message]) -> bytes:
    state = HistoryReductionState.create(
        messages,
        "What was said.",
        0,
        target_count=5,
        reduction_threshold=2,
        message_count_at_reduction=len(messages),
        created_at=when(),
    )
    # Set behind its making, which refuses a cut that parts a call from its answer.
    digest = hash_of(messages, cut)
    return replace(state, summarized_up_to_index=cut, message_hash=digest).to_json()


SAID = [message for message in said() if message.role != "system"]


@pytest.mark.parametrize(
    ("kind", "name", "data", "problem"),
    [
        ("execution", "", _execution(COUNT + 1, bytes(32)), "it belongs to 43 messages, and there"),
        ("execution", "", _execution(COUNT, bytes(32)), "it belongs to other messages than the"),
        ("reduction", "9", _reduction(4, SAID[1:]), "it stands for other messages than the first"),
        ("reduction", "9", _reduction(80, SAID * 3), "it stands for 80 messages, and there are 40"),
        ("reduction", "9", _reduction(6, SAID), "its cut at 6 parts a call from its answer"),
        ("reduction", "9", b"{}", "it was changed or moved"),
        ("tool", "x", b"[]", "it was changed or moved"),
        ("checkpoint", "x", b"[]", "it was changed or moved"),
    ],
    ids=["longer", "other state", "other", "too long", "torn", "none", "no call", "no moment"],
)
def test_a_document_that_belongs_elsewhere_is_named_and_dropped(
    kind: DocumentKind, name: str, data: bytes, problem: str
) -> None:
    """
    A document with a right checksum that does not belong to these messages is found and dropped.
    """

    async def run() -> tuple[list[str], int, list[str]]:
        async with MemoryStore() as store:
            await fill(store)
            await _put(store, document(store.backing.vault, ONE, kind, data, name=name))
            found = await verify_thread(store.backing, ONE)
            repair = await plan_repair(store.backing, ONE)
            await carry_out(store.backing, repair)
            left = await verify_thread(store.backing, ONE)
            return list(map(str, found)), repair.kept, list(map(str, left))

    (fault,), kept, left = asyncio.run(run())

    assert fault.startswith(f"{kind} {name}".strip())
    assert problem in fault
    assert (kept, left) == (COUNT, [])


class _Torn(MemoryStorage):
    """A storage that cannot read one of its rows, and gives back rows that nobody has asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.unreadable: int | None = None

    async def rows(
        self, key: ThreadKey, branch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        rows = await super().rows(key, branch, start, stop, system=system)
        if system or self.unreadable is None:
            return rows
        if start <= self.unreadable < stop:
            message = "the page is damaged"
            raise StoreCorruptError(message)
        return [*rows, *(msgspec.structs.replace(row, seq=COUNT) for row in rows[-1:])]


@pytest.mark.parametrize("unreadable", [0, 20, COUNT - 1])
def test_every_row_that_can_be_read_is_found(unreadable: int) -> None:
    """
    Of a page that a storage cannot read one row is lost; others that nobody asked for are no rows.
    """

    async def run() -> WholeRows:
        storage = _Torn()
        async with ThreadStore(storage) as store:
            await fill(store)
            storage.unreadable = unreadable
            return await whole_rows(store.backing, ONE)

    found = asyncio.run(run())

    whole = {number: one for number, one in enumerate(said()) if number != unreadable}
    assert (found.messages, list(found.messages)) == (whole, list(whole))
    assert found.gaps() == [(unreadable, unreadable)]
    assert [bool(one.metadata) for one in found.marked()].index(True) == unreadable
    assert found.unproved == (unreadable != COUNT - 1)
