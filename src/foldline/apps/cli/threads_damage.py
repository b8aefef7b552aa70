"""A word of damage that an answer does not show."""

from foldline.apps.cli.notes import tell
from foldline.apps.cli.stores import WAY_FORWARD, StoreOptions, is_server
from foldline.apps.cli.threads_counts import counted
from foldline.threads.key import ThreadKey
from foldline.threads.repair import LastGood, WholeRows
from foldline.threads.store import ThreadStore
from foldline.threads.verification import verify_one


__all__ = [
    "DAMAGED",
    "NAME_NOTE",
    "last_good_note",
    "warn_of_damage",
    "way_forward",
    "whole_rows_note",
]


DAMAGED = 1
"""The exit code where something is damaged."""

NAME_NOTE = "no repair mends a name: restore a backup"
"""What to do where nothing but the name of a thread is damaged, in a file or on a server."""

_OF_SERVER = (
    "restore a backup, or save what can be read by `foldline threads export ID --whole-rows`"
)
_MOST_GAPS = 5


def way_forward(options: StoreOptions) -> str:
    """Return what to do where the database of a store is damaged, be it a file or a server."""
    return _OF_SERVER if is_server(options) else WAY_FORWARD


async def warn_of_damage(store: ThreadStore, key: ThreadKey, *, last: int) -> None:
    """
    Tell on the standard error what is the first damage among the first *last* messages of a thread.

    Raises:
        StoreError: The storage failed, for another reason than damage.
    """
    verified = await verify_one(store.backing, key)
    if verified is None:
        return
    for fault in verified.faults:
        if fault.kind != "row" or int(fault.name) < last:
            tell(
                f"thread {key.id!r} is damaged ({fault}): `foldline verify` names all, "
                "`foldline repair` shows what can be saved"
            )
            return


def last_good_note(found: LastGood) -> str:
    """Return how much of a thread stands before its damage, and why; empty where it has none."""
    if not found.faults:
        return ""
    thread = found.thread
    total = None if found.lost is None else thread.count + found.lost
    text = f"{_share(thread.count, total)} of thread {thread.id!r} stand before its damage "
    return f"{text}({found.faults[0]})" + (_BEHIND if found.lost != 0 else "")


def whole_rows_note(found: WholeRows) -> str:
    """
    Return how many messages of a thread are whole, and where others were; empty if it is whole.
    """
    if not found.faults:
        return ""
    id, gaps = found.record.key.id, found.gaps()
    text = f"{_share(len(found.messages), found.total)} of thread {id!r} are whole"
    if gaps and found.messages:
        named = ", ".join(f"{a:,}" if a == b else f"{a:,} to {b:,}" for a, b in gaps[:_MOST_GAPS])
        more = f" and {counted(len(gaps) - _MOST_GAPS, 'gap')} more" * (len(gaps) > _MOST_GAPS)
        text = f"{text}; missing: {named}{more}"
    if found.unproved:
        text = f"{text}; {found.unproved:,} behind a missing one cannot be compared with it"
    return f"{text} (the first damage is {found.faults[0]})"


_BEHIND = ": `foldline threads export --whole-rows` writes those behind it too"


def _share(count: int, total: int | None) -> str:
    if total is None:
        return f"{counted(count, 'message')}, of nobody knows how many,"
    return f"{count:,} of {counted(total, 'message')}"
