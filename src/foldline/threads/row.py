"""
One message as a row of a store.

A row is its origin, its chain hash (called seal in the code) and its payload: counts, prefix digest
and body. The origin is the id of the epoch that wrote it, whichever thread that belongs to now, and
the chain hash is the first 16 bytes of SHA-256 over the chain hash of the row before, the origin,
the number and the payload. So a row that was changed, dropped, swapped or moved is noticed at the
next one, while a fork copies rows as they are. The counts are running sums: whatever is asked of a
tail is a difference of two of them, and no message is counted or hashed a second time.

With a cipher the whole payload is encrypted, since the digest of a short message reveals it to
anyone who can guess; the chain hash covers what is stored, so that it reveals nothing either.

The body of a message that is one text and nothing else is a letter for its role and the text; any
other is the JSON of `encode_message`.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from operator import itemgetter
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from foldline.errors import FormatError, StoreCorruptError
from foldline.history.codec import decode_message, encode_message
from foldline.history.history import History
from foldline.history.messages import Message, Role
from foldline.history.parts import TextPart
from foldline.threads.cipher import DAMAGE_ADVICE, Vault


ORIGIN_SIZE: Final = 16
"""The length of an origin, which is the id of an epoch, in bytes."""

SEAL_SIZE: Final = 16
"""The length of a chain hash in bytes."""

NO_SEAL: Final = bytes(SEAL_SIZE)
"""The chain hash that the first row continues, since no row comes before it."""

_HEADER = ORIGIN_SIZE + SEAL_SIZE
_SEQ_SIZE = 8
_NEVER = 1 << 62

Runs: TypeAlias = tuple[tuple[int, bytes], ...]
"""Which origin wrote which rows: the number of the first row of each, and the origin."""


class StoredRow(Struct, frozen=True, gc=False):
    """One stored message."""

    seq: int
    """Its number in the thread, from 0, without gaps."""

    system: bool
    """Whether it is a system message."""

    data: bytes
    """Its origin, chain hash and payload."""

    @property
    def seal(self) -> bytes:
        """Its chain hash."""
        return self.data[ORIGIN_SIZE:_HEADER]


class MessageRow(Struct, frozen=True, gc=False, array_like=True, kw_only=True):
    """The payload of a row: the message, and the sums and the prefix digest up to it."""

    # How many messages come before it, system messages not counted.
    position: int
    users: int
    # Of a system message, those of all system messages.
    tokens: int
    digest: bytes
    body: bytes


Said: TypeAlias = tuple[Message, int, bytes]
"""A message with its tokens and the prefix digest up to it, as a history takes it over."""


class KnownRow(Struct, frozen=True, gc=False):
    """A row that was read or written, with its payload and its message."""

    row: StoredRow
    counts: MessageRow
    message: Message


encode_payload: Final = msgspec.msgpack.Encoder().encode
"""Write the fields of a `MessageRow`, in order."""

_decode = msgspec.msgpack.Decoder(MessageRow).decode

_LETTERS: Mapping[Role, bytes] = {"system": b"s", "user": b"u", "assistant": b"a", "tool": b"t"}
_ROLES: Mapping[int, Role] = {key[0]: role for role, key in _LETTERS.items()}
_role_of = _ROLES.get


def write_body(message: Message) -> bytes:
    """Return the stored form of *message*."""
    part = message.parts[0] if len(message.parts) == 1 else None
    if type(part) is TextPart and message == Message(role=message.role, parts=message.parts):
        try:
            return _LETTERS[message.role] + part.content.encode()
        except UnicodeEncodeError:
            pass
    return encode_message(message)


def read_body(body: bytes) -> Message:
    """Return the message in *body*; `StoreCorruptError` if it is none."""
    try:
        role = _role_of(body[0])
        if role is None:
            return decode_message(body)
        return Message(role=role, parts=(TextPart(body[1:].decode()),))
    except (FormatError, IndexError, UnicodeDecodeError) as error:
        raise StoreCorruptError(f"a message of {len(body)} bytes cannot be read") from error


def seal_of(before: bytes, origin: bytes, seq: int, payload: bytes) -> bytes:
    """Return the chain hash of a row, from that of the row *before* and its payload as stored."""
    return sha256(before + origin + seq.to_bytes(_SEQ_SIZE, "big") + payload).digest()[:SEAL_SIZE]


def read_row(row: StoredRow, vault: Vault) -> MessageRow:
    """Return the payload of *row*; `StoreCorruptError` if it cannot be read or decrypted."""
    data = row.data
    payload = data[_HEADER:]
    if vault.encrypts:
        payload = vault.open_row(payload, data[:ORIGIN_SIZE], row.seq, system=row.system)
    try:
        return _decode(payload)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _unreadable(row) from error


def _unreadable(row: StoredRow) -> StoreCorruptError:
    return StoreCorruptError(f"message row {row.seq} cannot be read: {DAMAGE_ADVICE}")


def read_rows(rows: Sequence[StoredRow], vault: Vault) -> list[KnownRow]:
    """Return *rows* with their messages, if each is a row and marked with the role it has."""
    counts = _read_counts(rows, vault)
    return [*map(KnownRow, rows, counts, _messages(rows, counts))]


def read_messages(rows: Sequence[StoredRow], vault: Vault) -> list[Message]:
    """Return the messages alone that `read_rows` returns."""
    # Nothing else is held meanwhile; one by one only to name the row that cannot be read.
    if not vault.encrypts:
        with suppress(msgspec.MsgspecError, RecursionError, StoreCorruptError):
            found = [read_body(_decode(row.data[_HEADER:]).body) for row in rows]
            if [one.role == "system" for one in found] == [row.system for row in rows]:
                return found
    return _messages(rows, _read_counts(rows, vault))


def _read_counts(rows: Sequence[StoredRow], vault: Vault) -> list[MessageRow]:
    if not vault.encrypts:
        # One by one only to name the row that cannot be read.
        with suppress(msgspec.MsgspecError, RecursionError):
            return [_decode(row.data[_HEADER:]) for row in rows]
    return [read_row(row, vault) for row in rows]


def _messages(rows: Sequence[StoredRow], counts: Sequence[MessageRow]) -> list[Message]:
    found: list[Message] = []
    for row, one in zip(rows, counts, strict=True):
        try:
            message = read_body(one.body)
        except StoreCorruptError as error:
            raise _unreadable(row) from error
        if (message.role == "system") != row.system:
            raise StoreCorruptError(
                f"message row {row.seq} is marked with another role than its own: {DAMAGE_ADVICE}"
            )
        found.append(message)
    return found


def read_chain(
    rows: Sequence[StoredRow], vault: Vault, before: bytes | None, runs: Runs | None
) -> tuple[list[KnownRow], int | None]:
    """
    Return *rows* as `read_rows` does, up to the first that does not fit, and the place of that.

    What fits is what fits for `check_chain`. Without *before* the first row is the one before, and
    is not returned.
    """
    bad = check_chain(rows, before, runs)
    return read_rows(rows[before is None : bad], vault), bad


def extend_history(history: History, rows: Iterable[KnownRow]) -> History:
    """Append the messages of *rows* to *history*, without counting and hashing them again."""
    tokens, system_tokens = history.tokens(), history.system_tokens
    own: list[Said] = []
    for known in rows:
        counts = known.counts
        if known.row.system:
            size, system_tokens = counts.tokens - system_tokens, counts.tokens
        else:
            size, tokens = counts.tokens - tokens, counts.tokens
        own.append((known.message, size, counts.digest))
    history.extend_known(own)
    return history


def origin_of(runs: Runs, seq: int) -> tuple[bytes, int]:
    """Return the origin of row *seq* and the number of the first row of the next origin."""
    place = bisect_right(runs, seq, key=itemgetter(0))
    following = runs[place][0] if place < len(runs) else _NEVER
    return (runs[place - 1][1] if place else b""), following


def check_chain(
    rows: Sequence[StoredRow], before: bytes | None, runs: Runs | None = None
) -> int | None:
    """Return the place of the first of *rows* that does not fit; without *before* the first one does."""
    origin, change = b"", 0
    # Most of what reading a thread takes is here, so it does what `seal_of` does by itself.
    for place, row in enumerate(rows):
        data, seq = row.data, row.seq
        if type(data) is not bytes:
            # A damaged file may return a value of any type.
            return place
        if runs is None:
            origin = data[:ORIGIN_SIZE]
        elif seq >= change:
            origin, change = origin_of(runs, seq)
        if before is None:
            if not data.startswith(origin):
                return place
            before = row.seal
            continue
        hashed = b"".join((before, origin, seq.to_bytes(_SEQ_SIZE, "big"), data[_HEADER:]))
        before = sha256(hashed).digest()[:SEAL_SIZE]
        if data[:_HEADER] != origin + before:
            return place
    return None
