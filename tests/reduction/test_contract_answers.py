"""Answers in place of a summary that neither begin nor end by speaking to somebody, and their counterparts."""

import pytest

from foldline.history.messages import Message
from foldline.history.tokens import TokenEstimator, count_message
from foldline.reduction.contract import Review, reviewed
from foldline.reduction.request import DEFAULT_PROMPT, SummaryRequest
from foldline.reduction.speech import is_turn


COUNTER = TokenEstimator()
BEES = tuple(
    Message.assistant(text) if at % 2 else Message.user(text)
    for at, text in enumerate(
        (
            (
                "I bought two bee hives from Mr. Tolland in April, and I keep them behind the orchard. My sister Clara is "
                "allergic to bee venom, so nobody may open them on Sundays, when she visits."
            ),
            (
                "Two hives are a good start. Put a low hedge in front of the entrance, so that the bees climb before "
                "they reach the path. Keep an adrenaline pen in the kitchen, and write its expiry date on the door."
            ),
            (
                "The hedge is hazel and stands already. In the darker hive I saw many drones and hardly any eggs. The "
                "queen was marked with a blue dot, but I could not find her among nine frames."
            ),
            (
                "Many drones and few eggs point to an old queen or to none. Look for fresh eggs once more in four days. "
                "If there are none, unite the colonies with a sheet of newspaper between both boxes."
            ),
            (
                "There were none on Thursday. I united them with newspaper, and the paper is chewed through. The scale "
                "under the hive says 31 kilograms. When do I take the honey, and how do I treat mites?"
            ),
            (
                "Take the honey when two thirds of the cells are capped, here in the second half of July. Treat mites "
                "right afterwards with formic acid, on a day below 29 degrees, and leave a tray below the mesh."
            ),
            (
                "Formic acid is in the shed already, in the vaporizer of my grandfather. Two frames have wax moths, and "
                "their combs look like spider webs. A wasp nest hangs below the gutter, ten steps from the entrance."
            ),
            (
                "Melt down those two frames and put new foundation into them. Narrow the entrance to a finger's breadth "
                "against the wasps. The vaporizer needs a new wick, otherwise its dose is uneven."
            ),
            (
                "I borrowed an extractor from the club in Wexbury for July 18, and the jars come from my cousin. She "
                "wants labels with a linden leaf. What else should I prepare for that day?"
            ),
        )
    )
)
CONTINUES = ("The text continues the conversation instead of summarizing it.",)
ELSEWHERE = ("The text is about something else than the conversation.",)


def judge(text: str) -> Review:
    request = SummaryRequest(messages=BEES, prompt=DEFAULT_PROMPT, budget=600)
    room = sum(count_message(one, COUNTER) for one in request.messages)
    return reviewed(text, request, count=COUNTER.count, room=room)


@pytest.mark.parametrize(
    "text",
    [
        (
            "A warm kitchen matters most on July 18, since cold honey hardly leaves the extractor. Frames come from the "
            "hive before noon. Two buckets, a sieve and newspaper below them help. Jars stay dry, labels are last."
        ),
        (
            "**Before:** frames from the hive in the morning, buckets, sieve, water\n**During:** extractor slowly, each "
            "side of the frames in turn\n**After:** honey in jars after days, labels on the glass"
        ),
        (
            "The day goes best with a cousin or sister. One brushes bees from the frames, the other spins behind "
            "closed windows. Wasps smell it from afar, so speed helps, and honey rests before it goes into jars."
        ),
    ],
)
def test_an_answer_that_names_nobody_is_refused(text: str) -> None:
    """What says of nobody what he said or did needs more than half of its words from the source."""
    assert judge(text).defects == ELSEWHERE


@pytest.mark.parametrize(
    "text",
    [
        (
            "Two hives behind the orchard, united in one because the marked queen was gone; 31 kilograms. Nobody opens "
            "them on Sundays because Clara is allergic. Honey in the second half of July, formic acid afterwards."
        ),
        (
            "**Date:** extractor of the club in Wexbury on July 18\n**Jars:** from the cousin, labels with a linden leaf\n"
            "**Mites:** formic acid below 29 degrees"
        ),
        (
            "The user keeps bees, lost an elderly queen and merged both colonies with newspaper. Harvest in July follows "
            "with a borrowed extractor; preparations for that occasion are an open question."
        ),
        (
            "I advised on the missing queen, and listed signs of one that is old. I explained how colonies are united with "
            "newspaper and warned of formic acid on hot days. I have not responded to the request for July 18."
        ),
    ],
)
def test_a_summary_may_name_nobody_or_choose_its_words(text: str) -> None:
    """It has the words of the source, or says what a side said or did: either is enough."""
    review = judge(text)

    assert (review.defects, review.dropped) == ((), 0)


@pytest.mark.parametrize(
    "text",
    [
        (
            "The user keeps two hives and harvests on July 18. A fine plan! Warm combs make your work easier. Spread old "
            "sheets over the floor. The labels suit your jars."
        ),
        (
            "Summary: you have one strong colony now, an extractor and jars. The room should be warm. Give yourself a "
            "whole afternoon for it. Bees stay outside behind closed windows."
        ),
        (
            "The user united the colonies and borrowed an extractor. Good thinking! You can wipe your floor with warm "
            "water afterwards. Make sure that you tell your sister not to visit."
        ),
    ],
)
def test_who_tells_and_then_advises_answers(text: str) -> None:
    """What speaks to its reader in more than a quarter of its sentences is no record, however it begins."""
    assert judge(text).defects == CONTINUES


@pytest.mark.parametrize(
    "text",
    [
        (
            "The user keeps two hives. You told her to unite the colonies with newspaper, and she did. You have not yet "
            "answered what else to prepare for July 18."
        ),
        (
            "The user keeps hives behind the orchard. Her rule: do not open them on Sundays. Nothing keeps your sister "
            "from visiting, the user said. The honey is taken in July."
        ),
    ],
)
def test_a_handover_may_speak_of_what_was_done(text: str) -> None:
    """To tell the next one what he said, or what the user said of himself, is no advice."""
    assert judge(text).defects == ()


def test_two_accounts_of_oneself_are_enough_if_nobody_is_spoken_to() -> None:
    """Short notes of the assistant have no more; who speaks to somebody has to have told more."""
    notes = "I recommended to unite the colonies with newspaper, and the paper is chewed through. I named "
    notes += "the second half of July for the honey. What to prepare for July 18 is open."

    assert judge(notes).defects == ()
    assert judge(notes.replace("the honey", "your honey")).defects == CONTINUES


def test_what_is_not_told_yet_is_told_of() -> None:
    """That somebody has not answered yet is as much an account as that he did."""
    notes = "I recommended newspaper between the boxes. I have not yet answered what else to prepare for July 18."

    assert judge(notes).defects == ()


def test_a_colon_inside_of_a_sentence_labels_no_question() -> None:
    """A last question is open if its line has a label; elsewhere it is asked."""
    told = "Both colonies are united with newspaper. The extractor of the club in Wexbury is borrowed for July 18"

    assert judge(f"{told}. Which jars does the cousin send: round or square?").defects == CONTINUES
    assert judge(f"{told} at 9:30. Which jars does the cousin send?").defects == CONTINUES
    assert judge(f"{told}.\nOpen: which jars does the cousin send?").defects == ()
    assert (
        judge(f"{told} at 17 Uhr. Nächster Punkt: which jars does the cousin send?").defects == ()
    )
    assert judge(f"{told} at 17 Uhr. Sonst: which jars does the cousin send?").defects == CONTINUES


def test_a_cheer_ends_before_a_number() -> None:
    """What is left out of a sentence, such as a figure, does not join it to the one before."""
    cheer = "Great job on the hive! 31 kilograms before the second half of July is honey for many jars. Formic acid "
    cheer += "goes in after the extractor, and the linden leaf suits the labels."

    assert judge(cheer).defects == CONTINUES


def test_an_office_is_no_side() -> None:
    """Who sends somebody to the service of a company tells nothing of its customer."""
    text = "Once you have your jars, the customer service of the club in Wexbury helps with the extractor. They "
    text += "keep it for you until July 18."

    assert judge(text).defects == CONTINUES


def test_who_cheers_tells_of_nothing() -> None:
    """A first sentence with an exclamation mark is no account, though it has a word of one."""
    cheer = "Good discussion, everyone! I'm looking forward to the honey of the hives in July. Take the extractor of "
    cheer += "the club in Wexbury, and enjoy your newspaper."

    assert judge(cheer).defects == CONTINUES
    assert judge(f"{cheer.replace('!', '.')}").defects == ()


def test_the_parts_of_a_summary_speak_to_nobody() -> None:
    """Under two headings a question is open, and what "I" do is told."""
    notes = "## Goal\nHoney of both hives.\n\n## Status\nThe colonies are united with newspaper, and the extractor of the "
    notes += "club in Wexbury is there. I name the jars for July 18 later."

    assert judge(notes).defects == ()
    assert judge(notes.replace("## Status\n", "")).defects == CONTINUES


def test_who_names_a_side_with_an_article_before_it_tells() -> None:
    """In French the article is one word with what it stands before."""
    told = "L'utilisateur prépare le miel des deux ruches. Je cherche un extracteur avant juillet."

    assert not is_turn(told)
    assert is_turn(told.replace("L'utilisateur prépare", "On prépare"))
