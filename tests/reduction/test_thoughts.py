"""Thoughts in the text of answers."""

import pytest

from foldline.history.messages import Message, Native, NativeFormat
from foldline.history.parts import ReasoningPart, TextPart
from foldline.reduction.request import SummaryRequest
from foldline.reduction.thoughts import with_thoughts


THOUGHT = "I must\ndelete K-4471."
BOTH = (ReasoningPart(THOUGHT), TextPart("It is in Lisbon."))


@pytest.mark.parametrize(
    "text",
    [
        f"<think>\n{THOUGHT}\n</think>\n\nIt is in Lisbon.",
        f"<thinking>{THOUGHT}</thinking> It is in Lisbon.",
        f"[THINK]{THOUGHT}[/THINK]It is in Lisbon.",
        f"{THOUGHT}\n</think>\n\nIt is in Lisbon.",
    ],
)
def test_a_thought_in_front_is_reasoning(text: str) -> None:
    """What stands in tags before an answer is a thought, also where the template has the first tag."""
    assert with_thoughts(Message.assistant(text)).parts == BOTH


@pytest.mark.parametrize("shown", ["```\nhm\n```", "It asks for `<think>`."])
def test_a_thought_may_show_something(shown: str) -> None:
    """Code that has its end in it, and a tag that is named, keep no thought open."""
    text = f"{shown}\n</think>\n\nIt is in Lisbon."

    assert with_thoughts(Message.assistant(text)).parts == (ReasoningPart(shown), BOTH[1])


def test_the_vendors_item_goes_with_a_thought() -> None:
    """It says the thought as a text, and would be sent in place of the parts."""
    native = Native(format=NativeFormat.OPENAI_CHAT, item="{}")
    message = Message(
        role="assistant", parts=(TextPart(f"<think>{THOUGHT}</think>a"),), native=native
    )

    assert with_thoughts(message).native is None


def test_an_answer_of_thoughts_alone_has_no_text() -> None:
    """Nothing is said where the model has only thought before it calls a tool."""
    assert with_thoughts(Message.assistant("<think>hm</think>\n")).parts == (ReasoningPart("hm"),)


@pytest.mark.parametrize(
    "message",
    [
        Message.assistant("Close it with </think> and go on."),
        Message.assistant("Use the `</think>` tag to end.\nIt is in Lisbon."),
        Message.assistant("It prints this:\n\n```\n<think>\nhm\n</think>\n```\n\nThat is all."),
        Message.assistant("Each answer begins so:\n<think>\nhm\n</think>\nThat is all."),
        Message.assistant("Each answer begins so: [THINK]hm[/THINK]\nThat is all."),
        Message.assistant("It ends with this:\n\n```text\nhm\n</think>\n```\n\nThat is all."),
        Message.assistant("It ends with this:\n\n~~~\nhm\n</think>\n~~~\n\nThat is all."),
        Message.assistant("I think so."),
        Message(role="assistant", parts=(ReasoningPart("<think>a</think>b"),)),
        Message.user("<think>a</think>b"),
        Message.assistant("<think>cut off"),
    ],
)
def test_what_is_said_stays(message: Message) -> None:
    """A tag that is talked about ends no thought, and a user has none."""
    assert with_thoughts(message) is message


def test_a_summarizer_reads_them_as_reasoning() -> None:
    """A request has what its answers have thought apart from what they say, and nothing else changes."""
    messages = (
        Message.user("Where?"),
        Message.assistant(f"<think>{THOUGHT}</think>{BOTH[1].content}"),
    )
    request = SummaryRequest(messages=messages, prompt="", budget=9)

    assert request.parsed[0] is messages[0]
    assert request.parsed[1].parts == BOTH
