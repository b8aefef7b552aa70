"""A chat middleware and a history provider for Microsoft's Agent Framework."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from agent_framework import ChatContext, ChatMiddleware, HistoryProvider, ResponseStream
from agent_framework import Message as Theirs

from foldline.agent.reducer import HistoryReducer
from foldline.checks import expect
from foldline.errors import UsageError
from foldline.guests import GuestView, kept_reduction, new_reduction, objects_in, rows_of
from foldline.guests.outputs import output_schemas
from foldline.guests.refusals import Refusals
from foldline.integrations.agent_framework_messages import AgentFrameworkCodec
from foldline.threads.key import DEFAULT_TENANT, ThreadKey
from foldline.threads.store import ThreadStore
from foldline.threads.thread import ConversationThread


class FoldlineChatMiddleware(ChatMiddleware):
    """
    Shows the model the view at each call; the history that a provider keeps stays.

    The reduction is in the state of the session, as JSON; without a session the reducer
    remembers it as long as it lives.
    """

    def __init__(self, reducer: HistoryReducer) -> None:
        """Reduce with *reducer*; one may serve several agents."""
        self._view: GuestView[Theirs] = GuestView(reducer, AgentFrameworkCodec())

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """
        Put the view into the request of this call; while it is refused as too long, ask again after a fold.

        A stream is asked for only when it is read, and is refused there, before its first update.
        """
        messages, refusals = context.messages, Refusals()
        if (context.options or {}).get("conversation_id"):
            # Others have the rest: without their calls, results of tools would be left out.
            return await call_next()
        if context.stream:
            await self._show(context, messages, refusals)
            await call_next()
            context.result = self._stream(context, call_next, messages, refusals)
            return None
        while True:
            await self._show(context, messages, refusals)
            with refusals.asking():
                return await call_next()

    async def _show(
        self, context: ChatContext, messages: Sequence[Theirs], refusals: Refusals
    ) -> None:
        """Put the view of *messages* into the request, a smaller one after *refusals*."""
        held: dict[str, Any] = {} if context.session is None else context.session.state
        options: Any = context.options or {}
        given: Any = options.get("tools") or ()
        tools = [one.to_json_schema_spec() for one in given if hasattr(one, "to_json_schema_spec")]
        tools += output_schemas(options.get("response_format"))
        reduced = await self._view.reduce(
            messages,
            state=kept_reduction(held),
            overrides=refusals.overrides,
            instructions=options.get("instructions"),
            tools=tools,
        )
        if context.session is not None:
            held.update(new_reduction(held, reduced.state))
        context.messages = refusals.shown(reduced)

    def _stream(
        self,
        context: ChatContext,
        call_next: Callable[[], Awaitable[None]],
        messages: Sequence[Theirs],
        refusals: Refusals,
    ) -> ResponseStream[Any, Any]:
        """Return the stream that was made, or the one that is taken after *refusals* of it."""
        made: Any = context.result

        async def updates() -> AsyncIterator[Any]:
            """Yield the updates of the first stream that has one."""
            nonlocal made
            while True:
                with refusals.asking():
                    async for one in made:
                        refusals.is_over = True
                        yield one
                    return
                await self._show(context, messages, refusals)
                await call_next()
                made = context.result

        async def closed() -> None:
            """Close what was asked for last, which is not known yet."""
            await made.close()

        return ResponseStream(
            updates(), finalizer=lambda _: made.get_final_response(), cleanup_hooks=[closed]
        )


class FoldlineHistoryProvider(HistoryProvider):
    """Keeps the messages of each session in a thread of its own."""

    def __init__(
        self,
        store: ThreadStore,
        *,
        tenant: str = DEFAULT_TENANT,
        source_id: str = "foldline",
        **options: Any,
    ) -> None:
        """Keep sessions in *store*, which is open; *options* are those of `HistoryProvider`."""
        expect("store", store, ThreadStore)
        super().__init__(source_id, **options)
        self._store, self._tenant, self._codec = store, tenant, AgentFrameworkCodec()

    async def _thread(self, session_id: str | None) -> ConversationThread:
        if session_id is None:
            message = "a session is needed to keep a history: pass session=agent.create_session()"
            raise UsageError(message)
        return await self._store.thread(ThreadKey.named(session_id, tenant=self._tenant))

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Theirs]:
        """Return all messages of the session."""
        rows = await (await self._thread(session_id)).get_messages()
        return [Theirs.from_dict(one) for one in objects_in(rows)]

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Theirs],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Append *messages* in one commit."""
        rows = [row for one in messages for row in rows_of(self._codec.read(one), one.to_dict())]
        if rows:
            await (await self._thread(session_id)).append(rows)
