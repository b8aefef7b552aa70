"""Commits as words for Redis, and threads out of its answers."""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias, cast

from foldline.errors import StoreCorruptError
from foldline.threads.change import Change, Copy, Document, DocumentKind
from foldline.threads.key import ThreadKey, name_of
from foldline.threads.row import StoredRow
from foldline.threads.storage import StoredThread


__all__ = [
    "Entry",
    "Piece",
    "commit_words",
    "documents_of",
    "flag_word",
    "listed_thread",
    "number_of",
    "number_word",
    "rows_of",
    "stored_thread",
    "text_word",
]


_Found: TypeAlias = bytes | None

Entry: TypeAlias = tuple[bytes, _Found, _Found, _Found, int, list[_Found]]
"""A thread: id, revision, head, expiry, how many documents too few or many, documents; the id alone
if there is no thread, and None for what is lost."""

Piece: TypeAlias = tuple[int, list[bytes]]
"""Rows with consecutive numbers: the number of the first, and the rows."""

_SYSTEM: Final = b"s"
_OTHER: Final = b"m"
# No number of a store is longer.
_MOST_DIGITS: Final = 19
# Names of documents come from models and may have any characters.
_ODD: Final = "surrogatepass"


def text_word(text: str) -> bytes:
    """Return *text* as a word, in an encoding that keeps the order of strings."""
    return text.encode("utf-8", _ODD)


def number_word(number: int) -> bytes:
    """Return *number* as a word."""
    return b"%d" % number


def number_of(word: bytes) -> int | None:
    """Return the number in *word*; None if it is not one that a store has written."""
    return int(word) if word.isdigit() and len(word) <= _MOST_DIGITS else None


def flag_word(*, is_set: bool) -> bytes:
    """Return a flag as a word."""
    return b"1" if is_set else b""


def commit_words(key: ThreadKey, change: Change) -> list[bytes]:
    """Return the words of *change* for the script `commit`, after the tenant and the fence."""
    keeps = [one.hex().encode() for one in change.keeps or ()]
    return [
        text_word(key.id),
        number_word(change.revision),
        number_word(change.revision + 1),
        change.head,
        change.epoch.hex().encode(),
        change.current_epoch.hex().encode(),
        repr(change.active_at).encode(),
        b"" if change.gone_at is None else repr(change.gone_at).encode(),
        flag_word(is_set=change.opens is not None),
        b"" if change.opens is None else number_word(change.opens.at),
        flag_word(is_set=change.clears),
        *_copy_words(change.copies),
        flag_word(is_set=change.keeps is not None),
        number_word(len(keeps)),
        number_word(change.rows[0].seq) if change.rows else b"",
        number_word(len(change.drop)),
        number_word(len(change.put)),
        *keeps,
        *_content_words(change),
    ]


def _copy_words(copies: Copy | None) -> tuple[bytes, ...]:
    if copies is None:
        return b"", b"", b"", b""
    epoch = copies.epoch.hex().encode()
    return flag_word(is_set=True), text_word(copies.source.id), epoch, number_word(copies.count)


def _content_words(change: Change) -> Iterator[bytes]:
    for kind, name in change.drop:
        yield kind.encode() if name is None else _field(kind, name)
    for one in change.put:
        yield _field(one.kind, one.name)
        yield one.data
    for row in change.rows:
        yield (_SYSTEM if row.system else _OTHER) + row.data


def _field(kind: DocumentKind, name: str) -> bytes:
    return text_word(f"{kind}/{name}")


def stored_thread(key: ThreadKey, entry: Entry) -> StoredThread | None:
    """
    Return the thread in *entry*, or None if there is none.

    Raises:
        StoreCorruptError: A part of it is missing.
    """
    if len(entry) == 1:
        return None
    _, revision, head, expires, strays, found = entry
    documents = [one for one in found if one is not None]
    if strays or revision is None or head is None or expires is None or documents != found:
        message = f"thread {key.id!r} has lost some of its keys: set maxmemory-policy to noeviction"
        raise StoreCorruptError(message)
    try:
        return StoredThread(
            key=key,
            revision=int(revision),
            head=head,
            documents=documents_of(documents),
            expires_at=float(expires) if expires else None,
        )
    except ValueError:
        message = f"the revision or the expiry of thread {key.id!r} is damaged"
        raise StoreCorruptError(message) from None


def listed_thread(key: ThreadKey, entry: Entry) -> StoredThread | None:
    """
    Return the thread in *entry*, or None if there is none; a damaged one ends no list.

    A damaged one has no head, so it is reported when it is read, and the others are listed.
    """
    try:
        return stored_thread(key, entry)
    except StoreCorruptError:
        return StoredThread(key=key, revision=0, head=b"")


def documents_of(found: Sequence[bytes]) -> list[Document]:
    """Return the documents in *found*, which has the name and the content of each in turn."""
    return [_document(*pair) for pair in zip(found[::2], found[1::2], strict=True)]


def _document(field: bytes, data: bytes) -> Document:
    try:
        text = field.decode("utf-8", _ODD)
    except UnicodeDecodeError:
        # The name is part of what is verified, so a changed one is refused.
        text = name_of(field)
    kind, _, name = text.partition("/")
    return Document(cast("DocumentKind", kind), name, data)


def rows_of(pieces: Sequence[Piece]) -> list[StoredRow]:
    """Return the rows in *pieces*."""
    return [
        StoredRow(number, data[:1] == _SYSTEM, data[1:])
        for first, found in pieces
        for number, data in enumerate(found, first)
    ]
