"""A session, and a filter of the model's input or a wrapper of the model, for the OpenAI Agents SDK."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from inspect import signature
from typing import Any
from weakref import WeakKeyDictionary

from agents import (
    AgentOutputSchema,
    AgentOutputSchemaBase,
    FunctionTool,
    Handoff,
    ItemHelpers,
    Model,
    ModelResponse,
    RunContextWrapper,
    Tool,
    handoff,
)
from agents.mcp import MCPServer, MCPUtil
from agents.memory.session_settings import SessionSettings, resolve_session_limit
from agents.models.fake_id import FAKE_RESPONSES_ID
from agents.run import CallModelData, ModelInputData

from foldline.agent.reduced import ReducedHistory
from foldline.agent.reducer import HistoryReducer
from foldline.checks import expect
from foldline.errors import FormatError
from foldline.guests import OPENING_NOTE, opened, reduced_in
from foldline.guests.refusals import Refusals
from foldline.history.formats.openai_responses import OPENAI_RESPONSES
from foldline.history.formats.wire import is_object, json_text
from foldline.history.messages import Message, Native
from foldline.history.parts import GenericPart
from foldline.threads.key import DEFAULT_TENANT, ThreadKey
from foldline.threads.store import ThreadStore
from foldline.threads.thread import ConversationThread


# The names of what the SDK passes to a model without them.
_ASKED = [*signature(Model.get_response).parameters][1:]
# What a stream begins with before a vendor has judged the request.
_OPENINGS = frozenset({"response.created", "response.queued", "response.in_progress"})


class FoldlineSession:
    """A `Session` of which each item is a message of a thread, byte for byte as it came."""

    def __init__(
        self,
        store: ThreadStore,
        session_id: str,
        *,
        tenant: str = DEFAULT_TENANT,
        session_settings: SessionSettings | None = None,
    ) -> None:
        """Keep *session_id*, any text, in *store*, open; the settings limit what a run begins with."""
        expect("store", store, ThreadStore)
        self.session_id, self.session_settings = session_id, session_settings
        self._store, self._key = store, ThreadKey.named(session_id, tenant=tenant)

    async def thread(self) -> ConversationThread:
        """Return the thread, made if there is none."""
        return await self._store.thread(self._key)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return all items, or the newest *limit*."""
        last = resolve_session_limit(limit, self.session_settings)
        if last is not None and last <= 0:
            return []
        messages = await (await self.thread()).get_messages(last=last)
        return OPENAI_RESPONSES.items(messages)

    async def add_items(self, items: list[Any]) -> None:
        """Append *items* in one commit, behind whatever others have appended."""
        if items:
            await (await self.thread()).append(map(_row, items))

    async def pop_item(self) -> Any | None:
        """Take the newest item back and return it; None if there is none."""
        message = await (await self.thread()).pop()
        return None if message is None else OPENAI_RESPONSES.own_items(message)[0]

    async def clear_session(self) -> None:
        """Delete all items, and the reduction."""
        await (await self.thread()).clear()


def model_input_filter(
    reducer: HistoryReducer, *, session: FoldlineSession | None = None
) -> Callable[[CallModelData[Any]], Awaitable[ModelInputData]]:
    """
    Return a `call_model_input_filter` for `RunConfig`: each call gets the view, nothing is stored.

    Args:
        reducer: What reduces; one may serve several agents. Without a session it remembers
            its reductions as long as it lives.
        session: Where the reduction is kept between runs and processes.

    Raises:
        ConfigError: *reducer* is no reducer, or *session* another session of the SDK.
    """
    expect("reducer", reducer, HistoryReducer)
    expect("session", session, FoldlineSession | None, hint="leave it out with another session")

    # A server that keeps no list is asked over its connection, so it is asked once.
    listed = WeakKeyDictionary[MCPServer, list[Tool]]()

    async def reduced_input(data: CallModelData[Any]) -> ModelInputData:
        """Return the view of *data*."""
        given, agent = data.model_data, data.agent
        schemas = _schemas(await _tools(data, listed), agent.handoffs, agent.output_type)
        reduced = await _reduced(
            reducer, session, given.input, instructions=given.instructions, tools=schemas
        )
        return ModelInputData(_sendable(reduced.messages), given.instructions)

    return reduced_input


class FoldlineModel(Model):
    """
    Another model that is shown the view at each call, in place of a filter of its input.

    What it refuses as too long is folded to a quarter and sent again, up to three times.
    """

    def __init__(
        self, model: Model, reducer: HistoryReducer, *, session: FoldlineSession | None = None
    ) -> None:
        """Ask *model*; the others are those of `model_input_filter`."""
        expect("model", model, Model, hint="a provider of the SDK makes one of a name: get_model")
        expect("reducer", reducer, HistoryReducer)
        expect("session", session, FoldlineSession | None, hint="leave it out with another session")
        self._model, self._reducer, self._session = model, reducer, session

    async def _shown(self, asked: dict[str, Any], refusals: Refusals) -> dict[str, Any]:
        """Return what is *asked* with the view as its input, a smaller one after *refusals*."""
        if asked.get("conversation_id") or asked.get("previous_response_id"):
            # OpenAI has the rest: without their calls, results of tools would be left out.
            refusals.is_over = True
            return asked
        reduced = await _reduced(
            self._reducer,
            self._session,
            ItemHelpers.input_to_new_input_list(asked["input"]),
            instructions=asked["system_instructions"],
            tools=_schemas(asked["tools"], asked["handoffs"], asked["output_schema"]),
            overrides=refusals.overrides,
        )
        return {**asked, "input": _sendable(refusals.shown(reduced))}

    async def get_response(self, *given: Any, **options: Any) -> ModelResponse:
        """Ask with the view; while it is refused as too long, again after a fold."""
        asked, refusals = dict(zip(_ASKED, given, strict=False), **options), Refusals()
        while True:
            shown = await self._shown(asked, refusals)
            with refusals.asking():
                return await self._model.get_response(**shown)

    def stream_response(self, *given: Any, **options: Any) -> AsyncIterator[Any]:
        """Ask as `get_response` does, before the first piece of the answer."""
        asked, refusals = dict(zip(_ASKED, given, strict=False), **options), Refusals()

        async def ask() -> Any:
            """Return the stream of one attempt."""
            return self._model.stream_response(**await self._shown(asked, refusals))

        return refusals.stream(ask, openings=_OPENINGS)

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()

    def get_retry_advice(self, request: Any) -> Any:
        """Return what the model advises."""
        return self._model.get_retry_advice(request)


async def _reduced(
    reducer: HistoryReducer, session: FoldlineSession | None, items: Any, **request: Any
) -> ReducedHistory[Any]:
    """Return the view of *items* with the reduction of *session*, which keeps a new one."""
    wire = OPENAI_RESPONSES.format
    return await reduced_in(
        None if session is None else await session.thread(),
        lambda state: reducer.reduce(items, format=wire, state=state, **request),
    )


def _sendable(messages: list[Any]) -> list[Any]:
    """Return *messages* as models of the SDK take them."""
    note = {"role": "user", "content": OPENING_NOTE}
    view = opened(messages, lambda one: OPENAI_RESPONSES.messages([one])[0].role, note)
    return [_with_id(item) for item in view]


async def _tools(
    data: CallModelData[Any], listed: MutableMapping[MCPServer, list[Tool]]
) -> list[Tool]:
    """Return the tools of the agent, with those of its servers, which *listed* remembers."""
    found = list[Tool](data.agent.tools)
    for server in data.agent.mcp_servers:
        if server not in listed:
            context = RunContextWrapper(data.context)
            listed[server] = await MCPUtil.get_function_tools(server, False, context, data.agent)
        found += listed[server]
    return found


def _schemas(tools: Iterable[Tool], handoffs: Iterable[Any], output: Any) -> list[object]:
    """Return what a request has beside its input: *tools*, *handoffs*, the form of an answer."""
    made: list[object] = []
    for one in tools:
        if isinstance(one, FunctionTool):
            schema = one.params_json_schema
            made.append({"name": one.name, "description": one.description, "schema": schema})
        elif config := getattr(one, "tool_config", None):
            made.append(config)
    for one in handoffs:
        to = one if isinstance(one, Handoff) else handoff(one)
        made.append([to.tool_name, to.tool_description, to.input_json_schema])
    if output is not None and not isinstance(output, AgentOutputSchemaBase):
        output = AgentOutputSchema(output)
    if output is not None and not output.is_plain_text():
        made.append(output.json_schema())
    return made


def _row(item: Any) -> Message:
    """Return *item* as a message; what is none, as `EncryptedSession` writes it, is kept unread."""
    try:
        return OPENAI_RESPONSES.message(item)
    except FormatError:
        kept = Native(format=OPENAI_RESPONSES.format, item=json_text(item))
        return Message(role="user", parts=(GenericPart("unread", "", opaque=True),), native=kept)


def _with_id(item: Any) -> Any:
    """Return an answer without an id under the SDK's placeholder for one."""
    # By an id a model of Chat Completions knows an answer; to a Responses API none is sent.
    answer = {"type": "message", "role": "assistant"}.items()
    is_answer = is_object(item) and "id" not in item and answer <= item.items()
    return {**item, "id": FAKE_RESPONSES_ID} if is_answer else item
