"""Whether a thread, or a whole store, is still as it was written."""

from collections.abc import AsyncIterator

from msgspec import Struct
from msgspec.structs import replace

from foldline.errors import (
    FormatError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreKeyError,
    StoreVersionError,
)
from foldline.history.digest import EMPTY_DIGEST, follows, hash_text, same_hash
from foldline.threads.change import Document
from foldline.threads.commit import fold_name
from foldline.threads.head import (
    Head,
    active,
    content_of,
    decode_head,
    decode_reduction,
    open_head,
    record_of,
)
from foldline.threads.key import ThreadKey, check_tenant
from foldline.threads.loop_state import Checkpoint
from foldline.threads.row import NO_SEAL, StoredRow, check_chain, read_body, read_row
from foldline.threads.storage import StoreContext, StoredThread
from foldline.threads.store import ThreadStore, stored_threads


_ATTEMPTS = 5
_PAGE = 1_000
_MOMENT = 0.001


class Verified(Struct, frozen=True, kw_only=True):
    """
    How many messages of a thread are whole, from the first on, and what is damaged.

    Without a key it is the store itself. Each fault is one line: the first bad row comes first.
    """

    key: ThreadKey | None
    messages: int = 0
    faults: tuple[str, ...] = ()


async def verify_thread(context: StoreContext, key: ThreadKey) -> Verified | None:
    """
    Recompute the rows, up to the first bad one, the head and the documents; None without a thread.

    Damage is never raised; another key is, and that others wrote to the thread all the time.
    """
    seen: list[Verified] = []
    while len(seen) < _ATTEMPTS:
        try:
            stored = await context.storage.load(key)
            if stored is None:
                return None
            found = await _Check(context, stored).run()
            if not found.faults:
                return found
            again = await context.storage.load(key)
        except StoreVersionError as error:
            return Verified(key=key, faults=(f"version: {error}",))
        except StoreCorruptError as error:
            return Verified(key=key, faults=(f"store: {error}",))
        if again is not None and (again.revision, again.head) == (stored.revision, stored.head):
            return found
        seen.append(found)
    # What is found each time is not caused by those who write.
    lasting = [fault for fault in seen[-1].faults if all(fault in one.faults for one in seen)]
    if lasting:
        return replace(seen[-1], faults=tuple(lasting))
    raise StoreBusyError(f"thread {key.id!r} was written to all the time: verify it again")


async def verify_store(store: ThreadStore, *, tenant: str | None = None) -> AsyncIterator[Verified]:
    """
    Yield what is found in each thread, of one tenant or all, and then in the database itself.

    What `verify_thread` raises for one is raised after all others were verified.
    """
    faults: list[str] = []
    failure: StoreError | None = None
    try:
        keys = await list_keys(store, tenant=tenant)
    except StoreCorruptError as error:
        keys, faults = [], [f"the threads cannot be listed: {error}"]
    for key in keys:
        try:
            found = await verify_thread(store.context, key)
            if found is not None:
                yield found
            elif key in await list_keys(store, tenant=key.tenant):
                name = f"thread {key.id!r} of tenant {key.tenant!r}"
                faults.append(f"{name} is listed, but not found")
        except (StoreBusyError, StoreKeyError) as error:
            failure = error
        except StoreError as error:
            # If the store still answers, it refuses to read this thread only.
            await store.tenants()
            yield Verified(key=key, faults=(f"unread: {error}",))
    faults += await store.context.storage.check()
    if faults:
        yield Verified(key=None, faults=tuple(faults))
    if failure is not None:
        raise failure


async def list_keys(store: ThreadStore, *, tenant: str | None = None) -> list[ThreadKey]:
    """Return the keys of all threads, in order, of one tenant or of all."""
    if tenant is not None:
        check_tenant(tenant)
    storage = store.context.storage
    tenants = await storage.tenants() if tenant is None else [tenant]
    return [stored.key for one in tenants async for stored in stored_threads(storage, one)]


async def readable_rows(
    context: StoreContext, key: ThreadKey, epoch: bytes, start: int, stop: int
) -> list[StoredRow]:
    """Return the rows from *start* up to *stop* that the storage can read, in order."""
    try:
        rows = await context.storage.rows(key, epoch, start, stop)
    except StoreCorruptError:
        if stop - start == 1:
            return []
        middle = (start + stop) // 2
        before = await readable_rows(context, key, epoch, start, middle)
        return before + await readable_rows(context, key, epoch, middle, stop)
    # A damaged index returns rows that nobody has asked for.
    asked = (row for row in rows if start <= row.seq < stop and type(row.data) is bytes)
    return sorted(asked, key=lambda row: row.seq)


class _Check:
    """The check of one thread at one revision."""

    def __init__(self, context: StoreContext, stored: StoredThread) -> None:
        self._context = context
        self._stored = stored
        self._faults: list[str] = []
        # The digest after each number of rows, and after each number of messages.
        self._after_rows = {0: EMPTY_DIGEST}
        self._after_messages = [EMPTY_DIGEST]

    async def run(self) -> Verified:
        stored = self._stored
        try:
            head = open_head(self._context.vault, stored)
        except StoreCorruptError:
            text = "head: it was changed or moved, or its revision was"
            return Verified(key=stored.key, faults=(text,))
        nothing = dict.fromkeys(("count", "system", "system_tokens", "users", "tokens"), 0)
        found = replace(head, **nothing, digest=EMPTY_DIGEST, seal=NO_SEAL)
        while found.count < head.count and not self._faults:
            found = await self._with_page(found, min(found.count + _PAGE, head.count))
        if not self._faults:
            if found != head:
                text = "head: its counts, digest or chain hash are not those of its rows"
                self._faults.append(text)
            if await self._rows(head.epoch, head.count, head.count + 1):
                self._faults.append(f"row {head.count}: it is after the last row")
        self._check_head(head)
        await self._check_documents(head, is_whole=not self._faults)
        return Verified(key=stored.key, messages=found.count, faults=tuple(self._faults))

    async def _rows(self, epoch: bytes, start: int, stop: int) -> list[StoredRow]:
        return await readable_rows(self._context, self._stored.key, epoch, start, stop)

    async def _with_page(self, head: Head, stop: int) -> Head:
        """Return *head* with the counts of the rows up to *stop*, or to the first bad one."""
        problem = "it is missing or cannot be read"
        for row in await self._rows(head.epoch, head.count, stop):
            if row.seq != head.count:
                break
            if check_chain([row], head.seal, head.runs) is not None:
                problem = "its chain hash does not fit: it was changed or moved"
                break
            try:
                head = self._with_row(head, row)
            except StoreCorruptError as error:
                problem = str(error)
                break
            self._after_rows[head.count] = head.digest
            if not row.system:
                self._after_messages.append(head.digest)
        if head.count < stop:
            self._faults.append(f"row {head.count}: {problem}")
        return head

    def _with_row(self, head: Head, row: StoredRow) -> Head:
        """Return *head* with the counts of *row*, which follows it."""
        try:
            counts = read_row(row, self._context.vault)
            message = read_body(counts.body)
        except StoreCorruptError:
            raise StoreCorruptError("its content cannot be read") from None
        is_system, new = message.role == "system", counts.users - head.users
        # Earlier versions counted reminders as messages of the user.
        is_user = message.is_from_user <= new <= (message.role == "user")
        is_counted = counts.position == head.length and is_user
        is_more = counts.tokens >= (head.system_tokens if is_system else head.tokens)
        for is_right, problem in (
            (row.system == is_system, "it is marked with another role than its message has"),
            (is_counted and is_more, "its counts are not those of the rows before it"),
            (
                follows(head.digest, message, counts.digest),
                "its digest is not that of the messages up to it",
            ),
        ):
            if not is_right:
                raise StoreCorruptError(problem)
        return replace(
            head,
            count=head.count + 1,
            system=head.system + is_system,
            system_tokens=counts.tokens if is_system else head.system_tokens,
            users=counts.users,
            tokens=head.tokens if is_system else counts.tokens,
            digest=counts.digest,
            seal=row.seal,
        )

    def _check_head(self, head: Head) -> None:
        if not 0 <= head.archived <= head.length:
            self._faults.append("head: it has more archived messages than messages")
        if not set(head.pins).issubset(range(head.length)):
            self._faults.append("head: it pins a message that is not there")
        stored, expires_at = self._stored.expires_at, head.expires_at
        own = None if expires_at is None else expires_at.timestamp()
        if own != stored and (own is None or stored is None or abs(own - stored) > _MOMENT):
            self._faults.append("head: the store has another time of expiry")

    async def _check_documents(self, head: Head, *, is_whole: bool) -> None:
        storage, key = self._context.storage, self._stored.key
        documents = [one for one in self._stored.documents if one.kind != "reduction"]
        for kind in ("reduction", "checkpoint", "turn"):
            try:
                documents += await storage.documents(key, kind)
            except StoreCorruptError as error:
                self._faults.append(f"{kind}: {error}")
        newest = max((str(one.name) for one in documents if one.kind == "reduction"), default="")
        if head.archives and newest < fold_name(head.archives[-1][0]):
            self._faults.append("reduction: the newest one that archived messages is missing")
        for one in documents:
            try:
                problem = await self._problem(head, one, is_whole=is_whole)
            except (StoreCorruptError, StoreKeyError, FormatError):
                problem = "it was changed or moved, or the key is another"
            if problem:
                self._faults.append(f"{one.kind} {one.name}".rstrip() + f": {problem}")

    async def _problem(self, head: Head, one: Document, *, is_whole: bool) -> str:
        vault, key = self._context.vault, self._stored.key
        if one.kind == "checkpoint":
            return await self._misplaced(content_of(vault, key, one, Checkpoint))
        if one.kind == "reduction":
            found = decode_reduction(vault, key, one)
            known = self._after_messages[found.reach : found.reach + 1]
            is_known = known and same_hash(hash_text(known[0]), found.state.message_hash)
            if is_known or active(found.state) is None or not is_whole:
                return ""
            return f"it covers other messages than the first {found.reach}"
        state = record_of(vault, key, head, [one]).execution
        if state is None or not is_whole:
            return ""
        count = len(state.current_messages)
        is_known = self._after_rows.get(count) == state.current_messages.digest
        return "" if is_known else f"it belongs to other messages than the first {count}"

    async def _misplaced(self, checkpoint: Checkpoint) -> str:
        checkpoint.execution_state()
        head = decode_head(checkpoint.head) if checkpoint.head else None
        if head is None or head.count == 0:
            return ""
        rows = await self._rows(head.epoch, head.count - 1, head.count)
        return "" if rows and rows[0].seal == head.seal else "the row before it is not there"
