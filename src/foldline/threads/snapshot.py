"""A whole thread as one JSON document, to be moved between stores or kept in a file."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Raw, Struct

from foldline.errors import FormatError, NewerFormatError, StoreVersionError
from foldline.history.codec import decode_json, encode_json, encode_message, without_values
from foldline.history.formats.wire import is_list, is_object, maybe_object
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.state import HistoryReductionState, hash_of
from foldline.threads.head import ThreadRecord
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.original import message_of, runs_begun, state_of
from foldline.threads.tools import ToolRun


SNAPSHOT_FORMAT: Final = 1
"""The number of the form of a snapshot; a reader refuses a higher one."""


class ThreadSnapshot(Struct, frozen=True, kw_only=True):
    """The content of a snapshot: a thread with the newest of its reductions alone."""

    id: str
    display_name: str = ""
    messages: tuple[Message, ...] = ()
    metadata: dict[str, object] = {}
    created_at: datetime | None = None
    last_activity: datetime | None = None
    archived: int = 0
    execution: AgentLoopState | None = None
    reduction: HistoryReductionState | None = None
    tools: tuple[ToolRun, ...] = ()
    # None if its writer did not know of pins.
    pins: tuple[int, ...] | None = None


class _Messages(Struct, rename="pascal"):
    messages: tuple[Message, ...]


class _Written(Struct, rename="pascal", kw_only=True):
    id: str
    display_name: str = ""
    message_store_snapshot: _Messages
    metadata: dict[str, object] = {}
    created_at: datetime | None = None
    last_activity: datetime | None = None
    archived_count: int = 0
    execution_state_json: str | dict[str, Any] | None = None
    last_reduction: Any = None
    pending_tools: tuple[ToolRun, ...] = ()
    pins: tuple[int, ...] | None = None


class _Format(Struct, rename="pascal"):
    format: Annotated[int, Meta(ge=0)] = 0


_encode = msgspec.json.Encoder().encode

# The names that the original framework used at one time or another.
_OLD_NAMES: Mapping[str, str] = {
    "MessageStoreState": "MessageStoreSnapshot",
    "LastReductionState": "LastReduction",
}


def encode_snapshot(record: ThreadRecord, messages: Iterable[Message]) -> bytes:
    """Write a thread and its *messages* as JSON."""
    messages = tuple(messages)
    head, state, reduction = record.head, record.execution, record.reduction
    if reduction is not None and reduction.summarized_up_to_index:
        # Rows of an old store have digests of version 1; outside of it those of now are compared.
        known = hash_of(History(messages), reduction.summarized_up_to_index)
        reduction = msgspec.structs.replace(reduction, message_hash=known)
    written = {
        "Id": record.key.id,
        "DisplayName": Raw(encode_json(record.display_name)),
        "MessageStoreSnapshot": {"Messages": [Raw(encode_message(one)) for one in messages]},
        "Metadata": Raw(encode_json(dict(record.metadata))),
        "CreatedAt": head.created_at,
        "LastActivity": head.last_activity,
        "ArchivedCount": head.archived,
        "ExecutionStateJson": None if state is None else state.to_json().decode(),
        "LastReduction": None if reduction is None else Raw(reduction.to_json()),
        "PendingTools": Raw(encode_json(record.tools)),
        "Pins": head.pins,
        "Format": SNAPSHOT_FORMAT,
    }
    return _encode(written)


def decode_snapshot(data: bytes | str) -> ThreadSnapshot:
    """Read a snapshot, one of an older format too; raise FormatError or StoreVersionError."""
    try:
        return _read(_written(decode_json(data)))
    except RecursionError:
        message = "nested too deeply"
    except OverflowError:
        message = "a number or a time is out of range"
    except TypeError:
        message = f"got {type(data).__name__}, not bytes or str"
    except UnicodeError:
        message = "a string is where it should not be"
    except msgspec.MsgspecError as error:
        message = without_values(error)
    # Outside the handler, since the error of msgspec may quote text of a conversation.
    raise FormatError(f"not a snapshot of a thread: {message}")


def _written(value: Any) -> _Written:
    found = msgspec.convert(value, _Format).format
    if found > SNAPSHOT_FORMAT:
        raise StoreVersionError(what="a snapshot", found=found, known=SNAPSHOT_FORMAT)
    # The forms before the first number had none.
    value = value if found else _renamed(value)
    messages = maybe_object(value.get("MessageStoreSnapshot")).get("Messages")
    if is_list(messages):
        read = [message_of(one, index) for index, one in enumerate(messages)]
        value = {**value, "MessageStoreSnapshot": {"Messages": read}}
    return msgspec.convert(value, _Written)


def _renamed(value: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a snapshot without format number, with today's names."""
    named = {_OLD_NAMES.get(name, name): field for name, field in value.items()}
    store = named.get("MessageStoreSnapshot")
    if isinstance(store, dict) and "messages" in store:
        named["MessageStoreSnapshot"] = {"Messages": store["messages"]}
    if store is None or store == {}:
        # That form wrote no messages by leaving them out.
        named["MessageStoreSnapshot"] = {"Messages": []}
    return {name: field for name, field in named.items() if field is not None}


def _read(written: _Written) -> ThreadSnapshot:
    messages, archived = written.message_store_snapshot.messages, written.archived_count
    length = sum(one.role != "system" for one in messages)
    if not 0 <= archived <= length:
        message = f"not a snapshot of a thread: `ArchivedCount` is not between 0 and {length}"
        raise FormatError(message)
    pins = written.pins
    if pins is not None and not set(pins).issubset(range(length)):
        message = f"not a snapshot of a thread: `Pins` holds an index that is not below {length}"
        raise FormatError(message)
    moment = _in_utc(written.last_activity)
    execution, begun = _execution(written, moment)
    return ThreadSnapshot(
        id=written.id,
        display_name=written.display_name,
        messages=messages,
        metadata=written.metadata,
        created_at=_in_utc(written.created_at),
        last_activity=moment,
        archived=archived,
        execution=execution,
        reduction=_reduction(written.last_reduction),
        tools=(*written.pending_tools, *begun),
        pins=None if pins is None else tuple(sorted(set(pins))),
    )


def _in_utc(moment: datetime | None) -> datetime | None:
    """Return *moment* in UTC, which is meant if no time zone is written."""
    if moment is None:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _execution(
    written: _Written, moment: datetime | None
) -> tuple[AgentLoopState | None, tuple[ToolRun, ...]]:
    """Return the execution state, and the tools that one of the documented original waits for."""
    state = written.execution_state_json
    if state is None:
        return None, ()
    value = decode_json(state) if isinstance(state, str) else state
    if not is_object(value) or "run_id" in value:
        return AgentLoopState.from_json(state if isinstance(state, str) else encode_json(state)), ()
    execution = state_of(value, written.id, moment)
    messages = written.message_store_snapshot.messages
    return execution, runs_begun(value, messages) if execution.is_open else ()


def _reduction(written: Any) -> HistoryReductionState | None:
    if written is None or (isinstance(written, dict) and "SummarizedUpToIndex" in written):
        # The hash of the documented original is of its own form of a message: it proves nothing here.
        return None
    try:
        return HistoryReductionState.from_json(encode_json(written))
    except NewerFormatError as error:
        raise StoreVersionError(what="a reduction", found=error.found, known=error.known) from None
