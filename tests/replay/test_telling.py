"""What was said beside what the model was told."""

import re

import pytest

from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.logs.importer import Session
from foldline.reduction.config import HistoryReductionConfig
from foldline.replay.comparison import USUAL, Comparison, compare
from foldline.replay.picture import MOST_STOPS, stepper
from foldline.replay.player import play
from foldline.replay.report import html_page
from foldline.replay.tape import Tape
from foldline.replay.telling import MOST_ROWS, MOST_TEXT, Spoken, telling
from tests.replay.tapes import ReadPage, chat_tape, tool_tape


HOSTILE = "</pre></script><script>alert(1)</script><img src=x onerror=alert(2)> \x1b[2J HAT170"
_SMALL = HistoryReductionConfig(counting_unit="messages", target_count=4, summarization_threshold=4)


def _spoken(tape: Tape, config: HistoryReductionConfig = _SMALL) -> tuple[Spoken, Comparison]:
    compared = compare(tape, {"small": config}, check=False)
    return Spoken(tape=tape, replays=compared.replays), compared


def test_stretches_have_every_call_once() -> None:
    """The calls between two folds are one stretch, with the request of its last call."""
    tape = tool_tape(20)
    for check in (True, False):
        replay = play(tape, _SMALL, name="small", check=check)

        calls = [n for one in replay.stretches for n in range(one.first, one.last + 1)]
        folds = [call.number for call in replay.report.calls if call.status == "performed"]
        assert calls == list(range(1, len(tape.calls) + 1))
        assert [one.first for one in replay.stretches] == [1, *folds]
        assert replay.stretches[0].state is None
        assert replay.stretches[-1].view == replay.view
        assert replay.stretches[-1].said == tape.calls[-1] - 1


def test_both_sides_are_there_without_a_script() -> None:
    """Every message has its place, and every stretch says what stood for what."""
    tape = tool_tape(20)
    spoken, _ = _spoken(tape)

    page = "\n".join(telling(spoken))

    stretches = spoken.replays["small"].stretches
    assert page.count("<li class=") == len(tape.messages)
    assert [int(n) for n in re.findall(r'data-place="(\d+)"', page)] == [*range(len(tape.messages))]
    assert page.count('<details class="stretch"') == len(stretches)
    assert "Everything, as it was said." in page
    assert f"Messages 0–{stretches[-1].state.summarized_up_to_index - 1} as a summary" in page  # type: ignore[union-attr]
    assert "What was lost" in page


def test_shortened_messages_are_shown_as_they_were_told() -> None:
    """What was cleared is listed with the note that took its place."""
    said = [Message.user("Read it all.")]
    for number in range(30):
        call = ToolCallPart(f"call-{number}", "read", "{}")
        said += [
            Message.assistant("", tool_calls=[call]),
            Message.tool(call.id, f"line {number} " * 400),
        ]
    tape = Tape(Session(id="long", format="test", messages=tuple(said)))
    config = HistoryReductionConfig(strategy="clearing", context_window_size=16_000)
    spoken, _ = _spoken(tape, config)

    page = "\n".join(telling(spoken))

    assert re.search(r'<li data-short="\d+">message \d+: <q>[^<]*characters', page)
    assert "of them shortened or changed." in page
    assert re.search(r'data-short="\d+-\d+', page)


def test_a_repaired_message_was_told_as_it_was_said() -> None:
    """A call id that comes twice is another one in the request; the words are the same."""
    call = ToolCallPart("again", "read", "{}")
    turn = [
        Message.user("Read it."),
        Message.assistant("Yes.", tool_calls=[call]),
        Message.tool("again", "text"),
    ]
    spoken, _ = _spoken(Tape(Session(id="twice", format="test", messages=(*turn, *turn))))

    page = "\n".join(telling(spoken))

    assert "Everything, as it was said." in page
    assert "changed" not in page


def test_markup_in_a_conversation_stays_text() -> None:
    """Whatever a message holds, the page has one script, no picture, and the text as it was."""
    said = [Message.system(HOSTILE)]
    for number in range(12):
        said += [Message.user(f"{number} {HOSTILE}"), Message.assistant(f"Answer {HOSTILE}")]
    tape = Tape(Session(id="hostile", format="test", messages=tuple(said)))
    spoken, compared = _spoken(tape)

    page = html_page([compared.reports], spoken=[spoken])

    read = ReadPage(page)
    assert read.tags.count("script") == 1
    assert not [name for name in read.attributes if name.startswith("on")]
    assert "img" not in read.tags
    assert "\x1b" not in page
    assert read.text.count("<script>alert(1)</script><img src=x onerror=alert(2)>") >= len(said)


def test_a_page_is_small_whatever_was_said() -> None:
    """Text and messages of a session are bounded, and the page says what it leaves out."""
    said = [Message.user("word " * 2_000), Message.assistant("long " * 2_000)] * MOST_ROWS
    spoken, _ = _spoken(
        Tape(Session(id="large", format="test", messages=tuple(said))), USUAL["counting"]
    )

    page = "\n".join(telling(spoken, room=100_000))

    assert page.count("<li class=") == MOST_ROWS
    assert f"The first {MOST_ROWS:,} messages are not listed" in page
    assert "more characters" in page
    assert len(page) < 600_000
    assert MOST_TEXT >= 1_000_000


def test_summaries_give_way_to_newer_ones() -> None:
    """If there is no room for all, the newest summaries are written, after the older stretches."""
    spoken, _ = _spoken(tool_tape(30))

    page = "\n".join(telling(spoken, room=20_000))
    firsts = [int(one) for one in re.findall(r'class="stretch" data-first="(\d+)"', page)]

    assert firsts == sorted(firsts)
    assert "Its text is left out" in page
    assert page.rindex("Its text is left out") < page.rindex('<th scope="col">line</th>')


def test_a_slider_has_few_stops_and_the_last_call() -> None:
    """However many calls there are, it stops at some hundred, the last one among them."""
    tape = chat_tape(MOST_STOPS + 30)
    reports = compare(tape, {"counting": USUAL["counting"]}, check=False).reports

    page = "\n".join(stepper(reports))

    stops = re.search(r'data-stops="([\d,]*)"', page)
    assert stops is not None
    numbers = stops[1].split(",")
    assert len(numbers) <= MOST_STOPS
    assert numbers[-1] == str(len(tape.calls))
    assert f"<output>{len(tape.calls):,}</output>" in page
    assert len(re.findall(r'data-mark="(\d*)"', page)[1]) == len(numbers)
    assert not list(stepper(compare(chat_tape(0), USUAL).reports))


@pytest.mark.parametrize("mark", ["fold", "hit"])
def test_a_row_follows_the_folds(mark: str) -> None:
    """At each call the row has the messages folded away by then."""
    spoken, compared = _spoken(tool_tape(20))
    page = "\n".join(stepper(compared.reports))
    cuts = [row.split(",") for row in re.findall(r'data-cut="([\d,]*)"', page)]

    assert set(cuts[0]) == {"0"}
    for stretch in spoken.replays["small"].stretches:
        cut = 0 if stretch.state is None else stretch.state.summarized_up_to_index
        at = stretch.first if mark == "fold" else stretch.last
        assert cuts[1][at - 1] == str(cut)
