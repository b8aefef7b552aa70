"""What statements of a PostgreSQL store are given: one commit, several, or several reads."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from foldline.threads.change import Change
from foldline.threads.key import ThreadKey
from foldline.threads.stores.postgres.arrays import (
    Packed,
    booleans,
    doubles,
    integers,
    strings,
    texts,
)
from foldline.threads.stores.postgres.link import Values


__all__ = ["SEVERAL", "keys_of", "one_commit", "room_of", "several_commits", "several_reads"]


SEVERAL: Final[Mapping[str, str]] = MappingProxyType({"load": "loads", "rows": "rows_of_several"})
"""The reads that are made together, and the statements that make several."""

_PACKED: Final[Mapping[str, Callable[[Sequence[Any]], Packed]]] = MappingProxyType(
    {"tenant": texts, "id": texts, "epoch": strings, "start": integers, "stop": integers}
)


def one_commit(key: ThreadKey, change: Change) -> tuple[str, Values]:
    """Return the name of the statement that makes one commit, and its values."""
    values = {
        "tenant": key.tenant,
        "id": key.id,
        "revision": change.revision,
        "epoch": change.epoch,
        "head": change.head,
        "active_at": change.active_at,
        "gone_at": change.gone_at,
        "due_at": change.due_at,
        **_contents([change]),
    }
    if _appends(change):
        return "append", values
    opens, copies = change.opens, change.copies
    more = {
        "after": change.current_epoch,
        "at": None if opens is None else opens.at,
        "clears": change.clears,
        "source": None if copies is None else copies.source.id,
        "source_epoch": None if copies is None else copies.epoch,
        "count": None if copies is None else copies.count,
        "keeps": None if change.keeps is None else strings([*change.keeps]),
    }
    return "commit", {**values, **more}


def several_commits(commits: Sequence[tuple[ThreadKey, Change]]) -> Values:
    """Return the values of the statement `commit_several`."""
    changes = [change for _, change in commits]
    return {
        **keys_of([key for key, _ in commits]),
        "revisions": integers([one.revision for one in changes]),
        "epochs": strings([one.epoch for one in changes]),
        "heads": strings([one.head for one in changes]),
        "active_at": doubles([one.active_at for one in changes]),
        "gone_at": doubles([one.gone_at for one in changes]),
        "due_at": doubles([one.due_at for one in changes]),
        "row_places": integers([at for at, one in enumerate(changes, 1) for _ in one.rows]),
        "drop_places": integers([at for at, one in enumerate(changes, 1) for _ in one.drop]),
        "put_places": integers([at for at, one in enumerate(changes, 1) for _ in one.put]),
        **_contents(changes),
    }


def keys_of(keys: Sequence[ThreadKey]) -> Values:
    """Return the values that name several threads."""
    return {"tenants": texts([key.tenant for key in keys]), "ids": texts([key.id for key in keys])}


def several_reads(reads: Sequence[Values]) -> Values:
    """Return the values of reads of one kind as those of the statement that makes several."""
    return {name: _PACKED[name]([one[name] for one in reads]) for name in reads[0]}


def room_of(change: Change) -> int:
    """Return the bytes of *change*, or 0 if it must be made alone."""
    if not _appends(change) or not change.revision:
        return 0
    if change.drop:
        put = {(one.kind, name) for one in change.put for name in (one.name, None)}
        # What is dropped and stored at once would be two changes of one row in one statement.
        if not put.isdisjoint(change.drop):
            return 0
    stored = sum(len(one.data) for one in change.put)
    return 1 + stored + sum(len(row.data) for row in change.rows)


def _appends(change: Change) -> bool:
    has_more = change.opens or change.copies or change.clears
    return not has_more and change.keeps is None


def _contents(changes: Sequence[Change]) -> Values:
    rows = [row for one in changes for row in one.rows]
    drop = [document for one in changes for document in one.drop]
    put = [document for one in changes for document in one.put]
    return {
        "numbers": integers([row.seq for row in rows]),
        "systems": booleans([row.system for row in rows]),
        "rows": strings([row.data for row in rows]),
        "drop_kinds": texts([kind for kind, _ in drop]),
        "drop_names": strings([None if name is None else _bytes(name) for _, name in drop]),
        "kinds": texts([one.kind for one in put]),
        "names": strings([_bytes(one.name) for one in put]),
        "data": strings([one.data for one in put]),
    }


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")
