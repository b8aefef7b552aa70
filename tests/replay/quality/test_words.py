"""What users said in so many words, and which views have it."""

from msgspec.structs import replace

from foldline.history.messages import Message
from foldline.reduction.config import HistoryReductionConfig
from foldline.replay.quality.moments import Moment, Transcript, moments
from foldline.replay.quality.words import current_values, first_request, requests, rules
from foldline.replay.tape import Tape
from tests.replay.quality.conftest import MakeCall, MakeTape


_SHORT = HistoryReductionConfig(counting_unit="messages", target_count=1, summarization_threshold=1)
_RULE = "Never delete a booking of somebody else."


def _tape(tape_of: MakeTape, call: MakeCall) -> Tape:
    said = [Message.user(f"Change my seat, please.\n{_RULE} Do you never sleep?")]
    for number, seat in enumerate(("12A", "14C", "14C")):
        said += [call(number, "seat", f'{{"booking": "HAT170", "seat": "{seat}"}}')]
        said += [Message.tool(f"call-{number}", "ok")]
    said += [call(8, "edit", '{"path": "a.py", "old": "x1", "new": "y1"}')]
    said += [call(9, "edit", '{"path": "a.py", "old": "y1", "new": "z1"}')]
    for number in range(4):
        said += [Message.assistant(f"It is done, number {number}."), Message.user("And the next?")]
    return tape_of(said)


def _with_front(moment: Moment, text: str) -> Moment:
    """Return *moment* with nothing but *text* in front."""
    view = (Message.user(text), *moment.retained)
    return replace(moment, view=view, state=moment.state)


def test_the_views_of_a_fold_have_the_words(call: MakeCall, tape_of: MakeTape) -> None:
    """By default user messages are quoted, so that requests and rules are there."""
    tape = _tape(tape_of, call)
    transcript, last = Transcript(tape), list(moments(tape, _SHORT))[-1]

    kept = list(requests(transcript, last))
    assert len(kept) == sum(one.role == "user" for one in tape.messages[: last.cut])
    assert all(kept)
    assert list(rules(transcript, last)) == [True]
    assert first_request(transcript, last) is True


def test_words_that_are_missing_are_seen(call: MakeCall, tape_of: MakeTape) -> None:
    """A view with another text in front has neither the request nor the rule."""
    tape = _tape(tape_of, call)
    transcript, last = Transcript(tape), list(moments(tape, _SHORT))[-1]
    other = _with_front(last, "Never delete a booking, the user says.")

    assert next(requests(transcript, other)) is False
    assert list(rules(transcript, other)) == [False]
    assert first_request(transcript, other) is False


def test_a_rule_alone_may_be_there(call: MakeCall, tape_of: MakeTape) -> None:
    """A rule counts by itself; spaces and line breaks do not matter, and questions are no rules."""
    tape = _tape(tape_of, call)
    transcript, last = Transcript(tape), list(moments(tape, _SHORT))[-1]
    some = _with_front(last, _RULE.replace(" booking", "\n  booking"))

    assert list(rules(transcript, some)) == [True]
    assert next(requests(transcript, some)) is False


def test_without_a_fold_nothing_is_counted(call: MakeCall, tape_of: MakeTape) -> None:
    """What stands in the view anyway is no merit."""
    tape = _tape(tape_of, call)
    last = list(moments(tape, HistoryReductionConfig(enabled=False)))[-1]
    transcript = Transcript(tape)

    assert not [*requests(transcript, last), *rules(transcript, last)]
    assert first_request(transcript, last) is None
    assert not list(current_values(transcript, last))


def test_the_current_value_is_wanted(call: MakeCall, tape_of: MakeTape) -> None:
    """The seat changed once, so the newer one counts; texts that edits write do not."""
    tape = _tape(tape_of, call)
    transcript, last = Transcript(tape), list(moments(tape, _SHORT))[-1]
    assert last.cut > 8

    for text, is_kept in (("seat 14C", True), ("seat 12A", False)):
        assert list(current_values(transcript, _with_front(last, text))) == [is_kept]
