"""The head of a thread: how far it has come."""

from collections.abc import Mapping
from datetime import datetime
from itertools import pairwise
from typing import Final

import msgspec
from msgspec import Struct

from foldline.errors import StoreCorruptError, StoreVersionError
from foldline.history.digest import EMPTY_DIGEST


__all__ = [
    "FOLD_STRIDE",
    "HEAD_FORMAT",
    "REMEMBERED_COMMITS",
    "SEAL_SIZE",
    "Head",
    "decode_head",
    "encode_head",
]


HEAD_FORMAT: Final = 1
"""The number of the stored form of a head; a reader refuses a higher one."""

SEAL_SIZE: Final = 16
"""The length of a seal in bytes."""

FOLD_STRIDE: Final = 16
"""How many of the last folds are all kept; of those before, every so many-th is, and so on."""

REMEMBERED_COMMITS: Final = 8
"""How many of the last commits a head knows by their ids."""


class Head(Struct, frozen=True, kw_only=True):
    """The counts, the digest and the times of a thread at one revision."""

    branch: bytes
    """The branch of its newest rows."""

    created_at: datetime
    """When the thread was made."""

    last_activity: datetime
    """When it was last written to."""

    revision: int = 0
    """How many commits made it."""

    count: int = 0
    """How many messages it holds, system messages included."""

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

    archived: int = 0
    """How many messages, system messages not counted, are archived."""

    archives: tuple[tuple[int, int], ...] = ()
    """
    The folds that archived messages: the number of each, and `archived` behind it.

    It holds what was archived at each fold that is still stored, to which an undo may lead.
    """

    folds: int = 0
    """How many reductions were ever stored."""

    checkpoints: int = 0
    """How many checkpoints were ever stored."""

    expires_at: datetime | None = None
    """From when on it is gone; None for never."""

    recent: tuple[bytes, ...] = ()
    """The ids of the last commits."""

    format: int = HEAD_FORMAT
    """The number of the stored form."""

    @property
    def length(self) -> int:
        """How many messages it holds, system messages not counted."""
        return self.count - self.system

    def archiving(self, archived: int, *, fold: int) -> "Head":
        """Return the head with the first *archived* messages archived by the reduction *fold*."""
        known = (*self.archives, (fold, archived))
        kept = [
            one for one, behind in pairwise(known) if _is_any_stored(one[0], behind[0], newest=fold)
        ]
        return msgspec.structs.replace(self, archived=archived, archives=(*kept, known[-1]))

    def fallen_back(self, fold: int) -> "Head":
        """
        Return the head with *fold* as the newest reduction, and archived what was archived then.

        Folds are counted on from there: which earlier ones are kept goes by these numbers.
        """
        archives = tuple(one for one in self.archives if one[0] <= fold)
        archived = archives[-1][1] if archives else 0
        return msgspec.structs.replace(self, archived=archived, archives=archives, folds=fold)

    def with_folds(self, cuts: Mapping[int, int]) -> "Head":
        """
        Return the head of a thread that has no reductions but *cuts*.

        What is archived at each is what was archived then, as far as one up to it stands for it.

        Args:
            cuts: The numbers of the reductions, and how many messages each stands for.
        """
        archives, reach = [(0, 0)], 0
        for fold, cut in sorted(cuts.items()):
            reach = max(reach, cut)
            archived = min(reach, self.fallen_back(fold).archived)
            if archived != archives[-1][1]:
                archives.append((fold, archived))
        return msgspec.structs.replace(self, archives=tuple(archives[1:]))

    def moved(self, commit_id: bytes, now: datetime) -> "Head":
        """Return the head of the next revision, made by the commit *commit_id*."""
        return msgspec.structs.replace(
            self,
            revision=self.revision + 1,
            last_activity=max(now, self.last_activity),
            recent=(*self.recent, commit_id)[-REMEMBERED_COMMITS:],
        )


def _is_any_stored(first: int, behind: int, *, newest: int) -> bool:
    """
    Whether one of the folds from *first* up to *behind* is still stored beside *newest*.

    The last 16 are, of the last 256 every 16th, and so on.
    """
    stride = 1
    while stride <= newest:
        start = max(first, newest - FOLD_STRIDE * stride + 1)
        if -(-start // stride) * stride < behind:
            return True
        stride *= FOLD_STRIDE
    return False


class _Format(Struct):
    format: int = 1


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Head)
_FORMAT = msgspec.msgpack.Decoder(_Format)


def encode_head(head: Head) -> bytes:
    """Write *head*."""
    return _ENCODER.encode(head)


def decode_head(data: bytes) -> Head:
    """
    Read what `encode_head` wrote.

    Raises:
        StoreVersionError: It was written by a newer foldline.
        StoreCorruptError: It is not a head.
    """
    try:
        head = _DECODER.decode(data)
        _refuse_newer(head.format)
    except (msgspec.MsgspecError, RecursionError) as error:
        _refuse_newer(_format_of(data))
        message = "the head of a thread cannot be read: `foldline verify` names what is damaged"
        raise StoreCorruptError(message) from error
    return head


def _refuse_newer(found: int) -> None:
    if found > HEAD_FORMAT:
        raise StoreVersionError(what="a thread", found=found, known=HEAD_FORMAT)


def _format_of(data: bytes) -> int:
    # A newer head may have another shape.
    try:
        return _FORMAT.decode(data).format
    except (msgspec.MsgspecError, RecursionError):
        return HEAD_FORMAT
