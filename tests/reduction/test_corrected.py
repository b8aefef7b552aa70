"""What the user has corrected, and summaries that know only what he said before."""

import pytest

from foldline.reduction.corrected import Corrected
from tests.linearity import is_linear


CASES = [
    (
        ["A member counts as gone after 30 days.", "The board uses 45 days. Redo it with 45."],
        "A member counts as gone after 30 days.",
        "A member counts as gone after 45 days, no longer 30 days.",
    ),
    (
        ["r4 is parking, 24 dollars.", "Oh, the parking was 42, I mixed up the digits."],
        "The receipts hold parking, 24 dollars.",
        "The receipts hold parking, 42.00 dollars, corrected from 24 dollars.",
    ),
    (
        ["Come on Monday.", "No, sorry, Wednesday."],
        "The technician comes on Monday.",
        "The technician comes on Wednesday, not on Monday.",
    ),
    (
        ["Refund the kettle.", "Then exchange it rather than refund it."],
        "The refund of the kettle is next.",
        "The refund of the kettle became an exchange.",
    ),
    (
        ["返金してください。", "返金ではなく、交換してください。"],
        "返金の手続きを行う。",
        "返金は取り消され、交換になった。",
    ),
]  # fmt: skip


def test_what_one_sentence_names_is_compared() -> None:
    """Which of two values in one sentence is the new one cannot be told by their order."""
    typed = ["Petra wants oars of 290 cm, not oars of 280 cm as I said."]

    assert not Corrected(typed).is_left_by("The oars get 290 cm.", "The oars get 290 cm.")


@pytest.mark.parametrize(("typed", "old", "new"), CASES)
def test_the_old_value_alone_is_left_out(typed: list[str], old: str, new: str) -> None:
    """What a summary tells beside the new value stays, and what was said before it was corrected."""
    assert Corrected(typed).is_left_by(old, old)
    assert not Corrected(typed).is_left_by(new, new)
    assert not Corrected(typed).is_left_by(old, f"{old} {new}")
    assert not Corrected(typed[:1]).is_left_by(old, old)


def test_what_is_said_again_is_right_again() -> None:
    """A value or a wish to which the user returns is no old one."""
    typed, old, _ = CASES[0]
    assert not Corrected([*typed, "Use 30 days."]).is_left_by(old, old)

    typed, old, _ = CASES[3]
    assert not Corrected([*typed, "Well, refund it."]).is_left_by(old, old)


def test_two_things_have_two_values() -> None:
    """Sums of money and days of one month are of many things; and who says a lot corrects nothing."""
    sums = ["The hall costs 140 euros.", "No, wait, buy cakes for 60 euros."]
    days = ["We sing on 3 May.", "Oh, and the poster has to be done on 1 May."]
    long = [CASES[0][0][0], CASES[0][0][1] + " The board met again." * 20]

    assert not Corrected(sums).is_left_by("The hall costs 140 euros.", "140 euros")
    assert not Corrected(days).is_left_by("They sing on 3 May.", "3 May")
    assert not Corrected(long).is_left_by(CASES[0][1], CASES[0][1])


@pytest.mark.parametrize("unit", ["30 days ", "instead of a ", "no 1.1 ", "ではなく"])
def test_time_grows_with_the_length(unit: str) -> None:
    """Four times as long a summary takes about four times as long."""
    corrected = Corrected(CASES[0][0])

    assert is_linear(lambda text: corrected.is_left_by(text, text), "", unit)
