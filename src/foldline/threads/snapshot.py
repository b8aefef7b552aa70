"""
A whole thread as one JSON document, to be moved between stores or kept in a file.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from foldline.errors import FormatError, StoreVersionError
from foldline.history.codec import decode_json, decode_message, encode_message, without_values
from foldline.history.messages import Message
from foldline.reduction.state import HistoryReductionState
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.record import ThreadRecord


__all__ = ["SNAPSHOT_FORMAT", "ThreadSnapshot", "decode_snapshot", "encode_snapshot"]


SNAPSHOT_FORMAT: Final = 1
"""The number of the form of a snapshot; a reader refuses a higher one."""


class ThreadSnapshot(Struct, frozen=True, kw_only=True):
    """
    What a snapshot says, once it is read.
    """

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


class _Messages(Struct):
    messages: list[Raw] = msgspec.field(name="Messages", default_factory=list)


class _Written(Struct, rename="pascal", kw_only=True):
    id: str
    display_name: str = ""
    message_store_snapshot: _Messages = msgspec.field(default_factory=_Messages)
    metadata: dict[str, Any] = {}
    created_at: datetime | None = None
    last_activity: datetime | None = None
    archived_count: int = 0
    execution_state_json: str | None = None
    last_reduction: Raw = Raw(b"null")
    format: int = SNAPSHOT_FORMAT


class _Format(Struct, rename="pascal"):
    format: int = 0


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(_Written)
_FORMAT = msgspec.json.Decoder(_Format)

# The names that the original framework gave them at one time or another.
_OLD_NAMES = {
    "MessageStoreState": "MessageStoreSnapshot",
    "LastReductionState": "LastReduction",
}


def encode_snapshot(record: ThreadRecord, messages: Iterable[Message]) -> bytes:
    """
    Write a thread and its *messages* as JSON.
    """
    head, state, reduction = record.head, record.execution, record.reduction
    written = _Written(
        id=record.key.id,
        display_name=record.display_name,
        message_store_snapshot=_Messages([Raw(encode_message(one)) for one in messages]),
        metadata=dict(record.metadata),
        created_at=head.created_at,
        last_activity=head.last_activity,
        archived_count=head.archived,
        execution_state_json=None if state is None else state.to_json().decode(),
        last_reduction=Raw(b"null" if reduction is None else reduction.to_json()),
    )
    return _ENCODER.encode(written)


def decode_snapshot(data: bytes | str) -> ThreadSnapshot:
    """
    Read a snapshot; one of an older format too.

    Raises:
        FormatError: *data* is not a snapshot.
        StoreVersionError: It was written by a newer foldline.
    """
    try:
        found = _FORMAT.decode(data).format
        if found > SNAPSHOT_FORMAT:
            raise StoreVersionError(what="a snapshot", found=found, known=SNAPSHOT_FORMAT)
        written = _DECODER.decode(data) if found else _read_old(data)
    except RecursionError:
        message = "not a snapshot of a thread: nested too deeply"
    except (msgspec.MsgspecError, UnicodeError) as error:
        message = f"not a snapshot of a thread: {without_values(error)}"
    else:
        return _read(written)
    # Outside the handler, since the error of msgspec may quote text of a conversation.
    raise FormatError(message)


def _read_old(data: bytes | str) -> _Written:
    """
    Read a snapshot without format number, with the older names.
    """
    value = decode_json(data)
    renamed = {_OLD_NAMES.get(name, name): field for name, field in value.items()}
    store = renamed.get("MessageStoreSnapshot")
    if isinstance(store, dict) and "messages" in store:
        renamed["MessageStoreSnapshot"] = {"Messages": store["messages"]}
    known = {field.encode_name for field in msgspec.structs.fields(_Written)}
    plain = {name: field for name, field in renamed.items() if name in known and field is not None}
    return _DECODER.decode(_ENCODER.encode(plain))


def _read(written: _Written) -> ThreadSnapshot:
    state, reduction = written.execution_state_json, bytes(written.last_reduction)
    return ThreadSnapshot(
        id=written.id,
        display_name=written.display_name,
        messages=tuple(
            decode_message(bytes(one)) for one in written.message_store_snapshot.messages
        ),
        metadata=written.metadata,
        created_at=written.created_at,
        last_activity=written.last_activity,
        archived=written.archived_count,
        execution=None if state is None else AgentLoopState.from_json(state),
        reduction=None if reduction == b"null" else HistoryReductionState.from_json(reduction),
    )
