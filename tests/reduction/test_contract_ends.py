"""Texts that only look like a summary, by what is copied, what is left blank and how they end."""

import pytest

from foldline.history.messages import Message
from foldline.reduction.sparse import EMPTY
from foldline.reduction.undone import undone
from tests.reduction.talks import GOOD, TRAVEL
from tests.reduction.test_contract_faults import asked, judge
from tests.reduction.test_left_open import TALK, called


CUT = "The text ends before it is complete."
CALL = "The text is a tool call, not a summary."


def test_what_is_copied_from_all_over_is_a_copy() -> None:
    """Whole messages from several places are no summary of them."""
    said = [one.text for one in TRAVEL if one.text and one.role != "tool"]
    text = "\n".join((said[0], said[-1], said[2]))

    assert len(judge(text, asked()).defects) == 1
    assert not judge(f"{GOOD}\nThe user said: {said[-1]}", asked()).defects


def test_a_form_that_was_not_filled_in_is_empty() -> None:
    """Labels with nothing under any of them say nothing; one that has something does."""
    labels = (
        "Goal",
        "Decisions",
        "Reservations",
        "Identifiers",
        "Certificates",
        "Remaining",
        "Passengers",
    )
    blank = "\n".join(f"- {one}: [to be filled]" for one in labels)
    filled = blank.replace("[to be filled]", "move reservation KBUT8V to HAT094", 1)

    assert judge(blank, asked()).defects == (EMPTY,)
    assert not judge(f"{filled}\n{GOOD}", asked()).defects


@pytest.mark.parametrize("end", ["\n\n**Next steps**:", "\nOpen:\n", "\n\n## Next steps\n"])
def test_a_label_at_the_end_announces_more(end: str) -> None:
    """What would stand under the last label is missing."""
    assert judge(f"**Trip**: {' '.join(GOOD.split())}{end}", asked()).defects == (CUT,)


@pytest.mark.parametrize(
    "end",
    [
        "\n**Next** charge the card for the morning flight and confirm the seat",
        "\nNEXT — charge the card for the morning flight and confirm the seat",
    ],
)
def test_a_line_with_a_head_needs_no_full_stop(end: str) -> None:
    """A head in bold letters, or in capitals before a dash, makes an item."""
    assert not judge(" ".join(GOOD.split()) + end, asked()).defects


def test_a_paragraph_with_a_label_may_be_cut() -> None:
    """Several sentences after a label are prose, and the last one of it has an end."""
    text = f"Context: {' '.join(GOOD.split())}"

    assert not judge(text, asked()).defects
    assert judge(
        f"{text.rstrip('.')}. The user travels with a daughter who plays the violin in a", asked()
    ).defects == (CUT,)


def test_a_call_after_a_summary_is_a_call() -> None:
    """A model that goes on working at the end has not answered with a summary; who tells of a call has."""
    call = (
        '\n\n<tool_call>\n{"name": "get_reservation", "arguments": {"id": "KBUT8V"}}\n</tool_call>'
    )

    assert judge(GOOD + call, asked()).defects == (CALL,)
    assert not judge(f"{GOOD}{call}\nThat call was refused by the airline.", asked()).defects


def test_a_heading_may_be_underlined() -> None:
    """A line of nothing but equals signs is no mark around a record."""
    text = f"Summary\n=======\n{GOOD}"

    assert judge(text, asked()).text == text


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("It costs 2.1 million euros.", True),
        ("It is on the twenty-sixth of September.", True),
        ("It is on the twenty-second of May.", False),
    ],
)
def test_millions_and_days_in_words_have_a_source(line: str, *, missing: bool) -> None:
    """A number of two digits with a word for its zeros, and an ordinal of a month, are looked for."""
    review = judge(f"{GOOD}\n{line}", asked())

    assert (line not in review.text) == missing


def test_what_is_left_of_a_thing_is_not_the_thing() -> None:
    """Where a sentence ends with a number, the next one that leaves something open stands for itself."""
    talk = [
        *TALK[:4],
        *called("book_visit", "{}", "booked"),
        Message.assistant("The visit is booked for 13 to 17. I still have to print the poster."),
    ]

    assert not undone(["The visit was booked."], talk)
    assert undone(["The poster was printed."], talk)


def test_what_is_listed_as_done_in_one_line_is_read_item_by_item() -> None:
    """A heading tells that nothing is done, a pull request asks for nothing, and each number begins an item."""
    talk = [
        *TALK[:4],
        *called("edit_file", "{}", "edited"),
        Message.assistant("The loop is sorted now. The poster is missing."),
    ]
    item = "1. poster 2. pull request against main"

    assert undone(["## Done", item], talk) == {item}
    assert not undone(["## Open", item], talk)
    assert not undone(["## What was changed on the poster"], talk)
