"""What a thread is at one revision: its head, its documents and its kept moments."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from foldline.errors import FormatError, NewerFormatError, StoreCorruptError, StoreVersionError
from foldline.history.codec import decode_json, encode_json
from foldline.history.digest import EMPTY_DIGEST, chain_digest
from foldline.history.messages import PIN_KEY, Message
from foldline.history.parts import TextPart
from foldline.history.tokens import MESSAGE_TOKENS, TokenCounter, count_message
from foldline.reduction.fold_rule import FoldRule
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.stride import is_kept
from foldline.threads.change import Document, DocumentKind
from foldline.threads.cipher import DAMAGE_ADVICE, Vault
from foldline.threads.due import LETTERS, USUAL_MARK, FoldMark
from foldline.threads.key import ThreadKey
from foldline.threads.lease import Lease
from foldline.threads.loop_state import AgentLoopState, Checkpoint
from foldline.threads.recent import Recent
from foldline.threads.row import (
    SEAL_SIZE,
    Runs,
    Said,
    StoredRow,
    encode_payload,
    seal_of,
    write_body,
)
from foldline.threads.storage import StoredThread
from foldline.threads.tools import ToolRun
from foldline.threads.turns import TurnRecord


_Content = TypeVar("_Content")

HEAD_FORMAT: Final = 1
"""The number of the stored form of a head; a reader refuses a higher one."""

REMEMBERED_COMMITS: Final = 8
"""How many of the last commits a head knows by their ids."""


class Head(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The counts, the digest and the times of a thread at one revision."""

    # The name from the time when a thread had branches: what is stored stays readable.
    epoch: bytes = msgspec.field(name="branch")
    created_at: datetime
    last_activity: datetime
    revision: int = 0
    # Of all messages, of system messages, and of user messages.
    count: int = 0
    system: int = 0
    system_tokens: int = 0
    users: int = 0
    # From here to `archived` without system messages.
    tokens: int = 0
    digest: bytes = EMPTY_DIGEST
    seal: bytes = bytes(SEAL_SIZE)
    archived: int = 0
    # The stored folds that archived messages: the number of each, and `archived` after it.
    archives: tuple[tuple[int, int], ...] = ()
    # Of all that were ever stored.
    folds: int = 0
    checkpoints: int = 0
    expires_at: datetime | None = None
    # The ids of the last commits.
    recent: tuple[bytes, ...] = ()
    # Which epoch wrote which rows, and how many epochs were opened since the last prune; None in a
    # thread of an old store, where neither was recorded.
    runs: Runs | None = None
    rewinds: int | None = None
    # The indexes of the pinned messages, in order.
    pins: tuple[int, ...] = ()
    due: FoldMark | None = None
    # Always written, which a plain default is not.
    format: int = msgspec.field(default_factory=lambda: HEAD_FORMAT)

    @property
    def length(self) -> int:
        """How many messages it holds, system messages not counted."""
        return self.count - self.system

    def opened(self, epoch: bytes) -> "Head":
        """Return the head with *epoch* opened at its end."""
        runs = self.runs
        if runs is not None or self.count == 0:
            runs = (*(one for one in runs or () if one[0] < self.count), (self.count, epoch))
        return replace(self, epoch=epoch, runs=runs, rewinds=(self.rewinds or 0) + 1)

    def archiving(self, archived: int, *, fold: int) -> "Head":
        """Return the head with the first *archived* messages archived by the reduction *fold*."""
        known = (*self.archives, (fold, archived))
        kept = [
            one
            for one, later in pairwise(known)
            if any(is_kept(number, fold) for number in range(one[0], later[0]))
        ]
        return replace(self, archived=archived, archives=(*kept, known[-1]))

    def fallen_back(self, fold: int) -> "Head":
        """Return the head with *fold* as the newest reduction, and archived what was archived then."""
        archives = tuple(one for one in self.archives if one[0] <= fold)
        archived = archives[-1][1] if archives else 0
        return replace(self, archived=archived, archives=archives, folds=fold)

    def marked(self, mark: FoldMark, rule: FoldRule | None = None) -> FoldMark:
        """Return *mark* as of this head, and with *rule* from now on, if one is given."""
        unit, most, view = mark.unit, mark.most, mark.view
        if rule is not None:
            unit, most, view = LETTERS[rule.unit], rule.most, rule.view
        is_due = view is not None and self.tokens + self.system_tokens - mark.hidden > view
        if most is not None:
            gathered = {
                "m": self.length - mark.cut,
                "e": self.users - mark.users,
                "t": self.tokens - mark.tokens,
            }
            is_due = is_due or gathered[unit] > most
        since = (mark.since or self.last_activity) if is_due else None
        if (unit, most, view, since) == (mark.unit, mark.most, mark.view, mark.since):
            return mark
        return replace(mark, unit=unit, most=most, view=view, since=since)

    def may_be_due(self, rule: FoldRule, *, folded: bool) -> bool:
        """Whether a fold may be due by *rule*, if the thread counts as *folded* or not at all."""
        mark = self.due if folded else USUAL_MARK
        # What was folded before this was noted has to be read.
        return mark is None or self.marked(mark, rule).since is not None

    def with_folds(self, cuts: Mapping[int, int]) -> "Head":
        """Return the head of a thread with no reductions but *cuts*, numbers with their reaches."""
        # What is archived at each is what was archived then, if a reduction up to it covers that.
        archives, reach = [(0, 0)], 0
        for fold, cut in sorted(cuts.items()):
            reach = max(reach, cut)
            archived = min(reach, self.fallen_back(fold).archived)
            if archived != archives[-1][1]:
                archives.append((fold, archived))
        return replace(self, archives=tuple(archives[1:]))


def extended(
    head: Head, messages: Sequence[Message], counter: TokenCounter, vault: Vault
) -> tuple[list[StoredRow], list[Said], Head]:
    """Return the rows of *messages* after *head*, what they say, and the head after it."""
    if not messages:
        return [], [], head
    epoch, count, system, users = head.epoch, head.count, head.system, head.users
    tokens, system_tokens, digest, seal = head.tokens, head.system_tokens, head.digest, head.seal
    pins = head.pins
    rows: list[StoredRow] = []
    said: list[Said] = []
    for message in messages:
        position, is_system, parts = count - system, message.role == "system", message.parts
        # Most messages are one text: this saves the call of `count_message`.
        if len(parts) == 1 and type(parts[0]) is TextPart and message.name is None:
            own = MESSAGE_TOKENS + counter.count(parts[0].content)
        else:
            own = count_message(message, counter)
        if is_system:
            system_tokens += own
        else:
            tokens += own
            digest = chain_digest(digest, message)
            users += message.is_from_user
            if message.metadata is not None and PIN_KEY in message.metadata:
                pins = (*pins, position)
        counts = (position, users, system_tokens if is_system else tokens, digest)
        payload = encode_payload((*counts, write_body(message)))
        if vault.encrypts:
            payload = vault.close_row(payload, epoch, count, system=is_system)
        seal = seal_of(seal, epoch, count, payload)
        rows.append(StoredRow(count, is_system, epoch + seal + payload))
        said.append((message, own, digest))
        count += 1
        system += is_system
    after = replace(
        head,
        count=count,
        system=system,
        system_tokens=system_tokens,
        users=users,
        tokens=tokens,
        digest=digest,
        seal=seal,
        pins=pins,
    )
    return rows, said, after


class _Format(Struct):
    format: int = HEAD_FORMAT


_HEAD = msgspec.msgpack.Decoder(Head)
_FORMAT = msgspec.msgpack.Decoder(_Format)

encode_head: Final = msgspec.msgpack.Encoder().encode
"""Write a head."""


def decode_head(data: bytes) -> Head:
    """Read what `encode_head` wrote; raise StoreVersionError or StoreCorruptError."""
    try:
        head = _HEAD.decode(data)
    except (msgspec.MsgspecError, RecursionError) as error:
        # A newer head may have another shape.
        with suppress(msgspec.MsgspecError, RecursionError):
            _check_format(_FORMAT.decode(data).format)
        raise StoreCorruptError(f"the head of a thread cannot be read: {DAMAGE_ADVICE}") from error
    _check_format(head.format)
    return head


def _check_format(found: int) -> None:
    if found > HEAD_FORMAT:
        raise StoreVersionError(what="a thread", found=found, known=HEAD_FORMAT)


def open_head(vault: Vault, stored: StoredThread) -> Head:
    """Return the head of *stored*; raise StoreCorruptError if it is of another thread or revision."""
    key = stored.key
    return decode_head(vault.open_up(stored.head, "head", key.tenant, key.id, str(stored.revision)))


class StoredReduction(Struct, frozen=True):
    """A reduction with the name of its document."""

    name: str
    state: HistoryReductionState

    @property
    def reach(self) -> int:
        """How many messages it covers."""
        return self.state.summarized_up_to_index


class ThreadRecord(Struct, frozen=True, kw_only=True, gc=False):
    """Everything about a thread but its messages, at one revision."""

    key: ThreadKey
    head: Head
    display_name: str = ""
    metadata: Mapping[str, object] = {}
    execution: AgentLoopState | None = None
    reduction: HistoryReductionState | None = None
    reduction_name: str = ""
    # The tool calls whose answers are not yet messages, in the order of their intents.
    tools: tuple[ToolRun, ...] = ()
    lease: Lease | None = None
    # The newest rows, if they were read along.
    tail: Sequence[StoredRow] = ()


def document(
    vault: Vault, key: ThreadKey, kind: DocumentKind, data: bytes, *, name: str = ""
) -> Document:
    """Return the stored form of the document *name*, whose content is *data*."""
    return Document(kind, name, vault.close_up(data, kind, key.tenant, key.id, name))


class _Metadata(Struct, omit_defaults=True):
    display_name: str = ""
    metadata: dict[str, object] = {}


def encode_metadata(display_name: str, metadata: Mapping[str, object]) -> bytes:
    """Write a display name and the owner's values; raise FormatError if JSON has no such value."""
    try:
        return encode_json(_Metadata(display_name, dict(metadata)))
    except (TypeError, ValueError, RecursionError) as error:
        wrong = (f"metadata[{key!r}]" for key in metadata if not _is_json(metadata[key]))
        name = next(wrong, "metadata")
        raise FormatError(f"{name} cannot be stored as JSON: {type(error).__name__}") from error


def _is_json(value: object) -> bool:
    try:
        encode_json(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def as_stored(metadata: Mapping[str, object]) -> Mapping[str, object]:
    """Return the owner's values as they will be read; raise FormatError if JSON has no such value."""
    return _read(_Metadata, encode_metadata("", metadata)).metadata


def _read(kind: type[_Content], data: bytes) -> _Content:
    return msgspec.convert(decode_json(data), kind)


_READERS: Final[Mapping[DocumentKind, Callable[[bytes], object]]] = {
    "metadata": partial(_read, _Metadata),
    "execution": AgentLoopState.from_json,
    "reduction": HistoryReductionState.from_json,
    "tool": partial(_read, ToolRun),
    "checkpoint": msgspec.json.Decoder(Checkpoint).decode,
    "turn": partial(_read, TurnRecord),
}


def _opened(
    vault: Vault, key: ThreadKey, stored: Document, *, recent: Recent | None = None
) -> object:
    """Return what is in *stored*; raise StoreCorruptError or StoreVersionError."""
    kind, name, data = stored.kind, stored.name, stored.data
    read = partial(vault.open_up, data, kind, key.tenant, key.id, name)
    try:
        if recent is None:
            return _READERS[kind](read())
        if kind == "reduction":
            return recent.opened(key, kind, (name, data), lambda: _READERS[kind](read()))
        # A caller may change what is in the others.
        return _READERS[kind](recent.opened(key, kind, (name, data), read))
    except NewerFormatError as error:
        what = f"a {stored.kind} of thread {key.id!r}"
        raise StoreVersionError(what=what, found=error.found, known=error.known) from None
    except (FormatError, msgspec.MsgspecError) as error:
        message = f"a {stored.kind} of thread {key.id!r} cannot be read: {DAMAGE_ADVICE}"
        raise StoreCorruptError(message) from error


def decode_record(
    stored: StoredThread, vault: Vault, *, recent: Recent | None = None
) -> ThreadRecord:
    """Return the thread in *stored*; raise StoreCorruptError or StoreVersionError."""
    read, written = partial(open_head, vault, stored), (str(stored.revision), stored.head)
    head = read() if recent is None else recent.opened(stored.key, "head", written, read)
    record = record_of(vault, stored.key, head, stored.documents, tail=stored.tail, recent=recent)
    return record if stored.lease is None else replace(record, lease=stored.lease)


def record_of(
    vault: Vault,
    key: ThreadKey,
    head: Head,
    documents: Iterable[Document],
    *,
    tail: Sequence[StoredRow] = (),
    recent: Recent | None = None,
) -> ThreadRecord:
    """Return the thread with *head* and *documents*; raise StoreCorruptError or StoreVersionError."""
    about, execution = _Metadata(), None
    reduction, name = None, ""
    tools: list[ToolRun] = []
    for one in documents:
        found = _opened(vault, key, one, recent=recent)
        if isinstance(found, AgentLoopState):
            execution = found
        elif isinstance(found, HistoryReductionState):
            reduction, name = found, one.name
        elif isinstance(found, _Metadata):
            about = found
        elif isinstance(found, ToolRun):
            tools.append(found)
    if execution is not None and reduction is not None:
        execution = execution.with_reduction(active(reduction))
    return ThreadRecord(
        key=key,
        head=head,
        display_name=about.display_name,
        metadata=about.metadata,
        execution=execution,
        reduction=reduction,
        reduction_name=name,
        tools=in_order(tools),
        tail=tail,
    )


def in_order(tools: Iterable[ToolRun]) -> tuple[ToolRun, ...]:
    """Return *tools*, the oldest call first."""
    return tuple(sorted(tools, key=lambda run: (run.place, run.call_id)))


def active(reduction: HistoryReductionState | None) -> HistoryReductionState | None:
    """Return *reduction* if it is active: one that only notes failures is not."""
    return None if reduction is None or reduction.summarized_up_to_index == 0 else reduction


def content_of(vault: Vault, key: ThreadKey, stored: Document, kind: type[_Content]) -> _Content:
    """Return what is in *stored*, of this *kind*; raise StoreCorruptError or StoreVersionError."""
    found = _opened(vault, key, stored)
    assert isinstance(found, kind)
    return found


def decode_reduction(vault: Vault, key: ThreadKey, stored: Document) -> StoredReduction:
    """Return the reduction in *stored*; raise StoreCorruptError or StoreVersionError."""
    return StoredReduction(stored.name, content_of(vault, key, stored, HistoryReductionState))
