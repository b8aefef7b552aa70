"""The single statements of a text."""

from random import Random
from textwrap import fill

import pytest

from foldline.reduction.statements import is_labelled, kept, statements
from tests.linearity import is_linear


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One is here. Two is there! Is three?", ["One is here. ", "Two is there! ", "Is three?"]),
        ("- One. Two.\n2. Three. Four.", ["- One. Two.", "2. Three. Four."]),
        ("## Aims\n\n| a. B | c. D |\n---", ["## Aims", "| a. B | c. D |"]),
        ("They met J. Smith at 3.5 km, e.g. there.", ["They met J. Smith at 3.5 km, e.g. there."]),
        ('He said "no." Then he left.', ['He said "no." ', "Then he left."]),
        ("他们谈了。后来没有。", ["他们谈了。", "后来没有。"]),
        ("...\n\n", []),
        ("It is Mr. Lee at No. 5. Then he left.", ["It is Mr. Lee at No. 5. Then he left."]),
        ('"It ends. Or not." He left.', ['"It ends. Or not." ', "He left."]),
        (
            "At 15:00. It is (see A. B. It ends) over. Then.",
            ["At 15:00. ", "It is (see A. B. It ends) over. ", "Then."],
        ),
        (
            "- an item of a list whose line was wrapped\n  here",
            ["- an item of a list whose line was wrapped\n  here"],
        ),
        (
            "Aim: a goal that is described in many words of one line\nCause: none",
            [
                "Aim: a goal that is described in many words of one line",
                "Cause: none",
            ],
        ),
        (
            "# A heading that has as many words as a line of some prose has\nText",
            [
                "# A heading that has as many words as a line of some prose has",
                "Text",
            ],
        ),
        (
            "What was said stands here in a line, and it ends with 他们\n他们",
            [
                "What was said stands here in a line, and it ends with 他们",
                "他们",
            ],
        ),
    ],
)
def test_a_line_of_a_list_or_a_sentence_is_a_statement(text: str, found: list[str]) -> None:
    """A list line, a row and a heading count whole; prose counts by its sentences in any script."""
    assert statements(text) == found


def test_what_is_bad_goes_alone() -> None:
    """A bad line goes with its break, a bad sentence leaves the rest of its line, headings stay."""
    text = "# Aims\n- bad one\n- good\n\nGood here. A bad one. Good there.\n\nbad end"
    left = kept(text, lambda one: "bad" in one)

    assert left.text == "# Aims\n- good\n\nGood here. Good there."
    assert (left.statements, left.dropped) == (7, 3)
    assert kept("It is bad. Good bees. A bad.", lambda one: "bad" in one).text == "Good bees."


SENTENCES = [
    "Am 31. Oktober bringt die Spedition die Möbel, am 3. November beginnt die Arbeit.",
    "Die Telekom braucht den Auftrag bis zum 9. Oktober 2025.",
    "Die Firma hat, z. B. am 2. Mai, die Nr. 7 und ggf. Hrn. Krause geschickt.",
    "Das 19. Jh. begann im 3. Stock mit Ludwig XIV. und Prof. Amsel.",
    "Mr. Smith and Dr. Lee met at St. Mary's, i.e. at the Inc. Building vs. Ltd. Hall.",
    "It runs at 2 a.m. Monday and at 3 p.m. Tuesday in the U.S. Region.",
    "See Fig. 3, No. 12, and e.g. Table 5 of J. R. Tolkien et al. Press.",
    'She said "It is over. We stop here." and left (as always. Alone).',
    "Den 12. April flytter vi, og den 3. Juni åpner kl. 10 igen.",
    "Dnia 5. Maja przy ul. Długiej 14, godz. 9, im. Kopernika.",
    "Před 12. Dubnem, tj. v ul. Nové, napíše Mgr. Novák.",
    "M. Vallat et Mme Roux paient le 24. Octobre, env. 780 euros.",
    "Il sig. Conti e la dott. Ferrante vengono alle 19.",
    "Лампы стоят 4300 руб. Тимура на ул. Мира, т. е. дорого.",
    "Van Dalen, dhr. Smit en mevr. Bakker komen op 3. Mei.",
    "The limit is 3600 seconds, and 8400 uploads take 56 minutes!",
    "Is the batch larger now?",
    "他们谈了合同和价格。",
]


@pytest.mark.parametrize("width", [0, 72])
def test_what_is_kept_is_whole_sentences(width: int) -> None:
    """However sentences stand in lines, what is left are some of them in their order, none in parts."""
    random = Random(13)
    for _ in range(400):
        chosen = random.sample(SENTENCES, random.randint(2, 7))
        marked = [
            one.replace(" ", " ZX98YW ", 1) if random.random() < 0.4 else one for one in chosen
        ]
        text = random.choice((" ", "\n", "\n\n")).join(marked)
        if width:
            text = "\n\n".join(fill(one, width) for one in text.split("\n\n"))
        left = " ".join(kept(text, lambda one: "ZX98YW" in one).text.split())
        for one in chosen:
            at = left.find(one)
            assert at in {0, -1}, (left, chosen)
            left = left[len(one) :].strip() if at == 0 else left

        assert not left


def test_half_a_sentence_never_says_the_contrary() -> None:
    """A date, a title or a quotation in a bad sentence does not end it."""
    text = (
        "Am 30. Oktober kommen die Schlüssel, am 31. Oktober (Nummer KR-99) die Möbel, am 3. November die Leute. "
        "Sonntags ruht die Arbeit. Mr. Smith pays KR-99 to Dr. Lee."
    )

    assert kept(text, lambda one: "KR-99" in one).text == "Sonntags ruht die Arbeit."


def test_a_label_is_a_few_words_before_a_colon() -> None:
    """A path or an address has a colon in it, too, but no space after it."""
    assert is_labelled("**Next step:** measure")
    assert not is_labelled("https://example.org is it")


@pytest.mark.parametrize(
    "unit",
    [
        "Dr. ",
        "3. ",
        '" (',
        "word ",
        "Word\n",
        "- word word word word word word word word\n",
        "A. ",
        "- a\n",
        '." ',
        "。",
        " a. B",
        "\n",
        "1. ",
    ],
)
def test_time_grows_with_the_length(unit: str) -> None:
    """Four times as much text takes about four times as long."""
    assert is_linear(lambda text: kept(text, lambda one: "1" in one), "", unit)
