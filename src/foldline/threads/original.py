"""
What the documented original wrote in a snapshot, read into what we write.

Its messages are `ChatMessage`s of Microsoft.Extensions.AI, whose contents carry a `$type`
(`dotnet/extensions`, `AIContent.cs`), and its execution state an `AgentLoopState` of HPD-Agent. Both
are read whether their keys begin with a capital or not.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from foldline.errors import FormatError, StoreVersionError
from foldline.history.formats.wire import (
    is_object,
    json_text,
    maybe_list,
    maybe_object,
    media_from_url,
)
from foldline.history.media import modality_of
from foldline.history.messages import Message
from foldline.history.parts import (
    FilePart,
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.threads.loop_state import AgentLoopState, CurrentMessages
from foldline.threads.tools import ToolRun


ORIGINAL_KEY: Final = "__original__"
"""The metadata key of the contents of a message, if its parts do not hold everything in them."""

_OWN = frozenset(Message.__struct_fields__)
_ROLES = frozenset({"system", "user", "assistant", "tool"})
# The fields that become a part, of each type of content that is read.
_READ: Mapping[str, frozenset[str]] = {
    "text": frozenset({"text"}),
    "reasoning": frozenset({"text"}),
    "functionCall": frozenset({"callId", "name", "arguments"}),
    "functionResult": frozenset({"callId", "name", "result"}),
    "data": frozenset({"uri", "mediaType"}),
    "uri": frozenset({"uri", "mediaType"}),
    "hostedFile": frozenset({"fileId", "mediaType"}),
}
_NEWEST_STATE = 2
_STATE_FIELDS: Mapping[str, str] = {
    "runId": "run_id",
    "conversationId": "conversation_id",
    "agentName": "agent_name",
    "startTime": "started_at",
    "iteration": "iteration",
    "isTerminated": "is_terminated",
    "terminationReason": "termination_reason",
    "consecutiveFailures": "consecutive_failures",
    "lastSignaturePerTool": "last_signatures",
    "consecutiveCountPerTool": "repeat_counts",
    "completedFunctions": "completed_functions",
    "lastAssistantMessageId": "last_assistant_message_id",
}


def message_of(value: Any, index: int) -> Any:
    """Return the fields of *value*, the message at *index*, as ours has them; or raise FormatError."""
    if not is_object(value) or "parts" in value or _OWN.issuperset(value):
        return value
    named = _named(value)
    role, contents = str(named.get("role")).lower(), maybe_list(named.get("contents"))
    if role not in _ROLES or not isinstance(named.get("contents"), list):
        wanted = "`parts`, or `role` and `contents` as the documented original writes them"
        raise FormatError(f"not a snapshot of a thread: message {index} must have {wanted}")
    blocks = [_named(maybe_object(one)) for one in contents]
    parts = [_part(one, f"message {index}: contents[{at}]") for at, one in enumerate(blocks)]
    metadata = maybe_object(named.get("additionalProperties"))
    if not all(map(_is_whole, blocks)):
        metadata = {**metadata, ORIGINAL_KEY: contents}
    return {
        "role": role,
        "parts": msgspec.to_builtins(parts),
        "id": named.get("messageId"),
        "name": named.get("authorName"),
        "created_at": named.get("createdAt"),
        "metadata": metadata or None,
    }


def _named(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key[:1].lower() + key[1:]: field for key, field in value.items()}


def _is_whole(block: Mapping[str, Any]) -> bool:
    """Whether the part of *block* holds all of it; flags about how a call is run are no content."""
    known = _READ.get(block["$type"])
    return known is None or all(
        field is None or isinstance(field, bool) or key in known or key == "$type"
        for key, field in block.items()
    )


def _part(block: dict[str, Any], name: str) -> Part:
    match block:
        case {"$type": "text", "text": str(text)}:
            part: Part = TextPart(text)
        case {"$type": "reasoning", "text": str(text)}:
            part = ReasoningPart(text)
        case {"$type": "functionCall", "callId": str(call_id), "name": str(tool)}:
            part = ToolCallPart(call_id, tool, _text(block.get("arguments"), empty="{}"))
        case {"$type": "functionResult", "callId": str(call_id)}:
            part = ToolCallResponsePart(call_id, _text(block.get("result")))
        case {"$type": "data" | "uri", "uri": str(uri)}:
            part = media_from_url(uri, _modality(block, uri.removeprefix("data:")))
        case {"$type": "hostedFile", "fileId": str(file_id)}:
            part = FilePart(_modality(block), file_id)
        case {"$type": str(kind)} if kind not in _READ:
            part = GenericPart(kind, json_text(block))
        case _:
            raise FormatError(
                f"not a snapshot of a thread: {name} must have a `$type` and its fields: `text`, "
                "`callId` and `name` of a functionCall, `callId` of a functionResult, `uri`"
            )
    return part


def _text(value: Any, *, empty: str = "") -> str:
    if value is None:
        return empty
    return value if isinstance(value, str) else json_text(value)


def _modality(block: Mapping[str, Any], kind: str = "") -> str:
    return modality_of(str(block.get("mediaType") or kind))


def state_of(value: Mapping[str, Any], thread_id: str, moment: datetime | None) -> AgentLoopState:
    """Return the execution state that the original wrote; of its messages the number is read."""
    named = _named(value)
    version, current = named.get("version"), maybe_list(named.get("currentMessages"))
    if isinstance(version, int) and version > _NEWEST_STATE:
        raise StoreVersionError(what="a checkpoint", found=version, known=_NEWEST_STATE)
    if not isinstance(named.get("currentMessages"), list):
        raise FormatError("not an execution state: `CurrentMessages` must be a list")
    fields = {
        own: named[name] for name, own in _STATE_FIELDS.items() if named.get(name) is not None
    }
    started_at = moment or datetime.fromtimestamp(0, UTC)
    fields = {"run_id": thread_id, "conversation_id": thread_id, "started_at": started_at, **fields}
    state = msgspec.convert(fields, AgentLoopState)
    if state.started_at.tzinfo is None:
        state = replace(state, started_at=state.started_at.replace(tzinfo=UTC))
    return replace(state, current_messages=CurrentMessages(len(current)))


def runs_begun(value: Mapping[str, Any], messages: Iterable[Message]) -> tuple[ToolRun, ...]:
    """
    Return the calls in *messages* that have no answer, with the results that the state knows.

    The original kept results in its state until all of a response were there. Whether the others
    have run is unknown.
    """
    waiting: dict[str, str] = {}
    for message in messages:
        if message.role == "user":
            waiting.clear()
        waiting.update((call.id, call.name) for call in message.tool_calls)
        for answer in message.tool_call_responses:
            waiting.pop(answer.id, None)
    writes = maybe_list(_named(value).get("pendingWrites"))
    known = [_named(maybe_object(one)) for one in writes]
    results = {one.get("callId"): one.get("resultJson") for one in known}
    return tuple(
        ToolRun(call_id=call_id, name=name, place=place, result=_result(results.get(call_id)))
        for place, (call_id, name) in enumerate(waiting.items())
    )


def _result(written: Any) -> str | None:
    if not isinstance(written, str):
        return None
    try:
        return _text(msgspec.json.decode(written))
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return written
