"""A repository of Strands' sessions in threads."""

from typing import Any

from strands.multiagent import MultiAgentBase
from strands.session import SessionRepository
from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionMessage

from foldline.checks import expect
from foldline.conversation.conversation import call_sync
from foldline.errors import ThreadConflictError
from foldline.guests import objects_in, rows_of
from foldline.history.formats.wire import json_text
from foldline.history.messages import Message
from foldline.integrations.strands_messages import StrandsCodec
from foldline.threads.change import Change
from foldline.threads.key import DEFAULT_TENANT, ThreadKey
from foldline.threads.store import ThreadStore
from foldline.threads.thread import ConversationThread


_MULTI = "multi agent"


class FoldlineSessionRepository(SessionRepository):
    """Keeps each agent of a session in a thread, for a `RepositorySessionManager`; it blocks."""

    def __init__(self, store: ThreadStore, *, tenant: str = DEFAULT_TENANT) -> None:
        """Keep sessions in *store*, which `call_sync(store.open)` has opened."""
        expect("store", store, ThreadStore)
        self._store, self._tenant = store, tenant

    def _key(self, names: tuple[str, ...]) -> ThreadKey:
        return ThreadKey.named(json_text(names), tenant=self._tenant)

    def _find(self, *names: str) -> ConversationThread | None:
        found = call_sync(self._store.find, self._key(names))
        # One whose making was cut off has no values yet, and is made again.
        return found if found is not None and found.metadata else None

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
        _keep(call_sync(self._store.thread, self._key(names)), values)

    def create_session(self, session: Session, **kwargs: Any) -> Session:
        """Keep a new session."""
        self._make(session.session_id, values=session.to_dict())
        return session

    def read_session(self, session_id: str, **kwargs: Any) -> Session | None:
        """Return a session; None if there is none."""
        found = self._find(session_id)
        return None if found is None else Session.from_dict({**found.metadata})

    def create_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Keep a new agent."""
        self._thread(session_id)
        self._make(session_id, session_agent.agent_id, values=session_agent.to_dict())

    def read_agent(self, session_id: str, agent_id: str, **kwargs: Any) -> SessionAgent | None:
        """Return an agent; None if there is none."""
        found = self._find(session_id, agent_id)
        return None if found is None else SessionAgent.from_dict({**found.metadata})

    def update_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Keep the new state of an agent; after each tool Strands gives one in which only the time is new."""
        thread = self._thread(session_id, session_agent.agent_id)
        held = {**thread.metadata}
        values = session_agent.to_dict() | {"created_at": held["created_at"]}
        # As JSON, in which `1` is not `True`, and a tuple is the list that was stored of it.
        if json_text(values) != json_text(held | {"updated_at": values["updated_at"]}):
            _keep(thread, values)

    def create_multi_agent(
        self, session_id: str, multi_agent: MultiAgentBase, **kwargs: Any
    ) -> None:
        """Keep the state of a new graph or swarm of agents."""
        self._thread(session_id)
        self._make(session_id, _MULTI, multi_agent.id, values=multi_agent.serialize_state())

    def read_multi_agent(
        self, session_id: str, multi_agent_id: str, **kwargs: Any
    ) -> dict[str, Any] | None:
        """Return the state of a graph or swarm; None if there is none."""
        found = self._find(session_id, _MULTI, multi_agent_id)
        return None if found is None else {**found.metadata}

    def update_multi_agent(
        self, session_id: str, multi_agent: MultiAgentBase, **kwargs: Any
    ) -> None:
        """Keep the new state of a graph or swarm."""
        _keep(self._thread(session_id, _MULTI, multi_agent.id), multi_agent.serialize_state())

    def create_message(
        self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any
    ) -> None:
        """Append a message."""
        call_sync(self._thread(session_id, agent_id).append, _rows(session_message))

    def read_message(
        self, session_id: str, agent_id: str, message_id: int, **kwargs: Any
    ) -> SessionMessage | None:
        """Return a message; None if there is none."""
        found = self.list_messages(session_id, agent_id)
        return next((one for one in found if one.message_id == message_id), None)

    def update_message(
        self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any
    ) -> None:
        """Put a message in the place of the one with its id, such as one with a redaction."""
        call_sync(_update, self._thread(session_id, agent_id), session_message)

    def list_messages(
        self,
        session_id: str,
        agent_id: str,
        limit: int | None = None,
        offset: int = 0,
        **kwargs: Any,
    ) -> list[SessionMessage]:
        """Return the messages of an agent, *limit* of them from *offset* on."""
        end = None if limit is None else offset + limit
        return call_sync(_messages, self._thread(session_id, agent_id))[offset:end]


def _keep(thread: ConversationThread, values: dict[str, Any]) -> None:
    """Put *values* in the place of those of *thread*; of two requests of a session the last one wins."""
    call_sync(thread.retry, lambda _: Change(metadata=values))


async def _messages(thread: ConversationThread) -> list[SessionMessage]:
    return [SessionMessage.from_dict(one) for one in objects_in(await thread.get_messages())]


async def _update(thread: ConversationThread, new: SessionMessage) -> None:
    """Put *new* in the place of the message with its id, beside what other requests have added."""
    found = await _messages(thread)
    known = [at for at, one in enumerate(found) if one.message_id == new.message_id]
    if not known:
        message = f"message {new.message_id} does not exist"
        raise SessionException(message)
    # Requests of a session that run at once give the same ids.
    at = max(known, key=lambda at: found[at].created_at == new.created_at)
    new.created_at, found[at] = found[at].created_at, new
    try:
        await thread.replace(row for one in found for row in _rows(one))
    except ThreadConflictError:
        await thread.refresh()
        await _update(thread, new)


def _rows(message: SessionMessage) -> list[Message]:
    return rows_of(StrandsCodec().read({**message.to_message()}), message.to_dict())
