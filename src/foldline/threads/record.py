"""A thread as it was read, and the documents that it is stored in."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from foldline.errors import (
    FormatError,
    NewerFormatError,
    StoreCorruptError,
    StoreVersionError,
)
from foldline.history.codec import decode_json, encode_json
from foldline.reduction.state import HistoryReductionState
from foldline.threads.cipher import Vault
from foldline.threads.head import Head, decode_head, encode_head
from foldline.threads.key import ThreadKey
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.step import Document, DocumentKind, StoredRow, StoredThread
from foldline.threads.tool_run import ToolRun


__all__ = [
    "ThreadRecord",
    "as_stored",
    "close_head",
    "decode_record",
    "decode_reduction",
    "document",
    "encode_metadata",
    "encode_tool",
    "in_force",
    "in_order",
    "open_document",
    "open_head",
]


class ThreadRecord(Struct, frozen=True, kw_only=True):
    """Everything about a thread but its messages, at one revision."""

    key: ThreadKey
    """Whose and which it is."""

    head: Head
    """How far it has come."""

    display_name: str = ""
    """The name that people see; empty where nobody gave one."""

    metadata: Mapping[str, object] = {}
    """Values of the owner."""

    execution: AgentLoopState | None = None
    """The execution state."""

    reduction: HistoryReductionState | None = None
    """The newest reduction."""

    reduction_name: str = ""
    """The name of its document."""

    tools: tuple[ToolRun, ...] = ()
    """The tool calls whose answers are not yet messages, in the order of their intents."""

    tail: Sequence[StoredRow] = ()
    """The newest rows, if they were read along."""


class _Metadata(Struct, omit_defaults=True):
    display_name: str = ""
    metadata: dict[str, object] = {}


def close_head(vault: Vault, key: ThreadKey, head: Head) -> bytes:
    """Return the stored form of *head*."""
    return vault.close_up(encode_head(head), "head", key.tenant, key.id, str(head.revision))


def open_head(vault: Vault, stored: StoredThread) -> Head:
    """
    Return the head of *stored*.

    Raises:
        StoreCorruptError: It is damaged, or of another thread or revision.
        StoreVersionError: A newer foldline wrote it.
    """
    key = stored.key
    head = decode_head(vault.open_up(stored.head, "head", key.tenant, key.id, str(stored.revision)))
    if head.revision != stored.revision:
        message = f"the head of thread {key.id!r} is of another revision"
        raise StoreCorruptError(message)
    return head


def document(
    vault: Vault, key: ThreadKey, kind: DocumentKind, data: bytes, *, name: str = ""
) -> Document:
    """Return the stored form of the document *name*, whose content is *data*."""
    return Document(kind, name, vault.close_up(data, kind, key.tenant, key.id, name))


def open_document(vault: Vault, key: ThreadKey, stored: Document) -> bytes:
    """
    Return the content of *stored*.

    Raises:
        StoreCorruptError: It is damaged, or belongs elsewhere.
    """
    return vault.open_up(stored.data, stored.kind, key.tenant, key.id, stored.name)


def encode_metadata(display_name: str, metadata: Mapping[str, object]) -> bytes:
    """
    Write a display name and the owner's values.

    Raises:
        FormatError: A value has no place in JSON.
    """
    try:
        return encode_json(_Metadata(display_name, dict(metadata)))
    except (TypeError, ValueError, RecursionError) as error:
        message = f"metadata cannot be stored as JSON: {type(error).__name__}"
        raise FormatError(message) from error


def as_stored(metadata: Mapping[str, object]) -> Mapping[str, object]:
    """
    Return the owner's values as they will be read: a copy, of what JSON has.

    Raises:
        FormatError: A value has no place in JSON.
    """
    data = encode_metadata("", metadata)
    return msgspec.convert(decode_json(data), _Metadata).metadata


def encode_tool(run: ToolRun) -> bytes:
    """Write *run*."""
    return encode_json(run)


def decode_record(stored: StoredThread, vault: Vault) -> ThreadRecord:
    """
    Return the thread in *stored*.

    Raises:
        StoreCorruptError: A part of it is damaged.
        StoreVersionError: A newer foldline wrote it.
    """
    key, head = stored.key, open_head(vault, stored)
    contents = [(one, open_document(vault, key, one)) for one in stored.documents]
    try:
        return _assembled(key, head, stored.tail, contents)
    except NewerFormatError as error:
        what = f"a reduction of thread {key.id!r}"
        raise StoreVersionError(what=what, found=error.found, known=error.known) from None
    except (FormatError, msgspec.MsgspecError) as error:
        message = f"a document of thread {key.id!r} cannot be read: `foldline verify` names it"
        raise StoreCorruptError(message) from error


def _assembled(
    key: ThreadKey,
    head: Head,
    tail: Sequence[StoredRow],
    contents: Sequence[tuple[Document, bytes]],
) -> ThreadRecord:
    known: _Metadata | None = None
    name = ""
    execution: AgentLoopState | None = None
    reduction: HistoryReductionState | None = None
    tools: list[ToolRun] = []
    for stored, data in contents:
        match stored.kind:
            case "metadata":
                known = msgspec.convert(decode_json(data), _Metadata)
            case "execution":
                execution = AgentLoopState.from_json(data)
            case "reduction":
                reduction, name = HistoryReductionState.from_json(data), stored.name
            case "tool":
                tools.append(msgspec.convert(decode_json(data), ToolRun))
            case "checkpoint":
                pass
    return ThreadRecord(
        key=key,
        head=head,
        display_name="" if known is None else known.display_name,
        metadata={} if known is None else known.metadata,
        execution=None if execution is None else execution.with_reduction(in_force(reduction)),
        reduction=reduction,
        reduction_name=name,
        tools=in_order(tools),
        tail=tail,
    )


def in_order(tools: Iterable[ToolRun]) -> tuple[ToolRun, ...]:
    """Return *tools* from the oldest call on."""
    return tuple(sorted(tools, key=lambda run: (run.place, run.call_id)))


def in_force(reduction: HistoryReductionState | None) -> HistoryReductionState | None:
    """
    Return *reduction* where it is in force: one that only notes failures is not.

    It is stored once, and joined to the execution state in whose record it stands.
    """
    return None if reduction is None or reduction.summarized_up_to_index == 0 else reduction


def decode_reduction(vault: Vault, key: ThreadKey, stored: Document) -> HistoryReductionState:
    """
    Return the reduction in *stored*.

    Raises:
        StoreCorruptError: It is damaged.
    """
    try:
        return HistoryReductionState.from_json(open_document(vault, key, stored))
    except NewerFormatError as error:
        what = f"a reduction of thread {key.id!r}"
        raise StoreVersionError(what=what, found=error.found, known=error.known) from None
    except FormatError as error:
        message = f"reduction {stored.name!r} of thread {key.id!r} cannot be read"
        raise StoreCorruptError(message) from error
