"""A user of Redis who lacks a command: refused when opening."""

import asyncio
import re
from importlib.resources import files
from typing import Final

import pytest

from foldline.errors import StoreError
from foldline.history.messages import Message
from foldline.threads.stores.redis.store import RedisStore
from tests.servers.redis import RedisServer
from tests.threads.stores.redis_image import image, tell


_SCRIPT: Final = files("foldline.threads.stores.redis") / "store.lua"
CALLED: Final = sorted(set(re.findall(r"redis\.call\('([A-Z]+)'", _SCRIPT.read_text())))


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
            thread = await store.thread("t")
            await thread.add_messages([Message.user("a"), Message.assistant("b")])
            await thread.rewind(1)
        before = await image(redis_url)
        url = await allow(redis_server, "+@all", "-@write", "+eval", "+evalsha")
        async with RedisStore(url) as store:
            thread = await store.thread("t")
            with pytest.raises(StoreError, match="NOPERM"):
                await thread.add_message(Message.user("x"))
            texts = [one.text for one in await thread.get_messages()]
            return texts, await image(redis_url) == before

    assert asyncio.run(live()) == (["a"], True)
