"""Heads of threads."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from foldline.errors import StoreCorruptError, StoreVersionError
from foldline.reduction.stride import is_kept
from foldline.threads.head import HEAD_FORMAT, Head, decode_head, encode_head


NOW = datetime(2026, 11, 21, 12, 30, 1, 5, UTC)
HEAD = Head(epoch=bytes(16), created_at=NOW, last_activity=NOW)


def test_a_head_comes_back_equal() -> None:
    """Every field of a head survives being written and read, and its format is always written."""
    head = Head(
        epoch=bytes(range(16)),
        created_at=NOW,
        last_activity=NOW + timedelta(days=1),
        revision=7,
        count=9,
        system=2,
        system_tokens=11,
        users=3,
        tokens=2**40,
        digest=b"d" * 32,
        seal=b"s" * 16,
        archived=4,
        folds=5,
        checkpoints=6,
        expires_at=NOW + timedelta(days=2),
        recent=(b"12345678", b"abcdefgh"),
    )

    assert decode_head(encode_head(head)) == head
    assert decode_head(encode_head(HEAD)) == HEAD
    assert head.length == 7
    assert msgspec.msgpack.decode(encode_head(HEAD))["format"] == HEAD_FORMAT


def test_a_newer_head_is_refused() -> None:
    """A head of a higher format is an error with both numbers, whatever its other fields are."""
    data = msgspec.msgpack.encode({"format": HEAD_FORMAT + 1, "branch": None})

    with pytest.raises(StoreVersionError, match="a thread has format 2, and this") as caught:
        decode_head(data)
    assert (caught.value.found, caught.value.known) == (2, 1)


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff", b"\x90", b"\x80", msgspec.msgpack.encode({"branch": "x"}), b"\x91" * 9999],
)
def test_what_is_no_head_is_damage(data: bytes) -> None:
    """Bytes that are no head are damage, never another error."""
    with pytest.raises(StoreCorruptError, match="head of a thread cannot be read"):
        decode_head(data)


def test_a_head_of_an_old_store_is_read() -> None:
    """What was written with branches has its branch as epoch, and unknown runs."""
    old = msgspec.msgpack.encode({"branch": b"b" * 16, "created_at": NOW, "last_activity": NOW})
    head = decode_head(old)

    assert (head.epoch, head.runs, head.rewinds) == (b"b" * 16, None, None)
    assert msgspec.msgpack.decode(encode_head(head))["branch"] == b"b" * 16


def test_an_epoch_cuts_the_runs_and_adds_its_own() -> None:
    """A rewind forgets the origins of the rows that it replaces; unknown ones stay unknown."""
    a, b, c = (bytes([number]) * 16 for number in range(3))
    head = msgspec.structs.replace(HEAD, count=5, runs=((0, a), (3, b)))

    assert head.opened(c).runs == ((0, a), (3, b), (5, c))
    assert msgspec.structs.replace(head, count=3).opened(c).runs == ((0, a), (3, c))
    assert msgspec.structs.replace(head, count=0).opened(c).runs == ((0, c),)
    assert msgspec.structs.replace(head, runs=None).opened(c).runs is None
    assert msgspec.structs.replace(head, runs=None, count=0).opened(c).runs == ((0, c),)


def test_what_was_archived_is_known_at_every_stored_fold() -> None:
    """
    However far an undo goes back, `archived` is what it was at that fold, and a head stays small.
    """
    head, archived, stored = HEAD, {0: 0}, set[int]()
    for fold in range(1, 1001):
        # Every third fold archives nothing, so that its number is in no entry.
        if fold % 3:
            head = head.archiving(fold * 10, fold=fold)
        head = msgspec.structs.replace(head, folds=fold)
        archived[fold] = head.archived
        stored = {one for one in stored | {fold} if is_kept(one, fold)}
    known = {fold: head.fallen_back(fold).archived for fold in stored}

    assert known == {fold: archived[fold] for fold in stored}
    assert len(stored) > 30
    assert min(stored) < 300
    assert head.fallen_back(0).archived == 0
    assert len(head.archives) < 60
    assert len(encode_head(head)) < 900


def test_what_was_archived_goes_with_its_reductions() -> None:
    """Of reductions that are left none has more archived behind it than one up to it stands for."""
    head = HEAD.archiving(5, fold=2).archiving(16, fold=3).archiving(16, fold=5)

    assert head.with_folds({1: 2, 2: 5, 3: 16, 4: 8, 5: 10}).archives == ((2, 5), (3, 16))
    assert head.with_folds({1: 2, 2: 5, 4: 8, 5: 10}).archives == ((2, 5), (4, 8), (5, 10))
    assert head.with_folds({1: 2, 4: 1}).archives == ((4, 2),)
    assert head.with_folds({6: 20}).archives == ((6, 16),)
    assert head.with_folds({1: 2}).archives == head.with_folds({}).archives == ()
