"""A summary is not the next answer of the conversation."""

import pytest

from foldline.history.messages import Message
from foldline.reduction.contract import defects
from foldline.reduction.request import SummaryRequest


REQUEST = SummaryRequest(messages=(Message.user("Trains to Lisbon."),), prompt="p", budget=500)
CARRIES_ON = "The text carries the conversation on instead of summarizing it."


def judge(text: str) -> tuple[str, ...]:
    return defects(text, REQUEST, tokens=20, room=1000)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I’m so sorry – that train is full.",
        "Sorry, I cannot do that.",
        "Sure! The train leaves at nine.",
        "Certainly, here is the timetable.",
        "Of course. The train leaves at nine.",
        "Hello! How can I help you today?",
        "As an AI language model, I have no timetable.",
        "I can't help with that request.",
        "What would you like to know about the trains?",
        "The train leaves at nine. Would you like me to book a seat?",
        "The train leaves at nine.\n\nShall I book a seat for you?",
        "The train leaves at nine. Let me know if you need anything else!",
        "Is there anything else I can do for you?",
    ],
)
def test_the_next_answer_is_refused(text: str) -> None:
    """
    How an assistant begins, refuses or ends an answer is known, and the defect says what it is.
    """
    assert judge(text) == (CARRIES_ON,)


@pytest.mark.parametrize(
    "text",
    [
        "The user asked for trains to Lisbon; the assistant said sorry and offered a bus.",
        "Sure Start Ltd. wants a train to Lisbon.",
        "The user wants trains to Lisbon. Open: which day?",
        "Certain trains to Lisbon are full.",
        "Hello World was written in Python; trains to Lisbon come next.",
        "Trains to Lisbon were found.\n\n## Last said\n- A: Would you like me to book a seat?",
        "- the assistant asked: what would you like to know?",
        "The user said: I'm sorry for being late.",
    ],
)
def test_a_summary_may_tell_of_answers(text: str) -> None:
    """What somebody said may stand in a summary, in its own words or as a quoted line."""
    assert judge(text) == ()
