"""
One message as a row of a store.

A row is its seal, then its payload: its counts, its prefix digest and its body. The seal is the
first 16 bytes of SHA-256 over the seal of the row before, the branch, the number and the payload,
so that no row can be changed, dropped, swapped or moved to another thread without the next one
telling. The counts are running sums: whatever is asked of a tail is a difference of two of them,
and no message is counted or hashed a second time.

With a cipher the whole payload is encrypted, since the digest of a short message tells what it is
to whoever can guess; the seal is made of what is stored, so that it tells nothing either.

The body of a message that is one text and nothing else is a letter for its role and the text; any
other is the JSON of `encode_message`.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from foldline.errors import FormatError, StoreCorruptError
from foldline.history.codec import decode_message, encode_message
from foldline.history.digest import chain_digest
from foldline.history.history import History
from foldline.history.messages import Message, Role
from foldline.history.parts import TextPart
from foldline.history.tokens import TokenCounter, count_message
from foldline.threads.cipher import Vault
from foldline.threads.head import SEAL_SIZE, Head
from foldline.threads.step import StoredRow


__all__ = [
    "KnownRow",
    "MessageRow",
    "append_rows",
    "check_chain",
    "extend_history",
    "read_body",
    "read_row",
    "read_rows",
    "seal_of",
]


class MessageRow(Struct, frozen=True, gc=False, array_like=True, kw_only=True):
    """What a row says beside its seal."""

    position: int
    """How many messages stand before it, system messages not counted."""

    users: int
    """How many user messages there are up to it, itself included."""

    tokens: int
    """The tokens up to it, itself included; of a system message, those of all of them."""

    digest: bytes
    """The prefix digest up to it, itself included."""

    body: bytes
    """The message."""


class KnownRow(Struct, frozen=True, gc=False):
    """A row that was read or written, with its message."""

    row: StoredRow
    """The row."""

    counts: MessageRow
    """What it says."""

    message: Message
    """Its message."""


_ENCODER = msgspec.msgpack.Encoder()
_decode = msgspec.msgpack.Decoder(MessageRow).decode
_SEQ_SIZE = 8

_LETTERS: Mapping[Role, bytes] = MappingProxyType(
    {"system": b"s", "user": b"u", "assistant": b"a", "tool": b"t"}
)
_ROLES: Mapping[int, Role] = MappingProxyType({key[0]: role for role, key in _LETTERS.items()})
_role_of = _ROLES.get


def _write_body(message: Message) -> bytes:
    part = message.parts[0] if len(message.parts) == 1 else None
    if type(part) is TextPart and message == Message(role=message.role, parts=message.parts):
        try:
            return _LETTERS[message.role] + part.content.encode()
        except UnicodeEncodeError:
            pass
    return encode_message(message)


def read_body(body: bytes) -> Message:
    """
    Return the message in *body*.

    Raises:
        StoreCorruptError: It is not a message.
    """
    try:
        role = _role_of(body[0])
        if role is None:
            return decode_message(body)
        return Message(role=role, parts=(TextPart(body[1:].decode()),))
    except (FormatError, IndexError, UnicodeDecodeError) as error:
        message = f"a message of {len(body)} bytes cannot be read"
        raise StoreCorruptError(message) from error


def seal_of(before: bytes, branch: bytes, seq: int, payload: bytes) -> bytes:
    """
    Return the seal of a row: 16 bytes.

    Args:
        before: The seal of the row before; 16 zero bytes for the first.
        branch: The branch of the row.
        seq: Its number.
        payload: All of it but the seal, as it is stored.
    """
    return sha256(before + branch + seq.to_bytes(_SEQ_SIZE, "big") + payload).digest()[:SEAL_SIZE]


def append_rows(
    head: Head, messages: Iterable[Message], counter: TokenCounter, vault: Vault
) -> tuple[list[KnownRow], Head]:
    """Return the rows of *messages* behind *head*, and the counts of the head behind them."""
    branch, count, system, users = head.branch, head.count, head.system, head.users
    tokens, system_tokens, digest, seal = head.tokens, head.system_tokens, head.digest, head.seal
    known: list[KnownRow] = []
    for message in messages:
        is_system = message.role == "system"
        own = count_message(message, counter)
        if is_system:
            system_tokens += own
        else:
            tokens += own
            digest = chain_digest(digest, message)
            users += message.role == "user"
        counts = MessageRow(
            position=count - system,
            users=users,
            tokens=system_tokens if is_system else tokens,
            digest=digest,
            body=_write_body(message),
        )
        payload = vault.close_row(_ENCODER.encode(counts), branch, count, system=is_system)
        seal = seal_of(seal, branch, count, payload)
        row = StoredRow(branch=branch, seq=count, system=is_system, data=seal + payload)
        known.append(KnownRow(row, counts, message))
        count += 1
        system += is_system
    return known, _behind(head, known, system_tokens=system_tokens, tokens=tokens)


def _behind(head: Head, known: Sequence[KnownRow], *, system_tokens: int, tokens: int) -> Head:
    if not known:
        return head
    row, counts = known[-1].row, known[-1].counts
    return replace(
        head,
        count=row.seq + 1,
        system=row.seq - counts.position + row.system,
        system_tokens=system_tokens,
        users=counts.users,
        tokens=tokens,
        digest=counts.digest,
        seal=row.data[:SEAL_SIZE],
    )


def read_row(row: StoredRow, vault: Vault) -> MessageRow:
    """
    Return what *row* says.

    Raises:
        StoreCorruptError: It is not a row, or cannot be opened with the key of *vault*.
    """
    payload = row.data[SEAL_SIZE:]
    if vault.encrypts:
        payload = vault.open_row(payload, row.branch, row.seq, system=row.system)
    return _unpacked(payload, row.seq)


def _unpacked(payload: bytes, seq: int) -> MessageRow:
    try:
        return _decode(payload)
    except (msgspec.MsgspecError, RecursionError) as error:
        message = f"message row {seq} cannot be read: `foldline verify` names what is damaged"
        raise StoreCorruptError(message) from error


def read_rows(rows: Iterable[StoredRow], vault: Vault) -> list[KnownRow]:
    """
    Return *rows* with their messages.

    Raises:
        StoreCorruptError: One is not a row, or is marked as another role than that of its message.
    """
    found: list[KnownRow] = []
    encrypts = vault.encrypts
    for row in rows:
        # As `read_row` and `read_body` say, without the calls for what nearly every row is.
        counts = read_row(row, vault) if encrypts else _unpacked(row.data[SEAL_SIZE:], row.seq)
        body = counts.body
        role = _role_of(body[0]) if body.isascii() and body else None
        if role is None:
            message = read_body(body)
        else:
            message = Message(role=role, parts=(TextPart(body[1:].decode()),))
        if (message.role == "system") is not row.system:
            text = (
                f"message row {row.seq} is marked as another role than its own: "
                "`foldline verify` shows what is damaged"
            )
            raise StoreCorruptError(text)
        found.append(KnownRow(row, counts, message))
    return found


def extend_history(history: History, rows: Iterable[KnownRow]) -> None:
    """
    Add the messages of *rows* behind *history*, without counting and hashing them again.

    Args:
        history: The messages up to the first of *rows*; its tokens are those of all before.
        rows: The rows that follow, in order.
    """
    tokens, system_tokens = history.tokens(), history.system_tokens
    for known in rows:
        counts = known.counts
        if known.row.system:
            own, system_tokens = counts.tokens - system_tokens, counts.tokens
        else:
            own, tokens = counts.tokens - tokens, counts.tokens
        history.append_known(known.message, tokens=own, digest=counts.digest)


def check_chain(rows: Sequence[StoredRow], before: bytes | None) -> int | None:
    """
    Return the place of the first of *rows* whose seal does not fit; None where all do.

    Args:
        rows: Rows with consecutive numbers.
        before: The seal of the row before the first; None where it is not known, so that the
            first of *rows* is believed.
    """
    for place, row in enumerate(rows):
        data = row.data
        if type(data) is not bytes:
            # A damaged file may give back a value of any type.
            return place
        seal = data[:SEAL_SIZE]
        if before is not None:
            # As `seal_of` says, without the call: most of what reading a thread takes is here.
            place_of = row.seq.to_bytes(_SEQ_SIZE, "big")
            found = sha256(before + row.branch + place_of + data[SEAL_SIZE:]).digest()
            if found[:SEAL_SIZE] != seal:
                return place
        before = seal
    return None
