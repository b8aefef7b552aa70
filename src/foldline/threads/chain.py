"""
The rows of a thread, recomputed one after the other.

A row that does not fit is named, and the one behind it is believed: one flipped bit is one fault,
and what follows is still compared with what precedes it.
"""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from foldline.errors import StoreCorruptError
from foldline.history.digest import EMPTY_DIGEST, follows
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart, ToolCallResponsePart
from foldline.threads.cipher import Vault
from foldline.threads.head import SEAL_SIZE
from foldline.threads.old_row import MessageRow, read_body, read_row, seal_of
from foldline.threads.step import StoredRow


__all__ = ["Chain", "Sums"]


class Sums(Struct, frozen=True, kw_only=True):
    """What the rows up to one of them add up to."""

    count: int = 0
    """How many rows there are."""

    system: int = 0
    """How many of them are system messages."""

    system_tokens: int = 0
    """The tokens of these."""

    users: int = 0
    """How many are user messages."""

    tokens: int = 0
    """The tokens of all that are not system messages."""

    digest: bytes = EMPTY_DIGEST
    """The prefix digest of all that are not system messages."""

    seal: bytes = bytes(SEAL_SIZE)
    """The seal of the last row."""

    @property
    def length(self) -> int:
        """How many rows are not system messages."""
        return self.count - self.system


class Chain:
    """Recomputes what rows say about themselves out of the messages in them."""

    def __init__(
        self, vault: Vault, *, counts: Iterable[int] = (), indexes: Iterable[int] = ()
    ) -> None:
        """
        Begin before the first row.

        Args:
            vault: What opens the messages.
            counts: Numbers of rows whose digest is wanted.
            indexes: Numbers of messages, system messages not counted, whose digest is wanted.
        """
        self._vault = vault
        self._counts = frozenset(counts)
        self._indexes = frozenset(indexes)
        self._calls: dict[str, list[int]] = {}
        self.sums = Sums()
        """The sums of all rows so far."""
        self.good = Sums()
        """The sums of the rows before the first one that did not fit."""
        self.is_trusted = True
        """Whether the last row was one that fits, so that the next can be compared with it."""
        self.is_whole = True
        """Whether every row so far fits."""
        self.digest_of_count = {0: EMPTY_DIGEST}
        """The digest behind each of the wanted numbers of rows."""
        self.digest_of_index = {0: EMPTY_DIGEST}
        """The digest behind each of the wanted numbers of messages."""
        self.torn: set[int] = set()
        """The wanted indexes that part a call from its answer in the same exchange."""

    def skip(self, count: int) -> None:
        """Go on with the row of the number *count*; those before it are missing."""
        self.sums = replace(self.sums, count=count)
        self.is_trusted = self.is_whole = False

    def take(self, row: StoredRow) -> str | None:
        """Take the next row; return what is wrong with it, or None."""
        try:
            counts, message = self._read(row)
        except StoreCorruptError as error:
            self.skip(self.sums.count + 1)
            return str(error)
        before = self.sums
        problem = self._problem(before, row, counts, message)
        if problem is not None:
            self.skip(self.sums.count + 1)
            return problem
        self.sums = _claimed(before, row, counts)
        self.is_trusted = True
        if self.is_whole:
            self.good = self.sums
        self._remember(message)
        return None

    def _read(self, row: StoredRow) -> tuple[MessageRow, Message]:
        if not _is_bytes(row.data):
            message = "it is not stored as bytes"
            raise StoreCorruptError(message)
        if self.is_trusted and not _is_sealed(row, self.sums.seal):
            message = "its seal does not fit: it was changed or moved"
            raise StoreCorruptError(message)
        try:
            counts = read_row(row, self._vault)
        except StoreCorruptError:
            message = "it is no row"
            if self._vault.encrypts:
                message = "it cannot be decrypted: it was changed or moved, or the key is another"
            raise StoreCorruptError(message) from None
        return counts, read_body(counts.body)

    def _problem(
        self, before: Sums, row: StoredRow, counts: MessageRow, message: Message
    ) -> str | None:
        if row.system != (message.role == "system"):
            return "it is marked as another role than that of its message"
        if not self.is_trusted:
            return None
        known = before.system_tokens if row.system else before.tokens
        users = before.users + (message.role == "user")
        if (counts.position, counts.users) != (before.length, users):
            return "its position or its number of user messages is not that of the rows before it"
        if counts.tokens < known:
            return "its sum of tokens is less than that of the row before it"
        if not follows(before.digest, message, counts.digest):
            return "its digest is not that of the messages up to it"
        return None

    def _remember(self, message: Message) -> None:
        sums = self.sums
        if sums.count in self._counts:
            self.digest_of_count[sums.count] = sums.digest
        if message.role == "system":
            return
        if sums.length in self._indexes:
            self.digest_of_index[sums.length] = sums.digest
        if message.role == "user":
            # A call that the user has spoken over was given up, and a fold may pass it.
            self._calls.clear()
        self._pair(message, sums.length - 1)

    def _pair(self, message: Message, position: int) -> None:
        for part in message.parts:
            if isinstance(part, ToolCallPart) and message.role == "assistant":
                self._calls.setdefault(part.id, []).append(position)
            elif isinstance(part, ToolCallResponsePart) and self._calls.get(part.id):
                call = self._calls[part.id].pop()
                self.torn.update(index for index in self._indexes if call < index <= position)


def _is_bytes(value: object) -> bool:
    return isinstance(value, bytes)


def _is_sealed(row: StoredRow, before: bytes) -> bool:
    seal = seal_of(before, row.branch, row.seq, row.data[SEAL_SIZE:])
    return row.data[:SEAL_SIZE] == seal


def _claimed(before: Sums, row: StoredRow, counts: MessageRow) -> Sums:
    """Return the sums that *row* says it ends."""
    return Sums(
        count=row.seq + 1,
        system=row.seq - counts.position + row.system,
        system_tokens=counts.tokens if row.system else before.system_tokens,
        users=counts.users,
        tokens=before.tokens if row.system else counts.tokens,
        digest=counts.digest,
        seal=row.data[:SEAL_SIZE],
    )
