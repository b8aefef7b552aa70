"""Whose words a summary tells, what it says is done, and in which form it comes."""

import pytest

from foldline.history.messages import Message
from foldline.history.tokens import TokenEstimator, count_message
from foldline.reduction.contract import Review, reviewed
from foldline.reduction.request import DEFAULT_PROMPT, SummaryRequest


COUNTER = TokenEstimator()
GARDEN = (
    Message.user(
        "The hose of my balcony sprinkler leaks at the tap since the frost in January. The tap has a thread of "
        "three quarters of an inch, and the landlord does not allow drilling."
    ),
    Message.assistant(
        "A leak there is mostly a brittle gasket. Replace the flat rubber ring inside the coupling, wrap sealing "
        "tape around the thread five times, and tighten by hand. Pliers crack the plastic."
    ),
    Message.user(
        "The ring was indeed torn. With a new one it drips only at night, when pressure rises."
    ),
    Message.assistant(
        "Then a pressure reducer helps: it is screwed between tap and coupling and set to two bar. A model of "
        "brass costs about twenty euros and survives the winter."
    ),
    Message.user(
        "Fine, brass. Write a shopping list for the hardware store. And make a sketch of the assembly for my nephew."
    ),
)
GOOD = (
    "The user has a sprinkler hose that leaks at the tap since the frost. The assistant suggested a new gasket and "
    "sealing tape, and then a pressure reducer of brass. A shopping list and a sketch of the assembly are open."
)


def judge(text: str, talk: tuple[Message, ...] = GARDEN, prompt: str = DEFAULT_PROMPT) -> Review:
    request = SummaryRequest(messages=talk, prompt=prompt, budget=600)
    room = sum(count_message(one, COUNTER) for one in request.messages)
    return reviewed(text, request, count=COUNTER.count, room=room)


@pytest.mark.parametrize(
    "claim",
    [
        "A shopping list for the hardware store was written.",
        "The sketch of the assembly has been drawn, too.",
        "The assistant then made a sketch of the assembly.",
    ],
)
def test_what_was_ordered_last_is_not_done(claim: str) -> None:
    """Nobody can have followed the last order of the source: who says so is left out."""
    review = judge(f"{GOOD} {claim}")

    assert (review.defects, review.dropped, review.text.strip()) == ((), 1, GOOD)


@pytest.mark.parametrize(
    "told",
    [
        "A shopping list for the hardware store was requested.",
        "The sketch of the assembly has not been drawn yet.",
        "The torn ring was replaced.",
    ],
)
def test_what_is_told_of_the_last_order_stands(told: str) -> None:
    """That something was asked for, or is open, may be said, and what was done before."""
    assert judge(f"{GOOD} {told}").dropped == 0


def test_an_answered_order_may_be_done() -> None:
    """Once somebody has answered, nothing is known by the order alone."""
    done = (*GARDEN, Message.assistant("The list: a reducer, tape, a ring. The sketch is below."))
    text = f"{GOOD} A shopping list for the hardware store was written."

    assert judge(text, done).dropped == 0


def test_a_letter_is_no_summary() -> None:
    """A greeting in a line of its own speaks to somebody, with or without a subject before it."""
    letter = (
        "Dear landlord,\n\nthe hose of the sprinkler leaks at the tap since the frost. The gasket was torn, and a "
        "pressure reducer of brass is needed. Drilling is not necessary."
    )

    assert judge(letter).defects == judge(f"Subject: The tap\n\n{letter}").defects
    assert judge(letter).defects == (
        "The text continues the conversation instead of summarizing it.",
    )


def test_the_last_item_needs_no_stop_if_others_end_with_brackets() -> None:
    """A bracket or a backtick ends an item by chance, and says nothing of how the next one ends."""
    items = (
        "- leak at the tap (since the frost)\n- new gasket (rubber ring)\n- no drilling (landlord)\n"
        "- next: a shopping list for the hardware store"
    )

    assert judge(items).defects == ()
    assert judge(items.replace(")", ").")).defects == ("The text ends before it is complete.",)


def test_a_plan_without_a_pronoun_is_a_turn() -> None:
    """Where verbs name the speaker, they are how he speaks of himself."""
    talk = tuple(
        Message.user(one) if at % 2 == 0 else Message.assistant(one)
        for at, one in enumerate(
            (
                "La manguera del balcón pierde agua desde la helada y no puedo taladrar la pared.",
                "Conviene cambiar la junta de goma y poner cinta en la rosca del grifo.",
                "Con la junta nueva gotea de noche. Compra un reductor de presión de latón.",
            )
        )
    )
    plan = "Voy a comprar un reductor de presión de latón para el grifo y la manguera del balcón."

    assert judge(plan, talk).defects == (
        "The text continues the conversation instead of summarizing it.",
    )
