"""What a conversation leaves open at its end, and summaries that tell it as done."""

import pytest

from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.reduction.undone import undone
from tests.linearity import is_linear
from tests.reduction.test_contract_faults import asked, judge


def called(name: str, arguments: str, answer: str) -> list[Message]:
    call = ToolCallPart(f"call {name}", name, arguments)
    return [Message.assistant("", tool_calls=[call]), Message.tool(call.id, answer)]


TALK = [
    Message.user("Please book the hall for the chess evening on 12 March and tell me what is left."),
    *called("search_halls", '{"query": "hall 12 March"}', '[{"hall": "Linden", "fee": 140}]'),
    Message.assistant("The Linden hall is free for 140 euros. The discount needs approval by the board."),
    *called("book_hall", '{"hall": "Linden"}', '{"booking": "BK-5520", "state": "booked"}'),
    Message.assistant(
        "The Linden hall is booked as BK-5520. The invitation to the members is not printed yet, and "
        "nothing was paid. Next I'll order the clocks. The poster is missing."
    ),
    Message.user("Good. Please ask the baker for cakes, and rent chairs from Orell when he has agreed."),
    Message.assistant("I'll write to the baker in the morning."),
]  # fmt: skip
CLAIMS = [
    "The invitation to the members was printed.",
    "- [x] Invitation to the members printed",
    "✅ Poster finished",
    "The clocks have been ordered.",
    "The discount was approved by the board.",
    "The hall was booked, and a letter to the baker was written in the morning.",
    "The fee was paid.",
    "The chairs of Orell were rented, as he has agreed.",
    "Done:\n- invitation to the members printed",
]
TRUE = [
    "The Linden hall was booked as BK-5520.",
    "- [x] Linden hall booked",
    "Nothing was paid, and the invitation to the members was not printed.",
    "The user was told that the clocks come next.",
    "It was agreed that the clocks are ordered later.",
    "The poster was discussed.",
    "The discount is planned for the members of the board.",
    "Done:\n- Linden hall booked\nOpen:\n- invitation to the members, printed",
]


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_was_left_open_is_not_done(claim: str) -> None:
    """Nobody has done since what was denied, announced, wished or left to others at the end."""
    text = f"The user asked for a hall for the chess evening.\n{claim}\nBK-5520 is the Linden hall."
    review = judge(text, asked(TALK))

    assert review.dropped == 1
    assert claim.splitlines()[-1] not in review.text


@pytest.mark.parametrize("line", TRUE)
def test_what_was_done_or_is_told_as_open_stays(line: str) -> None:
    """A statement that claims nothing of what is open is kept, also if it names it."""
    text = f"The user asked for a hall for the chess evening.\n{line}\nBK-5520 is the Linden hall."
    review = judge(text, asked(TALK))

    assert (review.text, review.dropped) == (text, 0)


def test_what_was_said_to_be_done_later_is_closed() -> None:
    """The last word counts: what the assistant reports after it announced it was done."""
    claim = "The invitation to the members was printed."
    printed = Message.assistant("The invitation to the members is printed now.")

    assert undone([claim], TALK)
    assert not undone([claim], [*TALK, printed])


def test_a_later_call_closes_what_was_announced() -> None:
    """What was to come before a call that changed something may have been done by it; not by a search."""
    claim = "The clocks have been ordered."
    order = called("order_items", '{"what": "clocks"}', '{"state": "ordered"}')
    failed = called("order_items", '{"what": "clocks"}', '{"error": "shop is closed"}')

    assert not undone([claim], [*TALK, *order])
    assert undone([claim], [*TALK, *failed])
    assert undone([claim], [*TALK, *called("search_shop", '{"query": "clocks"}', "[]")])


def test_what_waits_for_somebody_else_no_call_closes() -> None:
    """The approval of a board is not given by a tool that does something else."""
    claim = "The discount was approved by the board."
    order = called("order_items", '{"what": "clocks"}', '{"state": "ordered"}')

    assert undone([claim], [*TALK, *order])


def test_a_word_for_others_tells_what_is_open() -> None:
    """What somebody was asked for, and has not answered, was not granted."""
    asked_for = (
        "I have asked the board for a discount on the rent of the hall, but they have not answered."
    )
    talk = [*called("book_hall", "{}", "booked"), Message.assistant(asked_for)]

    assert undone(["The board approved the discount on the rent."], talk)
    assert not undone(["The board approved the wine."], talk)


def test_a_name_of_code_has_the_words_that_it_is_made_of() -> None:
    """A class that comes next is recognized by its words."""
    talk = [
        *called("edit_file", "{}", "edited"),
        Message.assistant("Next I'll add `LeasePool` and read the flag."),
    ]

    assert undone(["The lease pool was added."], talk)
    assert not undone(["The lease was renewed."], talk)


def test_a_paste_leaves_nothing_open() -> None:
    """What is too long to have been typed is not read for wishes."""
    pasted = Message.user("Next I'll rent the boats of the harbour. " * 200)
    talk = [*called("book_hall", "{}", "booked"), pasted]

    assert undone(
        ["The boats of the harbour were rented."],
        [talk[0], talk[1], Message.user(pasted.text[:40])],
    )
    assert not undone(["The boats of the harbour were rented."], talk)


def test_a_signature_is_given_by_hand() -> None:
    """No call of a tool signs for a person."""
    talk = [
        *called("make_form", "{}", "made"),
        Message.assistant("Das Formular ist fertig; Frau Ode muss es noch unterschreiben."),
        *called("make_list", "{}", "made"),
    ]

    assert undone(["Das Formular wurde von Frau Ode unterschrieben."], talk)
    assert not undone(["Das Formular wurde ausgefüllt."], talk)


def test_without_work_nothing_is_compared() -> None:
    """In a talk in which no call changes anything, what is done is done in words."""
    talk = [
        Message.user("Who writes the minutes?"),
        Message.assistant("I'll write the minutes."),
        *called("search_shop", '{"query": "pens"}', "[]"),
    ]

    assert not undone(["The minutes were written."], talk)


def test_a_file_is_not_what_is_done_in_it() -> None:
    """Two changes of one file are two tasks."""
    file = "src/table_cache/reader_store_index.py"
    talk = [
        Message.user(f"Repair the parser in {file}."),
        *called("edit_file", f'{{"path": "{file}"}}', "edited"),
        Message.assistant(f"Next I'll remove the duplicates from {file}."),
    ]

    assert not undone([f"The parser in {file} was repaired."], talk)
    assert undone([f"All duplicates were removed from {file}."], talk)


OTHER_LANGUAGES = [
    (
        "Die Halle ist gebucht. Bezahlt habe ich nichts. Die Skizze fehlt noch.",
        ["Die Halle wurde bereits bezahlt.", "Die Skizze der Halle wurde erstellt."],
    ),
    (
        "La sala está reservada. La solicitud sigue sin presentar. Queda preguntar a Correos por los carteles.",
        ["La solicitud fue presentada.", "Se preguntó a Correos por los carteles."],
    ),
    (
        "La salle est réservée. Les affiches ne sont pas encore imprimées.",
        ["Les affiches ont été imprimées."],
    ),
]


@pytest.mark.parametrize(("last", "claims"), OTHER_LANGUAGES)
def test_it_is_told_in_other_languages(last: str, claims: list[str]) -> None:
    """German, Spanish and French deny and announce in words of their own."""
    talk = [*called("book_hall", "{}", "booked"), Message.assistant(last)]

    assert undone(claims, talk) == {*claims}


@pytest.mark.parametrize(
    "unit", ["I'll write ", "not yet ", "needs approval ", "a/b ", ", ", "was "]
)
def test_time_grows_with_the_length(unit: str) -> None:
    """Four times as much of what is left open takes about four times as long."""

    def use(text: str) -> object:
        return undone([text], [*TALK, Message.assistant(text)])

    assert is_linear(use, "", unit)
