"""What users said in so many words, and which views have it."""

from collections.abc import Sequence

from foldline.history.messages import Message
from foldline.replay.quality.words import current_values, requests, rules
from foldline.replay.tape import Tape
from tests.replay.quality.by_hand import call, tape_of


_RULE = "Never delete a booking of somebody else."


def _tape() -> Tape:
    said = [Message.user(f"Change my seat, please.\n{_RULE} Do you never sleep?")]
    for number, seat in enumerate(("12A", "14C", "14C")):
        said += [call(number, "seat", f'{{"booking": "HAT170", "seat": "{seat}"}}')]
        said += [Message.tool(f"call-{number}", "ok")]
    said += [call(8, "edit", '{"path": "a.py", "old": "x1", "new": "y1"}')]
    said += [call(9, "edit", '{"path": "a.py", "old": "y1", "new": "z1"}')]
    for number in range(4):
        said += [Message.assistant(f"It is done, number {number}."), Message.user("And the next?")]
    return tape_of(said)


def _folded(tape: Tape) -> Sequence[Message]:
    return tape.messages[:16]


def test_what_a_view_has_is_kept() -> None:
    """A view with all that users said has every request and the rule."""
    folded = _folded(_tape())
    seen = "\n".join(one.text for one in folded)

    asked = list(requests(folded, seen))

    assert [one.message for one in asked] == [0, 10, 12, 14]
    assert all(one.is_kept and one.is_begun for one in asked)
    assert [(one.text, one.message, one.is_kept) for one in rules(folded, seen)] == [
        (_RULE, 0, True)
    ]


def test_words_that_are_missing_are_seen() -> None:
    """A view with another text has neither the request nor the rule."""
    folded = _folded(_tape())
    seen = "Never delete a booking, the user says. And the next?"

    assert [one.is_kept for one in requests(folded, seen)] == [False, True, True, True]
    assert [one.is_kept for one in rules(folded, seen)] == [False]


def test_the_beginning_of_a_request_may_be_there() -> None:
    """The first 60 characters are counted by themselves."""
    folded = _folded(_tape())
    (first, *_) = requests(folded, folded[0].text[:61])

    assert first.is_begun
    assert not first.is_kept


def test_a_rule_alone_may_be_there() -> None:
    """A rule counts by itself; spaces and line breaks do not matter, and questions are no rules."""
    folded = _folded(_tape())
    seen = _RULE.replace(" booking", "\n  booking")

    assert [one.is_kept for one in rules(folded, seen)] == [True]
    assert not next(requests(folded, seen)).is_kept


def test_the_current_value_is_wanted() -> None:
    """The seat changed once, so the newer one counts; texts that edits write do not."""
    folded = _folded(_tape())

    assert list(current_values(folded, "seat 14C")) == [True]
    assert list(current_values(folded, "seat 12A")) == [False]
    assert list(current_values(folded[:3], "")) == []
