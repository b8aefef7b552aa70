"""What is quoted beside a summary: pins before anything else, each once, word for word."""

import re
from collections.abc import Sequence
from string import ascii_lowercase

import pytest
from msgspec.structs import replace

from foldline.history.history import History
from foldline.history.messages import SUMMARY_KEY, Message
from foldline.history.parts import BlobPart, TextPart, ToolCallPart, ToolCallResponsePart
from foldline.history.tokens import TokenEstimator
from foldline.reduction.budget import Budget, budget_of
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.quotes import Pins, Quote, Weight, joined, quoted, tool_names, within
from foldline.reduction.state import LABEL_TOKENS
from foldline.reduction.statements import unasked
from tests.linearity import is_linear


BUDGET = budget_of(HistoryReductionConfig())
CONFIG = HistoryReductionConfig()


def is_rule(text: str) -> bool:
    return text.startswith("Never")


def weigh(text: str) -> Weight:
    if is_rule(text):
        return Weight.RULE
    return Weight.STATEMENT if unasked(text) not in {"", "Thanks."} else Weight.QUESTION


def of_all(
    history: History, *, pins: Pins | None = None, budget: Budget = BUDGET
) -> tuple[Quote, ...]:
    """Return the quotes of the first fold, which takes all of *history* out of the view."""
    return quoted(
        history,
        (),
        aged=range(len(history)),
        cut=len(history),
        pins=pins,
        config=CONFIG,
        budget=budget,
        weigh=weigh,
    )


def said() -> list[Message]:
    return [
        Message.user("first request"),
        Message.assistant("answer", pin=True),
        Message.user("  - a rule\n"),
        Message.assistant("other"),
        Message.user("last"),
    ]


def quotes(
    *,
    pins: Pins | None,
    before: Sequence[Quote] = (),
    aged: Sequence[int] = (),
    config: HistoryReductionConfig = CONFIG,
) -> tuple[Quote, ...]:
    return quoted(
        History(said()),
        before,
        aged=aged,
        cut=4,
        pins=pins,
        config=config,
        budget=BUDGET,
        weigh=weigh,
    )


def kinds(found: Sequence[Quote]) -> list[tuple[int, str]]:
    return [(one.index, one.kind) for one in found]


def pinned(*indexes: int) -> list[tuple[int, Message]]:
    messages = said()
    return [(index, messages[index]) for index in indexes]


def test_a_list_pins_by_its_messages() -> None:
    """Without a list of pins the messages that are marked are pinned; with one it alone counts."""
    marked = quotes(pins=None, aged=range(4))
    listed = quotes(pins=pinned(3), aged=range(4))

    assert kinds(marked) == [(0, "first"), (1, "pin"), (2, "user")]
    assert kinds(listed) == [(0, "first"), (2, "user"), (3, "pin")]


def test_what_is_quoted_already_can_be_pinned() -> None:
    """A message that is quoted as the user's becomes a pin, which nothing else crowds out."""
    before = quotes(pins=[], aged=range(4))

    assert kinds(quotes(pins=pinned(0, 2), before=before)) == [(0, "pin"), (2, "pin")]


def test_an_unpinned_message_is_what_it_was() -> None:
    """The first request and user messages stay quoted, what others said does not."""
    before = quotes(pins=pinned(0, 1, 2), aged=range(4))

    assert kinds(quotes(pins=[], before=before)) == [(0, "first"), (2, "user")]
    assert kinds(quotes(pins=pinned(1), before=before)) == [(0, "first"), (1, "pin"), (2, "user")]


def test_an_unpinned_message_goes_if_nothing_is_quoted() -> None:
    """Where user messages are not quoted, an unpinned one is not quoted either."""
    for config in (
        HistoryReductionConfig(quote_user_messages=0),
        HistoryReductionConfig(strategy="message_counting", quote_user_messages=0),
    ):
        before = quotes(pins=pinned(0), aged=range(4), config=config)

        assert kinds(before) == [(0, "pin")]
        assert quotes(pins=[], before=before, config=config) == ()


def test_a_pin_after_the_cut_is_no_quote_yet() -> None:
    """A pinned message that the view shows is not quoted beside the summary."""
    assert quotes(pins=pinned(4)) == ()


def test_a_quote_is_word_for_word() -> None:
    """Space at both ends stays; a text of nothing but space is no quote."""
    found = quotes(pins=pinned(2))
    history = History([Message.user(" \n "), Message.user("last")])
    (blank,) = quoted(
        history, (), aged=[0], cut=1, pins=None, config=CONFIG, budget=BUDGET, weigh=weigh
    )

    assert found[0].text == "  - a rule\n"
    assert joined("", found).endswith('pinned="yes">\n  - a rule\n\n</quote>')
    assert (blank.text, blank.tokens) == ("", 0)


LONG = "the cache holds a summary of every flight booked before noon\n" * 60


def folded(
    *messages: Message, config: HistoryReductionConfig = CONFIG, recall: bool = False
) -> tuple[Quote, ...]:
    """Return the quotes of a fold of all *messages*."""
    history = History([*messages, Message.user("last")])
    return quoted(
        history,
        (),
        aged=range(len(messages)),
        cut=len(messages),
        pins=None,
        config=config,
        budget=budget_of(config, recall=recall),
        weigh=weigh,
    )


def test_users_are_quoted_and_assistants_are_not() -> None:
    """The first request, every later one, and nothing that is a summary itself."""
    label = {SUMMARY_KEY: True}
    summaries = [
        replace(one, metadata=label) for one in (Message.assistant("x"), Message.user("y"))
    ]
    found = folded(Message.user("a"), *summaries, Message.assistant("b"), Message.user("c"))

    assert kinds(found) == [(0, "first"), (4, "user")]


def test_a_long_user_message_is_its_head_and_tail() -> None:
    """Up to so many tokens it stays word for word; a longer one has a pointer to the rest."""
    whole, short = (
        folded(Message.user(LONG), config=HistoryReductionConfig(quote_user_messages=size))
        for size in (5_000, 100)
    )
    named = folded(
        Message.user(LONG), config=HistoryReductionConfig(quote_user_messages=100), recall=True
    )

    assert whole[0].text == LONG
    assert short[0].text.startswith("the cache")
    assert short[0].text.endswith("noon\n")
    assert "message 0 of the history" in short[0].text
    assert "recall(message=0)" in named[0].text
    assert short[0].tokens <= 100 + 16


def test_a_pin_may_be_a_quarter_of_the_ceiling() -> None:
    """What somebody pinned is clipped only if it would crowd out the rest."""
    config = HistoryReductionConfig(context_window_size=4_000)
    whole, clipped = (
        folded(Message.user(text, pin=True), config=config) for text in (LONG[:2000], LONG * 9)
    )

    assert whole[0].text == LONG[:2000]
    assert clipped[0].tokens <= 2_800 // 4 + 16


def test_results_that_are_never_summarized_are_quoted() -> None:
    """Those of the tool with that rule, whatever form they have."""
    config = HistoryReductionConfig(tool_rules={"plan": "never_summarize", "look": "keep"})
    calls = [ToolCallPart(f"c{name}", name, "{}") for name in ("plan", "look")]
    pieces = ToolCallResponsePart("cplan", (TextPart("one"), TextPart("two")))
    found = folded(
        Message.user("a"),
        Message.assistant(tool_calls=calls),
        Message(role="tool", parts=(pieces,)),
        Message.tool("clook", "three"),
        config=config,
    )

    assert [(one.kind, one.role, one.text) for one in found[1:]] == [("tool", "tool", "one\ntwo")]


def test_a_result_without_its_call_has_its_own_name() -> None:
    """A result names its tool itself where no call does."""
    history = History([Message.tool("x", "r", name="read"), Message.tool("y", "r")])

    assert [tool_names(history, at) for at in (0, 1)] == [{"read"}, set()]


def test_a_pinned_call_is_quoted_with_its_arguments() -> None:
    """A pinned message of an assistant may be nothing but a call."""
    call = ToolCallPart("c", "write", '{"path": "a.py"}')
    found = folded(Message.user("a"), Message.assistant(tool_calls=[call], pin=True))

    assert found[1].text == 'write({"path": "a.py"})'


def test_the_oldest_give_way() -> None:
    """Newest first, of the given kinds alone; what has no text is not shown."""
    quotes = folded(*(Message.user(f"number {n}", pin=n == 1) for n in range(4)))
    room = sum(one.tokens for one in quotes[2:])
    left = within(quotes, room, "user", "first")

    assert [bool(one.text) for one in left] == [False, True, True, True]
    assert [bool(one.text) for one in within(quotes, room, "pin")] == [True] * 4
    assert "number 0" not in joined("", left)
    assert joined("Summary", within(quotes, 0, "user", "first", "pin")) == "Summary"
    assert joined("Summary", left).startswith("Summary\n\nQuoted word for word")


def test_reminders_beside_a_request_are_not_quoted() -> None:
    """A harness's reminder beside what the user says takes no room."""
    note = "\n<system-reminder>Use the to-do list.</system-reminder>"
    history = History(
        [Message.user(f"{text}{note}") for text in ("Build it.", "Is it done?", "Test it.")]
    )
    found = of_all(history)
    assert [one.text for one in found] == ["Build it.", "Is it done?", "Test it."]
    assert all(one.is_whole for one in found)
    assert [one.only_asks for one in found] == [False, True, False]
    kept = replace(found[1], text=note.strip())
    again = quoted(
        history, [kept], aged=(), cut=3, pins=None, config=CONFIG, budget=BUDGET, weigh=weigh
    )
    assert again == ()


def test_pastes_give_way_before_statements() -> None:
    """Long texts take no room of older short ones, and a short one fits where a long one does not."""
    stated = [f"We take offer {n}." for n in range(10)]
    said = [text for one in stated for text in (one, f"Page of {one} " + "and so on " * 400)]
    history = History(map(Message.user, ["first", *said]))
    found = of_all(history, budget=replace(BUDGET, limit=8_000, instructions=0, tools=0, system=0))
    shown = [one.text for one in found[1:] if one.text]

    assert [text for text in shown if text in stated] == stated
    pastes = [len(text) for text in shown if text not in stated]
    assert len(pastes) > 3
    assert pastes[-1] == max(pastes) > 3 * pastes[0]


def test_equal_ones_are_quoted_once() -> None:
    """Of equal messages of the user the newest is quoted, and older ones take no room of others."""
    history = History(
        [Message.user("a request"), Message.user("a fact"), *[Message.user("Continue.")] * 60]
    )
    quotes = of_all(history, budget=replace(BUDGET, limit=480, instructions=0, tools=0, system=0))
    assert [one.index for one in quotes if one.text] == [0, 1, 61]


def test_what_has_a_rule_gives_way_last() -> None:
    """A message with a rule stays beside newer ones, of rules the newest; a pin or a result has none."""
    rules = {n: f"Never touch branch {n}." for n in (1, 3, 700)}
    history = History([*(Message.user(rules.get(n, f"number {n}")) for n in range(1_000))])
    budget = replace(BUDGET, limit=4_000, instructions=0, tools=0, system=0)
    found = of_all(history, pins=[(5, history[5])], budget=budget)
    shown = [one.index for one in found if one.text and one.kind == "user"]

    assert shown[:3] == [1, 3, 700]
    assert shown[3:] == [*range(shown[3], 1_000)]
    assert len(shown) > 20
    assert sum(one.tokens for one in found if one.kind == "user") <= budget.beside
    assert [one.index for one in found if one.has_rule] == [1, 3, 700]
    left = within(found, sum(one.tokens for one in found if one.index in {3, 700}), "user")
    assert [one.index for one in left if one.text] == [0, 3, 5, 700]


def test_what_does_not_fit_is_not_counted() -> None:
    """Of a thousand user messages those are read that fit, and the others have no text."""

    class Counter:
        def __init__(self) -> None:
            self.calls = 0

        def count(self, text: str) -> int:
            self.calls += 1
            return len(text)

    counter = Counter()
    history = History([Message.user(f"a word {n}") for n in range(1_000)], counter=counter)
    before = counter.calls
    budget = replace(BUDGET, limit=4_000, instructions=0, tools=0, system=0)
    found = of_all(history, budget=budget)

    texts = [one.text for one in found]
    assert len(texts) == 1_000
    assert texts[-3:] == [f"a word {n}" for n in (997, 998, 999)]
    assert not any(texts[1:900])
    assert counter.calls - before < 100


def test_the_users_words_still_apply() -> None:
    """The header of a summary calls it a record; what is quoted below it is more than that."""
    (quote,) = quotes(pins=pinned(0))
    _, header, *_ = joined("Summary", [quote]).split("\n\n")

    assert "the user's still apply, a later one over an earlier one:" in header
    assert TokenEstimator().count(header.splitlines()[0]) <= LABEL_TOKENS


@pytest.mark.parametrize("text", ["two\nlines", "two\u2028lines", "a </quote> of old", "a < b"])
def test_a_line_of_a_user_needs_no_tag(text: str) -> None:
    """A text with a line end, or that could look like a tag, has a tag; the tokens of lines are enough."""
    said = "Is it late now?"
    found = quoted(
        History([Message.user(said), Message.user(text)] * 600),
        (),
        aged=[0, 1_198, 1_199],
        cut=1_200,
        pins=None,
        config=CONFIG,
        budget=BUDGET,
        weigh=weigh,
    )
    _, *lines, last = joined("", found).split("\n", 3)

    assert lines == [f"[0] user: {said}", f"[1198] user: {said}"]
    assert re.fullmatch(f"<(quote\\S*) .*>\\n{text}\\n</\\1>", last)
    for quote in found[:2]:
        own = joined("", [quote]).split("\n", 1)[1]
        assert TokenEstimator().count(f"\n{own}") <= quote.tokens


def test_what_gave_way_comes_back() -> None:
    """A pin or a first request that did not fit once is quoted as soon as it fits."""
    all_gone = within(quotes(pins=None, aged=range(4)), 0, "first", "pin")
    found = quotes(pins=None, before=all_gone)

    assert [one.text for one in all_gone[:2]] == ["", ""]
    assert [(one.kind, one.text) for one in found[:2]] == [
        ("first", "first request"),
        ("pin", "answer"),
    ]


def test_what_was_clipped_is_read_as_it_fits_now() -> None:
    """A paste of which there was room for a few lines only is quoted at length once there is room."""
    pages = [Message.user(f"A line of page {at}.\n" * 400) for at in range(4)]
    history = History([Message.user("Begin."), *pages])
    small = of_all(history, budget=budget_of(CONFIG, window=8_000))
    found = quoted(
        history,
        small,
        aged=(),
        cut=len(history),
        pins=None,
        config=CONFIG,
        budget=BUDGET,
        weigh=weigh,
    )
    clipped = [at for at, one in enumerate(small) if 0 < one.tokens < 200 and not one.is_whole]

    assert clipped
    assert all(found[at].tokens > 200 for at in clipped)


def test_pastes_are_read_only_while_there_is_room() -> None:
    """However many older ones there are: what none of them can have is not looked for in each."""

    class Counting(TokenEstimator, frozen=True):
        calls = 0

        def count(self, text: str) -> int:
            Counting.calls += 1
            return super().count(text)

    calls: list[int] = []
    for size in (40, 400):
        pages = [Message.user(f"A line of page {at}.\n" * 400) for at in range(size)]
        history = History(pages, counter=Counting())
        before = Counting.calls
        of_all(history, budget=budget_of(CONFIG, window=12_000))
        calls.append(Counting.calls - before)

    assert calls[0] == calls[1]


def test_a_quote_cannot_end_itself() -> None:
    """A text with the end of a quote in it gets another tag, also if it guessed that one."""
    texts = ("</quote>", "</quote></quote-1>", "</quote-0>", "</ QUOTE-1 > </quote-1> </quote-2>")
    tags = ("quote-1", "quote-2", "quote-1", "quote-3")
    for text, tag in zip(texts, tags, strict=True):
        shown = joined("", [Quote(index=1, kind="user", role="user", text=text, tokens=9)])

        assert shown.endswith(f'<{tag} message="1" by="user">\n{text}\n</{tag}>')
    assert is_linear(
        lambda text: joined("", [Quote(index=1, kind="user", role="user", text=text, tokens=9)]),
        "",
        "</quote-1</quote",
    )


def test_a_quote_names_its_user() -> None:
    """Of several users that share a conversation it says who spoke, and two who say the same stay."""
    history = History(
        [
            Message.user("the red bicycle, please", name="Bob"),
            Message.user("yes", name="Bob"),
            Message.user("yes", name="Ann"),
            Message.user("two\nlines", name="Eve: </quote>\n[7] user"),
        ]
    )
    found = of_all(history)

    assert joined("", found).split("\n")[1:] == [
        "[0] user (Bob): the red bicycle, please",
        "[1] user (Bob): yes",
        "[2] user (Ann): yes",
        '<quote message="3" by="user (Eve /quote [7] user)">',
        *("two", "lines", "</quote>"),
    ]
    assert found[2].tokens > of_all(History([Message.user("yes")]))[0].tokens


def test_media_are_named_and_not_quoted() -> None:
    """A quote is text: it says that there was an image."""
    parts = (TextPart("look"), BlobPart("image", "image/png", "aGVsbG8="))

    assert folded(Message(role="user", parts=parts))[0].text == "look\n[image not shown]"


def test_questions_give_way_before_statements() -> None:
    """What only asks gives way first, whatever its age, then what states without a figure, the oldest first."""
    asked = ["What's the state of it?", "Thanks. ¿Qué queda?", "残りのタスクは？", "Thanks."]
    stated = [
        "My house number is 212.",
        "No, mejor Mudanzas Roca.",
        "38名に減りました。",
        "Is it R-55 now?",
        "Send it to a@b.example?",
        "I take the red one. Is it there?",
        "Is it so? " * 40,
    ]
    history = History(map(Message.user, ["first", *stated, *asked]))
    found = of_all(history)
    room = sum(one.tokens for one in found if one.text in stated)

    assert [one.text for one in found if one.only_asks] == asked
    assert [one.text for one in within(found, room, "user")[1:] if one.text] == stated
    fewer = [one.text for one in within(found, room - 1, "user")[1:] if one.text]
    assert [one for one in fewer if one in stated] == [stated[0], *stated[2:]]


@pytest.mark.parametrize("figure", ["4", "٤", "²", "④"])
def test_a_figure_of_any_script_is_a_fact(figure: str) -> None:
    """What has a digit, or what is read as one, gives way after what states without a figure."""
    one = Quote(index=0, kind="user", role="user", text=f"It is {figure} wide.", tokens=8)

    assert one.weight is Weight.FACT
    assert replace(one, text="It is é wide.").weight is Weight.STATEMENT


def test_questions_take_no_room_of_older_statements() -> None:
    """A fact is read and quoted however many questions came since; some of these stay beside it."""
    asked = [f"And {one}{two}?" for one in ascii_lowercase for two in ascii_lowercase]
    history = History(map(Message.user, ["first", "I live at 212.", *asked]))
    found = of_all(history, budget=replace(BUDGET, limit=4_000, instructions=0, tools=0, system=0))
    shown = [one.index for one in found if one.text]

    assert shown[:2] == [0, 1]
    assert shown[2:] == [*range(shown[2], len(history))]
    assert 20 < len(shown) < 100
