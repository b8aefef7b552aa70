"""A memory of LlamaIndex in a thread."""

from collections.abc import Iterable
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemory
from pydantic import PrivateAttr

from foldline.checks import expect
from foldline.guests import blocking, objects_in, rows_of
from foldline.history.messages import Message
from foldline.integrations.llama_index_messages import LlamaIndexCodec
from foldline.threads.key import DEFAULT_TENANT, ThreadKey
from foldline.threads.store import ThreadStore
from foldline.threads.thread import ConversationThread


class FoldlineMemory(BaseMemory):
    """Keeps every message in a thread; what the model is shown is the affair of `FoldlineLLM`."""

    _store: ThreadStore = PrivateAttr()
    _key: ThreadKey = PrivateAttr()

    def __init__(
        self, store: ThreadStore, session_id: str, *, tenant: str = DEFAULT_TENANT
    ) -> None:
        """Keep the messages of *session_id*, any text, in *store*, which is open."""
        expect("store", store, ThreadStore)
        super().__init__()
        self._store, self._key = store, ThreadKey.named(session_id, tenant=tenant)

    @classmethod
    def from_defaults(cls, **kwargs: Any) -> "FoldlineMemory":
        """Make a memory of the same arguments."""
        return cls(**kwargs)

    async def thread(self) -> ConversationThread:
        """Return the thread, made if there is none."""
        return await self._store.thread(self._key)

    async def aget_all(self) -> list[ChatMessage]:
        """Return all messages."""
        kept = objects_in(await (await self.thread()).get_messages())
        return [ChatMessage.model_validate(one) for one in kept]

    async def aget(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """Return all messages: the agent also asks when a run ends, which must fold nothing."""
        return await self.aget_all()

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """Append *messages* in one commit."""
        if messages:
            await (await self.thread()).append(_rows(messages))

    async def aput(self, message: ChatMessage) -> None:
        """Append *message*."""
        await self.aput_messages([message])

    async def aset(self, messages: list[ChatMessage]) -> None:
        """Make *messages* all that there is."""
        await (await self.thread()).replace(_rows(messages))

    async def areset(self) -> None:
        """Delete all messages, and the reduction."""
        await (await self.thread()).clear()

    get_all = blocking(aget_all)
    """Return all messages."""
    get = blocking(aget)
    """Return all messages; see `aget`."""
    put = blocking(aput)
    """Append a message."""
    set = blocking(aset)
    """Make messages all that there is."""
    reset = blocking(areset)
    """Delete all messages, and the reduction."""


def _rows(messages: Iterable[ChatMessage]) -> list[Message]:
    codec = LlamaIndexCodec()
    return [
        row for one in messages for row in rows_of(codec.read(one), one.model_dump(mode="json"))
    ]
