"""A summary is not the next answer of the conversation."""

from time import process_time

import pytest

from foldline.history.messages import Message
from foldline.reduction.contract import cleaned, defects
from foldline.reduction.request import SummaryRequest


REQUEST = SummaryRequest(messages=(Message.user("Trains to Lisbon."),), prompt="p", budget=500)
CONTINUES = "The text continues the conversation instead of summarizing it."


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
    assert judge(text) == (CONTINUES,)


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


@pytest.mark.parametrize(
    "literal",
    [
        "https://www.", "a@b.", "a@b-", "1d2", "p1dt1h", "10x", "aaaaaaaa-bbbb-", "A1B2C3", "a1 ",
        "would you like ", "let me know if ", "shall i ", "sure ", "[redacted a", "&amp;", "\\u0041",
        "\\\\", "<tool_call", '{ "name"', "?", " ", "\0", "\ud800",
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["", "!", "x"])
def test_time_grows_with_the_length(literal: str, end: str) -> None:
    """Four times as much of what the patterns look for takes about four times as long."""

    def seconds(length: int) -> float:
        text = literal * (length // len(literal)) + end
        asked = SummaryRequest(messages=(Message.user(text),), prompt="p", budget=10**9)
        times = []
        for _ in range(3):
            start = process_time()
            defects(text, asked, tokens=1, room=10**9)
            defects("code AB12CD34EF", asked, tokens=1, room=10**9)
            cleaned(text)
            times.append(process_time() - start)
        return min(times)

    assert seconds(40_000) <= 10 * seconds(10_000) + 0.01
