"""What it costs without foldline."""

from collections.abc import Callable
from itertools import pairwise

from foldline.reduction.config import HistoryReductionConfig
from foldline.replay.comparison import USUAL, compare, no_memory, no_reduction
from foldline.replay.tape import Tape


MakeTape = Callable[..., Tape]

CONFIG = HistoryReductionConfig(
    enabled=True,
    strategy="summarizing",
    counting_unit="messages",
    target_count=9,
    summarization_threshold=6,
)


def test_no_reduction_sends_everything(tool_tape: MakeTape) -> None:
    """Every request is the whole history, and the next one begins with it."""
    report = no_reduction(tool_tape(10))

    totals, calls = report.totals, report.calls
    assert all(call.view_tokens == call.full_tokens for call in calls)
    assert (totals.prefix_share, totals.prefix_breaks, totals.folds) == (1.0, 0, 0)
    assert totals.fresh_tokens == totals.peak_tokens


def test_no_memory_reads_everything_again(tool_tape: MakeTape) -> None:
    """Above the threshold each call has the summarizer read all that is old."""
    tape = tool_tape(10)

    report = no_memory(tape, CONFIG)

    above = [call for call in report.calls if call.fold is not None]
    assert [call.number for call in above] == list(range(above[0].number, len(tape.calls) + 1))
    assert report.totals.summarizer_calls == report.totals.most_reads == len(above)
    sizes = [tape.size(message) for message in tape.messages if message.role != "system"]
    assert all(call.fold and call.fold.tokens_read == sum(sizes[: call.fold.cut]) for call in above)


def test_no_memory_keeps_the_prefix_while_the_cut_stays(tool_tape: MakeTape) -> None:
    """The same summary is assumed while the cut does not move, which favours the baseline."""
    calls = no_memory(tool_tape(10), CONFIG).calls

    pairs = pairwise(calls)
    moved = [(a.fold and a.fold.cut) != (b.fold and b.fold.cut) for a, b in pairs]
    assert [call.prefix_broke for call in calls[1:]] == moved
    assert True in moved


def test_without_a_summarizer_there_is_still_a_baseline(tool_tape: MakeTape) -> None:
    """For a configuration that only drops, the forgetful baseline summarizes by its limits."""
    comparison = compare(tool_tape(20), {"counting": USUAL["counting"]})

    assert comparison.reports[1].config is not None
    assert comparison.reports[1].config.target == USUAL["counting"].target_count
