"""One bug to plant."""

import re
from typing import NamedTuple


__all__ = ["Bug", "bugs_in"]


_PLACE = re.compile(r"([\w/]+\.\w+): (\S+)").fullmatch


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


def bugs_in(table: str) -> tuple[Bug, ...]:
    """
    Return the bugs of *table*.

    A line `MODULE: TESTS` says where the bugs after it are planted and which tests have to notice
    them. Each has a line with its name, then the lines to change after `- `, then after `+ ` those
    that replace them, if any do.
    """
    bugs: list[Bug] = []
    module = tests = ""
    for line in filter(None, table.splitlines()):
        mark, text = line[:1], line[2:]
        if mark == "-":
            bugs[-1] = bugs[-1]._replace(old=_with(bugs[-1].old, text))
        elif mark == "+":
            bugs[-1] = bugs[-1]._replace(new=_with(bugs[-1].new, text))
        elif (place := _PLACE(line)) is not None:
            module, tests = place.groups()
        else:
            bugs.append(Bug(line, module, "", "", tests))
    return tuple(bugs)


def _with(text: str, line: str) -> str:
    return f"{text}\n{line}" if text else line
