"""A summary beside what it stands for, and what it lost."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.reduction.state import HistoryReductionState
from foldline.replay.inspection import Inspection, SummaryLine, inspect_summary
from foldline.replay.telling import inspected


_RULE = "Never delete a booking of somebody else."
_SAID = (
    Message.user(f"Please change the booking HAT170 of mia_li_3668. {_RULE}"),
    Message.assistant(
        "Looking it up.", tool_calls=[ToolCallPart("1", "look_up", '{"id": "HAT170"}')]
    ),
    Message.tool("1", "The flight leaves Madrid at noon, seat QX9921 on a Boeing."),
    Message.user("I would rather sit beside the window."),
    Message.assistant("Seat RZ4410 beside the window is free."),
    Message.user("Take it."),
    Message.assistant("Done."),
)
_SUMMARY = """\
Digest of 5 messages (user 2, assistant 2, tool 1).
## Asked by the user
- I would rather sit beside the window.
- "The flight leaves Madrid at noon" and RZ4410 is free
Nothing of this was ever mentioned."""


def _state(text: str, cut: int = 5, said: Sequence[Message] = _SAID) -> HistoryReductionState:
    return HistoryReductionState.create(
        said,
        text,
        cut,
        target_count=2,
        reduction_threshold=2,
        message_count_at_reduction=len(said),
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


@pytest.fixture
def found() -> Inspection:
    return inspect_summary(History(_SAID), _state(_SUMMARY))


def test_each_line_has_its_messages(found: Inspection) -> None:
    """A copied line has its message, a mixed one both, and headings and inventions have none."""
    first, heading, copied, mixed, invented = found.lines

    assert (first.messages, heading.messages, invented.messages) == ((), (), ())
    assert (copied.messages, copied.is_verbatim) == ((3,), True)
    assert (mixed.messages, mixed.is_verbatim) == ((2, 4), False)
    assert "\n".join(line.text for line in found.lines) == _SUMMARY


def test_what_is_lost_is_named(found: Inspection) -> None:
    """Identifiers that the view lacks come with their last message, used ones first."""
    assert found.covered == 5
    assert [(one.text, one.message) for one in found.identifiers] == [
        ("HAT170", 1),
        ("QX9921", 2),
        ("look_up", 1),
        ("mia_li_3668", 0),
    ]
    assert found.known == 5
    assert [(one.message, one.is_kept) for one in found.requests] == [(0, False), (3, True)]
    assert [(one.text, one.is_kept) for one in found.rules] == [
        (_RULE, False),
        ("I would rather sit beside the window.", True),
    ]


def test_a_line_that_was_cut_is_still_found() -> None:
    """What stands before the dots is compared."""
    (line,) = inspect_summary(History(_SAID), _state("- I would rather sit …")).lines

    assert (line.messages, line.is_verbatim) == ((3,), True)


def test_what_the_rest_of_the_view_has_is_not_lost() -> None:
    """An identifier that a retained message has is there."""
    said = (*_SAID, Message.user("So HAT170 is changed?"))

    found = inspect_summary(History(said), _state(_SUMMARY))

    assert "HAT170" not in {one.text for one in found.identifiers}


@pytest.mark.parametrize(
    ("line", "messages"),
    [
        ("[3] user: I would rather sit beside the window.", (3,)),
        ("[0] user: I would rather sit beside the window.", (3,)),
        ("[9] user: I would rather sit beside the window.", (3,)),
        ("[4] user: Nothing of this was ever mentioned.", ()),
    ],
)
def test_a_quoted_line_has_the_message_of_its_number(line: str, messages: tuple[int, ...]) -> None:
    """The number counts if that message has the words; else those that have them do."""
    (found,) = inspect_summary(History(_SAID), _state(line)).lines

    assert (found.messages, found.is_verbatim) == (messages, line.startswith("[3]"))


def test_a_line_of_words_in_most_messages_has_the_newest() -> None:
    """A file that more than half of the messages are about is in one of them all the same."""
    said = [Message.user(f"See src/a/parser.c, please: {number}.") for number in range(10)]
    state = _state("- src/a/: parser.c", 10, said)

    (line,) = inspect_summary(History(said), state).lines

    assert (line.messages, line.is_verbatim) == ((9,), False)


def test_a_line_word_for_word_in_many_messages_has_the_newest() -> None:
    """Of many messages with the same line the newest six are named."""
    said = [Message.user("Run the tests again, please.") for _ in range(10)]
    state = _state("- user: Run the tests again, please.", 10, said)

    (line,) = inspect_summary(History(said), state).lines

    assert line == SummaryLine(
        text="- user: Run the tests again, please.",
        messages=(4, 5, 6, 7, 8, 9),
        is_verbatim=True,
    )


def test_the_page_shows_text_and_obeys_none() -> None:
    """Markup of a conversation is shown as it was written."""
    said = (Message.user("<script>alert(1)</script> & HAT170_<b>"), *_SAID[1:])
    state = _state("<img src=x>\nand \x1b[2J").sealed()

    page = "\n".join(inspected(inspect_summary(History(said), state)))

    assert "<script" not in page
    assert "<img" not in page
    assert "\x1b" not in page
    assert "&lt;img src=x&gt;" in page
    assert "message 0: &lt;script&gt;alert(1)&lt;/script&gt; &amp; HAT170_&lt;b&gt;" in page
    assert "2 of 2 user messages are not there word for word:" in page


def test_a_long_list_on_the_page_is_cut() -> None:
    """A hundred identifiers are listed, and how many more there are; a long message is cut."""
    said = (Message.user(" ".join(f"ab{number}12" for number in range(150))), *_SAID[1:])

    page = "\n".join(inspected(inspect_summary(History(said), _state("Nothing is said here."))))

    assert page.count("<li>") == 101 + 3
    assert "more</li>" in page
    assert "…</li>" in page
    assert "1 of 1 rules are not there word for word:" in page
