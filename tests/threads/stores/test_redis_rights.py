"""A user of Redis who lacks a command: refused when opening, or before the first write."""

import asyncio
import re
from importlib.resources import files
from typing import Final

import pytest

from foldline.errors import FoldlineError, StoreError
from foldline.history.messages import Message
from foldline.threads.change import Change
from foldline.threads.stores.redis.store import RedisStore
from foldline.threads.thread import ConversationThread
from foldline.threads.tools import ToolRun
from foldline.threads.verify import verify_store
from tests.servers.redis import RedisServer
from tests.threads.stores.redis_image import image, tell


_FOLDER: Final = files("foldline.threads.stores.redis") / "lua"
CALLED: Final = sorted(
    {
        name
        for script in _FOLDER.iterdir()
        for name in re.findall(r"redis\.call\('([A-Z]+)'", script.read_text())
    }
)
MOVES: Final = ("add", "rewind", "edit", "fork", "clear", "delete", "make")


async def allow(server: RedisServer, *rights: str) -> str:
    """Give a user *rights* and no others; return its address."""
    await tell(server.url, "ACL", "SETUSER", "app", "reset", "on", ">pw", "~*", "&*", *rights)
    return f"unix://app:pw@{server.socket}"


async def move(store: RedisStore, thread: ConversationThread, name: str) -> None:
    """Do one of `MOVES`."""
    if name == "add":
        messages = [Message.user("new"), Message.system("rule")]
        await thread.commit(Change(messages=messages, tools=[ToolRun(call_id="c", name="f")]))
    elif name == "rewind":
        await thread.rewind(1)
    elif name == "edit":
        await thread.edit(1, Message.assistant("edited"))
    elif name == "fork":
        await thread.fork("fork", at=2)
    elif name == "clear":
        await thread.clear()
    elif name == "delete":
        await store.delete("t")
    else:
        await (await store.thread("made")).add_message(Message.user("x"))


async def said(store: RedisStore) -> list[str]:
    """Return the texts of the thread `t`, or nothing if it is gone."""
    thread = await store.find("t")
    return [] if thread is None else [one.text for one in await thread.get_messages()]


async def faults(store: RedisStore) -> list[str]:
    """Return what is wrong in the store."""
    return [fault async for one in verify_store(store) for fault in one.faults]


async def talk(store: RedisStore) -> ConversationThread:
    """Make the thread `t`, rewound, and a fork of it."""
    thread = await store.thread("t")
    messages = [Message.user("a"), Message.assistant("b"), Message.user("c"), Message.system("d")]
    await thread.add_messages(messages)
    await thread.fork("other", at=1)
    await thread.rewind(2)
    await thread.add_message(Message.user("e"))
    return thread


@pytest.mark.usefixtures("redis_url")
@pytest.mark.parametrize("command", CALLED)
def test_a_missing_right_is_named_when_opening(redis_server: RedisServer, command: str) -> None:
    """
    A user who may run all commands but one of the scripts' cannot open a store, and is told which.
    """

    async def live() -> dict[bytes, object]:
        url = await allow(redis_server, "+@all", f"-{command.lower()}")
        with pytest.raises(StoreError, match=rf"\b({command}|NOPERM)\b"):
            await RedisStore(url).open()
        return await image(redis_server.url)

    assert asyncio.run(live()) == {}


@pytest.mark.usefixtures("redis_url")
def test_opening_leaves_no_trace(redis_server: RedisServer) -> None:
    """A user with every right opens a store, and nothing is left of the check."""

    async def live() -> dict[bytes, object]:
        async with RedisStore(await allow(redis_server, "+@all")):
            return await image(redis_server.url)

    assert asyncio.run(live()) == {}


def test_a_reader_reads(redis_server: RedisServer, redis_url: str) -> None:
    """A user who may write nothing reads every thread, and a commit is refused as a whole."""

    async def live() -> tuple[list[str], bool]:
        async with RedisStore(redis_url) as store:
            await talk(store)
        before = await image(redis_url)
        url = await allow(redis_server, "+@all", "-@write", "+eval", "+evalsha")
        async with RedisStore(url) as store:
            thread = await store.find("t")
            assert thread is not None
            with pytest.raises(StoreError, match="NOPERM"):
                await thread.add_message(Message.user("x"))
            return await said(store), await image(redis_url) == before

    assert asyncio.run(live()) == (["a", "b", "e"], True)


@pytest.mark.usefixtures("redis_url")
@pytest.mark.parametrize("name", MOVES)
def test_a_right_that_is_taken_later_leaves_nothing_half(
    redis_server: RedisServer, name: str
) -> None:
    """If any right is taken from a user whose store is open, a write is made whole or not at all."""

    async def live(command: str) -> None:
        redis_server.flush()
        url = await allow(redis_server, "+@all")
        async with RedisStore(url) as store, RedisStore(redis_server.url) as other:
            thread = await talk(store)
            before = await said(other)
            await allow(redis_server, "+@all", f"-{command.lower()}")
            try:
                await move(store, thread, name)
            except FoldlineError:
                assert await said(other) == before, command
                assert await other.find("fork") is None, command
            assert await faults(other) == [], command
            await allow(redis_server, "+@all")
            await (await other.thread("t")).append([Message.user("on")])
            assert await faults(other) == [], command
            for one in ("t", "other", "fork", "made"):
                await other.delete(one)

    for command in CALLED:
        asyncio.run(live(command))
