"""Steps as words for Redis, and threads out of its answers."""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias, cast

from foldline.errors import StoreCorruptError
from foldline.threads.key import ThreadKey, name_of
from foldline.threads.step import Branch, Document, DocumentKind, Step, StoredRow, StoredThread


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
where there is no thread, and None for what is lost."""

Piece: TypeAlias = tuple[bytes, int, list[bytes]]
"""Rows side by side: branch, number of the first, rows."""

_SYSTEM: Final = b"s"
_OTHER: Final = b"m"
# No number of a store is longer.
_MOST_DIGITS: Final = 19
# Names of documents come from models and may hold anything.
_ODD: Final = "surrogatepass"


def text_word(text: str) -> bytes:
    """Return *text* as a word, in an encoding that keeps the order of strings."""
    return text.encode("utf-8", _ODD)


def number_word(number: int) -> bytes:
    """Return *number* as a word."""
    return b"%d" % number


def number_of(word: bytes) -> int | None:
    """Return the number in *word*; None where it is none that a store has written."""
    return int(word) if word.isdigit() and len(word) <= _MOST_DIGITS else None


def flag_word(*, is_set: bool) -> bytes:
    """Return a flag as a word."""
    return b"1" if is_set else b""


def commit_words(key: ThreadKey, step: Step) -> list[bytes]:
    """Return what the script `commit` is given for *step* behind the tenant and the epoch."""
    expires = b"" if step.expires_at is None else repr(step.expires_at).encode()
    return [
        text_word(key.id),
        number_word(step.expected),
        number_word(step.expected + 1),
        step.head,
        step.branch.hex().encode(),
        repr(step.last_activity).encode(),
        expires,
        flag_word(is_set=step.purge),
        *_opening(step.opens),
        number_word(step.rows[0].seq) if step.rows else b"",
        number_word(len(step.drop)),
        number_word(len(step.put)),
        *_changes(step),
    ]


def _opening(branch: Branch | None) -> tuple[bytes, bytes, bytes]:
    if branch is None:
        return flag_word(is_set=False), b"", b""
    parent = b"" if branch.parent is None else branch.parent.hex().encode()
    return flag_word(is_set=True), parent, number_word(branch.at)


def _changes(step: Step) -> Iterator[bytes]:
    for kind, name in step.drop:
        yield kind.encode() if name is None else _field(kind, name)
    for one in step.put:
        yield _field(one.kind, one.name)
        yield one.data
    for row in step.rows:
        yield (_SYSTEM if row.system else _OTHER) + row.data


def _field(kind: DocumentKind, name: str) -> bytes:
    return text_word(f"{kind}/{name}")


def stored_thread(key: ThreadKey, entry: Entry) -> StoredThread | None:
    """
    Return the thread in *entry*, or None where there is none.

    Raises:
        StoreCorruptError: A part of it is gone.
    """
    if len(entry) == 1:
        return None
    _, revision, head, expires, strays, found = entry
    documents = [one for one in found if one is not None]
    if strays or revision is None or head is None or expires is None or documents != found:
        message = f"thread {key.id!r} has lost some of its keys: may Redis drop any?"
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
    Return the thread in *entry*, or None where there is none, for a list that one cannot end.

    A damaged one has no head, so that whoever reads it is told, and nobody else.
    """
    try:
        return stored_thread(key, entry)
    except StoreCorruptError:
        return StoredThread(key=key, revision=0, head=b"")


def documents_of(found: Sequence[bytes]) -> list[Document]:
    """Return the documents in *found*, which holds name and content of each."""
    return [_document(*pair) for pair in zip(found[::2], found[1::2], strict=True)]


def _document(field: bytes, data: bytes) -> Document:
    try:
        text = field.decode("utf-8", _ODD)
    except UnicodeDecodeError:
        # A document is bound to its name, so that under another one it is refused.
        text = name_of(field)
    kind, _, name = text.partition("/")
    return Document(cast("DocumentKind", kind), name, data)


def rows_of(pieces: Sequence[Piece]) -> list[StoredRow]:
    """Return the rows in *pieces*."""
    rows: list[StoredRow] = []
    for name, first, found in pieces:
        branch = bytes.fromhex(name.decode())
        rows += [
            StoredRow(branch=branch, seq=number, system=data[:1] == _SYSTEM, data=data[1:])
            for number, data in enumerate(found, first)
        ]
    return rows
