"""Every error has its place in one tree."""

import re
from collections.abc import Mapping
from types import ModuleType

from foldline import errors
from foldline.errors import FoldlineError


def _family(root: type[FoldlineError]) -> list[type[FoldlineError]]:
    # A test of another file may have derived one of its own.
    own = [child for child in root.__subclasses__() if child.__module__.startswith("foldline")]
    return [root, *(error for child in own for error in _family(child))]


def _drawn() -> dict[str, str | None]:
    parents: dict[str, str | None] = {}
    path: list[str] = []
    for match in re.finditer(r"^([ │├└─]*)(\w+Error)\b", errors.__doc__ or "", re.MULTILINE):
        depth = len(match[1]) // 4
        parents[match[2]] = path[depth - 1] if depth else None
        path[depth:] = [match[2]]
    return parents


def test_errors_live_in_one_module(modules: Mapping[str, ModuleType]) -> None:
    """No other module defines an error of foldline."""
    assert "foldline.errors" in modules

    homes = {error.__module__ for error in _family(FoldlineError)}

    assert homes == {"foldline.errors"}


def test_the_drawn_tree_is_the_real_one() -> None:
    """The docstring of the module draws every error below the one that it derives from."""
    real: dict[str, str | None] = {
        error.__name__: base.__name__ if issubclass(base, FoldlineError) else None
        for error in _family(FoldlineError)
        for base in error.__bases__[:1]
    }

    assert _drawn() == real


def test_every_error_has_a_code_of_its_own() -> None:
    """No two errors share a code, and none inherits one."""
    family = _family(FoldlineError)
    codes = [vars(error).get("code") for error in family]

    assert None not in codes
    assert len(set(codes)) == len(family)


def test_every_error_says_what_it_means() -> None:
    """Every error has a docstring of its own: it is the default message."""
    silent = [error.__name__ for error in _family(FoldlineError) if not vars(error)["__doc__"]]

    assert silent == []
