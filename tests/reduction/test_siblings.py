"""Short codes, numbers and days of the week that differ from what was said."""

import pytest

from foldline.history.messages import Message
from foldline.reduction.contract import reviewed
from foldline.reduction.provenance import Source
from foldline.reduction.request import SummaryRequest


SAID = (
    "Ticket EM-2 is due on Tuesday, at the end of Q2, in room B21 and room 14, before 2026-03-02. WP-03 to WP-06 are ours, and so is "
    "PR #3 of version 1.2. The ports 443, 8080 and 90 are open, the platform is Linux 6, and MX 50 is the contract. "
    "Take H-9 before L-2, and K-1 to 3. A range like SR-1 to SR-900 is no list, nor is ZZ-5 to ZZ-2."
)


def lacking(statement: str, said: str = SAID) -> bool:
    request = SummaryRequest(messages=(Message.user(said),), prompt="", budget=9)
    return bool(Source(request).lacking([statement]))


@pytest.mark.parametrize(
    "statement",
    [
        "EM-7 is open.", "It ends with Q3.", "They met in B12.", "They met in room 41.", "WP-07 is ours.", "See PR #8.", "The #8 was merged.",
        "It is version 2.1.", "The server is on port 80.", "The meeting was on Monday.", "Am Montag war es.", "C'était lundi.",
        "SR-5 is open.", "ZZ-3 is open.",
    ],
)  # fmt: skip
def test_another_one_of_a_kind_was_not_said(statement: str) -> None:
    """Letters, a noun or a mark that the source has with other digits only, and another day, are invented."""
    assert lacking(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "EM-2, B21 and Q2.", "WP-3, WP-04 and WP-5 are ours.", "WP3 is ours.", "K-3 and K2 are taken.", "MX-50 is the contract.", "The port 90 and port 443 are open.",
        "PR #3 of version 1.2.", "Am Dienstag war es.", "Monday, 2 March 2026", "On 2 March (Monday)", "On 2026-03-02, Monday", "See room 14.",
        # Of no kind that the source has.
        "It is UTF-8 text.", "P1 and F2 are keys.", "Pick seat 4 on floor 2.", "EM7 is another kind, Q-3 too.",
        # What a summary numbers itself.
        "Item #1 and step #2 are done.", "#4: the address", "- Q4. What is open?", "**B7** - the room",
        # No code and no day.
        "Q3/4 and EM-7/a may be read in several ways.", "It went from 4 to 50, 12 % of it.", "The sun shone on the mon.",
    ],
)  # fmt: skip
def test_what_a_summary_may_write_of_itself_stays(statement: str) -> None:
    """What was said in any form, what has no kin in the source, and what numbers a summary, are not invented."""
    assert not lacking(statement)


def test_a_version_may_be_written_short() -> None:
    """Version 3 is that of v3, and of no other letter."""
    said = "The current version is plan_v2.txt. Write v3 with that, and w4."

    assert not lacking("Version 3 is written.", said)
    assert lacking("Version 4 is written.", said)


def test_a_day_is_compared_with_days_only() -> None:
    """Where nobody names a day of the week, a summary may tell it from a date."""
    assert not lacking("It is due on Monday.", "It is due on 2 March 2026.")


def test_a_number_is_compared_with_marked_numbers_only() -> None:
    """Where nobody numbers with a mark, a summary may."""
    assert not lacking("See #4 of the list.", "There are a few items.")


def test_a_number_may_stand_far_after_its_noun() -> None:
    """What is numbered is known by the noun before it in its line."""
    said = f"{'The relay is old. ' * 9}The port on which it has been listening is 8080. {'It is slow. ' * 9}"

    assert lacking("It is on port 80.", said)
    assert not lacking("It is on port 8080.", said)


def test_only_the_statement_is_dropped() -> None:
    """The rest of a summary with one wrong code stays."""
    text = (
        "Ticket EM-7 is held in Lisbon.\nThe check for the parcel was scheduled by the assistant."
    )
    talk = Message.user(
        "Ticket EM-2 is held in Lisbon, please schedule the check for the parcel. " * 3
    )
    request = SummaryRequest(messages=(talk,), prompt="", budget=200)
    review = reviewed(text, request, count=lambda said: len(said) // 4, room=10**6)

    assert (review.defects, review.dropped) == ((), 1)
    assert "EM-7" not in review.text
    assert "scheduled" in review.text


BOOKED = (
    'Bookings HATHAT and UHDAHF, status: mailed. {\\"text\\": \\"\\\\nKXLMNO\\"} The REPORT is out.'
)


@pytest.mark.parametrize("code", ["HATHUT", "UHDAFH", "*HATHAR*", "`UHDAHE`"])
def test_a_code_of_letters_is_not_misspelled(code: str) -> None:
    """One letter of a booking's code that is another one, or in another place, makes an invented code."""
    assert lacking(f"The booking is {code}.", BOOKED)


@pytest.mark.parametrize(
    "statement",
    [
        "HATHAT, UHDAHF and KXLMNO.", "STATUS: FAILED", "REPORT and MAILED", "The other is QWERTZ.", "HATHUTS and SHATHAT are longer.",
        "HATHUT-B has more parts.", "A hathut.",
    ],
)  # fmt: skip
def test_words_in_capitals_and_other_codes_stay(statement: str) -> None:
    """What was said in any form, what is near to no code, and what is a part of a name, are not misspelled codes."""
    assert not lacking(statement, BOOKED)
