"""What only asks is told from what states something, whatever stands around the question mark."""

import pytest

from foldline.reduction.statements import unasked
from tests.linearity import is_linear


@pytest.mark.parametrize(
    "text",
    [
        "What are your opening hours?",
        "What are your opening hours? :)",
        "Is it there?! 🙏",
        "Do you ship to Norway? (the white one)",
        "Habt ihr Lampen?\nLG Nora",
        "Is it dimmable?\nBest regards, Nora",
        "Is it dimmable?\nGrüße",
    ],
)
def test_nothing_is_left_of_a_question(text: str) -> None:
    """A smile, an aside or a greeting after the mark says no more than the question does."""
    assert unasked(text).strip() == ""


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Is it there? Send it to Oslo.", "Send it to Oslo."),
        ("Is it there?\nCancel it.", "Cancel it."),
        ("Is it R-55? :)", "Is it R-55? :)"),
        ("Best take the red one. Or not?", "Best take the red one."),
        ("I take it (the white one)", "I take it (the white one)"),
        ("Thanks Nora", "Thanks Nora"),
    ],
)
def test_what_is_stated_stays(text: str, left: str) -> None:
    """An order or a figure beside a question is kept, and so is a text without any question."""
    assert unasked(text).strip() == left


@pytest.mark.parametrize("unit", ["? ", "?(", "Is it? (so) ", "best, "])
def test_linear(unit: str) -> None:
    """A long text takes time that grows with its length."""
    assert is_linear(unasked, "Is it?", unit)
