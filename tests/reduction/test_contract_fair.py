"""Good summaries in many languages and shapes: none is refused, and none loses a statement."""

import pytest

from foldline.history.messages import Message
from foldline.history.tokens import TokenEstimator, count_message
from foldline.reduction.contract import Review, reviewed
from foldline.reduction.request import DEFAULT_PROMPT, SummaryRequest
from tests.reduction.fair import FAIR, TALKS


COUNTER = TokenEstimator()


def judge(talk: str, text: str, *more: Message) -> Review:
    request = SummaryRequest(messages=(*TALKS[talk], *more), prompt=DEFAULT_PROMPT, budget=600)
    room = sum(count_message(one, COUNTER) for one in request.messages)
    return reviewed(text, request, count=COUNTER.count, room=room)


@pytest.mark.parametrize("name", FAIR)
def test_a_fair_summary_stands(name: str) -> None:
    """Whatever its reader, its shape and language: it stays as it was written."""
    talk, text = FAIR[name]
    review = judge(talk, text)

    assert (review.defects, review.dropped) == ((), 0)
    assert review.text == text


SHORT = (
    Message.user(
        "The billing service loses invoices when the consumer restarts. The interface of OrderClient has to stay."
    ),
    Message.assistant(
        "The consumer commits its position before the invoices are written. A second phase of the migration fills "
        "the currency column, and the table is never locked."
    ),
)
NO_SUMMARY = {
    "nonsense": ("asdf qwer zxcv uiop hjkl vbnm tzui ghjk.", "about something else"),
    "nonsense again and again": ("asdf qwer zxcv " * 30, "again and again"),
    "a recipe": (
        (
            "Boil the spaghetti in salted water, fry garlic with chili in olive oil, toss everything and sprinkle "
            "parsley and parmesan over the plates before dinner."
        ),
        "about something else",
    ),
    "German": (
        (
            "Der Dienst für die Abrechnung verliert Rechnungen, wenn der Verbraucher neu startet. Die Schnittstelle von "
            "OrderClient soll bleiben, und die Tabelle wird nicht gesperrt."
        ),
        "another language",
    ),
    "Chinese": ("计费服务在消费者重启时丢失发票，OrderClient 的接口保持不变。", "another language"),
    "one word": ("ok", "too little"),
    "the instruction": (
        (
            "## Decisions\n- What was decided or is wanted, with the reason, and what was ruled out.\n## Open tasks\n"
            "- What is still to be done, and the next step.\n## Done tasks\n- What was done, with its result.\n"
            "## Narrative\nWhat else one has to know, in a few sentences."
        ),
        "repeats its instruction",
    ),
    "an announcement": (
        (
            "Below is a concise summary that captures all important decisions and relevant details, so that another "
            "reader can pick up seamlessly where the work was left."
        ),
        "too little",
    ),
    "half of a JSON": (
        '{"goal": "keep invoices", "files": ["migration of the',
        "before it is complete",
    ),
    "half a verb": (
        "The billing service loses invoices, which the interface of OrderClient does not",
        "before it is complete",
    ),
    "half a sentence": ("The billing service loses invoices because the", "before it is complete"),
}


def judge_short(text: str) -> Review:
    request = SummaryRequest(messages=SHORT, prompt=DEFAULT_PROMPT, budget=600)
    return reviewed(text, request, count=COUNTER.count, room=1000)


@pytest.mark.parametrize("name", NO_SUMMARY)
def test_a_short_source_is_enough_to_refuse(name: str) -> None:
    """What has no word of it, is in no language of it, or says nothing is no summary of two messages."""
    text, defect = NO_SUMMARY[name]

    assert any(defect in one for one in judge_short(text).defects)


@pytest.mark.parametrize(
    "text",
    [
        "Invoices are lost on restarts; the cause is an early commit. The migration has two phases.",
        "Lost invoices, early commit, OrderClient unchanged",
        "People spoke of accounting software and of its database.",
        "The user reports that billing drops documents if a process starts again. The assistant explained why.",
    ],
)
def test_other_words_for_a_short_source_stand(text: str) -> None:
    """A word in ten that is shared is enough, and a few words may all be others."""
    assert judge_short(text).defects == ()


def test_a_short_source_may_be_told_of_in_the_language_of_the_instruction() -> None:
    """A few English words about a German talk need share none with it."""
    german = Message.user(
        "Die Heizung im Keller verliert Wasser, der Vermieter antwortet nicht auf meine Briefe, und am Donnerstag "
        "kommt ein Monteur mit Ersatzteilen für das Ventil und den Ausgleichsbehälter."
    )
    request = SummaryRequest(messages=(german,), prompt=DEFAULT_PROMPT, budget=600)
    text = "The heating in the cellar leaks; a technician with spare parts comes."

    assert reviewed(text, request, count=COUNTER.count, room=1000).defects == ()


def test_what_is_below_twenty_words_is_not_compared() -> None:
    """Whatever is said of a greeting may be said in other words."""
    request = SummaryRequest(
        messages=(Message.user("Trains to Lisbon."),), prompt=DEFAULT_PROMPT, budget=600
    )

    assert (
        reviewed(
            "Someone wants a railway connection in Portugal.", request, count=len, room=999
        ).defects
        == ()
    )
