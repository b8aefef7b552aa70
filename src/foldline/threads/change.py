"""What one commit changes in a thread: one type, from the face of a thread to its storage."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, TypeAlias, get_args

import msgspec
from msgspec import UNSET, Struct, UnsetType, structs

from foldline.checks import expect, expect_choice, expect_whole
from foldline.errors import ConfigError, FormatError
from foldline.history.codec import unwritable, without_values
from foldline.history.messages import READ_HINT, Message, Native, Role, Usage
from foldline.history.parts import Part, ResponseContent, TextPart, ToolCallResponsePart
from foldline.reduction.fold_rule import FoldRule
from foldline.reduction.state import HistoryReductionState
from foldline.threads.due import FoldBase
from foldline.threads.key import ThreadKey
from foldline.threads.lease import Lease
from foldline.threads.loop_state import (
    LOOP_FORMAT,
    AgentLoopState,
    CheckpointSource,
    CurrentMessages,
)
from foldline.threads.row import StoredRow
from foldline.threads.tools import ToolRun
from foldline.threads.turns import TurnRecord


COMMIT_ID_SIZE: Final = 8
"""The length of the id of a commit in bytes."""

DocumentKind: TypeAlias = Literal[
    "metadata", "execution", "reduction", "tool", "checkpoint", "turn"
]
"""
What a document holds.

`metadata`: display name and values of the owner. `execution`: the state of the last run.
`reduction`: one for each fold that is kept. `tool`: the intent or the result of a call whose answer
is not yet a message. `checkpoint`: one of the kept moments, where all are kept. `turn`: a turn that has an id.
"""


class Document(Struct, frozen=True, gc=False):
    """One named document of a thread."""

    kind: DocumentKind
    """What it holds."""

    name: str
    """Its name among those of its kind; of two reductions or checkpoints the newer has the greater."""

    data: bytes
    """Its content."""


class Epoch(Struct, frozen=True, gc=False):
    """An epoch that a commit opens: the rows from one number on are replaced."""

    id: bytes
    """Its id, 16 random bytes."""

    at: int
    """The number of the first row that is replaced, where new rows are appended."""


class Copy(Struct, frozen=True):
    """The rows that a new thread copies from another one."""

    source: ThreadKey
    """The thread to copy from, of the same tenant."""

    epoch: bytes
    """The epoch of the source whose rows are copied, as they were at its end."""

    count: int
    """How many rows are copied, from the first on."""


class Change(Struct, frozen=True, kw_only=True, gc=False):
    """What a commit changes; omitted fields are unchanged."""

    messages: Sequence[Message] = ()
    """The messages to append; the calls that they answer are settled."""

    execution: AgentLoopState | UnsetType | None = UNSET
    """The execution state after the commit; None clears it."""

    reduction: HistoryReductionState | UnsetType = UNSET
    """The newest reduction."""

    archive: bool = False
    """Whether the messages that `reduction` covers leave the working history."""

    tools: Sequence[ToolRun] = ()
    """Intents, before the tools run, and results, as soon as they are known."""

    settled: Sequence[str] = ()
    """The ids of further calls that need not be remembered any more."""

    display_name: str | None = None
    """The name that people see."""

    metadata: Mapping[str, object] | None = None
    """Values of the owner."""

    expires_at: datetime | UnsetType | None = UNSET
    """When the thread expires; None for never."""

    turn: TurnRecord | None = None
    """What is stored of the turn that the commit begins or ends, if it has an id."""

    lease: Lease | None = None
    """Who runs a turn from now on, and for how long; `NOBODY` for no one, None for no change."""

    fold_rule: FoldRule | None = None
    """When a fold of the thread is due from now on; None for the rule that it has."""

    source: CheckpointSource = "loop"
    """What a kept checkpoint is made after."""

    commit_id: bytes | None = None
    """8 random bytes; with the id of one of the last 8 commits nothing is done."""

    expected: int | None = None
    """The revision that the change was decided on; that of the thread object if None."""

    # From here on: what `plan` adds, which is all that a storage reads.

    id: bytes = b""
    """The id of the commit, 8 bytes, by which it is recognized after a broken connection."""

    revision: int = 0
    """The revision that the thread must have, 0 if it must not exist; the commit adds one to it."""

    epoch: bytes = b""
    """The current epoch that the thread must have; for a new thread, the id of its first one."""

    opens: Epoch | None = None
    """The epoch to open; the rows that it replaces are kept for those that read earlier ones."""

    clears: bool = False
    """Whether rows, replaced rows and earlier epochs are deleted, with `opens` at 0."""

    pins: tuple[int, ...] | None = None
    """The indexes of the pinned messages after the commit; None if only new messages are pinned."""

    fold_base: FoldBase | None = None
    """What `reduction` has before its cut."""

    copies: Copy | None = None
    """The rows of another thread to begin with; only in the commit that makes a thread."""

    keeps: Sequence[bytes] | None = None
    """
    The ids of the epochs that stay readable beside the current one; all of them if None.

    Replaced rows that none of them needs are deleted, and the epochs before the earliest of them
    are forgotten. Unknown ids are ignored.
    """

    head: bytes = b""
    """The head of the next revision."""

    rows: Sequence[StoredRow] = ()
    """The rows to append; their numbers follow those that are there."""

    put: Sequence[Document] = ()
    """The documents to write; one of the same kind and name is replaced."""

    drop: Sequence[tuple[DocumentKind, str | None]] = ()
    """The documents to delete before that, by kind and name; without a name, all of the kind."""

    active_at: float = 0.0
    """When it was written to, in seconds since 1970, for those who look into a database."""

    gone_at: float | None = None
    """When the thread expires, in seconds since 1970; None for never."""

    due_at: float | None = None
    """Since when a fold of it is due, in seconds since 1970; None if none is."""

    @property
    def current_epoch(self) -> bytes:
        """The epoch of the thread after the commit."""
        return self.epoch if self.opens is None else self.opens.id


_ROLES: Final = get_args(Role)
_SOURCES: Final = get_args(CheckpointSource)
_PARTS: Final = frozenset(get_args(Part))
_CONTENTS: Final = frozenset(get_args(ResponseContent))
# Left as they are, so that none of them passes for a string.
_NO_STRINGS: Final = (bytes, datetime)
_KEPT: Final = (*_NO_STRINGS, CurrentMessages)
_UNWRITABLE = (TypeError, ValueError, OverflowError, NotImplementedError, RecursionError)


def check_change(change: Change) -> None:
    """Raise ConfigError if something that *change* stores could not be read again."""
    expect("change", change, Change)
    if change.opens or change.copies or change.clears or change.put or change.pins is not None:
        raise ConfigError(
            "a commit takes no epochs, copies, documents or pins: "
            "use rewind, edit, clear, fork, pin or unpin"
        )
    for name in ("messages", "tools", "settled"):
        expect(name, getattr(change, name), list | tuple)
    check_messages(change.messages)
    if change.execution is not UNSET and change.execution is not None:
        _check_execution(change.execution)
    if change.reduction is not UNSET:
        _check_reduction(change.reduction)
    for place, run in enumerate(change.tools):
        check_fields(f"tools[{place}]", run, ToolRun)
    for place, call_id in enumerate(change.settled):
        expect(f"settled[{place}]", call_id, str)
    if change.archive is not False or change.commit_id is not None or change.expected is not None:
        _check_options(change)
    if change.source not in _SOURCES:
        expect_choice("source", change.source, _SOURCES)
    if (change.metadata, change.display_name, change.expires_at) != (None, None, UNSET):
        _check_details(change)


def _check_options(change: Change) -> None:
    expect("archive", change.archive, bool)
    expect("commit_id", change.commit_id, bytes | None)
    if change.commit_id is not None and len(change.commit_id) != COMMIT_ID_SIZE:
        raise ConfigError(f"commit_id must be {COMMIT_ID_SIZE} bytes, got {len(change.commit_id)}")
    expect_whole("expected", change.expected, 0, optional=True)


def _check_execution(state: AgentLoopState) -> None:
    expect("execution", state, AgentLoopState)
    # The reduction is stored by itself.
    alone = structs.replace(state, active_reduction=None) if state.active_reduction else state
    check_fields("execution", alone, AgentLoopState)
    if state.format != LOOP_FORMAT:
        raise ConfigError(f"execution must have format {LOOP_FORMAT}, got {state.format}")


def _check_details(change: Change) -> None:
    if change.expires_at is not UNSET and change.expires_at is not None:
        expect_moment("expires_at", change.expires_at)
    expect("display_name", change.display_name, str | None)
    expect("metadata", change.metadata, Mapping | None)
    for key in change.metadata or ():
        expect("a key of metadata", key, str)
        if not key.strip():
            raise ConfigError("a key of metadata must not be blank")


def _check_reduction(reduction: HistoryReductionState) -> None:
    expect("reduction", reduction, HistoryReductionState)
    # The store keeps those before it by themselves.
    alone = structs.replace(reduction, previous=None) if reduction.previous else reduction
    problem = ""
    try:
        # What one field says about another is judged when a reduction is read.
        if HistoryReductionState.from_json(alone.to_json()) == alone:
            return
    except UnicodeError:
        problem = "a string has a lone surrogate"
    except FormatError as error:
        problem = str(error)
    except _UNWRITABLE as error:
        problem = type(error).__name__
    # What is not read as it is may be right all the same, such as a list for a tuple.
    check_fields("reduction", alone, HistoryReductionState)
    if problem:
        raise ConfigError(f"reduction cannot be stored: {problem}")


def check_fields(name: str, value: object, kind: type) -> None:
    """Raise ConfigError, which says *name* and no value, if a field of *value* has a wrong type."""
    expect(name, value, kind)
    try:
        # Strings are not copied, so that a long one costs no more than a short one.
        plain = msgspec.to_builtins(value, builtin_types=_KEPT, str_keys=True)
        msgspec.convert(plain, kind, builtin_types=_NO_STRINGS)
    except msgspec.MsgspecError as error:
        reason = without_values(error)
    except _UNWRITABLE as error:
        reason = f"a value cannot be written as JSON: {type(error).__name__}"
        if field := unwritable(value):
            reason += f" - at `$.{field}`"
    else:
        return
    # Outside the handlers, since an error of msgspec may quote text of a conversation.
    reason, _, field = reason.partition(" - at `$")
    raise ConfigError(f"{name}{field.rstrip('`')} cannot be stored: {reason}")


def check_messages(messages: Iterable[Message]) -> None:
    """Raise ConfigError if one of *messages* is no message, or could not be read again."""
    for place, message in enumerate(messages):
        if type(message) is Message:
            role, parts = message.role, message.parts
            # Most messages are one text and nothing else.
            is_text = type(parts) is tuple and len(parts) == 1 and type(parts[0]) is TextPart
            is_plain = is_text and message == Message(role=role, parts=parts)
            if is_plain and type(role) is str and role in _ROLES:
                continue
        name = f"messages[{place}]"
        expect(name, message, Message, hint=READ_HINT)
        check_fields(name, message, Message)
        _check_parts(name, message)


def _check_parts(name: str, message: Message) -> None:
    """Check that no part of *message* is a dict that merely looks like one."""
    expect(f"{name}.usage", message.usage, Usage | None)
    expect(f"{name}.native", message.native, Native | None)
    for place, part in enumerate(message.parts):
        kinds = [(f"{name}.parts[{place}]", part, _PARTS)]
        if isinstance(part, ToolCallResponsePart) and not isinstance(part.response, str):
            where = f"{name}.parts[{place}].response"
            kinds += [(where, content, _CONTENTS) for content in part.response]
        for where, found, known in kinds:
            if type(found) not in known:
                raise ConfigError(f"{where} must be a message part, got {type(found).__name__}")


def expect_moment(name: str, value: datetime) -> None:
    """Raise ConfigError if *value* is not a datetime with a time zone and a year that UTC has."""
    expect(name, value, datetime)
    if value.utcoffset() is None:
        raise ConfigError(f"{name} must have a time zone, got {value.isoformat()}")
    try:
        value.astimezone(UTC)
    except OverflowError:
        message = f"{name} must be between year 1 and 9999 in UTC, got {value.isoformat()}"
        raise ConfigError(message) from None


def moved(name: str, now: datetime, span: object, *, sign: Literal[1, -1] = 1) -> datetime:
    """Return *now* moved by *span*; raise ConfigError if that is not above zero, or leads too far."""
    problem = f"must be a timedelta above zero, got {span!r}"
    if isinstance(span, timedelta) and span > timedelta(0):
        try:
            return now + sign * span
        except OverflowError:
            problem = f"must not lead out of the years 1 to 9999, got {span!r}"
    raise ConfigError(f"{name} {problem}")
