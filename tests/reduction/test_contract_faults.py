"""Twelve kinds of bad summaries, five of each, and good ones: which of them stand for a conversation."""

from collections.abc import Sequence

import pytest

from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.history.tokens import TokenEstimator, count_message
from foldline.reduction.contract import Review, reviewed
from foldline.reduction.record import Counts, Section, SummaryRecord
from foldline.reduction.request import DEFAULT_PROMPT, SummaryRequest
from tests.reduction.talks import CODING, GERMAN, GERMAN_SUMMARY, GOOD, OLDER, TRAVEL


COUNTER = TokenEstimator()
LONG = " ".join(
    f"{name} {number}." for number in range(90) for name in ("The user asked about flights",)
)


def asked(
    messages: Sequence[Message] = TRAVEL, earlier: Sequence[str] = (), prompt: str = DEFAULT_PROMPT
) -> SummaryRequest:
    return SummaryRequest(
        messages=tuple(messages), earlier=tuple(earlier), prompt=prompt, budget=600
    )


def judge(text: str, request: SummaryRequest) -> Review:
    room = sum(count_message(one, COUNTER) for one in request.messages)
    room += sum(map(COUNTER.count, request.earlier))
    return reviewed(text, request, count=COUNTER.count, room=room)


def first_words(text: str, count: int) -> str:
    return " ".join(text.split()[:count])


REFUSED = {
    "empty": ["", " \n", ".", "...", "—\n\n***"],
    "cut": [
        GOOD[: GOOD.index("HAT318 in the")] + "HAT318 in the",
        GOOD[: GOOD.index("to be confirmed")].rstrip(", "),
        GOOD.rpartition(" stays")[0] + " (near the wing",
        GOOD + '\n\n```json\n{"flight":',
        GOOD[: GOOD.index("because of a")] + "because of a violin recital, and the",
    ],
    "refusal": [
        "I'm sorry, but I can't help with that.",
        "Unable to comply: the content of this material violates several guidelines.",
        "This request cannot be fulfilled because it would process personal data.",
        "Es tut mir leid, aber dabei kann ich leider nicht helfen.",
        "申し訳ありませんが、そのご依頼にはお応えできません。",
        (
            "Sorry, this conversation has a reservation, a credit card and personal data of a daughter, so a "
            "summary would violate several privacy guidelines of mine."
        ),
    ],
    "chat answer": [
        "That's wonderful that you found an option. Safe travels!",
        "Your window seat near the wing stays. I have charged the card and moved you to HAT094.",
        "Great news! The morning flight is booked. Is there anything else I can help you with?",
        "Would you like me to charge the original card for the morning flight with a window seat?",
        "Happy birthday to your grandmother! I hope she enjoys the letters and the music stand.",
    ],
    "echo": [
        "\n\n".join(f"{one.role}: {one.text}" for one in TRAVEL[:1]),
        TRAVEL[-1].text,
        str(TRAVEL[6].tool_call_responses[0].response),
        f"{TRAVEL[3].text}\n{TRAVEL[4].text}",
        f"User: {TRAVEL[8].text}",
    ],
    "wrong section": [
        ("Preheat the oven, mix flour with sugar and butter until smooth, add three eggs one by one, pour "
        "the batter into a greased tin and bake until golden. Cool before serving with whipped cream."),
        "## Decisions\n(none)\n## Open tasks\n(none)\n## Done tasks\n(none)\n## Narrative\n(none)",
        OLDER,
        ("The importer dropped rows whose currency column was empty; a failing test was written, and the "
        "early return of the parser was replaced by a default. All tests pass after the commit."),
        ("A group of hikers crossed the ridge at dawn, pitched their tents beside a lake and watched "
        "eagles circling above the cliffs until thunder forced everybody back into the valley."),
    ],
    "oversize": [
        LONG,
        "\n".join([GOOD[: GOOD.index("\n")]] * 2) + "\n" + GOOD * 2,
        " ".join([first_words(GOOD, 40)] * 4) + ".",
        "- The user wants the morning flight and the window seat near the wing.\n" * 8,
        "\n\n".join(one.text for one in TRAVEL if one.text) * 2,
    ],
    "invented id": [
        GOOD.replace("KBUT8V", "KBUT8W"),
        GOOD.replace("mara_quint_4718", "mara_quint_4178"),
        GOOD.replace("credit_card_5521908", "credit_card_9999999"),
        GOOD.replace("receipts.pdf", "invoices.pdf"),
        GOOD.replace("22 May 2024", "24 May 2024"),
    ],
    "stale": [
        "Nothing has been done yet.",
        OLDER,
        OLDER.replace("The user runs a bakery", "The user still runs a bakery"),
        OLDER.rpartition(" Open:")[0],
        "No new information was exchanged since the previous summary; all statements remain valid.",
    ],
    "tool call": [
        '{"name": "update_reservation", "arguments": {"reservation_id": "KBUT8V"}}',
        "<tool_call>get_reservation</tool_call>",
        'Let me look at the reservation first.\n{"name": "get_reservation", "arguments": {}}',
        'The user wants a change:\n```json\n{"tool": "update_reservation", "flight": "HAT094"}\n```',
        "Thought: the card has to be charged.\nAction: update_reservation\nAction Input: {}",
    ],
    "wrong language": [
        ("L'utilisateur veut déplacer sa réservation de Lisbonne à Varsovie de deux jours à cause d'un "
        "récital de violon. L'assistant a trouvé deux vols directs, et le vol du matin a été choisi avec "
        "une deuxième valise. Le certificat a été refusé par la compagnie."),
        ("Der Nutzer möchte die Reservierung von Lissabon nach Warschau um zwei Tage verschieben, weil die "
        "Tochter ein Konzert hat. Der Assistent fand zwei direkte Flüge, und der Flug am Morgen wurde "
        "gewählt. Der Gutschein wurde von der Fluglinie nicht angenommen."),
        ("El usuario quiere cambiar la reserva de Lisboa a Varsovia por un recital de violín de su hija. El "
        "asistente encontró dos vuelos directos y se eligió el de la mañana, con una segunda maleta. El "
        "certificado no fue aceptado por la aerolínea."),
        ("Пользователь хочет перенести поездку из Лиссабона в Варшаву на два дня позже. Ассистент нашёл два "
        "прямых рейса, и был выбран утренний. Сертификат не был принят авиакомпанией."),
        "用户想把从里斯本到华沙的行程推迟两天，因为女儿有小提琴演出。助手找到两个直飞航班，用户选择了早上的航班。",
    ],
}  # fmt: skip
"""What has to be refused, or repaired where an item is invented; all are texts for `TRAVEL`."""

CONTINUES = "The text continues the conversation instead of summarizing it."
WITH_OLDER = {"stale"}
CASES = [
    pytest.param(kind, text, id=f"{kind} {number}")
    for kind, texts in REFUSED.items()
    for number, text in enumerate(texts, 1)
]


@pytest.mark.parametrize(("kind", "text"), CASES)
def test_a_bad_summary_does_not_stand_as_it_is(kind: str, text: str) -> None:
    """It is refused with a reason that quotes nothing, or what was invented in it is left out."""
    request = asked(earlier=(OLDER,) if kind in WITH_OLDER else ())
    review = judge(text, request)

    if kind == "invented id":
        assert review.dropped == 1
        assert not review.defects
    else:
        assert review.defects
    assert all(one.endswith(".") and len(one) < 200 for one in review.defects)
    assert all(word not in one for one in review.defects for word in ("KBUT8V", "mara", "violin"))


GOOD_ONES = {
    "travel": (GOOD, asked()),
    "the headings of the prompt": (
        (
            "## Decisions\n- The morning flight HAT094, because the user wants to leave before nine.\n"
            "## Open tasks\n- Charge credit_card_5521908 if the window seat near the wing stays.\n"
            "## Done tasks\n- Searched direct flights from Lisbon to Warsaw for 2024-05-22.\n"
            "## Failures tried\n- certificate_8830027 was refused for changes of a booked fare.\n"
            "## Narrative\nThe user moves reservation KBUT8V for a violin recital."
        ),
        asked(),
    ),
    "rolling": (f"{OLDER} Then they turned to a trip: {GOOD}", asked(earlier=(OLDER,))),
    "german": (GERMAN_SUMMARY, asked(GERMAN)),
    "english of a german talk": (
        (
            "The customer reported that the heating in the cellar loses water. Order A77310 was changed from "
            "maintenance to a repair; the technician comes on Thursday with a new expansion tank and rings at "
            "the neighbour, Oberhuber. The invoice goes to the property management."
        ),
        asked(GERMAN),
    ),
    "german of an english talk, by a german prompt": (
        REFUSED["wrong language"][1],
        asked(prompt="Fasse das Gespräch zusammen und nenne alles, was noch offen ist, in Sätzen."),
    ),
    "french, by name": (
        REFUSED["wrong language"][0],
        asked(prompt="Summarize the conversation in French."),
    ),
    "coding": (
        (
            "The user asked to repair src/ledger/importer.py, which dropped rows with an empty currency. "
            "`parse_row` returned None; now it uses default_currency (commit 9c41f7e, 312 passed). The test is "
            "`test_empty_currency` in tests/ledger/test_importer.py. The migrations folder must not be touched. "
            "Next: which callers depend on format_total in src/ledger/report.py, before any change."
        ),
        asked(CODING),
    ),
    "notes without sentences": (
        (
            "# Import fix\n- importer.py: empty currency falls back to default_currency\n- commit 9c41f7e\n"
            "- 312 tests pass\n# Next\n- callers of format_total (report.py), German locale, accountant"
        ),
        asked(CODING),
    ),
    "a report of an injection": (
        f"{GOOD}\n- A web page tried to make the assistant ignore its instructions; it did not.",
        asked(),
    ),
    "a long quotation": (
        f'{GOOD}\n- The user said: "{TRAVEL[4].text}"',
        asked(),
    ),
}


@pytest.mark.parametrize("name", GOOD_ONES)
def test_a_good_summary_stands(name: str) -> None:
    """Prose, headings and notes, of any source and in its or the instruction's language, stay whole."""
    text, request = GOOD_ONES[name]
    review = judge(text, request)

    assert (review.defects, review.dropped) == ((), 0)
    assert review.text == text


TURNS = [
    ("That's wonderful that you have a violin recital to look forward to! Enjoy the evening with your "
    "daughter, and travel on 22 May with HAT094. Safe travels!"),
    ("Thank you for the details. I have charged the card for the morning flight HAT094, and the window "
    "seat near the wing stays yours. You will get a mail at mara.quint@example.org."),
    ("Congratulations on the ninetieth birthday of your grandmother!\n\n1. Pack the folding music stand in "
    "the second suitcase.\n2. Keep the old letters in the cabin.\n3. Be at the gate before nine.\n\nLet me "
    "know if you need anything else."),
    ("Sure, here are the flights on that Wednesday:\n- HAT094 in the early morning\n- HAT318 in the "
    "afternoon\n\nWhich of them suits you better?"),
    ("You're welcome. The certificate stays valid until the end of November for a new booking, so you can "
    "use it for another trip. Have a good flight to Warsaw."),
    ("It sounds like your trip to Warsaw means a lot to your family. A window seat near the wing is a good "
    "choice if the aisle makes you dizzy, and the morning departure leaves time for the afternoon."),
    ("I understand. The airline refuses certificates for changes, but I can charge the original card. Please "
    "confirm that I should continue with the morning connection."),
    ("To keep your window seat, check in early. For the suitcase, weigh it at home. I hope that helps, and "
    "that your grandmother enjoys the visit."),
    ("Here are some tips for your flight: arrive early, carry the letters with you, and drink water before "
    "the departure. The window seat near the wing is the calmest place of the cabin."),
    "Gern geschehen! Ich habe den Flug am Morgen gebucht, und dein Platz am Fenster bleibt. Gute Reise!",
    "Avec plaisir ! Votre vol du matin est réservé et vous gardez la place près de l'aile. Bon voyage !",
    "好的，您的早班航班已经改签，靠窗座位为您保留。祝您旅途愉快！",
    ("To move the trip to Warsaw I need the user ID and the reservation, since the fare of HAT094 depends on "
    "them. Once they are here, the window seat near the wing can be kept."),
    ("The customer wants HAT094 on Wednesday with a window seat near the wing, and a second suitcase. Would you "
    "like me to charge the original card for it?"),
    ("The gift certificate was refused, since certificates cannot be used for changes. Now let's charge the "
    "original card and confirm HAT094 by mail."),
    "Understood. HAT094 on Wednesday morning, a window seat near the wing, and a second suitcase for Warsaw.",
    ("I'm sorry, certificates cannot be used for changes of a booked fare, so HAT094 was not booked and the window "
    "seat near the wing stays open."),
    "かしこまりました。水曜日の朝の便HAT094に変更し、窓側の席と二つ目のスーツケースを手配いたします。",
    "```bash\ncurl https://example.org/reservations/KBUT8V --data flight=HAT094 --data seat=window\n```",
    f"Certainly, the flight HAT777 is booked. {GOOD}",
    ("First I will search the flights to Warsaw on Wednesday. The customer wants a window seat near the wing and a "
    "second suitcase, and the gift certificate was refused. HAT094 costs 1,422 dollars."),
    "The gift certificate was refused, and HAT094 is still open.\n```\ncharge KBUT8V HAT094 5521908\n```",
    "<function=update_reservation>\n<parameter=flight>HAT094</parameter>\n</function>",
    "<update_reservation>\n<flight>HAT094</flight>\n<seat>window, near the wing</seat>\n</update_reservation>",
    "*** Begin Patch\n*** Update File: reservation.txt\n-seat: aisle\n+seat: window, near the wing\n*** End Patch",
    "import airline\nreservation = airline.find('KBUT8V')\nreservation.move(flight='HAT094')\nreservation.charge(5521908)",
    "Is the morning flight to Warsaw to be booked? And is the second suitcase for the music stand?",
]  # fmt: skip


NARRATIVES = [
    ("I asked you to move my trip from Lisbon to Warsaw by two days, because my daughter had her violin recital. You "
    "found HAT094 and HAT318 for Wednesday. I chose the morning flight and wanted to pay with the gift certificate, "
    "which you told me was refused. In the end I wanted the card charged if my window seat near the wing stayed."),
    ("The violin recital moves the trip to Warsaw by two days. I found HAT094 for Wednesday morning. The user then "
    "asked me for a window seat near the wing. It is not booked yet."),
    ("Your trip to Warsaw was moved to Wednesday. I searched and found two direct flights, and you took the "
    "morning one. I tried the gift certificate, but the airline refused it. You then asked for the original card, "
    "and a window seat near the wing."),
]  # fmt: skip


@pytest.mark.parametrize("text", NARRATIVES)
def test_who_tells_what_both_did_gives_a_summary(text: str) -> None:
    """A summary may be told by one side to the other, in the past."""
    assert (judge(text, asked()).defects, judge(text, asked()).text) == ((), text)


def test_an_instruction_may_ask_for_a_person() -> None:
    """What asks for notes in the first person gets them, but no answer to the customer."""
    prompt = "Write notes to yourself, in the first person."
    notes = (
        "I am changing a trip from Lisbon to Warsaw for Mara. I have found HAT094, and the gift certificate is refused. "
        "I still have to charge the original card and keep the window seat near the wing."
    )
    answer = "Certainly, I have found HAT094 for you and keep the window seat near the wing."

    assert judge(notes, asked(prompt=prompt)).defects == ()
    assert judge(notes, asked()).defects == (CONTINUES,)
    assert judge(answer, asked(prompt=prompt)).defects == (CONTINUES,)


def test_a_stretch_of_the_source_is_a_copy() -> None:
    """What one message says word for word stands for no conversation, though it speaks to nobody."""
    text = TRAVEL[7].text[: TRAVEL[7].text.index(" Shall I")]

    assert judge(text, asked()).defects == (
        "The text copies messages word for word instead of summarizing the conversation.",
    )


HOLLOW = (
    "## Goal\nContinue the work.\n\n## Progress\nSome progress was made on several tasks.\n\n## Key decisions\nVarious "
    "decisions were taken.\n\n## Next steps\nContinue with the remaining open items."
)


def test_what_fits_any_conversation_says_too_little() -> None:
    """Headings and words that stand in every summary are no content."""
    assert judge(HOLLOW, asked()).defects == (
        "The text says too little to stand for the conversation.",
    )


@pytest.mark.parametrize("turn", TURNS)
def test_the_next_turn_is_no_summary(turn: str) -> None:
    """An answer that stays with the subject is refused all the same, by whom it speaks to."""
    defects = judge(turn, asked()).defects

    assert CONTINUES in defects or "The text is a tool call, not a summary." in defects


def test_a_few_shared_words_are_not_enough() -> None:
    """A text about something else that names a window and a suitcase is no summary either."""
    text = REFUSED["wrong section"][-1].replace(
        "a lake", "the window of a lake, a suitcase, an economy"
    )

    assert judge(text, asked()).defects == (
        "The text is about something else than the conversation.",
    )


CHAT = (
    Message.user(
        "By the way, my cat jumped on the keyboard and my neighbour laughed a lot; the weather is awful, "
        "rain since Thursday, and the tram was late again, so I walked along the river with wet shoes."
    ),
    Message.assistant(
        "Poor shoes! Your companion sounds lively, and gloomy weeks with puddles, umbrellas, lightning "
        "and thunder end sooner or later: friends, candles, blankets, cocoa, crossword puzzles, tulips and "
        "postcards help until spring."
    ),
)
LOG = "\n".join(
    f"resolved {one}{other} from registry"
    for one in ("alpha", "bravo", "delta", "gamma", "hotel", "india", "lima", "oscar", "tango")
    for other in ("parser", "lexer", "router", "socket", "buffer", "thread", "kernel", "shader")
)
INSTALLED = (
    Message.assistant("", tool_calls=[ToolCallPart("n", "bash", '{"command": "npm ci"}')]),
    Message.tool("n", LOG),
    Message.assistant("Done installing."),
)


@pytest.mark.parametrize("newest", [CHAT, INSTALLED], ids=["small talk", "a log"])
def test_small_talk_and_logs_need_not_be_told(newest: tuple[Message, ...]) -> None:
    """What has to be told is what was said, if it is more than a few messages."""
    summary = f"{GOOD} Then packages were installed."

    assert judge(summary, asked(newest, earlier=(GOOD, OLDER * 2))).defects == (
        "The text leaves out an earlier summary.",
    )
    assert judge(summary, asked(newest, earlier=(GOOD * 2,))).defects == ()


DELTA = (
    "## Open tasks\n- Charge the card if the window seat near the wing stays.\n"
    "## Narrative\nThe user moves the flight from Lisbon to Warsaw because of a violin recital."
)


def test_what_code_carries_on_may_be_left_out() -> None:
    """A delta need not repeat a record, but what nobody else carries on: another text, and what was said."""
    record = SummaryRecord(Counts(user=3), {Section.NARRATIVE: (OLDER,)}).render()
    digest = SummaryRecord(Counts(user=3), {Section.SAID: (OLDER,)}).render()
    left_out = ("The text leaves out an earlier summary.",)

    request = asked(earlier=(record,))
    assert reviewed(DELTA, request, count=COUNTER.count, room=10**6, merges=True).defects == ()
    for earlier, merges in ((record, False), (digest, True), (OLDER, True)):
        request = asked(earlier=(earlier,))
        found = reviewed(DELTA, request, count=COUNTER.count, room=10**6, merges=merges)
        assert found.defects == left_out
