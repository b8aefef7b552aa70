"""The threads of a session of Strands."""

from typing import Any

from strands.types.exceptions import SessionException

from foldline.conversation.conversation import call_sync
from foldline.history.formats.wire import json_text
from foldline.threads.key import DEFAULT_TENANT, ThreadKey
from foldline.threads.store import ThreadStore
from foldline.threads.thread import ConversationThread


__all__ = ["SessionThreads"]


class SessionThreads:
    """The session, and each agent of it, is a thread, whose metadata is its state."""

    def __init__(self, store: ThreadStore, *, tenant: str = DEFAULT_TENANT) -> None:
        """Keep sessions in *store*, which `call_sync(store.open)` has opened."""
        self._store, self._tenant = store, tenant

    def _key(self, names: tuple[str, ...]) -> ThreadKey:
        return ThreadKey.named(json_text(names), tenant=self._tenant)

    def _find(self, *names: str) -> ConversationThread | None:
        return call_sync(self._store.find, self._key(names))

    def _thread(self, *names: str) -> ConversationThread:
        found = self._find(*names)
        if found is None:
            message = f"{names[-1]} does not exist"
            raise SessionException(message)
        return found

    def _make(self, *names: str, values: dict[str, Any]) -> None:
        if self._find(*names) is not None:
            message = f"{names[-1]} already exists"
            raise SessionException(message)
        thread = call_sync(self._store.thread, self._key(names))
        call_sync(thread.set_metadata, values)
