"""
The message of a turn while it waits for a worker, and what is known of the turn until it has ended.

A queue holds ids only. The message is kept in the store before a job is queued: in a thread of its
own, of a tenant of its own, so that a turn that runs on the real thread is not disturbed, and with
the cipher of the store. It goes when the turn has ended; what nobody answers expires.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from foldline.errors import ThreadConflictError, TurnIdError
from foldline.history.digest import message_digest
from foldline.history.messages import Message
from foldline.threads.change import Change
from foldline.threads.key import ThreadKey
from foldline.threads.store import ThreadStore
from foldline.threads.thread import ConversationThread


POSTS: Final = "foldline.posts"
"""The tenant of the threads that hold what waits."""

_KEPT: Final = timedelta(days=30)
_TEXT, _ERROR, _REASON = "text", "error", "reason"


def post_key(key: ThreadKey, turn_id: str) -> ThreadKey:
    """Return where the message of the turn *turn_id* of the thread *key* waits."""
    return ThreadKey.named(f"{key.tenant}/{key.id}/{turn_id}", tenant=POSTS)


def nothing_posted(key: ThreadKey, turn_id: str) -> str:
    """Return what to say where no message waits under that id."""
    return f"nothing waits as turn {turn_id!r} of thread {key.id!r}: post it, or check the ids"


class Post:
    """A message that waits, what its answer looks like so far, and why a worker gave it up."""

    def __init__(self, thread: ConversationThread) -> None:
        """Show *thread*; `find` and `put` make these."""
        self._thread = thread

    @classmethod
    async def find(cls, store: ThreadStore, key: ThreadKey, turn_id: str) -> "Post | None":
        """Return what waits under that id; None if nothing does."""
        thread = await store.find(post_key(key, turn_id))
        return None if thread is None or not thread.count else cls(thread)

    @classmethod
    async def put(
        cls, store: ThreadStore, key: ThreadKey, turn_id: str, messages: Sequence[Message]
    ) -> "Post":
        """Keep *messages* under that id, unless they are kept; TurnIdError if others are."""
        thread = await store.thread(post_key(key, turn_id), ttl=_KEPT)
        if not thread.count:
            try:
                await thread.add_messages(messages)
            except ThreadConflictError:
                # The same request came twice, and the other one was faster.
                await thread.refresh()
            else:
                return cls(thread)
        post = cls(thread)
        kept = await post.messages()
        if list(map(message_digest, kept)) != list(map(message_digest, messages)):
            raise TurnIdError(thread_id=key.id, turn_id=turn_id)
        return post

    async def messages(self) -> list[Message]:
        """Return the input of the turn."""
        return await self._thread.get_messages()

    @property
    def text(self) -> str:
        """What the answer looks like so far."""
        return self._word(_TEXT)

    @property
    def failure(self) -> tuple[str, str] | None:
        """The code of the error for which a worker gave the turn up, and its text; None if none."""
        code = self._word(_ERROR)
        return (code, self._word(_REASON)) if code else None

    def _word(self, name: str) -> str:
        value = self._thread.metadata.get(name, "")
        return value if isinstance(value, str) else ""

    async def show(self, text: str) -> None:
        """Keep *text* as what the answer looks like so far."""
        await self._thread.set_metadata({_TEXT: text})

    async def give_up(self, code: str, reason: str) -> None:
        """Note that no worker tries again, because of the error *code*."""
        await self._note({_ERROR: code, _REASON: reason})

    async def reopen(self) -> None:
        """Forget what an earlier attempt has left."""
        if self._thread.metadata:
            await self._note({})

    async def _note(self, values: Mapping[str, object]) -> None:
        # What somebody else shows or notes at the same moment must not hide it.
        await self._thread.retry(lambda _: Change(metadata=values))

    async def drop(self, store: ThreadStore) -> None:
        """Delete it: the turn has ended."""
        await store.delete(self._thread.key)
