"""
What one commit changes in a thread: one type, from the face of a thread down to its storage.

A caller fills in what is said, `commit.plan` adds what a storage needs: the bytes of the new rows,
documents and head, and what they follow. A storage looks at nothing else.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from foldline.history.messages import Message
from foldline.reduction.state import HistoryReductionState
from foldline.threads.key import ThreadKey
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.row import StoredRow
from foldline.threads.tool_run import ToolRun


__all__ = [
    "COMMIT_ID_SIZE",
    "EPOCH_SIZE",
    "Change",
    "CheckpointSource",
    "Copy",
    "Document",
    "DocumentKind",
    "Epoch",
]


EPOCH_SIZE: Final = 16
"""The length of the id of an epoch in bytes."""

COMMIT_ID_SIZE: Final = 8
"""The length of the id of a commit in bytes."""

DocumentKind: TypeAlias = Literal["metadata", "execution", "reduction", "tool", "checkpoint"]
"""
What a document is.

`metadata`: display name and values of the owner. `execution`: the state of the last run.
`reduction`: one for each fold that is kept. `tool`: the intent or the result of a call whose answer
is not yet a message. `checkpoint`: one of the kept moments, where all are kept.
"""

CheckpointSource: TypeAlias = Literal["root", "input", "loop", "fork"]
"""What a checkpoint was made after: nothing yet, an input, a step of the loop, a fork."""


class Document(Struct, frozen=True, gc=False):
    """One named document of a thread."""

    kind: DocumentKind
    """What it is."""

    name: str
    """
    Its name among those of its kind: empty if there is only one.

    Of two reductions or checkpoints the newer one has the greater name.
    """

    data: bytes
    """Its content."""


class Epoch(Struct, frozen=True, gc=False):
    """An epoch that a commit opens: the rows from one number on are replaced."""

    id: bytes
    """Its id, 16 random bytes."""

    at: int
    """The number of the first row that is replaced; new rows are appended from there."""


class Copy(Struct, frozen=True):
    """The rows that a new thread copies from another one."""

    source: ThreadKey
    """The thread to copy from, of the same tenant."""

    epoch: bytes
    """The epoch of the source whose rows are copied, as they were at its end."""

    count: int
    """How many rows are copied, from the first on."""


class Change(Struct, frozen=True, kw_only=True):
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
    """
    The revision that the thread must have, 0 if it must not exist; the commit makes it one more.
    """

    epoch: bytes = b""
    """The current epoch that the thread must have; for a new thread, the id of its first one."""

    opens: Epoch | None = None
    """The epoch to open; the rows that it replaces are kept for those that read earlier ones."""

    clears: bool = False
    """Whether rows, replaced rows and earlier epochs are deleted, with `opens` at 0."""

    copies: Copy | None = None
    """The rows of another thread to begin with; only in the commit that makes a thread."""

    keeps: Sequence[bytes] | None = None
    """
    The ids of the epochs that stay readable beside the current one; all of them if None.

    Replaced rows that neither these nor the current epoch need are deleted, and the epochs before
    the earliest of them are forgotten. Unknown ids count for nothing.
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

    @property
    def current_epoch(self) -> bytes:
        """The epoch of the thread after the commit."""
        return self.epoch if self.opens is None else self.opens.id
