"""Which sentences a digest keeps."""

from collections import Counter

import pytest

from foldline.history.messages import Role
from foldline.providers.digest.prose import (
    most_telling,
    offer_sentences,
    split_sentences,
    words_of,
)
from foldline.providers.digest.span import Speech


def said(*texts: str, role: Role = "user") -> list[Speech]:
    return [Speech(place, role, text) for place, text in enumerate(texts)]


def test_splits_sentences() -> None:
    """Code is left out, markup is stripped, and what is too short or too long is dropped."""
    text = (
        "# A heading of some length\n```\nlet code = one_thing;\n```\n- An item of a list here. No. "
        + "x" * 700
    )

    assert list(split_sentences(text)) == ["A heading of some length", "An item of a list here."]


def test_the_number_of_a_day_ends_no_sentence() -> None:
    """Nor does that of a step; a number of three digits or with a point before it does."""
    text = "Der neue Termin ist der 21. März 2027. First steps: 1. Call them now. It is 3.11. See you there quite soon."

    assert list(split_sentences(text)) == [
        "Der neue Termin ist der 21. März 2027.",
        "First steps: 1. Call them now.",
        "See you there quite soon.",
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "It waits at Filiale 514, Venloer Str. 212, 50823 Köln.",
        "Umluft, z. B. Berbel, inkl. Einbau durch Hrn. Weber, ggf. Mitte Mai.",
        "Dr. Korhonen and the owner Q. Sanders meet Mr. Lee at 2 p.m. Monday.",
        "See Fig. 3, e.g. there, and the U.S. Region of Ludwig XIV. and Prof. Amsel.",
        "Лампы стоят 4300 руб. Тимура на ул. Мира.",
    ],
)
def test_a_shortened_word_ends_no_sentence(sentence: str) -> None:
    """Nor does a letter alone, or a word without a vowel; the sentence after it begins anew."""
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
        "A display of glass.",
    ]

    assert most_telling(texts, most=1) == [1]
    assert most_telling(texts[:2], most=1) == [0]


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
        speeches, prior=["assistant: The old parser was slow."], shown=(), budget=600
    )

    assert {item.text for item in items} == {
        "user: The parser reads the file twice.",
        "assistant: The old parser was slow.",
    }
    assert offer_sentences(speeches, prior=(), shown=[speeches[0].text], budget=600) == []


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


def test_of_a_long_talk_the_longest_speeches_are_read() -> None:
    """Of more text than is read, every part of the talk gives its longest speech."""
    short = "Nothing new is here."
    speeches = said(*(f"Speech number{n} is the long one. {'word ' * 300}" for n in range(100)))
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
