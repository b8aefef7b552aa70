"""What a digest takes for an identifier, and which of them come first."""

import json
from collections.abc import Sequence

import pytest

from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.providers.digest.identifiers import Finder, kind_of
from foldline.providers.digest.ledger import offer_entries
from foldline.providers.digest.outline import Item, lay_out, share_out
from foldline.providers.digest.span import read_span
from foldline.providers.digest.summarizer import write_digest
from foldline.reduction.record import Counts, Section, SummaryRecord
from foldline.reduction.request import SummaryRequest
from tests.providers.test_digest_sections import call, ledger_of


def test_a_number_is_whole() -> None:
    """A mark between its thousands does not end it; between others it does."""
    text = "It was $1,625, then €12,000.50; 365,900.75 -> 1,843,221 (1.234,56€); see A-1,200."

    assert [*Finder().find(text)] == [
        "$1,625",
        "€12,000.50",
        "365,900.75",
        "1,843,221",
        "1.234,56€",
        "A-1",
        "200",
    ]
    assert [*Finder().find("100,200,300,400,500,600,700 and 5,120")][:2] == ["100", "200"]


@pytest.mark.parametrize("escape", ["\x1b", "\\u001b"])
def test_the_colors_of_a_terminal_are_no_part_of_a_name(escape: str) -> None:
    """They are left out, in the output of a command and in JSON around it; a moved cursor ends a word."""
    shown = (
        "\x1b[38;5;244m1b2c3d4\x1b[m src/\x1b[1;36mcart.ts\x1b[0m \x1b[33mORD-1771\x1b[2KORD-1772 "
        "PAY-\x1b[01;31m\x1b[K77\x1b[m\x1b[K12 \x1b[1mREF-5501\x1b(B\x1b[m "
        "\x1b]8;;file://host/x\x1b\\LOG-8812\x1b]8;;\x1b\\"
    ).replace("\x1b", escape)

    entries = ledger_of(call("bash", "{}"), Message.tool("c", shown)).seen

    assert sorted(one.value for one in entries) == [
        "1b2c3d4",
        "LOG-8812",
        "ORD-1771",
        "ORD-1772",
        "PAY-7712",
        "REF-5501",
        "src/cart.ts",
    ]


def test_a_line_break_in_json_is_no_part_of_a_name() -> None:
    """The output of a command in JSON has the ids of its lines; a folder that begins so keeps its name."""
    said = {"output": "ok\n1b2c3d4 done\r\nORD-1771\tD:\\new\\report-7.txt"}

    entries = ledger_of(call("bash", "{}"), Message.tool("c", json.dumps(said))).seen

    assert [one.value for one in entries] == ["1b2c3d4", "ORD-1771", "report-7.txt"]
    assert [*Finder().find(r"It is in D:\runs\nightly-1771.txt")] == ["nightly-1771.txt"]


def test_a_name_that_begins_like_a_month_is_none() -> None:
    """A day follows the name of a month, whole or as it is abbreviated."""
    text = "Marchmont 41, Mayor 5, Decide 3, March 4, Sept. 12, June 99"

    assert [one for one in Finder().find(text) if kind_of(one) == "date"] == ["March 4", "Sept. 12"]


def test_the_day_may_stand_before_its_month() -> None:
    """A time of day after a month is no day of it, and a date with full stops is no version."""
    text = (
        "Held until 3 December 18:00, not 4. November or November 25. Due 30.11.2026, version 1.2.3"
    )
    dates = [one for one in Finder().find(text) if kind_of(one) == "date"]

    assert sorted(dates) == ["3 December", "30.11.2026", "4. November", "November 25"]


def test_words_around_a_name_are_no_part_of_it() -> None:
    """Korean writes a particle after it and Arabic one in front; a file keeps its name."""
    text = "KE1157이에요. 4시쯤 v2.pdf를 보고서_v2.pdf, و7220 شخص"

    assert [*Finder().find(text)] == ["KE1157", "v2.pdf", "보고서_v2.pdf", "7220"]


def test_files_of_packages_and_of_one_run_are_no_ids() -> None:
    """A trace names many of them; one that is used in a call or that the user names is kept."""
    noise = "/tmp/run-7/worker.mjs node_modules/ws/lib/main.js /opt/lib/site-packages/numpy/core.py"
    trace = Message.tool("c", f"{noise} src/app.py")
    seen = [one.value for one in ledger_of(trace).seen]
    told = [one.value for one in ledger_of(Message.user(noise), trace).seen]
    (used,) = ledger_of(call("read", '{"path": "/tmp/plan.bin"}'), trace).used

    assert seen == ["src/app.py"]
    assert {*told} == {*noise.split(), "src/app.py"}
    assert used.value == "/tmp/plan.bin"


def test_what_a_reading_is_limited_to_names_nothing() -> None:
    """Neither where it begins nor how much is read, nor the ending of files; a port does."""
    arguments = '{"path": "src/app.py", "offset": 1050, "max_lines": 2000, "view_range": [650, 700], "port": 8443, "glob": "*.ts"}'

    assert [one.value for one in ledger_of(call("read", arguments)).used] == ["src/app.py", "8443"]


def test_escapes_of_json_are_characters() -> None:
    """A name with an umlaut is no code, however often it was escaped; a quote stays one."""
    text = r'{"name": "M\u00fcller \\u00d6zt\u00fcrk", "said": "\u0022Ab-12\u0022", "face": "\ud83d\ude00"}'
    (result,) = read_span([Message.tool("c", text)], Finder()).results

    assert "Müller Öztürk" in result.text
    assert r"\u0022Ab-12" in result.text
    assert "\U0001f600" in result.text


def test_tags_are_no_paths() -> None:
    """The end of an element of a page names nothing; an address in brackets does."""
    page = "<html><ul><li>Order AB-12</li></ul></html> by <ann@example.com>, see /srv/app"

    assert [*Finder().find(page)] == ["AB-12", "ann@example.com", "/srv/app"]


def test_what_somebody_named_comes_before_what_a_later_list_has() -> None:
    """An order that the assistant named long ago is worth more than those of an answer since."""
    filler = [Message.assistant("Let me see.") for _ in range(40)]
    rows = ", ".join(f'{{"order": "NL-{7919 * n % 100_000:05}"}}' for n in range(40))
    told = Message.assistant("Order NL-119017 is paid.")
    ledger = ledger_of(told, *filler, Message.tool("c", f"[{rows}]"))

    assert ledger.seen[0].value == "NL-119017"


def test_a_row_of_a_listing_gives_way() -> None:
    """Of ids that differ in their numbers alone eight stand first, and all that somebody said."""
    log = "\n".join(f"job {number:06x}ab queue-{number}" for number in range(4096, 4136))
    heads = "\n".join(f"{name}@example.com" for name in "abcdefghijkl")
    answers = Message.tool("c", f"{log}\n{heads}"), Message.tool("d", '{"case": "ZX-81"}')
    seen = ledger_of(
        *answers, Message.assistant("Job 001011ab hangs, and so does queue-4125.")
    ).seen
    first = [one.value for one in seen if not one.is_listed]

    assert {"001011ab", "queue-4125", "ZX-81"} <= {*first}
    assert sum(one.startswith("queue") for one in first) == 8 + 1
    assert sum(one.startswith("0010") for one in first) == 8 + 1
    assert sum("@" in one for one in first) == 8
    assert [one.is_listed for one in seen] == sorted(one.is_listed for one in seen)


def test_a_field_of_answers_may_have_a_longer_row() -> None:
    """Of values that JSON names three times as many stand first, such as the flights of a search."""
    flights = ", ".join(f'{{"flight": "HAT{number}"}}' for number in range(100, 140))
    seen = ledger_of(Message.tool("c", f"[{flights}]")).seen

    assert sum(not one.is_listed for one in seen) == 24


def test_a_listed_id_has_what_all_else_leaves() -> None:
    """It comes after sentences, and stands in the record if there is room."""
    seen = [
        Item(f"{number:016x}", number, "codes", is_weak=True, is_listed=True) for number in range(9)
    ]
    said = Item("assistant: The pool has been exhausted since the deploy.", 0)
    offers = {Section.TOOLS: [Item("logs", 0)], Section.SEEN: seen, Section.SAID: [said]}

    tight = share_out(offers, budget=700, count=lambda text: 12 * len(text) // 2)
    assert tight.get(Section.SAID) == (said.text,)
    assert Section.SEEN not in tight
    assert len(share_out(offers, budget=2_000, count=len)[Section.SEEN][0].split(", ")) == 9


def test_a_call_names_its_own_arguments() -> None:
    """The label of an argument counts, whatever a result called the same value before."""
    messages = [
        Message.tool("a", '{"created": "2026-11-25"}'),
        call("remind", '{"date": "2026-11-25"}'),
    ]

    assert lay_out(offer_entries(ledger_of(*messages).used)) == ("date: 2026-11-25",)


def test_days_in_a_row_are_one_entry() -> None:
    """Eight days are written as the first and the last, and the next fold adds to them."""
    listed = "\n".join(f"2026-07-{day:02} | 5 | x" for day in (*range(1, 10), 12, 13))
    (line,) = lay_out(offer_entries(ledger_of(Message.tool("c", listed)).seen))
    earlier = SummaryRecord(Counts(user=1), {Section.SEEN: (line,)}).render()
    more = Message.tool("c", "2026-07-10 and 2026-07-11, 2026-02-30")
    (again,) = lay_out(offer_entries(ledger_of(more, earlier=earlier).seen))

    assert line == "dates: 2026-07-01 to 2026-07-09, 2026-07-12, 2026-07-13"
    assert again == "dates: 2026-07-01 to 2026-07-13, 2026-02-30"


def test_few_days_stay_as_they_are() -> None:
    """Seven in a row are seven entries, and what only looks like a row of days is kept as it is."""
    listed = "dates: 2026-09-01 to 2026-08-01, 2026-09-02 to 2030-01-01"
    earlier = SummaryRecord(Counts(user=1), {Section.SEEN: (listed,)}).render()
    days = " ".join(f"2026-07-0{day}" for day in range(1, 8))

    assert "to" not in lay_out(offer_entries(ledger_of(Message.tool("c", days)).seen))[0]
    assert lay_out(offer_entries(ledger_of(earlier=earlier).seen)) == (listed,)


def test_what_an_edit_takes_away_is_not_used() -> None:
    """The version before an edit is something that was seen; the one after it is in use."""
    edit = call("edit_file", '{"path": "pyproject.toml", "old": "1.3.2", "new": "1.4.0"}')
    ledger = ledger_of(edit)

    assert [one.value for one in ledger.used] == ["pyproject.toml", "1.4.0"]
    assert [(one.label, one.value) for one in ledger.seen] == [("versions", "1.3.2")]


_NAMES = [f"exhausted_connection_pool_{a}{b}" for a in "abcdefghij" for b in "klmnopqrst"]


@pytest.mark.parametrize(
    ("budget", "ids", "is_told"),
    [
        (1_000, _NAMES, True),
        (500, _NAMES, False),
        (500, [f"{number:016x}" for number in range(10**15, 10**15 + 99)], True),
    ],
)
def test_what_was_found_stands_beside_ids(
    budget: int, ids: Sequence[str], *, is_told: bool
) -> None:
    """Names in a long log do not take the place of all sentences, unless there is little room; ids never do."""
    log = "\n".join(f"pool is exhausted, trace {one}" for one in ids)
    call = ToolCallPart("c", "logs", '{"since": "30m"}')
    said = "The pool has been exhausted since the deploy of 14:03, which retries too often."
    messages = (
        Message.user("Find out why the checkout is slow, please. " * 40),
        Message.assistant("", tool_calls=[call]),
        Message.tool("c", log),
        Message.assistant(said),
        *[Message.assistant(f"I will go on with step {step}.") for step in range(3)],
    )
    text = write_digest(SummaryRequest(messages=messages, prompt="", budget=budget))

    assert (f"assistant: {said}" in text) is is_told
