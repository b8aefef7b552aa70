"""Two views of one list that have to be the same."""

from collections.abc import Sequence


__all__ = ["check_alike"]


def check_alike(ours: Sequence[object], theirs: Sequence[object], items: Sequence[object]) -> None:
    """Check that *ours* has the bytes of *theirs*, and has objects of *items* where that has."""
    own = set(map(id, items))
    assert repr(ours) == repr(theirs)
    assert [id(said) in own for said in ours] == [id(said) in own for said in theirs]
