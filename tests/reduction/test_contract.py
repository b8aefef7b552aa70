"""What a summary must be."""

import pytest

from foldline.history.messages import Message
from foldline.history.parts import (
    BlobPart,
    FilePart,
    GenericPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from foldline.history.tokens import TokenEstimator, count_message
from foldline.reduction.contract import reviewed
from foldline.reduction.provenance import REDACTED
from foldline.reduction.request import SummaryRequest
from foldline.reduction.sendable import cleaned
from tests.linearity import is_linear


COUNTER = TokenEstimator()
LONG = "We talked about the booking and the weather for quite a while. " * 10


def request(*messages: Message, earlier: tuple[str, ...] = ()) -> SummaryRequest:
    return SummaryRequest(messages=messages, earlier=earlier, prompt="p", budget=100)


def defects(text: str, asked: SummaryRequest, *, tokens: int, room: int) -> tuple[str, ...]:
    return reviewed(text, asked, count=lambda _: tokens, room=room).defects


def judge(text: str, asked: SummaryRequest) -> tuple[str, ...]:
    earlier = sum(COUNTER.count(one) for one in asked.earlier)
    source = earlier + sum(count_message(message, COUNTER) for message in asked.messages)
    return defects(text, asked, tokens=COUNTER.count(text), room=source)


def test_a_plain_summary_has_no_defects() -> None:
    """A shorter text that names only what was said passes."""
    source = request(Message.user(LONG + "My order is AB12CD34."))

    assert judge("They talked about order AB12CD34.", source) == ()


@pytest.mark.parametrize("text", ["", "  \n ", "\t"])
def test_an_empty_text_is_refused(text: str) -> None:
    """Nothing cannot stand for something."""
    assert judge(text, request(Message.user(LONG))) == ("The text is empty.",)


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "look_up", "arguments": {}}',
        "<tool_call>look_up</tool_call>",
        '{"tool_calls":[{"name":"x"}]}',
        ' <invoke name="x">',
        '{"name": "look_up"}',
        '{"action": "look_up", "action_input": {}}',
    ],
)
def test_a_tool_call_is_refused(text: str) -> None:
    """A summarizer that calls a tool has not written a summary."""
    assert "The text is a tool call, not a summary." in judge(text, request(Message.user(LONG)))


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "the booking", "goal": "a trip"}',
        '{"name": "Ann", "goal": "a trip"}',
        '{"action": "they talked about it", "open": "none"}',
    ],
)
def test_a_record_as_json_is_no_tool_call(text: str) -> None:
    """A name of something, without arguments, or a sentence calls nothing."""
    assert judge(text, request(Message.user(LONG))) == ()


def test_a_text_as_long_as_its_source_is_refused() -> None:
    """The defect names both sizes, so that a retry knows what to aim at."""
    (fault,) = judge(LONG, request(Message.user("short")))

    assert f"has {COUNTER.count(LONG)} tokens" in fault


@pytest.mark.parametrize(
    "name",
    [
        "ZX98YW765",
        "mail@example.org",
        "https://example.org/a",
        "9f1c2d3e-aaaa-4bbb-8ccc-123456789abc",
        "12345678-1234-4234-8234-123456789abc",
        "abcdefab12345678",
        "ZFA04Y",
        "订单AB12CD34已",
        "http://localhost.evil.example.com/x",
        "http://localhost:80@evil.example.com/x",
        "http://localhost@evil.example.com",
        "http://127.0.0.100/x",
    ],
)
def test_an_invented_name_is_refused(name: str) -> None:
    """An identifier that the conversation does not hold is an invention, and is not repeated."""
    (fault,) = judge(f"They agreed on {name}.", request(Message.user(LONG)))

    assert fault.startswith("1 of 1 statements have names, numbers or dates that the conversation")
    assert name not in fault


@pytest.mark.parametrize(
    "text",
    [
        "the 20-exchange window",
        "utf-8 and python3",
        "well-known things, and/or read/write",
        "utf8mb4, mp3 and 50-60 %",
        "after 1d12h30m, at 10am, on the 3rd",
        "http://localhost:8080/start and http://127.0.0.1/",
        "http://localhost, https://localhost?x=1",
        "a box of 10x20x30cm, 1920x1080p60",
        "12.5 and 0.25 at 14:30",
        "e.g. this and design.After, i.e. (see above)",
    ],
)
def test_ordinary_words_are_no_inventions(text: str) -> None:
    """Words, small numbers, sizes, times of day and durations may be written in a new way."""
    assert judge(text, request(Message.user(LONG))) == ()


def test_names_may_come_from_any_part() -> None:
    """Speakers, calls, arguments, answers, reasoning and unknown parts are all read."""
    messages = (
        Message(role="user", parts=(TextPart(LONG),), name="speaker-AA111"),
        Message.assistant(tool_calls=[ToolCallPart("call-BB222", "tool-CC333", '"arg-DD444"')]),
        Message.tool("call-BB222", "result-EE555"),
        Message(
            role="tool",
            parts=(
                ToolCallResponsePart(
                    "call-FF666", (TextPart("inner-GG777"), BlobPart("image", "image/png", "AA"))
                ),
            ),
        ),
        Message(role="assistant", parts=(ReasoningPart("think-HH888"),)),
        Message(role="assistant", parts=(GenericPart("x", '"data-II999"'),)),
        Message(role="user", parts=(UriPart("image", "https://example.org/KK111"),)),
        Message(role="user", parts=(FilePart("document", "file-LL222"),)),
        Message.assistant(tool_calls=[ToolCallPart("c", "t", '"https:\\/\\/example.org\\/b"')]),
    )
    text = (
        "speaker-AA111 call-BB222 tool-CC333 arg-DD444 result-EE555 call-FF666 inner-GG777 "
        "think-HH888 data-II999 before-JJ000 "
        "https://example.org/KK111 file-LL222 https://example.org/b"
    )

    assert judge(text, request(*messages, earlier=("before-JJ000",))) == ()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (
            r'{"url":"https://api.example.com/v1/items?a=1\u0026b=22"}',
            "https://api.example.com/v1/items?a=1&b=22",
        ),
        (r'{"email":"bob\u002Bx1@example.com"}', "bob+x1@example.com"),
        (r'[{"x":["https://ex.com/caf\u00e9"], "n": 1}]', "https://ex.com/café"),
        (r'{"x":"C:\\new\\AB12CD34"} not JSON', "AB12CD34"),
        (r'{"x":"{\"y\":\"bob\\u002Bx1@example.com\"}"}', "bob+x1@example.com"),
        (r'{"x":"see https:\/\/ex.com\/a\u003Fb=1 and th', "https://ex.com/a?b=1"),
    ],
)
def test_what_escapes_hide_is_read_too(arguments: str, name: str) -> None:
    """An address that JSON writes with escapes is in the conversation all the same."""
    call = Message.assistant(tool_calls=[ToolCallPart("c", "t", arguments)])
    answer = Message.tool("c", arguments)

    assert judge(f"They used {name}.", request(Message.user(LONG), call)) == ()
    assert judge(f"They used {name}.", request(Message.user(LONG), answer)) == ()


def test_what_was_redacted_is_no_invention() -> None:
    """What is left of an address around a secret is in no source, and not an invention either."""
    marker = REDACTED.format("token")
    text = f"See https://hooks.example.org/{marker}/x9y8z7 and https://bob:{marker}@b.example.org"

    assert judge(text, request(Message.user(LONG))) == ()
    assert len(judge(f"{text} and ZX98YW765.", request(Message.user(LONG)))) == 1


@pytest.mark.parametrize(
    "written",
    [
        "http://example.org/a/",
        "**https://www.example.org/a**, or https://EXAMPLE.org/a.",
        "写给_ann@example.org_。看https://example.org/a。",
        "DE12AB34CD",
        "12345678-1234-4234-8234-123456789abc",
        "9F1C2D3EAAAA4BBB8CCC123456789ABC",
    ],
)
def test_names_may_be_dressed_otherwise(written: str) -> None:
    """Another scheme, case, mark around a name or grouping of its characters is no invention."""
    source = Message.user(
        LONG + "https://example.org/a ann@example.org DE12 AB34 CD "
        "12345678123442348234123456789abc 9f1c2d3e-aaaa-4bbb-8ccc-123456789abc"
    )

    assert judge(written, request(source)) == ()


def test_names_of_the_instruction_are_no_inventions() -> None:
    """What the prompt names, as a person to write for or a place to link to, was not made up."""
    asked = SummaryRequest(
        messages=(Message.user(LONG),),
        prompt="Write to ann@example.org and link https://example.org/AB12CD34.",
        budget=100,
    )

    assert judge("For ann@example.org: see https://example.org/AB12CD34.", asked) == ()


def test_a_text_may_be_a_quarter_over_its_budget() -> None:
    """The defect names what it has and what it should have."""
    asked = SummaryRequest(messages=(), prompt="", budget=100)

    assert defects("text", asked, tokens=125, room=1000) == ()
    assert defects("text", asked, tokens=126, room=1000) == (
        "The text has 126 tokens; it has to keep to 100.",
    )
    assert len(defects("text", asked, tokens=126, room=120)) == 1


def test_cleaning_removes_what_no_request_carries() -> None:
    """NUL goes, a lone surrogate becomes a question mark, and the edges are trimmed."""
    assert cleaned(" a\0b\ud800c \n") == "ab?c"


CONTINUES = "The text continues the conversation instead of summarizing it."


def judge_answer(text: str) -> tuple[str, ...]:
    return defects(text, request(Message.user("Trains to Lisbon.")), tokens=20, room=1000)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I’m so sorry – that train is full.",
        "Sorry, I cannot do that.",
        "Sure! The train leaves at nine.",
        "Hello! How can I help you today?",
        "As an AI language model, I have no timetable.",
        "I can't help with that request.",
        "What would you like to know about the trains?",
        "The train leaves at nine. Would you like me to book a seat?",
        "The train leaves at nine.\n\nShall I book a seat for you?",
        "The train leaves at nine. Let me know if you need anything else!",
        "Is there anything else I can do for you?",
        "The train leaves at nine. Safe travels!",
        "Ich habe den Zug gebucht, wie Sie wollten.",
        "Der Zug fährt um neun, und er bringt Ihnen mehr Zeit.",
    ],
)
def test_the_next_answer_is_refused(text: str) -> None:
    """Who speaks to somebody, or of himself, answers; what has neither may be a record."""
    assert judge_answer(text) == (CONTINUES,)


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
        "Trains to Lisbon are slow since the line is I/O bound, i.e. full.",
        "Trains to Lisbon, as of version 2: one is late, and the seats for you/me are gone.",
        "Trains to Lisbon were found. My next step is a seat.",
        "You asked me to find trains to Lisbon. I found two.",
        "Trains to Lisbon. Still to be found: a seat by the window!",
    ],
)
def test_a_summary_may_tell_of_answers(text: str) -> None:
    """What somebody said may stand in a summary, in its own words or as a quoted line."""
    assert judge_answer(text) == ()


def test_who_tells_of_others_in_german_addresses_nobody() -> None:
    """Only with a capital inside of a sentence they are a polite you."""
    text = "Der Zug fährt um neun. Die Gäste haben ihre Karten, die Bahn schickt sie ihnen."

    assert (
        defects(text, request(Message.user("Züge nach Lissabon, um neun.")), tokens=20, room=1000)
        == ()
    )


@pytest.mark.parametrize(
    "literal",
    [
        "https://www.", "a@b.", "1d2", "10x", "aaaaaaaa-bbbb-", "A1B2C3", "a1 ",
        "would you like ", "let me know if ", "sure ", "[redacted a", "\\u0041", "\\\\",
        "<tool_call", '{ "name"', "?", " ", "\0", "\ud800",
    ],
)  # fmt: skip
def test_time_grows_with_the_length(literal: str) -> None:
    """Four times as much of what the patterns look for takes about four times as long."""

    def check(text: str) -> None:
        asked = SummaryRequest(messages=(Message.user(text),), prompt="p", budget=10**9)
        for said in (f"{text}!", "code AB12CD34EF"):
            defects(cleaned(said), asked, tokens=1, room=10**9)

    assert is_linear(check, "", literal)


TOLD = "The user asked for trains to Lisbon. She saw two, and chose the first."


@pytest.mark.parametrize(
    "opening",
    [
        "Sure, here's a summary of the conversation so far:\n\n",
        "Let me summarize the conversation:\n\n",
        "Okay. Summary: ",
        "I'll summarize the conversation below.\n\n",
        "Sure!\n\n**Summary:**\n",
    ],
)
def test_what_only_announces_a_summary_is_cut_off(opening: str) -> None:
    """The rest is judged without it."""
    asked = request(Message.user("Trains to Lisbon."))
    review = reviewed(opening + TOLD, asked, count=len, room=1000)

    assert (review.defects, review.text, review.tokens) == ((), TOLD, len(TOLD))
    assert judge_answer(opening + "The train leaves at nine. Safe travels!") == (CONTINUES,)
    assert judge_answer("Sure, here's a summary of trains to Lisbon for you. Two leave.") == (
        CONTINUES,
    )


@pytest.mark.parametrize(
    "ending",
    [
        "Next I'll close the case.",
        "Now we wait for the customer.",
        "Could you please provide your user ID was the first question.",
        "Then we should now close the case.",
        "Open question: should I refund the difference?",
        "What I'll do next: book the train, then write a mail.",
        "**Open questions:** shall we book it?",
    ],
)
def test_who_has_told_may_say_what_comes_next(ending: str) -> None:
    """A last sentence about the next step, or an open question under its label, makes no answer."""
    assert judge_answer(f"{TOLD} {ending}") == ()


@pytest.mark.parametrize(
    "text",
    [
        f"{TOLD} Should I refund the difference?",
        f"{TOLD} Now let's close the case.",
        f"{TOLD} Next: would you like me to close the case?",
        "The train leaves at nine. Next I'll close the case.",
        "The customer asked for a train at nine. I'll start with the seat.",
    ],
)
def test_who_asks_or_goes_on_still_answers(text: str) -> None:
    """Nor is it enough to name the customer once."""
    assert judge_answer(text) == (CONTINUES,)


def test_an_invented_statement_is_left_out() -> None:
    """The rest of the text stays, and is counted again."""
    asked = request(Message.user(LONG + "My order is AB12CD34."))
    text = "They talked about order AB12CD34. It goes to ZX98YW765. The weather was spoken of."
    review = reviewed(text, asked, count=COUNTER.count, room=200)
    left = "They talked about order AB12CD34. The weather was spoken of."

    assert (review.text, review.defects, review.dropped) == (left, (), 1)
    assert review.tokens == COUNTER.count(left)


def test_a_text_with_many_inventions_is_refused() -> None:
    """More than two, and more than a third of all: the others are not trusted either."""
    asked = request(Message.user(LONG))
    bad = "Order AB12CD34. Order AB12CD35. Order AB12CD36."
    good = " Weather it was. Booking it was. The boats. The birds. The bees. The ants."

    (fault,) = judge(f"{bad} Weather.", asked)
    assert fault.startswith("3 of 4 statements have names, numbers or dates that the conversation")
    assert reviewed(bad + good, asked, count=len, room=9999).dropped == 3
    assert reviewed(bad[:32] + good[:16], asked, count=len, room=9999).dropped == 2


def test_what_code_copied_is_not_judged() -> None:
    """A text by code has to be shorter than its source and is else taken as it is."""
    asked = request(Message.user(LONG))
    text = "Sure! Order ZX98YW765."

    assert reviewed(text, asked, count=len, room=99, by_code=True).defects == ()
    assert reviewed(text, asked, count=len, room=9, by_code=True).defects != ()
    assert reviewed("", asked, count=len, room=9, by_code=True).defects != ()
