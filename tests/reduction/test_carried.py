"""How far back the record of a library caller reaches: after an edit little is read again."""

import asyncio
from datetime import UTC, datetime

import msgspec
import pytest

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.budget import budget_of
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.draft import FoldOptions
from foldline.reduction.fold import fold
from foldline.reduction.request import SummaryRequest, run_flow
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.stride import is_kept
from foldline.reduction.verdict import decide


NOW = datetime(2026, 11, 21, tzinfo=UTC)
MESSAGES = HistoryReductionConfig(
    enabled=True, strategy="summarizing", counting_unit="messages", target_count=20
)
EXCHANGES = msgspec.structs.replace(MESSAGES, counting_unit="exchanges")


class Caller:
    """Keeps the record between calls, as JSON, and counts what a summarizer reads."""

    def __init__(self, config: HistoryReductionConfig) -> None:
        self.config = config
        self.record = b""
        self.read = 0

    def reduce(self, history: History) -> None:
        state = HistoryReductionState.from_json(self.record) if self.record else None
        verdict = decide(history, self.config, state, config_fingerprint="f")
        if not verdict.folds:
            return
        options = FoldOptions(
            created_at=NOW,
            config_fingerprint="f",
            summarizers=1,
            budget=budget_of(self.config),
            summary_budget=1500,
        )
        flow = fold(history, verdict, self.config, options, given=state)
        made = asyncio.run(run_flow(flow, self._summary, asyncio.to_thread)).state
        assert made is not None
        self.record = made.to_json()

    async def _summary(self, request: SummaryRequest) -> str:
        self.read += len(request.messages)
        return "They talked about the weather."


def said(number: int) -> Message:
    words = f"{number} so many words about the weather in the north and in the south"
    return Message.user(words) if number % 2 == 0 else Message.assistant(words)


@pytest.mark.parametrize("layers", [False, True], ids=["rolling", "layers"])
@pytest.mark.parametrize("config", [MESSAGES, EXCHANGES], ids=["messages", "exchanges"])
@pytest.mark.parametrize("length", [901, pytest.param(1_999, marks=pytest.mark.slow)])
def test_an_edit_reads_little_again(
    config: HistoryReductionConfig, length: int, *, layers: bool
) -> None:
    """With 20/5, an edit 100 messages back has at most 110 messages read again."""
    caller = Caller(msgspec.structs.replace(config, use_single_summary=not layers))
    history = History()
    for number in range(length):
        history.append(said(number))
        caller.reduce(history)
    before = caller.read
    messages = list(history)
    messages[-100] = Message.user("something else about the east")
    caller.reduce(History(messages))

    assert before <= length
    assert 0 < caller.read - before <= 110


def record(index: int) -> HistoryReductionState:
    return HistoryReductionState(
        summarized_up_to_index=index,
        message_count_at_reduction=index,
        summary_content="Summary",
        created_at=NOW,
        message_hash=f"sha256-2:{index}",
        target_count=1,
        reduction_threshold=1,
    )


def test_earlier_reductions_are_thinned() -> None:
    """The last 16 are carried, of those before every 16th, of the oldest every 256th."""
    state = record(1).carrying([])
    for index in range(2, 600):
        state = record(index).carrying([*state.chain()])

    assert [one.number for one in state.chain()] == [
        *range(599, 583, -1),
        *range(576, 343, -16),
        256,
    ]


def test_a_record_that_was_not_counted_leaves_after_sixteen() -> None:
    """Records of earlier versions have no number: they are the first to go."""
    old = record(1)
    state = old
    for index in range(2, 18):
        state = record(index).carrying([*state.chain()])
        assert (old in state.chain()) is (index < 17)


@pytest.mark.parametrize(("newest", "kept"), [(1, 2), (16, 16), (256, 31), (5000, 46)])
def test_few_earlier_reductions_are_kept_of_any_number(newest: int, kept: int) -> None:
    """There are 16, and 15 more for each further power of 16."""
    assert sum(is_kept(number, newest) for number in range(newest + 1)) == kept
