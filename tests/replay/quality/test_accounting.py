"""Where dropped tokens went, and what summaries made up."""

import pytest
from msgspec.structs import replace

from foldline.history.messages import Message
from foldline.reduction.config import HistoryReductionConfig
from foldline.replay.quality.accounting import Accounting, account, invented
from foldline.replay.quality.moments import Moment, Transcript, moments
from foldline.replay.tape import Tape
from foldline.testing.summarizer import ScriptedSummarizer
from tests.replay.quality.by_hand import call, tape_of


_SHORT = HistoryReductionConfig(counting_unit="messages", target_count=2, summarization_threshold=2)


def _tape() -> Tape:
    said = [Message.user("Find HAT170."), call(1, "find", '{"at": 2120, "flight_id": "HAT170"}')]
    said += [Message.tool("call-1", "HAT170 leaves at noon, as every day of this week does.")]
    for number in range(6):
        said += [Message.assistant(f"Number {number} is a fine river, and it runs to the sea.")]
        said += [Message.user(f"And which river is number {number + 1}, and where does it run?")]
    return tape_of(said)


def _last(tape: Tape, config: HistoryReductionConfig = _SHORT) -> Moment:
    return list(moments(tape, config))[-1]


def test_all_that_is_folded_is_covered_once() -> None:
    """A rolling summary covers every message before the cut, and drops nothing after it."""
    tape = _tape()
    transcript, last = Transcript(tape), _last(tape)

    found = account(transcript, last)

    assert last.cut > 2
    assert found.dropped == found.accounted == transcript.tokens[last.cut]
    assert found.twice == 0


def test_layers_cover_each_message_once() -> None:
    """Several layers lie side by side."""
    tape = _tape()
    transcript = Transcript(tape)
    last = _last(tape, replace(_SHORT, use_single_summary=False))

    found = account(transcript, last)

    assert last.state is not None
    assert len(last.state.layers) > 1
    assert found == Accounting(dropped=found.dropped, accounted=found.dropped)


def test_a_gap_and_an_overlap_are_seen() -> None:
    """A message that no layer covers is not accounted for, and one that two cover is counted."""
    tape = _tape()
    transcript = Transcript(tape)
    last = _last(tape, replace(_SHORT, use_single_summary=False))
    assert last.state is not None
    first, *others = last.state.layers
    gap = replace(last.state, layers=(replace(first, start=1), *others))
    overlap = replace(last.state, layers=(first, replace(first), *others))

    with_gap = account(transcript, replace(last, state=gap))
    with_overlap = account(transcript, replace(last, state=overlap))

    assert with_gap.dropped - with_gap.accounted == transcript.sizes[0]
    assert with_overlap.twice == transcript.tokens[first.end]


def test_a_message_that_vanished_after_the_cut_is_seen() -> None:
    """What the view lacks after the cut is dropped without a cover, unless a note says so."""
    tape = _tape()
    transcript, last = Transcript(tape), _last(tape)
    before = account(transcript, last)

    found = account(transcript, replace(last, view=last.view[:-1]))

    assert found.dropped - before.dropped == transcript.sizes[last.index - 1]
    assert found.accounted == before.accounted


def test_a_clipped_result_is_accounted_for() -> None:
    """A result that the view shows as its head and tail is dropped, and its note covers it."""
    said = [Message.user("Read."), call(1, "read", '{"path": "a.py"}')]
    tape = tape_of([*said, Message.tool("call-1", "line of a file\n" * 400), Message.user("Well?")])
    transcript, last = Transcript(tape), _last(tape, HistoryReductionConfig(ceiling=1_000))

    assert last.state is not None
    assert [one.index for one in last.state.shortened] == [2]
    size = transcript.sizes[2]
    assert account(transcript, last) == Accounting(dropped=size, accounted=size)


def test_invented_identifiers_are_found() -> None:
    """What no folded message has is invented; names and numbers of arguments have a source."""
    tape = _tape()
    last = _last(tape)
    assert last.state is not None
    text = "Summary of it\nHAT170, flight_id, 2120; messages 12-40, and XY9999."
    made = replace(last, state=replace(last.state, summary_content=text))

    found = dict(invented(Transcript(tape), made))

    assert found == {"HAT170": False, "flight_id": False, "2120": False, "XY9999": True}


@pytest.mark.parametrize(
    ("path", "is_invented"),
    [
        ("src/core/app.py", False),
        ("lib/app.py", True),
        ("rc/core/app.py", True),
        ("/work/site/src/core/app.py", False),
        ("/work/site/test/web.py", False),
        ("/work/site/test/app.py/web.py", True),
        ("/site/test/web.py", True),
        ("a/" * 30 + "app.py", True),
    ],
)
def test_a_path_may_have_its_source_in_parts(path: str, is_invented: bool) -> None:
    """
    A path may be a folder and what was listed there, or where a command ran, a folder and a name.

    Parts are whole words, and of three the first is absolute; a path of many steps is not taken apart.
    """
    said = [
        call(1, "ls", '{"path": "src/core"}'),
        Message.tool("call-1", "app.py\nweb.py"),
        call(2, "bash", '{"command": "cd /work/site && mv web.py test/ && ls a"}'),
        Message.tool("call-2", "a"),
    ]
    tape = tape_of([*said, *_tape().messages])
    last = _last(tape)
    assert last.state is not None
    state = replace(last.state, summary_content=f"x\n{path}")

    found = dict(invented(Transcript(tape), replace(last, state=state)))

    assert list(found.values()) == [is_invented]


def test_the_digest_invents_nothing() -> None:
    """Every identifier of every summary of a session has a source; without a fold there is none."""
    tape = _tape()
    transcript = Transcript(tape)

    for one in moments(tape, _SHORT):
        found = list(invented(transcript, one))
        assert bool(found) == bool(one.cut)
        assert not any(is_invented for _, is_invented in found)


def test_another_summarizer_can_write() -> None:
    """The summaries are those of the summarizer that is given."""
    tape = _tape()
    text = "The user asks where rivers run, and the assistant says that river runs to the sea."

    last = list(moments(tape, _SHORT, summarizer=ScriptedSummarizer(repeat=text)))[-1]

    assert text in last.front[0].text
