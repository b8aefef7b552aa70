"""Which sentences a digest keeps."""

import re
from collections import Counter

import pytest

from foldline.history.messages import Message, Role
from foldline.providers.digest.outline import STRIDE, Item, read_earlier
from foldline.providers.digest.prose import (
    current,
    most_telling,
    offer_sentences,
    said_before,
    split_sentences,
    words_of,
)
from foldline.providers.digest.span import Speech
from foldline.providers.digest.summarizer import write_digest
from foldline.reduction.record import Counts, Section, SummaryRecord
from foldline.reduction.request import SummaryRequest


def said(*texts: str, role: Role = "user") -> list[Speech]:
    return [Speech(place, role, text) for place, text in enumerate(texts)]


def test_splits_sentences() -> None:
    """Code is left out, markup is stripped, and what is too short or too long is dropped."""
    text = (
        "# A heading of some length\n```\nlet code = one_thing;\n```\n- An item of a list here. No. "
        + "x" * 700
    )

    assert list(split_sentences(text)) == ["A heading of some length", "An item of a list here."]


def test_sentences_end_in_other_scripts() -> None:
    """With a danda in Hindi, and with a question mark of its own in Arabic."""
    text = "कमरा सात मिला है। चाबी मेरे पास है। متى يبدأ العرض؟ نلتقي عند الباب."

    assert len(list(split_sentences(text))) == 4


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("- **Trip Type:** a round trip", "Trip Type: a round trip"),
        ("The total of it is **$243**", "The total of it is $243"),
        ("* **ATL to LGA** costs **$122**  ", "ATL to LGA costs $122"),
        ("**Each part of it is bold**", "Each part of it is bold"),
        ("- It is **not** allowed, see src/**/*.py", "It is **not** allowed, see src/**/*.py"),
    ],
)
def test_bold_type_leaves_no_mark_alone(line: str, said: str) -> None:
    """Where markup is stripped from an edge, the mark that belongs to it goes too, and no other."""
    assert list(split_sentences(line)) == [said]


def test_the_number_of_a_day_ends_no_sentence() -> None:
    """Nor does that of a step; a number of three digits or with a point before it does."""
    text = "Der neue Termin ist der 21. März 2027. First steps: 1. Call them now. It is 3.11. See you there quite soon."

    assert list(split_sentences(text)) == [
        "Der neue Termin ist der 21. März 2027.",
        "First steps: 1. Call them now.",
        "It is 3.11.",
        "See you there quite soon.",
    ]


def test_a_number_at_its_end_ends_a_sentence() -> None:
    """What follows begins as English sentences do, or the number is the last part of a date or a price."""
    text = "Stay below 12. Never go above it. It is due on 2026-04-10. Restart none of the hosts."

    assert list(split_sentences(text, lengths=range(5, 90))) == [
        "Stay below 12.",
        "Never go above it.",
        "It is due on 2026-04-10.",
        "Restart none of the hosts.",
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "It waits at Filiale 514, Venloer Str. 212, 50823 Köln.",
        "Umluft, z. B. Berbel, inkl. Einbau durch Hrn. Weber, ggf. Mitte Mai.",
        "Dr. Korhonen and the owner Q. Sanders meet Mr. Lee at 2 p.m. Monday.",
        "See Fig. 3, e.g. there, and the U.S. Region of Ludwig XIV. and Prof. Amsel.",
        "Il sig. Conti e la dott. Ferrante abitano in ul. Długa.",
    ],
)
def test_a_shortened_word_ends_no_sentence(sentence: str) -> None:
    """Nor does a letter alone, or a word without a vowel; the one after it is another sentence."""
    other = "And that is all of it."

    assert list(split_sentences(f"{sentence} {other}")) == [sentence, other]


def test_a_word_or_a_line_that_ends_as_a_shortened_one_ends_a_sentence() -> None:
    """What only looks like one, in a longer word, a file or at the end of a line, is none."""
    sentences = [
        "They reached the climax.",
        "I know that you don't.",
        "It is in the file app.ts.",
        "Each of them weighs 5 kg.",
    ]
    text = f"{' '.join(sentences)}\n- The last one weighs 6 kg.\n"

    assert list(split_sentences(text)) == [*sentences, "The last one weighs 6 kg."]


def test_the_sentence_that_says_most_comes_first() -> None:
    """A sentence counts for the words that those before it lack, and without any it is left out."""
    texts = [
        "Yeah, well, you know, that is what it is.",
        "The battery of the remote lasts a year.",
        "A remote with a battery and a rubber case, in yellow, sells for fifty euros.",
        "The rubber case is yellow.",
    ]

    assert most_telling(texts, most=9) == [2, 1]
    assert most_telling(texts, most=1) == [2]
    assert most_telling(texts, known=words_of(texts[2]), most=9) == [1]
    assert most_telling([], most=9) == []


def test_a_word_of_many_sentences_weighs_more() -> None:
    """Of equally long sentences the one about what all speak of comes first."""
    texts = [
        "An ostrich has stumbled.",
        "The display is broken.",
        "A display out of glass.",
    ]

    assert most_telling(texts, most=1) == [1]
    assert most_telling(texts[:2], most=1) == [0]


def test_a_number_beside_new_words_is_a_fact() -> None:
    """Of equally long sentences the one with a number comes first, and rows of numbers add little."""
    texts = ["She takes a bit of zinc.", "She takes 50 mg of zinc.", "And 51 mg of zinc."]

    assert most_telling(texts, most=1) == [1]
    assert most_telling([*texts, "The bus was late."], most=2) == [1, 3]


def test_the_newest_of_what_is_told_again_with_other_numbers_comes_first() -> None:
    """What was told before it comes later, and only if its numbers are new."""
    old, new = "9 to add, 4 to change.", "0 to add, 14 to change (tags)."

    assert most_telling([old, "The plan is long.", new], most=1) == [2]
    assert most_telling(["901 to add, 4 to change.", "A longer plan.", new], most=9) == [2, 1, 0]
    assert most_telling([old, "Only plans change."], most=1) == [0]


def test_of_those_that_say_equally_much_some_come_from_everywhere() -> None:
    """The newest and the first are among them, and none of many equal parts is left out."""
    chosen = most_telling(
        [f"The invoice {n} of June is paid." for n in range(100, 3_100)], most=100
    )

    assert {0, 2_999} <= {*chosen}
    parts = Counter(index * 20 // 3_000 for index in chosen)
    assert len(parts) == 20
    assert min(parts.values()) >= 3


def test_offers_sentences() -> None:
    """Sentences carry their speaker; shown and repeated ones are left out."""
    speeches = said("The parser reads the file twice.", "The parser reads the file twice.")
    items = offer_sentences(
        speeches, prior=[Item("assistant: The old parser was slow.", -1)], shown=(), budget=600
    )

    assert {item.text for item in items} == {
        "user: The parser reads the file twice.",
        "assistant: The old parser was slow.",
    }
    assert offer_sentences(speeches, prior=(), shown=[speeches[0].text], budget=600) == []


def test_what_a_user_of_few_words_says_comes_before_longer_answers() -> None:
    """An answer can be made again; of a user who says most of a talk nothing comes first for that."""
    answer = Speech(
        1, "assistant", "Walnuts, pistachios, sesame and wheat are declared to every guest."
    )
    asked = Speech(2, "user", "My cousin never eats any sesame.")
    more = [
        Speech(at, "user", f"Her {word} is good.") for at, word in enumerate(("soup", "rice") * 9)
    ]
    orders = [
        [
            item.text
            for item in offer_sentences(talk, prior=(), shown=(), budget=100, is_talk=is_talk)
        ]
        for talk, is_talk in (
            ([answer, asked], True),
            ([answer, asked], False),
            ([answer, asked, *more], True),
        )
    ]

    assert [order[0].partition(": ")[0] for order in orders] == ["user", "assistant", "assistant"]


def test_what_adds_nothing_is_offered_last_if_all_may_fit() -> None:
    """The more a source fits, the less is left out; what is shown is offered no more for that."""
    speeches = said("The ferry leaves at nine.", "At nine the ferry leaves.", "Bring the red key.")
    whole = offer_sentences(speeches, prior=(), shown=["Bring the red key."], budget=100)
    again = offer_sentences(speeches, prior=whole[:1], shown=(), budget=100)
    tight = offer_sentences(speeches, prior=(), shown=(), budget=10)

    assert [item.text for item in whole] == [
        "user: The ferry leaves at nine.",
        "user: At nine the ferry leaves.",
    ]
    assert len(again) == len(tight) == 2


def test_what_a_message_says_that_calls_tools_comes_last() -> None:
    """It says what is done next, and an answer what was found, however short."""
    speeches = [
        Speech(
            1, "assistant", "Let me look at the warehouse tables, partitions and columns first."
        ),
        Speech(3, "assistant", "Revenue fell by nine percent."),
    ]
    offers = [
        [
            one.text
            for one in offer_sentences(speeches, prior=(), shown=(), budget=99, calling=calling)
        ]
        for calling in (frozenset[int](), frozenset({1}))
    ]

    assert "warehouse" in offers[0][0]
    assert offers[1] == offers[0][::-1]


def test_speech_without_full_stops_is_offered_in_parts() -> None:
    """Nothing of it is lost and no word is cut; what has no spaces, or many signs, is data."""
    speech = " ".join(f"word{n} and then" for n in range(60))
    parts = offer_sentences(said(speech), prior=(), shown=(), budget=600)
    in_order = sorted(parts, key=lambda item: item.order)

    assert " ".join(item.text.removeprefix("user: ") for item in in_order) == speech
    assert max(len(item.text) for item in parts) < 210
    for data in ("Zm9v" * 200, "date(2024, 2, 29), " * 60):
        assert offer_sentences(said(data), prior=(), shown=(), budget=600) == []


def test_a_long_paragraph_without_spaces_is_offered_in_parts() -> None:
    """They end where a sentence does, as Chinese and Japanese have it."""
    paragraph = "".join(f"第{n}个房间有{n + 40}盏灯和一扇门。" for n in range(60))
    parts = offer_sentences(said(paragraph), prior=(), shown=(), budget=600)
    in_order = [item.text.removeprefix("user: ") for item in sorted(parts, key=lambda it: it.order)]

    assert "".join(in_order) == paragraph
    assert all(text.endswith("门。") and len(text) <= 200 for text in in_order)


def test_of_a_long_talk_the_longest_speeches_are_read() -> None:
    """Of more text than is read, every part of the talk gives its longest speech."""
    short = "Nothing new is here."
    speeches = said(*(f"Speech number{n} is the long one. {'word' * 375}" for n in range(100)))
    talk = [one for speech in speeches for one in (*said(*[short] * 300), speech)]
    offered = {item.text for item in offer_sentences(talk, prior=(), shown=(), budget=600)}

    assert offered == {
        "user: Nothing new is here.",
        *(f"user: Speech number{n} is the long one." for n in range(100)),
    }


def test_of_a_few_long_speeches_one_is_read() -> None:
    """Where each speech is longer than all that is read, the longest of them is."""
    speeches = said(*(f"Speech number{n} is long. {'word ' * 20_000}" for n in (1, 2, 3)))
    speeches += said(f"Speech number4 is longer. {'word ' * 20_001}")
    offered = [item.text for item in offer_sentences(speeches, prior=(), shown=(), budget=600)]

    assert offered == ["user: Speech number4 is longer."]


PLAN = "| item | supplier | EUR |\n|---|---|---:|\n| venue | Q. Brewery | {} |\n| band | The Lanterns | 1800 |"


def test_a_table_is_one_sentence() -> None:
    """Its rows stand in one line, without the one between head and rows; one row alone is none."""
    text = (
        f"Here is the running plan:\n\n{PLAN.format(8400)}\n\nRun ls -l | sort | head in the shell."
    )

    assert list(split_sentences(text)) == [
        "Here is the running plan:",
        "item | supplier | EUR; venue | Q. Brewery | 8400; band | The Lanterns | 1800",
        "Run ls -l | sort | head in the shell.",
    ]


def test_a_long_table_is_cut_at_a_row_and_has_its_head_again() -> None:
    """No row of it is lost, and none is in two parts."""
    rows = [f"| {n} | {'word ' * 10}| {n} |" for n in range(100, 130)]
    parts = list(split_sentences("\n".join(["| id | said | no |", "|:-|-|-|", *rows])))

    assert len(parts) > 2
    assert all(part.startswith("id | said | no; ") and len(part) <= 600 for part in parts)
    assert [row for part in parts for row in part.split("; ")[1:]] == [
        f"{n} | {('word ' * 10).strip()} | {n}" for n in range(100, 130)
    ]


def told(*texts: str, by: str = "assistant") -> list[Item]:
    return [Item(f"{by}: {text}", place * STRIDE) for place, text in enumerate(texts, start=-2)]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Total: 17,540.00 EUR.", "Total: 9,728 EUR."),
        ("**Budget left:** € 500", "Budget left: € 1.200,50"),
        ("item | EUR; venue | 8400; band | 1800", "item | EUR; venue | 8900"),
    ],
)
def test_the_newest_version_replaces_those_before_it(older: str, newer: str) -> None:
    """Of a table with one head, or of the figure of one label, the older version is not offered."""
    assert current(told(older, "And a word.", newer)) == told(older, "And a word.", newer)[1:]
    assert len(current([*told(older, by="user"), *told("x", "y", newer)])) == 4


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Noted: 38 people.", "Noted: 900 EUR for the drinks."),
        ("Reservation: JG7FMM", "Reservation: 2FBBAH"),
        ("Option 1: 142 EUR", "Option 2: 168 EUR"),
        ("Leg: Flight HAT112", "Leg: Flight HAT190"),
        ("Due: 2027-01-15", "Due: 2027-01-20"),
        ("item | EUR; venue | 8400", "name | EUR; venue | 8900"),
    ],
)
def test_what_may_be_of_another_thing_is_kept(one: str, other: str) -> None:
    """A label with other words beside the figure, or with a code, says another thing."""
    assert current(told(one, other)) == told(one, other)


def test_versions_in_one_message_are_of_several_things() -> None:
    """The prices of a list are all offered, until a newer message has one."""
    prices = [Item(f"assistant: Price: {n} EUR", n) for n in (142, 168)]

    assert current(prices) == prices
    assert current([*prices, Item("assistant: Price: 150 EUR", STRIDE)]) == [
        Item("assistant: Price: 150 EUR", STRIDE)
    ]


def test_what_was_cut_is_there_once() -> None:
    """The beginning of a sentence is not offered beside the whole."""
    items = told("The deputy is Herr Özt …", "The deputy is Herr Öztürk.", "So it goes …")

    assert current(items) == items[1:]


def test_the_end_of_an_earlier_record_is_read_by_its_sentences() -> None:
    """They follow what it has said before them, and a table stays a table."""
    table = "assistant: item | EUR; venue | Q. Brewery. Bonn | 8400"
    record = SummaryRecord(
        Counts(user=4),
        {
            Section.SAID: ("user: It was the first of all.",),
            Section.LAST: (
                "assistant (a): The plan is here: … The total is 8,400 EUR. Is it fine?",
                table,
                "user: Bonn.",
            ),
        },
    )
    items = said_before(read_earlier([record.render()]))

    assert [item.text for item in items] == [
        "user: It was the first of all.",
        "assistant (a): The plan is here:",
        "assistant (a): The total is 8,400 EUR.",
        "assistant (a): Is it fine?",
        table,
        "user: Bonn.",
    ]
    assert [item.order for item in items] == sorted(item.order for item in items)
    assert items[-1].order < 0


def test_a_record_of_many_folds_is_in_the_order_of_the_talk() -> None:
    """However often it is folded, no sentence stands before one that was said before it."""
    text = ""
    for fold in range(6):
        places = range(fold * 8, fold * 8 + 8)
        messages = tuple(
            Message.assistant(
                f"Step number{n} of the plan is over. Then came {chr(97 + n % 26) * 5} to number{n} again."
            )
            for n in places
        )
        request = SummaryRequest(
            messages=messages, earlier=(text,) if text else (), prompt="", budget=300
        )
        text = write_digest(request)
        said = text.partition("\n## Said")[2]
        found = [int(n) for n in re.findall(r"number(\d+)", said)]

        assert found == sorted(found)

        assert found[-1] >= fold * 8
        assert found[0] < fold * 8 or not fold


def test_of_a_table_that_is_restated_the_newest_is_kept() -> None:
    """However often it is folded there is one version of each row, and one total."""
    text = ""
    for price in range(8_400, 9_000, 100):
        said = f"Here is the plan:\n\n{PLAN.format(price)}\n\nTotal: {price + 1800:,}.00 EUR."
        other = [
            Message.assistant(f"Clause {n} is about the {price + n}th guest.") for n in range(9)
        ]
        messages = (*other, Message.user(f"It is {price} now."), Message.assistant(said))
        request = SummaryRequest(
            messages=messages, earlier=(text,) if text else (), prompt="", budget=400
        )
        text = write_digest(request)

        assert text.count("venue") == text.count("Lanterns") == 1
        assert f"venue | Q. Brewery | {price}; band" in text


@pytest.mark.parametrize(
    "line",
    [
        "from collections import OrderedDict",
        "if isinstance(image, Image.Image):",
        "except ConnectionError as error:",
        'print(json.dumps({"error": "not found"}))',
        "image = ImageGrab.grabclipboard()",
        "15: def _get_new_pubkey(self):",
        "const rows = await fetchRows(page);",
        "export function readPages(path) {",
        "the_name = ${first_name}",
        "const found = {name}",
    ],
)
def test_a_line_of_a_program_is_no_sentence(line: str) -> None:
    """Not all agents fence their code."""
    assert not offer_sentences(said(line), prior=(), shown=(), budget=1_000)


@pytest.mark.parametrize(
    "sentence",
    [
        "from Berlin the goods are imported by rail",
        "With the new filter the margin rose by 4 %: it pays.",
        "for each branch one person counts the lamps",
        "revenue = 5.4 million, costs = 4.9 million",
        "the first delivery comes on Monday morning;",
        "A price of 30 was agreed (for the first year).",
        "I would think rubber or plastic is more {disfmarker}",
        "Dear {first_name}",
    ],
)
def test_a_sentence_with_words_of_a_program_is_kept(sentence: str) -> None:
    """A word alone makes no code, nor a sign between two numbers."""
    assert [item.text for item in offer_sentences(said(sentence), prior=(), shown=(), budget=1_000)]
