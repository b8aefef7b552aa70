"""What a kill leaves on the disk for others to find."""

from collections import Counter

from tests.depth import by_depth
from tests.faults.kill import endings
from tests.threads.crashes.batch import MARK
from tests.threads.crashes.changes import CREATE, ERASE


def test_deleted_texts_are_gone() -> None:
    """Once every thread was deleted, killed or not, no file holds a word of what was said."""
    left: Counter[int] = Counter()
    for ending in endings(ERASE, prepare=ERASE.prepare, step=by_depth(9, 3)):
        text = b"".join(path.read_bytes() for path in ending.folder.iterdir())
        left[len(ending.acks)] += MARK.encode() in text

    assert left[4] == 0
    assert left[0] > 1


def test_nobody_else_may_read_the_file() -> None:
    """Wherever the first opening is killed, what it leaves is its owner's alone."""
    modes = {
        path.stat().st_mode & 0o777
        for ending in endings(CREATE, prepare=CREATE.prepare, step=by_depth(9, 3))
        for path in ending.folder.iterdir()
    }

    assert modes == {0o600}
