"""What the caller who posted a turn holds: its result, and its text while it is written."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, nullcontext
from time import monotonic
from typing import TypeAlias

from foldline.agent.result import TurnResult
from foldline.checks import expect_seconds
from foldline.errors import RunStartError, TurnFailedError, TurnPendingError
from foldline.threads.key import ThreadKey
from foldline.threads.store import ThreadStore
from foldline.threads.waiters import pause
from foldline.workers.post import Post, nothing_posted
from foldline.workers.turns import ended_turn


LOOKS = 1.0
"""How many seconds pass between two looks at the store if nothing wakes a reader before."""

Wakes: TypeAlias = Callable[[ThreadKey, str], AbstractContextManager[asyncio.Event]]
"""What wakes those who wait for a turn: a context with an event that is set if there is news."""


class PostedTurn:
    """
    A turn that somebody else answers, perhaps in another process.

    It reads the store, so any program that knows the ids can make one, also after a restart.
    """

    def __init__(
        self,
        store: ThreadStore,
        key: ThreadKey,
        turn_id: str,
        *,
        looks: float = LOOKS,
        wakes: Wakes = lambda _key, _turn_id: nullcontext(asyncio.Event()),
    ) -> None:
        """
        Watch the turn *turn_id* of the thread *key* in *store*.

        *looks* seconds pass between two looks at the store; *wakes* ends such a pause early.
        """
        expect_seconds("looks", looks)
        self.key = key
        """The thread."""
        self.turn_id = turn_id
        """The id of the turn."""
        self._name = f"turn {turn_id!r} of thread {key.id!r}"
        self._store, self._looks, self._wakes = store, looks, wakes

    async def result(self, timeout: float | None = None) -> TurnResult:  # noqa: ASYNC109
        """
        Return what came of the turn, as soon as it has ended.

        It waits at most *timeout* seconds; None waits for as long as it takes.

        Raises:
            TurnPendingError: It has not ended in that time; it goes on.
            TurnFailedError: A worker has given it up.
            RunStartError: There is no such turn, or its thread was deleted.
        """
        return await self._until(timeout, lambda _: None)

    async def stream(self) -> AsyncGenerator[str, None]:
        """
        Yield the whole text of the answer so far whenever it has changed, and at last all of it.

        It is the whole text each time, since a worker that was killed is followed by one that may
        begin the answer again. Errors are those of `result`.
        """
        texts: asyncio.Queue[str | None] = asyncio.Queue()
        work = asyncio.create_task(self._until(None, texts.put_nowait))
        work.add_done_callback(lambda _: texts.put_nowait(None))
        last = ""
        try:
            while (text := await texts.get()) is not None:
                if text != last:
                    last = text
                    yield text
            said = "".join(one.text for one in (await work).messages if one.role == "assistant")
            if said != last:
                yield said
        finally:
            work.cancel()
            await asyncio.wait([work])

    async def _until(self, seconds: float | None, seen: Callable[[str], None]) -> TurnResult:
        ends = None if seconds is None else monotonic() + seconds
        with self._wakes(self.key, self.turn_id) as news:
            while True:
                news.clear()
                found = await self._look(seen)
                if found is not None:
                    return found
                left = self._looks if ends is None else min(self._looks, ends - monotonic())
                if left <= 0:
                    message = f"{self._name} has not ended within {seconds or 0:g} seconds"
                    raise TurnPendingError(message)
                await pause(news, left)

    async def _look(self, seen: Callable[[str], None]) -> TurnResult | None:
        # The post first: it goes after the turn has ended, so what is missing then has an answer.
        post = await Post.find(self._store, self.key, self.turn_id)
        thread = await self._store.find(self.key)
        found = None if thread is None else await ended_turn(thread, self.turn_id)
        failure = None if post is None else post.failure
        # A turn that was given up may have been left by the next one, which ends it without an answer.
        if found is not None and (found.is_complete or failure is None):
            return found
        if post is None or thread is None:
            raise RunStartError(nothing_posted(self.key, self.turn_id))
        if failure is not None:
            code, text = failure
            raise TurnFailedError(f"{self._name} was given up ({code}): {text}", reason=code)
        seen(post.text)
        return None
