"""The words of a text."""

import pytest

from foldline.reduction.language import words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Don’t stop, it's 'done'!", ["don't", "stop", "it's", "done"]),
        ("HAT136 a_b rock'n'roll 1st v2", ["a", "b", "rock'n", "roll"]),
        ("GRÖSSE—Straße ﬁ", ["grösse", "strasse", "fi"]),
        ("中文 text 日本x", ["中", "文", "text", "日", "本", "x"]),
        ("half \ud800 a pair", ["half", "a", "pair"]),
        ("no other", ["no", "other"]),
        ("", []),
    ],
)
def test_words(text: str, found: list[str]) -> None:
    """Words are runs of letters beside no digit; where no spaces are written, each character is one."""
    assert words(text) == found
