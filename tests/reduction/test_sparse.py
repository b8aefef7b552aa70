"""Summaries of conversations of a few words, one sentence with another number each time."""

import pytest

from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.reduction.request import DEFAULT_PROMPT
from tests.reduction.test_contract_faults import asked, judge


def talk(count: int, question: str, answer: str) -> list[Message]:
    return [
        made(text.format(number))
        for number in range(count)
        for made, text in ((Message.user, question), (Message.assistant, answer))
    ]


def checked(number: int) -> list[Message]:
    call = ToolCallPart(f"c{number}", "lookup", f'{{"item": {number}}}')
    return [
        Message.user(f"Check item {number}"),
        Message.assistant("", tool_calls=[call]),
        Message.tool(call.id, f'{{"item": {number}, "status": "fine"}}'),
        Message.assistant(f"Item {number} is fine."),
    ]


WORDS = talk(30, "message {} word word word", "message {} word word word")
ITEMS = talk(20, "Please look at item {}", "Done with item {}")
CALLS = [one for number in range(40) for one in checked(number)]
SOURCES = {"words": WORDS, "items": ITEMS, "calls": CALLS}
NOTED = (
    "The user went through items and messages one by one. The assistant was done with each of them."
)
REFUSED = {
    "empty": ["ok", "(none)", "N/A", "Summary:", "Summary: none", "# Summary", "## Narrative\n(none)", "Sure thing."],
    "refusal": [
        "Unable to comply: policy",
        "This request cannot be fulfilled.",
        "The message was blocked by a filter.",
        "Das kann ich leider nicht zusammenfassen.",
        "Lo siento, no puedo ayudar con eso.",
        "申し訳ありませんが、お応えできません。",
        "Request denied due to the content policy.",
        "Unable to summarize the messages and items.",
        "Niestety nie jestem w stanie podsumować tej rozmowy.",
        "Üzgünüm, bu istekte hizmet veremem.",
    ],
    "stale": [
        "Nothing has been done yet.",
        "No progress so far.",
        "There is nothing to summarize.",
        "No conversation was provided.",
        "No changes since the last summary.",
    ],
    "announcement": [
        "Here is the summary.",
        "Here's a summary of the conversation:",
        "Below is a concise summary of the conversation so far.",
        "I have summarized the conversation.",
        "The summary goes here.",
    ],
    "template": ["[Insert summary here]", "{summary}", "{{ summary }}", "<summary></summary>", "$SUMMARY", "[...]", "TODO",
        "Goal: [goal]\nDone: [done]"],
    "elsewhere": [
        "Preheat the oven, mix flour with sugar and butter until smooth, and bake until golden.",
        ("The user asked for a recipe of banana bread with three ripe bananas, flour and butter, and wants it vegan, so the "
        "eggs are replaced by flax seed."),
        "A group of hikers crossed the ridge at dawn and pitched tents beside a lake until thunder forced everybody back.",
        "The team discussed the quarterly marketing budget. Sales in northern Europe rose while print advertising was cut.",
        "Quarterly revenue rose by several percent thanks to strong demand in Asia.",
    ],
    "wrong language": [
        "Der Nutzer hat viele kurze Texte geschickt, und der Assistent hat auf jeden von ihnen geantwortet.",
        "L'utilisateur a envoyé des textes et l'assistant a répondu à chacun dans la conversation, et rien ne reste à faire.",
        "El usuario envió muchos textos cortos y el asistente respondió a cada uno de ellos en la conversación.",
        "Пользователь отправил много сообщений, ассистент ответил.",
        "用户发送了许多短消息。",
    ],
    "cut": [
        f"{NOTED} Then the user said that the items should be looked at again and the",
        f"{NOTED} The assistant (who had",
        f'{NOTED}\n```json\n{{"item":',
        f"{NOTED} The next thing that the user wanted to have looked at by the assis",
        "The user went through items and messages one by one and the",
    ],
    "repeated": [
        f"{NOTED}\n" * 4,
        "- The user asked.\n" * 4,
        "The user asked for an item. " * 9,
        "They talked about items.\n" * 5,
        f"{NOTED} " * 3,
    ],
    "instruction": [
        DEFAULT_PROMPT,
        DEFAULT_PROMPT[: DEFAULT_PROMPT.index("\n\n")],
        DEFAULT_PROMPT[DEFAULT_PROMPT.index("- Speak") : DEFAULT_PROMPT.index("- What an")],
        DEFAULT_PROMPT[DEFAULT_PROMPT.index("- Copy") : DEFAULT_PROMPT.index("- Tell")],
        DEFAULT_PROMPT[DEFAULT_PROMPT.index("- Begin") : DEFAULT_PROMPT.index("- Copy")],
    ],
    "json": ['{"summary": "N/A"}', '{"summary": null}', '{"status": "ok"}', '{"error": "content_filter"}', "null"],
}  # fmt: skip
"""What stands for no conversation, for none of `SOURCES`."""


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(text, id=f"{kind} {number}")
        for kind, texts in REFUSED.items()
        for number, text in enumerate(texts, 1)
    ],
)
def test_what_says_nothing_of_a_few_words_does_not_stand(source: str, text: str) -> None:
    """However few words a source has, a text that fits any conversation stands for none."""
    assert judge(text, asked(SOURCES[source])).defects


COPIES = [
    "\n".join(one.text for one in ITEMS),
    "\n".join(f"{one.role}: {one.text}" for one in ITEMS),
    ITEMS[-1].text,
    f"User: {ITEMS[0].text}",
    " ".join(one.text for one in ITEMS[4:12]),
]


@pytest.mark.parametrize("text", COPIES)
def test_what_a_few_messages_say_is_no_summary(text: str) -> None:
    """One message, a stretch of them or all are a copy, with and without the names of the sides."""
    assert judge(text, asked(ITEMS)).defects[0] == (
        "The text copies messages word for word instead of summarizing the conversation."
    )


def test_a_copy_leaves_out_what_tools_said() -> None:
    """What was said between calls is a copy without them."""
    assert judge("Item 3 is fine. Check item 4", asked(CALLS)).defects
    assert judge("Item 3 is fine, then item 4", asked(CALLS)).defects == ()


GOOD = {
    "words": [
        'The user and the assistant exchanged thirty numbered messages that say only "word word word". Nothing was asked.',
        "Thirty short test messages, numbered 0 to 29; each has the same filler text.",
        "User and assistant counted from 0 to 29 in placeholder texts.",
        "There is no task: the user only sent numbered texts.",
        "Only filler was sent.",
        "- Topic: counting\n- Range: 0 to 29\n- Open: none",
        "what was said up to here, number 4",
        "summary 3",
        "S1",
        "[summary of 12 messages]",
        "word " * 90,
    ],
    "items": [
        "The user asked the assistant to look at items 0 to 19, one by one. The assistant said that each is done.",
        "## Done tasks\n- Items 0 to 19 were looked at.\n## Open tasks\n- (none)",
        "All twenty items (0-19) have been reviewed; nothing is pending.",
        "\n".join(f"- Item {number}: looked at." for number in range(20)),
        "- User: asked to look at items 0-19\n- Assistant: done with all of them",
    ],
    "calls": [
        "The user asked to check items 0 to 39. The assistant called lookup for each; every item is fine.",
        "40 items were looked up, all of them are fine. No failures occurred.",
        '{"asked": "items 0 to 39", "found": "all fine"}',
        "- lookup(0) .. lookup(39): fine\n- nothing left to do",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("source", "text"), [(name, one) for name in GOOD for one in GOOD[name]])
def test_a_summary_of_a_few_words_has_its_own(source: str, text: str) -> None:
    """It may say in other words what there was, and that nothing was asked or is open."""
    review = judge(text, asked(SOURCES[source]))

    assert (review.defects, review.dropped) == ((), 0)


NOTES = talk(20, "Nachricht {} wort", "Nachricht {} wort")
ORDERS = talk(20, "Bitte prüfe den Auftrag {}", "Der Auftrag {} ist nun geprüft und im Archiv")
GERMAN = "Der Nutzer hat zwanzig Nachrichten mit einem Wort geschickt, und der Assistent hat auf alle geantwortet."
ENGLISH = "Twenty requests went through without complaints, all checked, stored and confirmed."
FREE = "Fasse zusammen, worum es ging."


@pytest.mark.parametrize(
    ("source", "prompt", "text", "stands"),
    [
        (NOTES, DEFAULT_PROMPT, GERMAN, True),
        (WORDS, DEFAULT_PROMPT, GERMAN.replace("Nachrichten", "Texte"), False),
        (WORDS, "Summarize in German.", GERMAN, True),
        (ORDERS, DEFAULT_PROMPT, ENGLISH, True),
        (ITEMS[:0], "", "text", True),
        (WORDS, FREE, GERMAN, True),
    ],
)
def test_a_few_words_are_told_of_in_their_language_or_as_asked(
    source: list[Message], prompt: str, text: str, stands: bool
) -> None:
    """A language is wrong if the source has it not, as far as one knows, and nobody asked for it."""
    earlier = () if source else ("They talked about this and that for a while, up to here.",)

    assert (judge(text, asked(source, earlier, prompt)).defects == ()) is stands


PLACES = [
    "Lisbon",
    "Porto",
    "Warsaw",
    "Vienna",
    "Madrid",
    "Prague",
    "Dublin",
    "Zurich",
    "Athens",
    "Geneva",
]
DISHES = [
    "noodles",
    "salmon",
    "lentils",
    "pancakes",
    "risotto",
    "goulash",
    "tacos",
    "ramen",
    "paella",
    "falafel",
]
MEALS = [
    one
    for place, dish in zip(PLACES, DISHES, strict=True)
    for one in talk(1, f"Which dish do they serve in {place}?", f"Mostly {dish}, as they say.")
]


@pytest.mark.parametrize(
    "text",
    [
        "Unable to comply: policy",
        "This request cannot be fulfilled.",
        "There is nothing to summarize.",
        "Here is a summary of the conversation:",
        "Request denied due to the content policy.",
    ],
)
def test_what_says_nothing_does_not_stand_for_some_words_either(text: str) -> None:
    """A source of twenty to eighty words has words that a text may deny something of."""
    assert judge(text, asked(MEALS)).defects
    assert judge(f"{text} They serve noodles in Lisbon.", asked(MEALS)).defects == ()
