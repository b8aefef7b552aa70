"""What the views of some sessions keep, in figures."""

import pytest

from foldline.history.messages import Message
from foldline.reduction.config import HistoryReductionConfig
from foldline.replay.quality.accounting import Accounting
from foldline.replay.quality.figures import Share
from foldline.replay.quality.report import AGES, KEPT, Cell, QualityReport, quality_of
from foldline.replay.quality.ways import DIGEST, LEDGER, WAYS
from foldline.replay.tape import Tape
from foldline.testing.summarizer import ScriptedSummarizer
from tests.replay.quality.by_hand import call, tape_of


_SHORT = HistoryReductionConfig(
    counting_unit="messages",
    target_count=1,
    summarization_threshold=1,
    quote_user_messages=0,
)
_FILLER = "The river runs past the stone, the market and the garden of the engine house."
_NOTHING = "The user asks about a river, the stone, the market and the garden of the engine house."


@pytest.fixture
def tape() -> Tape:
    """Return a session whose last call needs a booking of the first message and a flight of the last."""
    said = [Message.user("My booking is HAT170. Never cancel the booking of my wife.")]
    said += [
        call(1, "edit", '{"path": "notes/a.md", "text": "seen"}'),
        Message.tool("call-1", "ok"),
    ]
    for _ in range(6):
        said += [Message.assistant(_FILLER * 4), Message.user(_FILLER)]
    said += [Message.assistant("Which flight?"), Message.user("QX9921.")]
    return tape_of([*said, call(2, "book", '{"booking": "HAT170", "flight": "QX9921"}')])


def _cells(report: QualityReport) -> dict[str, Cell]:
    return {cell.name: cell for cell in report.cells}


def test_the_figures_of_a_session(tape: Tape) -> None:
    """One of two needed values is old, and the digest has both; all else is counted too."""
    report = quality_of([tape], _SHORT)

    cells = _cells(report)
    assert report.sessions == 1
    assert report.calls == 9
    assert report.folds > 1
    assert list(cells) == list(AGES)
    assert cells["all values"].n == 2
    assert cells["old values"].n == 1
    assert cells["old values"].shares[DIGEST].kept == 1
    assert cells["old values"].shares["none"].kept == 0
    assert cells["last 4,000 tokens"].n == 2
    assert cells["older"].n == 0
    assert list(report.kept) == list(KEPT)
    assert report.kept["recalled"].total == 0
    assert report.kept["edited named"].total == 1
    assert report.kept["rules"].total == 1
    assert report.accounting.dropped == report.accounting.accounted > 0
    assert report.invented == ()


def test_what_a_summary_lacks_is_recalled(tape: Tape) -> None:
    """A text without the booking loses it, and a search finds it; the rule stands beside the text."""
    report = quality_of([tape], _SHORT, summarizer=ScriptedSummarizer(repeat=_NOTHING))

    old, every = _cells(report)["old values"], _cells(report)["all values"]
    assert old.shares[DIGEST].kept == 0
    # Of all values: a tool result that was cleared, and not folded away, is recalled too.
    assert KEPT["recalled"].startswith("values that the view lacks")
    assert report.kept["recalled"].total == every.n - every.shares[DIGEST].kept
    assert LEDGER in old.losing()
    assert (report.kept["recalled"].kept, report.kept["recalled"].total) == (1, 1)
    assert (report.kept["rules"].kept, report.kept["rules"].total) == (1, 1)


def test_sessions_are_added_up(tape: Tape) -> None:
    """Two sessions have twice the values of one; chance is the summary of the one before."""
    report = quality_of([tape, tape], _SHORT)

    cells = _cells(report)
    assert (report.sessions, cells["all values"].n) == (2, 4)
    assert cells["old values"].shares["chance"].kept == 1
    once = quality_of([tape], _SHORT).accounting
    assert report.accounting == once + once


def test_each_call_is_announced(tape: Tape) -> None:
    """Progress can be shown."""
    steps: list[None] = []

    quality_of([tape], _SHORT, on_call=lambda: steps.append(None))

    assert len(steps) == 9


def test_a_session_without_a_call_counts_nothing() -> None:
    """What never called a model is left out."""
    report = quality_of([tape_of([])], _SHORT)

    assert (report.sessions, report.calls, report.accounting) == (0, 0, Accounting())
    assert not any(share.total for share in report.kept.values())


def test_losing_ways_are_those_that_keep_more() -> None:
    """As much is not more."""
    shares = {way: Share(((1, 2),)) for way in WAYS} | {LEDGER: Share(((2, 2),))}

    assert Cell(name="old values", shares=shares).losing() == (LEDGER,)
