"""The sections of a digest, one by one."""

from collections import Counter
from collections.abc import Sequence

import pytest

from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.history.tokens import TokenEstimator
from foldline.providers.digest.calls import offer_calls
from foldline.providers.digest.identifiers import Finder, is_identifier, kind_of
from foldline.providers.digest.ledger import Entry, Ledger, build_ledger, offer_entries
from foldline.providers.digest.outline import (
    STRIDE,
    Item,
    lay_out,
    read_earlier,
    select,
    share_out,
)
from foldline.providers.digest.span import read_span
from foldline.providers.digest.summarizer import write_digest
from foldline.providers.digest.text import clean, one_line, shorten
from foldline.providers.digest.tool_use import uses_of
from foldline.providers.digest.work import EXTRACTORS, facts_of
from foldline.reduction.call_counts import NOTHING, CallCounts
from foldline.reduction.record import Counts, Section, SummaryRecord
from foldline.reduction.request import SummaryRequest


def ledger_of(*messages: Message, earlier: str = "") -> Ledger:
    finder = Finder()
    span = read_span(messages, finder)
    return build_ledger(span, read_earlier([earlier] if earlier else []), finder)


def offered(
    messages: Sequence[Message], *, prior: Sequence[str], counts: CallCounts = NOTHING
) -> list[Item]:
    uses = uses_of(read_span(messages, Finder()))
    calls = Counter(use.name for use in uses if use.name)
    counts = counts.then(CallCounts(calls=calls, messages=len(messages)))
    return offer_calls(uses, facts_of(uses, EXTRACTORS), prior=prior, counts=counts, budget=900)


def call(name: str, arguments: str, *, id: str = "c") -> Message:
    return Message.assistant("", tool_calls=[ToolCallPart(id, name, arguments)])


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("short", 10, "short"),
        ("one two three", 9, "one two …"),
        ("one two three", 8, "one …"),
        ("identifier_123", 8, ""),
        ("cut … again and again", 9, "cut …"),
        ("漢字漢字漢字漢字", 6, "漢字漢字 …"),
    ],
)
def test_shorten(text: str, limit: int, expected: str) -> None:
    """A text is cut at a word, never inside an ASCII one, and never longer than its limit."""
    assert shorten(text, limit=limit) == expected
    assert len(expected) <= limit


def test_clean_and_one_line() -> None:
    """What UTF-8 cannot hold becomes a space, and every break of a line as well."""
    assert one_line(clean("a\0b\ud800c\r\n\u2028## d")) == "a b c ## d"


KINDS = {
    "url": "https://example.com/a",
    "email": "ann@example.com|a.b+c@mail.example.co.uk",
    "package": "pi-monorepo@0.0.3|@scope/name@v1.2.0-beta.1",
    "version": "318.40|v2.3",
    "clock": "12:30|3.12s|150ms|40\u00b5s|1h30m",
    "command": "/undo",
    "date": "2024-05-20|May 20th|5/20/2024",
    "amount": "$20.50|15%",
    "path": "src/main.py|main.ts|/usr/lib/x",
    "number": "4711",
    "code": "HAT136",
    "name": "snake_case",
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind: str) -> None:
    """Each typed shape is known, and all else is a name."""
    assert {kind_of(value) for value in KINDS[kind].split("|")} == {kind}


def test_finds_identifiers() -> None:
    """Pairs give names, tokens with a digit or a sign are found, keys and words are not."""
    text = '{"order_id": "HATHAT", "count": 12345, "note": "plain"} see ./src/a.py, (#12) "B-7"!'
    found = [(label, value) for value, label in Finder().find(text).items()]

    assert found == [
        ("order_id", "HATHAT"),
        ("count", "12345"),
        ("", "./src/a.py"),
        ("", "#12"),
        ("", "B-7"),
    ]


def test_a_row_of_dots_ends_an_identifier() -> None:
    """The line of a check is two words, and a directive of a compiler is no name."""
    text = "flake8.......Failed f401.py...Passed a12...b34 ../c3.py #include #12"

    assert [*Finder().find(text)] == ["flake8", "f401.py", "a12", "b34", "../c3.py", "#12"]


def test_a_sentence_without_spaces_is_no_identifier() -> None:
    """Of Japanese and Chinese only what is Latin, or a short value, is an identifier."""
    text = '予約番号はJR-82K4M1、合計は49420円です {"name": "はくたか566号", "note": "予約の受付は7日前からです"}'

    assert [*Finder().find(text)] == ["はくたか566号", "JR-82K4M1", "49420", "566"]
    assert not is_identifier("予約の受付は7日前からです")


def test_numbers_of_lines_are_no_identifiers() -> None:
    """The numbers that a listing puts before its lines name nothing, and what stands after them does."""
    listing = "[File: a.py]\n1456:\n1457:return base_unit\n1458:obj.key_1\n1459:\nticket 4711"
    found = Finder().find(listing)

    assert {"base_unit", "obj.key_1", "4711"} <= found.keys()
    assert found.keys().isdisjoint(
        {"1456", "1457", "1458", "1459", "1457:return", "1458:obj.key_1"}
    )
    assert "1457" in Finder().find("see\n1457: the order\nand 12")


def test_paths_have_one_name() -> None:
    """Every way to write a path becomes the longest one of the text."""
    ledger = ledger_of(
        Message.user("main.ts ./src/main.ts @app/src/main.ts /h/app/src/main.ts HAT136"),
        call("open", '{"a": "src/main.ts", "b": "JFK", "c": "x", "d": "word", "e": "two words"}'),
    )

    assert ledger.used == [
        Entry("/h/app/src/main.ts", "/h/app/src/", is_told=True),
        Entry("JFK", "b", 1),
    ]
    assert ledger.seen == [Entry("HAT136", "codes", is_told=True)]


def test_ledger_splits_used_and_seen() -> None:
    """Arguments are used, all else is seen, and a value is in one of the two only."""
    ledger = ledger_of(
        Message.tool("x", '{"order_id": "A-1", "other_id": "B-2", "at": "10:00:00", "n": 7}'),
        call("get", '{"order_id": "A-1", "note": "about C-3 for $50 in 12 cases"}'),
        call("write", '{"content": "' + "text with D-4 " * 40 + '"}'),
        earlier="It was E-5.",
    )

    assert ledger.used == [Entry("A-1", "order_id", 1), Entry("C-3", "codes", 1)]
    assert {entry.value for entry in ledger.seen} == {"B-2", "D-4", "E-5", "$50", "7"}


def test_numbers_that_json_names_are_kept_last() -> None:
    """Counts and prices in an answer are listed with their names, after all that names something."""
    text = (
        '{"price": 12.50, "bags": 4, "version": 3.12, "id": "X-1", "at": 1.2.3, "python": "3.11.2"}'
    )
    ledger = ledger_of(Message.assistant("Then at 11:45 for $60."), Message.tool("c", text))

    assert lay_out(offer_entries(ledger.seen)) == (
        "id: X-1",
        "amounts: $60",
        "times: 11:45",
        "price: 12.50",
        "bags: 4",
    )


def test_a_long_answer_of_numbers_leaves_room() -> None:
    """Of numbers that mean little without their sentence there are never more than some hundred."""
    rows = ", ".join(f'{{"id": "ID-{row}", "size": {row}}}' for row in range(700))
    ledger = ledger_of(Message.tool("c", f"[{rows}]"))
    some = ledger_of(Message.tool("c", rows[:9_000]))

    assert {entry.label for entry in ledger.seen} == {"id"}
    assert sum(entry.label == "size" for entry in some.seen) == 200


@pytest.mark.parametrize(
    "text", ["It is 318.40 euros.", "EUR 318.40 is due", "€ 318.40", "318.4 usd", "1,318.40 €"]
)
def test_a_number_beside_money_is_an_amount(text: str) -> None:
    """Alone it is a number, and its label stays with it over the next folds."""
    (listed,) = (
        one for one in lay_out(offer_entries(ledger_of(Message.user(text)).seen)) if "318" in one
    )
    again = ledger_of(earlier=SummaryRecord(Counts(user=1), {Section.SEEN: (listed,)}).render())

    assert listed.startswith("amounts: ")
    assert listed in lay_out(offer_entries(again.seen))
    assert Finder().find("It was €2.50, and 3.11.") == {"€2.50": "", "3.11": ""}
    assert offer_entries(ledger_of(Message.user("Use 318.40 here")).seen)[0].group == "numbers"


def test_the_lines_of_a_table_are_no_answer() -> None:
    """What is beside a call is the head of a table and its rows, not what it is drawn with."""
    table = "store | units\n------+------\nLeith | 12\n──────┼─────\nGorgie | 3"
    messages = [call("run_sql", '{"query": "select"}'), Message.tool("c", table)]

    assert [one.text for one in offered(messages, prior=())][1:] == [
        "run_sql query: select -> store | units Leith | 12 Gorgie | 3"
    ]


def test_what_was_found_comes_before_how() -> None:
    """The sentences of answers are kept before the calls that led to them."""
    messages: list[Message] = []
    for number in range(24):
        name = f"https://example.com/{'abcdefghijklmnopqrstuvwx'[number] * 9}"
        messages += [
            Message.user(f"And what about {name[-6:]}?"),
            Message.assistant(
                f"Let me look at what the page of {name[-7:]} tells us.",
                tool_calls=[ToolCallPart("c", "fetch", f'{{"url": "{name}"}}')],
            ),
            Message.tool("c", f"{name} " + "nothing of interest here " * 9),
            Message.assistant(f"The battery named {name[-8:]} costs {number}80 euros installed."),
        ]
    text = write_digest(SummaryRequest(messages=tuple(messages), prompt="", budget=900))

    assert text.count("euros installed.") == 24
    assert text.count("- fetch url: ") <= 2


def test_ledger_keeps_prior_entries() -> None:
    """Entries of an absorbed digest take turns with new ones, theirs first; a seen one is used."""
    earlier = "Digest of 2 messages (user 2).\n## Asked by the user\n- Order ORD-77 has 2 items."
    earlier += "\n## Ids used in calls\n- id: U-1\n## Ids seen\n- codes: S-1, S-2\n- /a/b/: c.py"
    ledger = ledger_of(call("get", '{"id": "N-1"}'), call("get", '{"id": "S-1"}'), earlier=earlier)

    assert [entry.value for entry in ledger.used] == ["U-1", "S-1", "N-1"]
    assert [entry.value for entry in ledger.seen] == ["/a/b/c.py", "S-2", "ORD-77"]
    assert lay_out(offer_entries(ledger.seen)) == ("/a/b/: c.py", "codes: S-2, ORD-77")


def test_the_newest_value_of_an_argument_comes_first() -> None:
    """Of several values of one argument the newest is first in its line, however often others came."""
    ledger = ledger_of(
        Message.user("Set the budget to 500 euros, 500 and no more."),
        call("set", '{"event_id": "EV-77", "budget": 500}'),
        call("set", '{"event_id": "EV-77", "budget": 800}'),
        call("edit", '{"old": "PORT=1", "new": "PORT=9090"}'),
        call("edit", '{"old": "PORT=9090", "new": "PORT=9191"}'),
    )
    lines = lay_out(offer_entries(ledger.used))

    assert {"budget: 800, 500", "new: PORT=9191, PORT=9090"} <= set(lines)


def test_times_that_were_said_are_kept_last() -> None:
    """A time of day or a duration counts only where somebody said it, after everything else."""
    user = Message.user("Call me at 10:30 about X-1 please, or /undo it within 90s.")
    ledger = ledger_of(user, Message.tool("c", "1 failed in 3.12s at 11:45"))

    assert [entry.value for entry in ledger.seen] == ["X-1", "/undo", "10:30", "90s"]


@pytest.mark.parametrize(
    ("item", "section", "stays"),
    [
        ("Send two loaves to Bonn.", Section.RULES, False),
        ("Send two loaves to Ulm.", Section.RULES, True),
        ("user: Send two loaves to Bonn.", Section.LAST, False),
        ("user: Send two …", Section.LAST, False),
        ("user: Send two loaves to Bonn. And milk to Ulm.", Section.LAST, True),
        ("user: Send", Section.LAST, True),
        ("assistant: Send two loaves to Bonn.", Section.LAST, True),
        ("user: Send two loaves to Bonn.", Section.SAID, False),
        ("assistant: Two loaves are on their way.", Section.SAID, True),
    ],
)
def test_a_request_that_is_shown_is_said_once(item: str, section: Section, *, stays: bool) -> None:
    """What a shown request says whole has no line of its own; a longer or another one has."""
    empty: dict[Section, list[Item]] = {name: [] for name in Section}
    asked = [Item("Send two loaves to Bonn.", 0)]
    offers = {**empty, Section.REQUESTS: asked, section: [Item(item, 0)]}

    assert (section in share_out(offers, budget=400, count=len)) is stays


def test_what_was_said_last_is_said_once() -> None:
    """A sentence that the end of the span shows is not shown before it too."""
    said = [
        Item(f"assistant: {text}", place) for place, text in enumerate(("Bonn.", "The ferry left."))
    ]
    offers = {
        Section.TOOLS: [Item("book ferry", 0)],
        Section.SAID: said,
        Section.LAST: [Item("assistant: The ferry left. It rains.", 0)],
    }
    lines = share_out(offers, budget=200, count=len)

    assert lines[Section.SAID] == ("assistant: Bonn.",)
    assert lines[Section.LAST] == ("assistant: The ferry left. It rains.",)


@pytest.mark.parametrize("budget", range(60, 400, 20))
def test_a_last_message_that_finds_room_late_is_said_once(budget: int) -> None:
    """Nor is a sentence of a message for which other lines made room."""
    sentences = ("The ferry left at dawn.", "The night is over.", "Sleep well, all of you.")
    last = (" ".join(sentences[1:]), f"{sentences[0]} It rains.")
    offers = {
        Section.SAID: [Item(f"assistant: {text}", place) for place, text in enumerate(sentences)],
        Section.LAST: [Item(f"assistant: {text}", 2 - 2 * n) for n, text in enumerate(last)],
    }
    shown = "\n".join(
        line for lines in share_out(offers, budget=budget, count=len).values() for line in lines
    )

    assert all(shown.count(text) <= 1 for text in sentences)


def test_ids_come_before_requests_that_have_no_precedence() -> None:
    """In a small budget requests have what ids leave, unless some are to come first."""
    asked, ids = [Item("Send two loaves to Bonn.", 0)], [Item(f"ID-{n}", n, "id") for n in range(9)]
    offers = {Section.REQUESTS: asked, Section.USED: ids}

    assert share_out(offers, budget=80, count=len).keys() == {Section.USED}
    assert Section.REQUESTS in share_out(offers, budget=80, count=len, first=asked)
    assert Section.REQUESTS in share_out(offers, budget=400, count=len)


SMALL = {
    Section.LAST: [Item("assistant: It is all done now.", 0)],
    Section.SEEN: [Item(f"ID-{place}", place, "id") for place in range(9)],
    Section.RULES: [
        Item("Never use MySQL, only Postgres, please.", 0),
        Item("Don't print the password of anybody.", 1),
    ],
    Section.EDITED: [Item("parser.py", 0, "src/")],
}


def test_rules_come_first_in_a_small_budget() -> None:
    """All rules, and then what was done, are there before what was only named or said last."""
    count = TokenEstimator().count
    shown = share_out(SMALL, budget=48, count=count)

    assert list(shown[Section.RULES]) == [item.text for item in SMALL[Section.RULES]]
    assert shown[Section.EDITED] == ("src/: parser.py",)


def test_a_failure_comes_before_values_in_a_small_budget() -> None:
    """What was refused last is not given up for what was set, nor for other calls."""
    offers = {
        Section.VALUES: [Item(f"limit (account {place}): 500", place) for place in range(60)],
        Section.TOOLS: [
            Item("counts: set_limit 61, look_up_account 12, read_policy 3", 0),
            Item("look_up_account account_id: 7 -> open since 2019", 2),
            Item("failed: set_limit -> no", 1),
        ],
    }

    for budget in (48, 64, 100, 150):
        shown = share_out(offers, budget=budget, count=TokenEstimator().count)
        assert "failed: set_limit -> no" in shown[Section.TOOLS]


def test_what_the_user_calls_their_own_comes_first() -> None:
    """An id after "my" or "our" outranks later ones that both sides named in passing."""
    ledger = ledger_of(
        Message.user("Hi, my order number is ORD-77; our link https://a.example/x?y=1!"),
        Message.user("What about SKU-1, and my friend?"),
        Message.assistant("The SKU-1 is in stock, and SKU-1 is cheap."),
    )

    assert ledger.seen[0].value == "ORD-77"


def test_calls() -> None:
    """What was done comes first, failures in turn with it, then counts, and then what was read."""
    messages = [
        call("bash", '{"command": "make test"}', id="a"),
        Message.tool("a", "Error: no rule to make target\nmore"),
        call("read", '{"path": "/a/b.py", "lines": [1, null]}', id="b"),
        Message.tool("b", "fine"),
        Message.tool("zz", "x" * 5_000 + "\nCommand exited with code 2"),
        call("odd,name:x", "not json", id="d"),
        call("search", '{"from": "JFK"}', id="e"),
        Message.tool("e", '{"flights": [{"id": "HAT1", "price": 4}]}'),
        call("search", '{"from": "JFK"}', id="f"),
        Message.tool("f", '{"flights": [{"id": "HAT2", "price": 4}]}'),
    ]
    before = CallCounts(calls=Counter(bash=2, old=1), messages=9)
    prior = ["counts: bash 2, old 1", "search from: JFK -> HAT1", "old a: 1"]
    items = offered(messages, prior=prior, counts=before)

    assert [item.text for item in items] == [
        "odd name x : not json",
        "counts: bash 3, search 2, odd name x 1, old 1, read 1",
        "failed: Command exited with code 2",
        "old a: 1",
        "failed: bash command: make test -> Error: no rule to make target",
        "search from: JFK -> HAT2 4",
    ]
    assert [item.order for item in items] == [7, 0, 6, 3, 4, 9]


def test_a_failure_is_past_once_the_same_call_succeeds() -> None:
    """Tests that fail and pass in the end are no failure any more, also after a fold; the other way round they are."""
    test, answers = '{"command": "make test"}', ("Error: a", "9 passed")
    runs = [
        (call("bash", test, id=f"{at}"), Message.tool(f"{at}", text))
        for at, text in enumerate(answers)
    ]
    failed, passed = (list(run) for run in runs)
    prior = [item.text for item in offered(failed, prior=())]

    assert prior == ["failed: bash command: make test -> Error: a", "counts: bash 1"]
    for items in (offered([*failed, *passed], prior=()), offered(passed, prior=prior)):
        assert [item.text for item in items[:-1]] == ["bash command: make test -> 9 passed"]
    again = [item.text for item in offered([*passed, *failed], prior=())]
    assert "failed: bash command: make test -> Error: a" in again


def test_selects_within_limit() -> None:
    """Items are taken by rank, long ones passed over, and shown in their own order."""
    items = [Item("first", 2), Item("x" * 90, 1), Item("a", 3, "g"), Item("b", 0, "g")]
    chosen = select(items, title="## T", limit=40, count=len)

    assert lay_out(chosen.items) == ("g: b, a", "first")
    assert chosen.cost <= 40
    assert select([Item("word", 0)], title="title", limit=3, count=len).items == ()


def test_cuts_only_the_first() -> None:
    """The first item is cut to the room that there is, and no other."""
    items = [Item("word " * 40, place) for place in range(2)]
    chosen = select(items, title="T", limit=30, count=lambda text: len(text) // 3)

    assert [item.order for item in chosen.items] == [0]
    assert chosen.items[0].text.endswith("word …")
    assert chosen.cost <= 30


@pytest.mark.parametrize(("section", "least"), [(Section.USED, 5), (Section.SAID, 12)])
def test_rules_have_room_of_their_own(section: Section, least: int) -> None:
    """However many ids or sentences there are, several rules stand beside them, in talk more of them."""
    rules = [Item(f"Never call number {at} before noon.", at) for at in range(10, 40)]
    others = [Item(f"assistant: Order {at} is on its way.", at * STRIDE) for at in range(400)]
    offers = {Section.RULES: rules, section: others}
    lines = share_out(offers, budget=600, count=lambda text: len(text) // 4)

    assert len(lines[Section.RULES]) == least


def test_what_means_little_alone_gives_way() -> None:
    """Ids come before amounts and short numbers, a price that something names beside them."""
    said = "I was told that it costs $12.50 or $77 or 7421. Order ZX81QA is open."
    answered = call("look", "{}"), Message.tool("c", '{"price": 1859, "order": "QW12ER"}')
    values = [entry.value for entry in ledger_of(Message.user(said), *answered).seen]

    assert set(values[:3]) == {"ZX81QA", "QW12ER", "1859"}
    assert set(values[3:]) == {"$12.50", "$77", "7421"}


@pytest.mark.parametrize("budget", [260, 400])
def test_bare_numbers_wait_for_what_was_said(budget: int) -> None:
    """Numbers that both say again and again come after the outcome of a call."""
    messages = [Message.user("Please refund LM-19530.")]
    messages += call("refund_order", '{"order": "LM-19530"}'), Message.tool("c", "{}")
    messages.append(Message.assistant("LM-19530 is refunded."))
    for number in range(1_000, 4_330, 37):
        messages += (
            Message.user(f"And item {number}?"),
            Message.assistant(f"Item {number} is there."),
        )
    text = write_digest(SummaryRequest(messages=tuple(messages), prompt="", budget=budget))

    assert "LM-19530 is refunded." in text


def test_what_is_measured_again_and_again_is_weak() -> None:
    """Of many numbers of one name few are worth as much as ids; of what is named as an id all are."""
    found = [
        Message.tool("c", f'{{"count": {20_000 + at}, "order_id": {70_000 + at}}}')
        for at in range(20)
    ]
    seen = ledger_of(*found).seen
    strong = Counter(entry.label for entry in seen if not entry.is_weak)

    assert strong == {"count": 8, "order_id": 20}
    assert len(seen) == 40
