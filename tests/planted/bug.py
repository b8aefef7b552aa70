"""One bug to plant."""

from typing import NamedTuple


__all__ = ["Bug"]


class Bug(NamedTuple):
    """One change of one module, and the tests that have to notice it."""

    name: str
    """What is wrong then; it names the folder of the copy too."""

    module: str
    """The module, from the package on."""

    old: str
    """The text that is changed; it is there once."""

    new: str
    """What replaces it."""

    tests: str
    """A test file, or one test of it."""
