"""What later calls needed, and which views still had it."""

from msgspec.structs import replace

from foldline.history.messages import PIN_KEY, Message
from foldline.history.parts import FilePart
from foldline.reduction.config import HistoryReductionConfig
from foldline.replay.quality.moments import Transcript, moments
from foldline.replay.quality.ways import DIGEST, LEDGER, WAYS, Need, Ways, needed_at
from foldline.replay.tape import Tape
from tests.replay.quality.by_hand import call, tape_of


# One message is kept, and every second one more folds.
_SHORT = HistoryReductionConfig(counting_unit="messages", target_count=1, summarization_threshold=1)
_NEVER = HistoryReductionConfig(enabled=False)


def _talk() -> list[Message]:
    filler = " ".join(["river stone winter market letter garden engine"] * 12)
    talk = [Message.user("Change booking HAT170 for mia_li_3668.")]
    for number in range(8):
        talk += [Message.assistant(f"{filler} {number}."), Message.user(f"{filler}, yes.")]
    return [*talk, call(1, "change", '{"booking": "HAT170", "new": "QX9921"}')]


def _needs(tape: Tape, config: HistoryReductionConfig, *, other: str = "") -> list[Need]:
    ways = Ways(Transcript(tape), other=other)
    return [need for moment in moments(tape, config) for need in needed_at(ways, moment)]


def test_a_value_is_needed_if_it_was_said_before() -> None:
    """The booking was said, the new one comes up in the call itself; without a fold nothing is old."""
    tape = tape_of(_talk())

    (need,) = _needs(tape, _NEVER)

    assert (need.value, need.call, need.is_old) == ("HAT170", 17, False)
    assert need.kept >= {DIGEST, "none", "chance"}


def test_the_age_is_what_was_said_since() -> None:
    """The age counts the tokens of all messages after the last mention."""
    tape = tape_of(_talk())

    (need,) = _needs(tape, _NEVER)

    assert need.age == sum(map(tape.size, tape.messages[1:17]))


def test_an_old_value_is_only_where_something_kept_it() -> None:
    """
    The digest and a ledger have the folded value.

    The newest messages alone, the words of another conversation and as much of the newest text as
    the view has tokens do not.
    """
    tape = tape_of(_talk())

    (need,) = _needs(tape, _SHORT, other="Booking XYZ123.")

    assert need.is_old
    assert need.kept >= {DIGEST, LEDGER, "first"}
    assert need.kept.isdisjoint({"none", "chance", "recency", "mask"})
    assert need.kept <= set(WAYS)


def test_chance_is_what_another_summary_has() -> None:
    """A summary of another conversation that names the value by chance counts."""
    tape = tape_of(_talk())

    (need,) = _needs(tape, _SHORT, other="It is HAT170.")

    assert "chance" in need.kept


def test_each_message_of_the_assistant_is_a_call() -> None:
    """Two neighboring messages of the assistant are two calls, and a last question one more."""
    said = [Message.system("Be brief."), Message.user("Go."), Message.assistant("One.")]
    tape = tape_of([*said, Message.assistant("Two."), Message.user("More.")])

    seen = list(moments(tape, _NEVER))

    assert [one.index for one in seen] == [1, 2, 4]
    assert [one.answer and one.answer.text for one in seen] == ["One.", "Two.", None]
    assert [len(one.view) - len(one.said) for one in seen] == [1, 1, 1]


def test_front_and_retained_are_the_view() -> None:
    """After a fold the view is the system messages, what stands for the folded ones, and the rest."""
    tape = tape_of([Message.system("Be brief."), *_talk()])

    *_, last = moments(tape, _SHORT)

    assert last.cut > 0
    assert last.front[0].is_summary
    assert last.view == (tape.messages[0], *last.front, *last.retained)
    assert last.retained[-1] is tape.messages[17]


def test_a_pinned_file_is_in_front() -> None:
    """It comes before the summary, and stands for a folded message too."""
    first, *rest = _talk()
    first = replace(
        first, metadata={PIN_KEY: True}, parts=(*first.parts, FilePart("image", "file_1"))
    )

    *_, last = moments(tape_of([first, *rest]), _SHORT)

    assert last.front[0] is last.said[0]
    assert last.front[1].is_summary
    assert last.view == (*last.front, *last.retained)
    assert last.front[0] not in last.retained


def test_mentions_are_by_message() -> None:
    """A transcript finds the messages with a value before an end, the newest first, but no system message."""
    said = [Message.system("X1Y2"), Message.user("X1Y2"), Message.user("no"), Message.user("X1Y2")]
    transcript = Transcript(tape_of(said))

    assert list(transcript.mentions("X1Y2", 3)) == [2, 0]
    assert list(transcript.mentions("X1Y2", 2)) == [0]
    assert list(transcript.mentions("X1Y2", 0)) == []
