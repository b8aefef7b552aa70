"""A whole thread as one JSON document, to be moved between stores or kept in a file."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct

from foldline.errors import FormatError, StoreVersionError
from foldline.history.codec import (
    decode_json,
    decode_message,
    encode_json,
    encode_message,
    without_values,
)
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.state import STATE_FORMAT, HistoryReductionState, hash_of
from foldline.threads.head import ThreadRecord
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.tools import ToolRun


__all__ = ["SNAPSHOT_FORMAT", "ThreadSnapshot", "decode_snapshot", "encode_snapshot"]


SNAPSHOT_FORMAT: Final = 1
"""The number of the form of a snapshot; a reader refuses a higher one."""


class ThreadSnapshot(Struct, frozen=True, kw_only=True):
    """The content of a snapshot."""

    id: str
    """The id of the thread."""

    display_name: str = ""
    """The name that people see."""

    messages: tuple[Message, ...] = ()
    """All messages, oldest first."""

    metadata: dict[str, object] = {}
    """Values of the owner."""

    created_at: datetime | None = None
    """When the thread was made."""

    last_activity: datetime | None = None
    """When it was last written to."""

    archived: int = 0
    """How many messages, system messages not counted, are archived."""

    execution: AgentLoopState | None = None
    """The execution state."""

    reduction: HistoryReductionState | None = None
    """The newest reduction."""

    tools: tuple[ToolRun, ...] = ()
    """The tool calls whose answers are not yet messages."""


_Kind = TypeVar("_Kind")

_NULL: Final = Raw(b"null")


class _Messages(Struct):
    messages: list[Raw] = msgspec.field(name="Messages")


class _AnyMessages(Struct):
    messages: list[Any] = msgspec.field(name="Messages")


class _Written(Struct, rename="pascal", kw_only=True):
    id: str
    display_name: Raw = Raw(b'""')
    message_store_snapshot: _Messages
    metadata: Raw = Raw(b"{}")
    created_at: datetime | None = None
    last_activity: datetime | None = None
    archived_count: int = 0
    execution_state_json: str | None = None
    last_reduction: Raw = _NULL
    pending_tools: Raw = Raw(b"[]")
    format: int = SNAPSHOT_FORMAT


class _Format(Struct, rename="pascal"):
    format: Annotated[int, Meta(ge=0)] = 0


class _ReductionFormat(Struct):
    format: int = STATE_FORMAT


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(_Written)
_FORMAT = msgspec.json.Decoder(_Format)

# The names that the original framework used at one time or another.
_OLD_NAMES = {
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
    written = _Written(
        id=record.key.id,
        display_name=Raw(encode_json(record.display_name)),
        message_store_snapshot=_Messages([Raw(encode_message(one)) for one in messages]),
        metadata=Raw(encode_json(dict(record.metadata))),
        created_at=head.created_at,
        last_activity=head.last_activity,
        archived_count=head.archived,
        execution_state_json=None if state is None else state.to_json().decode(),
        last_reduction=_NULL if reduction is None else Raw(reduction.to_json()),
        pending_tools=Raw(encode_json(record.tools)),
    )
    return _ENCODER.encode(written)


def decode_snapshot(data: bytes | str) -> ThreadSnapshot:
    """
    Read a snapshot; one of an older format too.

    Raises:
        FormatError: *data* is not a snapshot.
        StoreVersionError: It, or what it holds, was written by a newer foldline.
    """
    try:
        return _read(_written(data))
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
    text = f"not a snapshot of a thread: {message}"
    raise FormatError(text)


def _written(data: bytes | str) -> _Written:
    try:
        if _known_format(_FORMAT.decode(data)):
            return _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeError):
        # It has NaN or a lone surrogate, or it is no snapshot: the slow way finds out.
        pass
    value = decode_json(data)
    if not _known_format(msgspec.convert(value, _Format)):
        value = _renamed(value)
    return _converted(value)


def _known_format(written: _Format) -> int:
    """Return the number of the form, 0 for the forms before the first number."""
    if written.format > SNAPSHOT_FORMAT:
        raise StoreVersionError(what="a snapshot", found=written.format, known=SNAPSHOT_FORMAT)
    return written.format


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


def _converted(value: dict[str, Any]) -> _Written:
    plain = dict(value)
    for field in msgspec.structs.fields(_Written):
        if field.type is Raw and field.encode_name in plain:
            plain[field.encode_name] = Raw(encode_json(plain[field.encode_name]))
    if "MessageStoreSnapshot" in plain:
        store = msgspec.convert(plain["MessageStoreSnapshot"], _AnyMessages)
        messages = [Raw(encode_json(one)) for one in store.messages]
        plain["MessageStoreSnapshot"] = {"Messages": messages}
    return msgspec.convert(plain, _Written)


def _read(written: _Written) -> ThreadSnapshot:
    messages = tuple(decode_message(bytes(one)) for one in written.message_store_snapshot.messages)
    _check_archived(written.archived_count, messages)
    return ThreadSnapshot(
        id=written.id,
        display_name=_value(written.display_name, str),
        messages=messages,
        metadata=_value(written.metadata, dict[str, object]),
        created_at=_in_utc(written.created_at),
        last_activity=_in_utc(written.last_activity),
        archived=written.archived_count,
        execution=_execution(written.execution_state_json),
        reduction=_reduction(bytes(written.last_reduction)),
        tools=_value(written.pending_tools, tuple[ToolRun, ...]),
    )


def _check_archived(archived: int, messages: Sequence[Message]) -> None:
    length = sum(one.role != "system" for one in messages)
    if not 0 <= archived <= length:
        message = f"not a snapshot of a thread: `ArchivedCount` is not between 0 and {length}"
        raise FormatError(message)


def _value(written: Raw, kind: type[_Kind]) -> _Kind:
    return msgspec.convert(decode_json(bytes(written)), kind)


def _in_utc(moment: datetime | None) -> datetime | None:
    """Return *moment* in UTC, which is meant where no time zone is written."""
    if moment is None:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _execution(written: str | None) -> AgentLoopState | None:
    if written is None:
        return None
    state = AgentLoopState.from_json(written)
    try:
        len(state.current_messages)
    except OverflowError:
        message = "not an execution state: its count of messages is out of range"
        raise FormatError(message) from None
    return state


def _reduction(written: bytes) -> HistoryReductionState | None:
    if written == b"null":
        return None
    found = msgspec.json.decode(written, type=_ReductionFormat).format
    if found > STATE_FORMAT:
        raise StoreVersionError(what="a reduction", found=found, known=STATE_FORMAT)
    return HistoryReductionState.from_json(written)
