"""What a docstring says of a function and of its parameters: Google, NumPy or Sphinx."""

import re
from collections.abc import Iterator, Mapping, Sequence
from inspect import cleandoc
from itertools import pairwise

from msgspec import Struct


__all__ = ["Docstring", "read_docstring"]


class Docstring(Struct, frozen=True, kw_only=True):
    """A docstring, taken apart."""

    description: str
    """What stands before the first section."""

    parameters: Mapping[str, str]
    """What is said of each parameter, in one line."""


_GOOGLE = re.compile(
    r"(?P<parameters>Args|Arguments|Params|Parameters|(?:Keyword|Other) (?:Args|Arguments|Parameters))"
    r":\s*|(?:Attributes|Examples?|Notes?|Raises|References|Returns?|See Also|Todo|Warnings?|Warns"
    r"|Yields?):\s*"
)
_UNDERLINE = re.compile(r"-{3,}\s*")
_NUMPY = re.compile(r"(?:Other )?Parameters\s*")
_FIELD = re.compile(r":(?:[a-z]+)(?: [^:\n]*)?:")
_GOOGLE_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\(.*?\))?\s*:(?:\s+|$)(.*)")
_NUMPY_ENTRY = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?")
_SPHINX_ENTRY = re.compile(
    r":(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)"
)


def read_docstring(text: str) -> Docstring:
    """Return what *text* says, in whichever of the three styles it is written."""
    lines = cleandoc(text).splitlines()
    starts = [place for place in range(len(lines)) if _begins_section(lines, place)]
    end = starts[0] if starts else len(lines)
    parameters: dict[str, str] = {}
    for start, stop in pairwise([*starts, len(lines)]):
        for names, said in _entries(lines[start:stop]):
            parameters.update(dict.fromkeys(names, said))
    return Docstring(description="\n".join(lines[:end]).strip(), parameters=parameters)


def _begins_section(lines: Sequence[str], place: int) -> bool:
    line = lines[place]
    after = lines[place + 1] if place + 1 < len(lines) else ""
    if _UNDERLINE.fullmatch(after):
        return bool(line.strip())
    return bool(_GOOGLE.fullmatch(line) or _FIELD.match(line))


def _entries(section: Sequence[str]) -> Iterator[tuple[list[str], str]]:
    """
    Give the names and the text of each entry of *section*; none where it is not of parameters.
    """
    first, *rest = section
    google = _GOOGLE.fullmatch(first)
    if _FIELD.match(first):
        yield from _read([first, *(line.strip() for line in rest)], _SPHINX_ENTRY)
    elif google is not None and google["parameters"]:
        yield from _read(_indented(rest), _GOOGLE_ENTRY)
    elif _NUMPY.fullmatch(first):
        yield from _read(rest[1:], _NUMPY_ENTRY)


def _indented(lines: Sequence[str]) -> list[str]:
    """Return the lines that are moved in, as far as the first is, up to one that is not."""
    filled = [line for line in lines if line.strip()]
    depth = len(filled[0]) - len(filled[0].lstrip()) if filled else 0
    inside: list[str] = []
    for line in filled:
        if not depth or line[:depth].strip():
            break
        inside.append(line[depth:])
    return inside


def _read(lines: Sequence[str], entry: re.Pattern[str]) -> Iterator[tuple[list[str], str]]:
    names: list[str] = []
    said: list[str] = []
    for line in lines:
        begun = entry.fullmatch(line)
        if begun is None:
            said.append(line.strip())
            continue
        if names:
            yield names, " ".join(filter(None, said))
        names = re.findall(r"\w+", begun[1])
        said = [begun[2].strip()] if entry.groups > 1 else []
    if names:
        yield names, " ".join(filter(None, said))
