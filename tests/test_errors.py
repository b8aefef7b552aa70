"""Every error."""

import pickle

import pytest

from foldline import errors
from foldline.errors import FoldlineError, ThreadConflictError


_KINDS = [one for name, one in vars(errors).items() if name.endswith("Error")]


@pytest.mark.parametrize("kind", _KINDS, ids=lambda kind: kind.__name__)
def test_pickled(kind: type[FoldlineError]) -> None:
    """An error of any kind comes out of a pool of processes as it went in."""
    error = kind.__new__(kind, "what happened")
    error.args = ("what happened",)
    error.__dict__["tokens"] = 7

    found = pickle.loads(pickle.dumps(error))

    assert type(found) is kind
    assert str(found) == "what happened"
    assert vars(found) == {"tokens": 7}


def test_pickled_with_its_values() -> None:
    """What an error carries beside its text is still there."""
    found = pickle.loads(pickle.dumps(ThreadConflictError(thread_id="a", expected=1, actual=2)))

    assert (found.expected, found.actual) == (1, 2)
    assert "revision 2" in str(found)
