"""Numbers in words, in digits."""

import pytest

from foldline.reduction.dates import years_of
from foldline.reduction.numerals import around_digits, in_digits, numbers_of
from tests.linearity import is_linear


@pytest.mark.parametrize(
    ("said", "digits"),
    [
        ("at most twelve and a half euro", "12.5"), ("upwards of seventeen fifty per piece", "17.50"),
        ("about eleven ninety nine .", "11.99"), ("only twelve euro fifty", "12.50"),
        ("back in nineteen ninety four", "1994"), ("two thousand five hundred and twenty three units", "2523"),
        ("a hundred and forty", "140"), ("three point one four", "3.14"), ("three hundred thousand", "300000"),
        ("call five five five one two oh nine", "5551209"), ("in july twenty - fifth .", "july 25"),
        ("the twenty first of may", "21 of may"), ("march third", "march 3"), ("one million two hundred", "1000200"),
    ],
)  # fmt: skip
def test_what_is_said_in_words(said: str, digits: str) -> None:
    """A number is told in digits, between the words around it, so that a day has its month."""
    assert digits in in_digits(said)


@pytest.mark.parametrize("said", ["one of them", "half a minute", "the point is", "stone ten", ""])
def test_small_counts_are_left_alone(said: str) -> None:
    """Nobody looks for a number of one or two digits."""
    assert not in_digits(said).strip()


def test_what_has_no_digits_has_no_number_and_no_day() -> None:
    """Of a long text a tenth is read, and each number and day in it."""
    said = (
        "1.5 million", "the 3rd and 4th of october, 2023", "september 30, 2024", "12,500", "7 月 9 日", "v1.9.3",
    )  # fmt: skip
    text = f" {'many words without any figure ' * 60}".join(said)
    read = "\n".join(around_digits(text))

    assert numbers_of(read) == numbers_of(text) >= {"1500000", "12500", "2023"}
    assert years_of(read) == years_of(text)
    assert {(10, 3), (10, 4), (9, 30), (7, 9)} <= years_of(text).keys()
    assert len(read) < len(text) / 10


@pytest.mark.parametrize(
    "unit", ["twenty ", "half - ", "one two ", "word ", "hundred and a ", "one euro "]
)
def test_time_grows_with_the_length(unit: str) -> None:
    """Four times as many words take about four times as long."""
    assert is_linear(in_digits, "", unit)
