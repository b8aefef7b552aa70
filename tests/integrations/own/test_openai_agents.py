"""A session of OpenAI Agents in a thread."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from agents import Session
from agents.memory.session_settings import SessionSettings

from foldline.integrations.openai_agents import FoldlineSession
from foldline.threads.stores.memory import MemoryStore


_T = TypeVar("_T")

ITEMS: list[Any] = [
    {"role": "user", "content": "Where is order AB1771?", "extra": {"kept": [1, 1.0, True]}},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"},
    {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{ "at": 1 }'},
    {"type": "function_call_output", "call_id": "c1", "output": "on its way"},
    {"role": "system", "content": "Be brief."},
]


def run(work: Callable[[FoldlineSession], Awaitable[_T]], name: str = "user@example.com") -> _T:
    """Return what *work* does with a session that has items."""

    async def play() -> _T:
        session = FoldlineSession(MemoryStore(), name)
        await session.add_items(ITEMS[:2])
        await session.add_items(ITEMS[2:])
        return await work(session)

    return asyncio.run(play())


def test_it_is_a_session() -> None:
    """It has everything that the SDK asks of one."""
    assert isinstance(FoldlineSession(MemoryStore(), "a"), Session)


def test_items_come_back_as_they_were() -> None:
    """Each item comes back as it was given, unknown fields included, under an id of any text."""
    assert run(lambda session: session.get_items(), "a / b, ü") == ITEMS


def test_the_newest_items_are_a_limit_away() -> None:
    """A limit gives the newest items, of the call or of the session; none of them for zero."""

    async def limited(session: FoldlineSession) -> list[Any]:
        found = [await session.get_items(limit=2), await session.get_items(limit=0)]
        session.session_settings = SessionSettings(limit=1)
        return [*found, await session.get_items()]

    assert run(limited) == [ITEMS[-2:], [], ITEMS[-1:]]


def test_the_newest_item_is_taken_back() -> None:
    """Each item is popped in turn, a system message too, and then None."""

    async def popped(session: FoldlineSession) -> list[Any]:
        return [await session.pop_item() for _ in range(len(ITEMS) + 1)]

    assert run(popped) == [*reversed(ITEMS), None]


def test_a_cleared_session_is_empty() -> None:
    """Nothing is left, and it can be used again."""

    async def cleared(session: FoldlineSession) -> list[Any]:
        await session.clear_session()
        left = await session.get_items()
        await session.add_items(ITEMS[:1])
        return [left, await session.get_items()]

    assert run(cleared) == [[], ITEMS[:1]]


def test_two_sessions_never_meet() -> None:
    """Two ids that differ in a character that no thread id has are two sessions."""

    async def play() -> list[Any]:
        store = MemoryStore()
        await FoldlineSession(store, "a/b").add_items(ITEMS[:1])
        return await FoldlineSession(store, "a b").get_items()

    assert asyncio.run(play()) == []
