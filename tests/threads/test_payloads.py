"""Injections and traversals as ids, tenants, metadata keys, names and call ids."""

from collections.abc import Awaitable, Callable, Iterator
from itertools import product
from pathlib import Path

import pytest

from foldline.errors import ThreadIdError
from foldline.history.messages import Message
from foldline.threads.change import Change
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.tools import ToolRun


PLAIN = "canary"
SQL = [
    "'",
    '"',
    "`",
    "';--",
    "' OR '1'='1",
    "' OR 1=1 --",
    "') OR ('1'='1",
    "' UNION SELECT data FROM rows --",
    "'; DROP TABLE threads; --",
    '"; DROP TABLE rows; --',
    "1; ATTACH DATABASE 'x' AS y",
    "'||(SELECT head FROM threads)||'",
    "%",
    "_%",
    "*",
    "canary*",
    "canary OR secret",
    "NOT canary",
    "NEAR(canary secret)",
    "text:canary",
    "canary' AND 'secret",
    "^canary",
    "{canary}",
    "$$canary$$",
    "?1",
    ":tenant",
    "@tenant",
    "${jndi:ldap}",
    "{{7*7}}",
    "$ne",
    '{"$gt":""}',
    "a\r\nDEL *",
    "a\r\n*1\r\n$8\r\nFLUSHALL\r\n",
    "redis.call('FLUSHALL')",
    "-1",
    "0x41",
    "\x00",
    "a\x00b",
    "\ud800",
    "\u202e",
    "\ufeff",
    "\uff43anary'",
]
PATHS = [
    "../../a",
    "..\\..\\a",
    "/etc/passwd",
    "~/a",
    "file:///a",
    "a/../../b",
    "....//....//a",
    "%2e%2e%2fa",
    "..%c0%afa",
    "a\\b",
    "C:\\a",
    "\\\\host\\share",
    "a/./b",
    "a//b",
    "/dev/null",
    "a b",
    "a\tb",
    "a\nb",
    "a;b",
    "a|b",
    "a&b",
    "$(id)",
    "`id`",
    "a" * 201,
    "",
    " ",
    "ä",
    "\u0430",
    "\uff11",
    "a?b=c",
    "a#b",
    "<script>",
]
PAYLOADS = [*SQL, *PATHS]
# These are made of allowed characters.
NAMES = {"text:canary", ":tenant", "-1", "0x41"}
HARMLESS = [".", "..", "...", "CON", "NUL", "a:b", "-rf", "--help", "__proto__", "null", "0"]


def _stores(folder: Path) -> Iterator[ThreadStore]:
    yield MemoryStore()
    yield SQLiteStore(folder / "a.db", durability="relaxed")


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("payload", sorted({*PAYLOADS} - NAMES))
async def test_no_payload_is_an_id_or_a_tenant(payload: str) -> None:
    """A payload as id or tenant is refused by every method before a storage sees it."""
    async with MemoryStore() as store:
        thread = await store.thread("a")
        with pytest.raises(ThreadIdError):
            await thread.fork(payload)
        calls: list[Callable[..., Awaitable[object]]] = [store.thread, store.find, store.delete]
        for call, (id, tenant) in product(calls, ((payload, "t"), ("a", payload))):
            with pytest.raises(ThreadIdError) as caught:
                await call(id, tenant=tenant)
            assert len(payload) < 3 or payload not in str(caught.value)


@pytest.mark.parametrize("name", HARMLESS)
async def test_an_odd_but_plain_name_is_only_a_name(name: str, tmp_path: Path) -> None:
    """A name that means something to a file system makes one thread and no file."""
    for store in _stores(tmp_path):
        async with store:
            await (await store.thread(name, tenant=name)).add_message(Message.user("u"))
            assert [one.id async for one in store.threads(tenant=name)] == [name]
            assert await store.delete(name, tenant=name)
            assert await store.tenants() == []

    assert _names(tmp_path) <= {"a.db", "a.db.lock", "a.db-wal", "a.db-shm"}


async def test_payloads_are_only_text(tmp_path: Path) -> None:
    """
    As metadata keys and values, names, call ids and messages they come back, and change nothing.
    """
    for store in _stores(tmp_path):
        await _use(store)


async def _use(store: ThreadStore) -> None:
    async with store:
        victim = await store.thread("victim", tenant="other")
        await victim.add_message(Message.user(f"{PLAIN} secret"))
        thread = await store.thread("a")
        for payload in PAYLOADS:
            key = payload if payload.strip() else f"{payload}x"
            run = ToolRun(call_id=payload, name=payload, result=payload)
            await thread.set_metadata({key: payload}, display_name=payload)
            await thread.commit(Change(messages=[Message.user(payload)], tools=[run]))
            found = await store.thread("a")
            assert (found.metadata, found.display_name) == ({key: payload}, payload)
            assert found.pending_tools == (run,)
            await thread.commit(Change(settled=[payload]))
        assert [one.text for one in await thread.get_messages()] == PAYLOADS
        assert [one.text for one in await victim.get_messages()] == [f"{PLAIN} secret"]
