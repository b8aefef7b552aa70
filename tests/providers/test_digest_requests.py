"""What a digest keeps of what the user asked for, and of what was said last."""

import pytest

from foldline.history.messages import Message, Role
from foldline.history.parts import ToolCallPart
from foldline.providers.digest.outline import STRIDE, Item, read_earlier, share_out
from foldline.providers.digest.prose import said_before
from foldline.providers.digest.requests import asks, offer_requests, offer_tail, requests_in
from foldline.providers.digest.span import Speech
from foldline.providers.digest.summarizer import write_digest
from foldline.reduction.record import Counts, Section, SummaryRecord
from foldline.reduction.request import SummaryRequest


def said(*texts: str, role: Role = "user") -> list[Speech]:
    return [Speech(place, role, text) for place, text in enumerate(texts)]


def in_words(text: str) -> int:
    return len(text.split())


def offered(*texts: str, room: int = 90) -> list[str]:
    requests = requests_in(said(*texts), prior=())
    items = offer_requests(requests, room=room, count=in_words)
    return [item.text for item in items]


@pytest.mark.parametrize(
    "text", ["Okay.", "Mm-hmm.", "No.", "Yes please.", "Thank you very much!", "👍", "Ja, danke."]
)
def test_small_talk_asks_for_nothing(text: str) -> None:
    """What only agrees, refuses or thanks takes no place among the requests, nor at the end."""
    assert not asks(text)
    assert offered("Book a flight.", text) == ["Book a flight."]
    last = offer_tail(said("Book a flight.", text), prior=(), detail=50)
    assert [item.text for item in last] == ["user: Book a flight."]


@pytest.mark.parametrize(
    "text", ["停止", "Option 2", "Yes, cancel it.", "Why?", "Book it, thanks."]
)
def test_a_short_request_asks(text: str) -> None:
    """However short a message is, what says more than yes is a request, in any language."""
    assert asks(text)


def test_the_newest_and_the_first_request_are_whole() -> None:
    """The newest comes first and the very first next, both whole; others have beginnings."""
    long = "word " * 60
    texts = offered(long + "alpha", "sell", long + "beta", "sell", "sell", long + "gamma", room=150)

    assert texts == [
        long + "gamma",
        long + "alpha",
        "sell",
        "word " * 39 + "…",
    ]


def test_whole_requests_share_their_room() -> None:
    """If both are too long each has half of the room, and a short one leaves the rest to the other."""
    long = "word " * 60

    assert [in_words(text) for text in offered(long + "a1", long + "b2", room=40)] == [20, 20]
    assert [in_words(text) for text in offered("sell", long + "b2", room=40)] == [39, 1]
    assert [in_words(text) for text in offered(long + "a1", "sell", room=40)] == [1, 39]
    assert offered("x" * 200, room=0) == []
    assert offered() == []


def test_requests_that_say_more_come_before_those_that_repeat() -> None:
    """Between the first and the newest, what repeats others comes last."""
    texts = offered(
        "Start now.", "Paint the door.", "Paint the door red.", "Sell the car.", "End it."
    )

    assert texts == [
        "End it.",
        "Start now.",
        "Paint the door red.",
        "Sell the car.",
        "Paint the door.",
    ]


DATA = '{"type": "message", "parts": [{"kind": "text", "content": "what they said"}]}'
LOG = "2025-12-09T00:20:16.036Z [worker-7] 0x7f3a: 503 /v1/jobs/8812 (1284 ms)"


@pytest.mark.parametrize("line", [DATA, LOG])
def test_of_data_in_a_request_the_beginning_is_shown(line: str) -> None:
    """Of lines of data or a log beside words the first one stands, cut like every long text."""
    [text] = offered("\n".join(["Why does this fail?", *[line + line] * 9, "It ran before."]))

    assert text.startswith("Why does this fail? ")
    assert text.endswith("… It ran before.")
    assert len(text) < 120


def test_a_request_of_data_alone_is_a_request() -> None:
    """Where no words stand beside the data it is shown as any other text."""
    table = "\n".join([DATA] * 3)

    assert offered(table) == [" ".join([DATA] * 3)]
    assert offered(f"Thanks!\n{table}") == [" ".join(["Thanks!", *[DATA] * 3])]


def test_written_requests_come_before_pasted_ones() -> None:
    """Among those that say most, data comes after what somebody wrote."""
    texts = offered("Start.", DATA, "Paint the wooden door red.", "Sell the old car.", "End.")

    assert texts[2:] == ["Paint the wooden door red.", "Sell the old car.", DATA]


def test_a_request_of_600_tokens_stands_whole_in_a_digest() -> None:
    """The first and the newest request are whole in a digest of 1,500 tokens, tool calls or not."""
    first = "Please rebuild the garden: " + ", ".join(f"bed {n}" for n in range(100)) + "."
    newest = "And now paint the fence, " + ", ".join(f"board {n}" for n in range(80)) + "."
    talk = [Message.assistant(f"Bed {n} needs more earth and two new plants.") for n in range(300)]
    messages = (Message.user(first), *talk, Message.user(newest), Message.user("Okay."))
    text = write_digest(SummaryRequest(messages=messages, prompt="", budget=1_500))

    assert f"\n- {first}\n" in text
    assert f"\n- {newest}\n" in text
    assert "Okay." not in text


def test_short_request_does_not_stand_for_a_long_talk() -> None:
    """A talk in which the user hardly speaks has more in its digest than what the user said."""
    talk = [Message.assistant(f"Bed {n} needs more earth and two new plants.") for n in range(30)]
    messages = (Message.user("What does the garden need?"), *talk)
    text = write_digest(SummaryRequest(messages=messages, prompt="", budget=500))

    assert "- What does the garden need?" in text
    assert "needs more earth" in text


def test_tail() -> None:
    """The last speech comes first; where nothing is new the old tail stays."""
    items = offer_tail(said("one", "two"), prior=[Item("user: old", -2)], detail=50)
    old = offer_tail([], prior=[Item("user: old", -2), Item("user: older", -1)], detail=50)

    assert [(item.text, item.order) for item in items] == [("user: two", STRIDE), ("user: one", 0)]
    assert [item.text for item in old] == ["user: older", "user: old"]


def test_a_table_of_the_last_messages_has_a_line_of_its_own() -> None:
    """Of several with one head only the newest is there, after the text around it."""
    tables = [
        "| item | EUR |\n|---|---|\n| venue | 8400 |",
        "| item | EUR |\n|-|-|\n| venue | 8900 |",
    ]
    items = offer_tail(
        said(f"The plan:\n\n{tables[0]}\n\nIs it fine?", f"Again:\n{tables[1]}", role="assistant"),
        prior=(),
        detail=80,
    )

    assert [item.text for item in items] == [
        "assistant: Again: …",
        "assistant: item | EUR; venue | 8900",
        "assistant: The plan: … Is it fine?",
    ]


def test_what_was_said_after_the_oldest_of_the_last_messages_stands_among_them() -> None:
    """So a record is in the order of the talk; what is cut in one and whole in the other is there once."""
    offers = {
        Section.SAID: [
            Item("assistant: The ferry left at nine.", 3 * STRIDE),
            Item("assistant: It rains in Bonn.", 1 * STRIDE),
            Item("assistant (b): Herr Öztürk comes.", 5 * STRIDE),
        ],
        Section.LAST: [
            Item("user: And now?", 6 * STRIDE),
            Item("assistant (b): Herr Özt …", 4 * STRIDE),
            Item("user: Which ferry?", 2 * STRIDE),
        ],
    }
    lines = share_out(offers, budget=400, count=len)

    assert lines[Section.SAID] == ("assistant: It rains in Bonn.",)
    assert lines[Section.LAST] == (
        "user: Which ferry?",
        "assistant: The ferry left at nine.",
        "assistant (b): Herr Öztürk comes.",
        "user: And now?",
    )


def test_what_one_message_says_is_one_line() -> None:
    """A mark stands where it said more, a table stands alone, and the next digest reads the sentences."""
    texts = ["We meet at six.", "Bring the key.", "See list", "Bonn is fine."]
    said = [
        Item(f"assistant: {text}", STRIDE + at)
        for at, text in zip((1, 2, 4, 5), texts, strict=True)
    ]
    table = Item("assistant: item | EUR; venue | Bonn; food | 8400", STRIDE + 6)
    after = Item("assistant: So be it.", STRIDE + 7)
    other = Item("user: It rains.", 2 * STRIDE + 1)
    every = [*said, table, after, other]
    lines = share_out({Section.SAID: every}, budget=400, count=len)

    line = "assistant: We meet at six. Bring the key. … See list … Bonn is fine."
    assert lines[Section.SAID] == (line, table.text, after.text, other.text)
    again = said_before(read_earlier([SummaryRecord(Counts(user=1), lines).render()]))
    assert [one.text for one in again] == [one.text for one in every]
    assert share_out({Section.SAID: again}, budget=400, count=len) == lines
    # Who says it stands there once, which leaves room for more.
    assert share_out({Section.SAID: said[:2]}, budget=65, count=len)[Section.SAID] == (
        "assistant: We meet at six. Bring the key.",
    )


def test_what_one_speaker_says_in_several_messages_shares_a_line() -> None:
    """So names of speakers take no room; a line stays so short that it can be found among the messages."""
    said = [
        Item(f"{by}: It rains in {town * 12}.", at * STRIDE)
        for at, (by, town) in enumerate(
            (by, town) for by in ("user", "assistant") for town in ("Bonn ", "Rome ", "Oslo ") * 4
        )
    ]
    lines = share_out({Section.SAID: said}, budget=4_000, count=len)[Section.SAID]

    assert [line.partition(": ")[0] for line in lines] == ["user"] * 2 + ["assistant"] * 2
    assert all(line.count(": ") == 1 and len(line) <= 600 for line in lines)
    again = said_before(read_earlier([SummaryRecord(Counts(), {Section.SAID: lines}).render()]))
    assert [one.text for one in again] == [one.text for one in said]


def test_a_talk_keeps_what_its_user_said_in_few_words() -> None:
    """Where requests have no room, the sentences of a user with one other come before like answers."""
    names = ("Shirin", "Tarja", "Ilkka", "Mehdi", "Eluned", "Piet", "Jelena", "Ante")
    said = [Message.user("I plan a dinner for nine in May.")]
    for name, letter in zip(names, "abcdefgh", strict=True):
        said += [
            Message.assistant(
                f"Walnuts, pistachios, sesame and wheat of farm {letter * 4} are declared to every guest."
                f" Every table of Holm {letter * 5} is rented for an evening."
            ),
            Message.user(
                f"My cousin {name} never eats any fish. I do not know yet what the others would like to"
                " have there, and nobody has told me so far, which is a pity as you can see."
            ),
        ]
    said.append(Message.assistant("Good."))
    digest = write_digest(SummaryRequest(messages=tuple(said), prompt="", budget=180))

    assert all(name in digest for name in names)


def test_what_the_view_shows_is_not_repeated() -> None:
    """A quoted request is no request of the digest, nor said last; its rules are kept, as they hold on."""
    quoted = "Bake two loaves of rye bread.\n\nNever use any sugar."
    messages = (Message.user(quoted), Message.user("Slice the older loaf of wheat bread."))
    said = tuple(Message.assistant(f"Step {n} of the baking plan is done.") for n in range(20))
    request = SummaryRequest(messages=(*messages, *said), prompt="", budget=400, shown=(quoted,))
    text = write_digest(request)
    again = SummaryRequest(
        messages=said, earlier=(text,), prompt="", budget=400, shown=(quoted, messages[1].text)
    )

    assert "rye" not in text
    assert "- Never use any sugar." in text
    assert "- Slice the older loaf of wheat bread." in text
    assert "Slice" not in write_digest(again).partition("## Said")[0]


def test_what_was_said_last_is_cut_after_a_sentence() -> None:
    """Half a sentence may say the contrary; where no sentence is over, a word is the end."""
    text = "Order holds within a partition. Across customers nothing is promised, ever."
    cut, half = (
        offer_tail(said(one, role="assistant"), prior=(), detail=60)
        for one in (text, text.replace(". ", ", "))
    )

    assert [item.text for item in cut] == ["assistant: Order holds within a partition. …"]
    assert [item.text for item in half] == ["assistant: Order holds within a partition, Across …"]


def test_what_the_view_shows_no_longer_is_told() -> None:
    """The rules of quotes that gave way are in the digest, and what they asked for."""
    said = (Message.user("Go on with the blue car."), Message.assistant("It is painted."))
    gone = ("Never paint a car on a Friday. The red car is for Ann Miller.",)
    digest = write_digest(SummaryRequest(messages=said, prompt="", budget=90, gone=gone))

    assert "Never paint a car on a Friday. The red car is for Ann" in digest
    assert "Go on with the blue car." in digest


@pytest.mark.parametrize(("budget", "times"), [(60, 0), (600, 1)])
def test_a_rule_that_the_view_shows_is_repeated_where_there_is_room(
    budget: int, times: int
) -> None:
    """It holds when it is shown no longer, and so it gives way to what is shown nowhere."""
    rule = "Never paint a car on a Friday."
    said = [Message.user(rule)]
    for colour in ("blue", "red", "green", "black", "white", "yellow"):
        said += [
            Message.user(f"Is the {colour} car ready?"),
            Message.assistant(f"The {colour} car is painted, and number {colour}-1 is on it."),
        ]
    request = SummaryRequest(messages=tuple(said), prompt="", budget=budget, shown=(rule,))

    assert write_digest(request).count(rule) == times


def test_the_first_request_outlives_a_view_that_quotes_none() -> None:
    """While the newest request is shown alone, the first one keeps its place before ids."""
    goal = "Paint the red car for Ann Miller."
    said = [Message.user(goal), *(Message.user(f"Then the {word}.") for word in ("door", "roof"))]
    for number in range(10_000, 30_000, 211):
        asked = ToolCallPart("c", "look_up", f'{{"order": "LM-{number}-A{number}"}}')
        said += Message.assistant("", tool_calls=[asked]), Message.tool("c", "{}")
    said.append(Message.user("And the wheels?"))
    request = SummaryRequest(
        messages=tuple(said), prompt="", budget=340, shown=("And the wheels?",)
    )

    assert goal in write_digest(request)


def test_no_line_repeats_a_day_that_a_sentence_names() -> None:
    """What is said of a day says more than a list of days does, and so does what is said of an id in a talk."""
    said = [Message.user("Where is my order?"), Message.assistant("LM-19530 comes on 3 December.")]
    said += [
        Message.assistant(f"The {word} stands beside the {word} of the other house.")
        for word in ("chair", "table", "lamp", "bed", "shelf", "mirror")
    ]
    called = (
        Message.assistant("", tool_calls=[ToolCallPart("c", "look_up", '{"shelf": "east"}')]),
        Message.tool("c", "{}"),
    )
    digest = write_digest(SummaryRequest(messages=tuple(said), prompt="", budget=400))

    assert digest.count("3 December") == 1
    assert digest.count("LM-19530") == 1
    assert "- codes: LM-19530" in write_digest(
        SummaryRequest(messages=(*said, *called), prompt="", budget=800)
    )


def test_requests_have_what_the_rest_leaves() -> None:
    """Once all is told, requests of earlier records that had no room are told too."""
    requests = [Item("Paint the red car for Ann.", 1), Item("Paint the blue one for Bob.", 0)]
    said = [Item("user: Paint the red car for Ann.", 1)]
    offers = {Section.REQUESTS: requests, Section.SAID: said}

    lines = share_out(offers, budget=26, count=in_words)

    assert {"Paint the red car for Ann.", "Paint the blue one for Bob."} <= {
        line.removeprefix("user: ") for one in lines.values() for line in one
    }


def asked_of(*, budget: int, answers: int = 1, size: int = 4, calls: bool = False) -> int:
    """Return how many of ten requests a digest has of a talk with so many *answers* to each."""
    messages: list[Message] = []
    for n in range(10):
        messages.append(
            Message.user(
                f"And room r{n}, which is on the quiet side of the house, is for guest g{n}, please."
            )
        )
        told = [
            f"Hall {n}h{m} has {n}l{m}, {n}k{m} and {n}p{m} by door {n}d{m}. " for m in range(size)
        ]
        messages.extend(Message.assistant("".join(told[m::answers])) for m in range(answers))
    if calls:
        call = ToolCallPart("c", "look_up", "{}")
        messages += Message.assistant("", tool_calls=[call]), Message.tool("c", "It is there.")
    text = write_digest(SummaryRequest(messages=tuple(messages), prompt="", budget=budget))
    record = SummaryRecord.read(text)
    assert record is not None
    return len(record.lines(Section.REQUESTS))


def test_of_a_short_talk_all_requests_are_kept() -> None:
    """It is what the user says that comes first, if half has room; not in a meeting or beside tools."""
    assert asked_of(budget=800) == 10
    assert asked_of(budget=600) < 5
    assert asked_of(size=1, budget=360) < 5
    assert asked_of(answers=2, budget=800) < 7
    assert asked_of(budget=800, calls=True) < 7
