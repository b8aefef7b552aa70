"""
What changes in a thread beside growing: rewinding, editing, forking, clearing, undoing.

None of it rewrites a message: a thread leaves its branch and goes on along a new one, which shares
the rows up to there. What is behind stays on the branch that was left. A reduction that stands for
a part of it would be refused by its digest, so its document goes, and with it what it alone keeps
archived.
"""

from collections.abc import Sequence

import msgspec

from foldline.errors import ConfigError, StoreCorruptError
from foldline.history.messages import Message
from foldline.reduction.state import same_hash
from foldline.threads.backing import Backing
from foldline.threads.head import Head
from foldline.threads.key import ThreadKey
from foldline.threads.old_change import BRANCH_SIZE, Change, Planned, StoredReduction, plan_step
from foldline.threads.reader import ThreadReader
from foldline.threads.record import ThreadRecord, decode_reduction, document
from foldline.threads.step import Branch, DocumentKind


__all__ = [
    "cleared",
    "edited",
    "fitting_reductions",
    "forked",
    "rewound",
    "stored_reductions",
    "without_newest",
]


_ALL_BUT_CHECKPOINTS: tuple[tuple[DocumentKind, str | None], ...] = (
    ("tool", None),
    ("execution", None),
)


async def rewound(backing: Backing, record: ThreadRecord, at: int) -> Change:
    """
    Return the change that takes back everything from the index *at* on.

    Raises:
        ConfigError: There are fewer messages than *at*.
    """
    return await _back_to(backing, record, at, ())


async def edited(backing: Backing, record: ThreadRecord, index: int, message: Message) -> Change:
    """
    Return the change that puts *message* in the place of the one at *index*.

    Raises:
        ConfigError: There is no message at *index*, or *message* is a system message.
    """
    if not 0 <= index < record.head.length:
        text = f"index={index}: allowed is 0 to {record.head.length - 1}"
        raise ConfigError(text)
    if message.role == "system":
        text = "a system message has no index, so that it cannot take the place of another"
        raise ConfigError(text)
    reader = ThreadReader(backing, record.key, record.head)
    following = await reader.messages(await reader.seq_of(index) + 1, record.head.count)
    return await _back_to(backing, record, index, (message, *following))


async def _back_to(
    backing: Backing, record: ThreadRecord, at: int, messages: Sequence[Message]
) -> Change:
    _check_index(at, record)
    reader = ThreadReader(backing, record.key, record.head)
    seq = await reader.seq_behind(at)
    branch = Branch(backing.random_bytes(BRANCH_SIZE), record.head.branch, seq)
    head = await reader.head_at(seq, branch.id)
    kept, dropped = _split(await stored_reductions(backing, record), at)
    return Change(
        messages=messages,
        rebranch=_with_folds(head, kept),
        shares=branch,
        execution=None,
        fallback=kept[0] if kept else None,
        settled=[run.call_id for run in record.tools],
        drop=[*_ALL_BUT_CHECKPOINTS, *(("reduction", one.name) for one in dropped)],
    )


def _check_index(at: int, record: ThreadRecord) -> None:
    if not 0 <= at <= record.head.length:
        text = f"at={at}: allowed is 0 to {record.head.length}"
        raise ConfigError(text)


async def stored_reductions(backing: Backing, record: ThreadRecord) -> list[StoredReduction]:
    """Return every stored reduction of the thread, the newest first."""
    stored = await backing.storage.documents(record.key, "reduction")
    return [
        StoredReduction(one.name, decode_reduction(backing.vault, record.key, one))
        for one in stored
    ]


def _split(
    known: Sequence[StoredReduction], at: int
) -> tuple[list[StoredReduction], list[StoredReduction]]:
    kept = [one for one in known if one.state.summarized_up_to_index <= at]
    return kept, [one for one in known if one.state.summarized_up_to_index > at]


def _with_folds(head: Head, kept: Sequence[StoredReduction]) -> Head:
    return head.with_folds({int(one.name): _reach(one) for one in kept})


async def without_newest(backing: Backing, record: ThreadRecord) -> Change | None:
    """Return the change that revokes the newest reduction; None where there is none."""
    known = await stored_reductions(backing, record)
    if not known:
        # Where there was one when the thread was read, the commit is refused.
        return None if record.reduction is None else Change()
    return Change(
        fallback=known[1] if len(known) > 1 else None,
        drop=[("reduction", known[0].name)],
    )


def cleared(backing: Backing, record: ThreadRecord) -> Change:
    """Return the change that deletes everything that was said and stored with it."""
    # It shares nothing with the branch that it names, but says which one is left.
    branch = Branch(backing.random_bytes(BRANCH_SIZE), record.head.branch, 0)
    head = Head(
        branch=branch.id,
        created_at=record.head.created_at,
        last_activity=record.head.last_activity,
        revision=record.head.revision,
        folds=record.head.folds,
        expires_at=record.head.expires_at,
        recent=record.head.recent,
    )
    return Change(
        rebranch=head,
        shares=branch,
        execution=None,
        fallback=None,
        display_name="",
        metadata={},
        settled=[run.call_id for run in record.tools],
        drop=[*_ALL_BUT_CHECKPOINTS, ("reduction", None), ("checkpoint", None)],
        purge=True,
    )


async def forked(backing: Backing, record: ThreadRecord, key: ThreadKey, at: int | None) -> Planned:
    """
    Return the step that makes the thread *key* of the first *at* messages of *record*.

    Raises:
        ConfigError: There are fewer messages than *at*.
    """
    at = record.head.length if at is None else at
    _check_index(at, record)
    reader = ThreadReader(backing, record.key, record.head)
    seq = await reader.seq_behind(at)
    branch = Branch(backing.random_bytes(BRANCH_SIZE), record.head.branch, seq)
    now = backing.clock()
    shared, _ = _split(await stored_reductions(backing, record), at)
    kept = await fitting_reductions(reader, shared)
    head = msgspec.structs.replace(
        _with_folds(await reader.head_at(seq, branch.id), kept),
        created_at=now,
        last_activity=now,
        revision=0,
        checkpoints=0,
        recent=(),
    )
    change = Change(
        rebranch=head,
        shares=branch,
        fallback=kept[0] if kept else None,
        metadata={**record.metadata, "forked_from": record.key.id, "forked_at": at},
        display_name=record.display_name,
        source="fork",
    )
    empty = ThreadRecord(key=key, head=head)
    planned = plan_step(backing, empty, change, is_new=True)
    copies = [
        document(backing.vault, key, "reduction", one.state.to_json(), name=one.name)
        for one in kept
    ]
    step = msgspec.structs.replace(planned.step, put=[*planned.step.put, *copies])
    return msgspec.structs.replace(planned, step=step)


async def fitting_reductions(
    reader: ThreadReader, known: Sequence[StoredReduction]
) -> list[StoredReduction]:
    """
    Return those of *known* that stand for what *reader* reads.

    They are those of now, and somebody may have gone along another branch since it was read.
    """
    for one in sorted(known, key=_reach, reverse=True):
        # A digest covers everything before it: all that reach less far fit as well.
        if await _fits(reader, one):
            return [other for other in known if _reach(other) <= _reach(one)]
    return []


async def _fits(reader: ThreadReader, known: StoredReduction) -> bool:
    reach = _reach(known)
    try:
        return reach == 0 or same_hash(await reader.hash_at(reach), known.state.message_hash)
    except StoreCorruptError:
        # A fork shares damage too, and where this row is damaged no window behind it can be read.
        return False


def _reach(known: StoredReduction) -> int:
    return known.state.summarized_up_to_index
