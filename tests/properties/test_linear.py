"""No pattern of the package takes time that grows faster than the text that it is given."""

import re

import pytest

import foldline
from tests.linearity import Use, patterns_of, slow_pump


PATTERNS = patterns_of(foldline)


@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_no_pattern_is_worse_than_linear(name: str) -> None:
    """Each pattern is tried with its own literals, repeated."""
    assert slow_pump(PATTERNS[name]) is None


@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_no_group_is_repeated_possessively(name: str) -> None:
    """Before Python 3.11.5 such a group loses its place where it does not match again."""
    use = PATTERNS[name]
    pattern = use if isinstance(use, re.Pattern) else use.__self__

    assert not re.search(r"(?<!\\)\)(?:[*+?]|\{[\d,]+\})\+", str(pattern.pattern))


SLOW: dict[str, re.Pattern[str] | Use] = {
    "tokens": re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"),
    "entries of a docstring": re.compile(r"\*{0,2}(\w+)\s*(?:\(.*?\))?\s*:(?:\s+|$)(.*)").fullmatch,
    "quoted values": re.compile(r""" (['"]).*\1(?= - at |$)""", re.DOTALL),
    "last lines": re.compile(r"(?:=+ (?:.* )?\d+ (?:failed|errors?)\b.* in \d|npm error )").match,
    "comments": re.compile(r"^\s*--.*\n", re.MULTILINE),
}
"""Shapes that earlier versions had, used as they were."""


@pytest.mark.parametrize("name", SLOW)
def test_a_slow_pattern_is_found(name: str) -> None:
    """What is tried is enough to find every pattern that was slow once."""
    # The short text may be measured too long while other programs run.
    assert any(slow_pump(SLOW[name]) is not None for _ in range(5))
