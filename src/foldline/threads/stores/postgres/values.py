"""
What statements of a PostgreSQL store are given: one commit, several, or several reads.

Arrays are packed here as PostgreSQL reads them: the driver takes five times as long for each.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from struct import pack
from typing import Any, Final, TypeAlias

from foldline.threads.change import Change
from foldline.threads.key import ThreadKey


Values: TypeAlias = Mapping[str, object]
"""The values of a statement by their names."""

# The numbers of the types of their elements.
_BOOL: Final = 16
_BYTEA: Final = 17
_INT8: Final = 20
_TEXT: Final = 25
_FLOAT8: Final = 701


class Packed(bytes):
    """An array in its binary form, whose type the statement says."""

    __slots__ = ()


def _integers(values: Sequence[int]) -> Packed:
    return _array(_INT8, [pack(">q", one) for one in values])


def _doubles(values: Sequence[float | None]) -> Packed:
    return _array(_FLOAT8, [None if one is None else pack(">d", one) for one in values])


def _texts(values: Iterable[str | None]) -> Packed:
    # A lone surrogate raises UnicodeError.
    return _array(_TEXT, [None if one is None else one.encode() for one in values])


def _array(kind: int, values: Sequence[bytes | None]) -> Packed:
    if not values:
        return Packed(pack(">iii", 0, 0, kind))
    # The number of dimensions, whether there may be nulls, the type; then length and first index.
    pieces = [pack(">iiiii", 1, 1, kind, len(values), 1)]
    for value in values:
        pieces.append(pack(">i", -1 if value is None else len(value)))
        pieces.append(value or b"")
    return Packed(b"".join(pieces))


_strings = partial(_array, _BYTEA)

SEVERAL: Final[Mapping[str, str]] = {"load": "loads", "rows": "rows_of_several"}
"""The reads that are made together, and the statements that make several."""

_PACKED: Mapping[str, Callable[[Sequence[Any]], Packed]] = {
    "tenant": _texts,
    "id": _texts,
    "epoch": _strings,
    "start": _integers,
    "stop": _integers,
}


def one_commit(key: ThreadKey, change: Change) -> Values:
    """Return the values of the statement `commit`."""
    opens, copies = change.opens, change.copies
    return {
        "tenant": key.tenant,
        "id": key.id,
        "revision": change.revision,
        "epoch": change.epoch,
        "head": change.head,
        "active_at": change.active_at,
        "gone_at": change.gone_at,
        "holder": None if change.lease is None else change.lease.holder,
        "lease": None if change.lease is None else float(change.lease.seconds),
        "due_at": change.due_at,
        "after": change.current_epoch,
        "at": None if opens is None else opens.at,
        "clears": change.clears,
        "source": None if copies is None else copies.source.id,
        "source_epoch": None if copies is None else copies.epoch,
        "count": None if copies is None else copies.count,
        "keeps": None if change.keeps is None else _strings([*change.keeps]),
        **_contents([change]),
    }


def several_commits(commits: Sequence[tuple[ThreadKey, Change]]) -> Values:
    """Return the values of the statement `commit_several`."""
    changes = [change for _, change in commits]
    return {
        **keys_of([key for key, _ in commits]),
        "revisions": _integers([one.revision for one in changes]),
        "epochs": _strings([one.epoch for one in changes]),
        "heads": _strings([one.head for one in changes]),
        "active_at": _doubles([one.active_at for one in changes]),
        "gone_at": _doubles([one.gone_at for one in changes]),
        "holders": _texts([None if one.lease is None else one.lease.holder for one in changes]),
        "leases": _doubles([None if one.lease is None else one.lease.seconds for one in changes]),
        "due_at": _doubles([one.due_at for one in changes]),
        "row_places": _integers([at for at, one in enumerate(changes, 1) for _ in one.rows]),
        "drop_places": _integers([at for at, one in enumerate(changes, 1) for _ in one.drop]),
        "put_places": _integers([at for at, one in enumerate(changes, 1) for _ in one.put]),
        **_contents(changes),
    }


def keys_of(keys: Sequence[ThreadKey]) -> Values:
    """Return the values that name several threads."""
    return {"tenants": _texts(key.tenant for key in keys), "ids": _texts(key.id for key in keys)}


def several_reads(reads: Sequence[Values]) -> Values:
    """Return the values of reads of one kind as those of the statement that makes several."""
    return {name: _PACKED[name]([one[name] for one in reads]) for name in reads[0]}


def room_of(change: Change) -> int:
    """Return the bytes of *change*, or 0 if it must be made alone."""
    has_more = change.opens or change.copies or change.clears or change.keeps is not None
    if has_more or not change.revision:
        return 0
    if change.drop:
        put = {(one.kind, name) for one in change.put for name in (one.name, None)}
        # What is dropped and stored at once would be two changes of one row in one statement.
        if not put.isdisjoint(change.drop):
            return 0
    return 1 + sum(len(one.data) for one in change.put) + sum(len(row.data) for row in change.rows)


def _contents(changes: Sequence[Change]) -> Values:
    rows = [row for one in changes for row in one.rows]
    drop = [document for one in changes for document in one.drop]
    put = [document for one in changes for document in one.put]
    return {
        "numbers": _integers([row.seq for row in rows]),
        "systems": _array(_BOOL, [pack("?", row.system) for row in rows]),
        "rows": _strings([row.data for row in rows]),
        "drop_kinds": _texts([kind for kind, _ in drop]),
        "drop_names": _strings([None if name is None else _bytes(name) for _, name in drop]),
        "kinds": _texts([one.kind for one in put]),
        "names": _strings([_bytes(one.name) for one in put]),
        "data": _strings([one.data for one in put]),
    }


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")
