"""The single statements of a text."""

import pytest

from foldline.reduction.statements import kept, statements
from tests.linearity import is_linear


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One is here. Two is there! Is three?", ["One is here. ", "Two is there! ", "Is three?"]),
        ("- One. Two.\n2. Three. Four.", ["- One. Two.", "2. Three. Four."]),
        ("## Aims\n\n| a. B | c. D |\n---", ["## Aims", "| a. B | c. D |"]),
        ("They met J. Smith at 3.5 km, e.g. there.", ["They met J. Smith at 3.5 km, e.g. there."]),
        ('He said "no." Then he left.', ['He said "no." ', "Then he left."]),
        ("他们谈了。后来没有。", ["他们谈了。", "后来没有。"]),
        ("...\n\n", []),
    ],
)
def test_a_line_of_a_list_or_a_sentence_is_a_statement(text: str, found: list[str]) -> None:
    """A list line, a row and a heading count whole; prose counts by its sentences in any script."""
    assert statements(text) == found


def test_what_is_bad_goes_alone() -> None:
    """A bad line goes with its break, a bad sentence leaves the rest of its line, headings stay."""
    text = "# Aims\n- bad one\n- good\n\nGood here. A bad one. Good there.\n\nbad end"
    left = kept(text, lambda one: "bad" in one)

    assert left.text == "# Aims\n- good\n\nGood here. Good there."
    assert (left.statements, left.dropped) == (7, 3)
    assert kept("It is bad. Good bees. A bad.", lambda one: "bad" in one).text == "Good bees."


@pytest.mark.parametrize("unit", ["A. ", "- a\n", '." ', "。", " a. B", "\n", "1. "])
def test_time_grows_with_the_length(unit: str) -> None:
    """Four times as much text takes about four times as long."""
    assert is_linear(lambda text: kept(text, lambda one: "1" in one), "", unit)
