"""A user of Redis who lacks a command: refused when opening, or before the first write."""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Final

import pytest

from foldline.errors import StoreError
from foldline.history.messages import Message
from foldline.threads.change import Change
from foldline.threads.checkpointer import ThreadCheckpointer
from foldline.threads.stores.redis.store import RedisStore
from foldline.threads.thread import ConversationThread
from foldline.threads.tools import ToolRun
from tests.servers.redis import RedisServer, programs
from tests.threads.stores.redis_image import image, tell


_SCRIPT: Final = files("foldline.threads.stores.redis") / "store.lua"
CALLED: Final = sorted(set(re.findall(r"redis\.call\('([A-Z]+)'", _SCRIPT.read_text())))

Move = Callable[[RedisStore, ConversationThread], Awaitable[object]]
MOVES: Mapping[str, Move] = MappingProxyType(
    {
        "make": lambda store, _: store.thread("made"),
        "add": lambda _, thread: thread.add_messages([Message.system("x"), Message.user("y")]),
        "tool": lambda _, thread: thread.commit(Change(tools=[ToolRun(call_id="c", name="f")])),
        "metadata": lambda _, thread: thread.set_metadata({"a": 1}),
        "fork": lambda _, thread: thread.fork("forked"),
        "rewind": lambda _, thread: thread.rewind(1),
        "edit": lambda _, thread: thread.edit(1, Message.user("edited")),
        "clear": lambda _, thread: thread.clear(),
        "prune": lambda store, thread: ThreadCheckpointer(store).prune(thread.id, keep_latest=0),
        "delete": lambda store, thread: store.delete(thread.id),
    }
)


@pytest.fixture(scope="module")
def redis_servers() -> Iterator[Mapping[Path, RedisServer]]:
    """Return a server of each kind that is installed."""
    with ExitStack() as stack:
        yield {one: stack.enter_context(RedisServer(program=one)) for one in programs()}


@pytest.fixture(params=programs(), ids=lambda one: one.name)
def redis_server(
    redis_servers: Mapping[Path, RedisServer], request: pytest.FixtureRequest
) -> RedisServer:
    """Return each of them in turn: they say in different words that a right is missing."""
    return redis_servers[request.param]


async def allow(server: RedisServer, *rights: str) -> str:
    """Give a user *rights* and no others; return its address."""
    await tell(server.url, "ACL", "SETUSER", "app", "reset", "on", ">pw", "~*", "&*", *rights)
    return f"unix://app:pw@{server.socket}"


@pytest.mark.usefixtures("redis_url")
@pytest.mark.parametrize("command", CALLED)
async def test_a_missing_right_is_named_when_opening(
    redis_server: RedisServer, command: str
) -> None:
    """
    A user who may run all commands but one of the scripts' cannot open a store, and is told which.
    """
    url = await allow(redis_server, "+@all", f"-{command.lower()}")
    with pytest.raises(StoreError, match=rf"\b({command}|NOPERM)\b"):
        await RedisStore(url).open()

    assert (await image(redis_server.url)) == {}


@pytest.mark.usefixtures("redis_url")
async def test_opening_leaves_no_trace(redis_server: RedisServer) -> None:
    """A user with every right opens a store, and nothing is left of the check."""
    async with RedisStore(await allow(redis_server, "+@all")):
        assert await image(redis_server.url) == {}


async def test_a_reader_reads(redis_server: RedisServer, redis_url: str) -> None:
    """A user who may write nothing reads every thread, and a commit is refused as a whole."""
    async with RedisStore(redis_url) as store:
        thread = await store.thread("t")
        await thread.add_messages([Message.user("a"), Message.assistant("b")])
        await thread.rewind(1)
    before = await image(redis_url)
    url = await allow(redis_server, "+@all", "-@write", "+eval", "+evalsha")
    async with RedisStore(url) as store:
        thread = await store.thread("t")
        with pytest.raises(StoreError, match="NOPERM"):
            await thread.add_message(Message.user("x"))
        assert [one.text for one in await thread.get_messages()] == ["a"]
        assert await image(redis_url) == before


@pytest.mark.usefixtures("redis_url")
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(one, marks=[] if one in {"HSET", "LTRIM"} else [pytest.mark.slow])
        for one in CALLED
    ],
)
async def test_a_right_that_is_taken_later_leaves_nothing_half(
    redis_server: RedisServer, command: str
) -> None:
    """If a right is taken from a user whose store is open, a write is made whole or not at all."""
    async with RedisStore(await allow(redis_server, "+@all"), checkpoints="full") as store:
        for name, move in MOVES.items():
            redis_server.flush()
            thread = await store.thread(name)
            await thread.add_messages([Message.system("a"), Message.user("b"), Message.user("c")])
            await thread.rewind(2)
            await thread.add_message(Message.user("d"))
            before = await image(redis_server.url)
            await allow(redis_server, "+@all", f"-{command.lower()}")
            try:
                await move(store, thread)
            except StoreError:
                assert await image(redis_server.url) == before, name
            await allow(redis_server, "+@all")
