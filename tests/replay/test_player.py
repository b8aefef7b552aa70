"""A session on its way through a reducer."""

import asyncio
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest

from foldline.agent.reducer import HistoryReducer
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.logs.importer import Session
from foldline.providers.digest.summarizer import DigestSummarizer
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.request import SummaryRequest
from foldline.replay.player import ReadingLog, Replay, play, spans
from foldline.replay.tape import Tape
from tests.replay.tapes import chat_tape, tool_tape


def _config(**fields: Any) -> HistoryReductionConfig:
    return HistoryReductionConfig(enabled=True, **fields)


SUMMARIZING: dict[str, Any] = {"strategy": "summarizing", "counting_unit": "messages"}
LIMITS: dict[str, Any] = {"target_count": 9, "summarization_threshold": 6}
CONFIGS = {
    "rolling": _config(**SUMMARIZING, **LIMITS),
    "layers": _config(**SUMMARIZING, **LIMITS, use_single_summary=False),
    "exchanges": _config(strategy="summarizing", target_count=3, summarization_threshold=3),
    "counting": _config(strategy="message_counting", counting_unit="messages", **LIMITS),
    "tokens": _config(target_token_budget=800, token_budget_threshold=800),
    "ceiling": _config(ceiling=1_600),
}


@pytest.mark.parametrize(("unit", "size"), [("exchanges", 1), ("messages", 2), ("messages", 3)])
@pytest.mark.parametrize("threshold", [0, 1, 4, 5, 9])
def test_folds_follow_the_law(unit: Any, size: int, threshold: int) -> None:
    """With u units a turn and threshold S one turn in every floor(S / u) + 1 folds, no other."""
    tape = chat_tape(50, size=max(2, size))
    target = 2 * size + 1
    config = _config(counting_unit=unit, target_count=target, summarization_threshold=threshold)

    report = play(tape, config, name="law", check=False).report

    turns = [call.number for call in report.calls if call.status == "performed"]
    gaps = {later - earlier for earlier, later in pairwise(turns)}
    assert gaps == {threshold // size + 1}
    assert len(report.calls) - turns[-1] < threshold // size + 1


def test_a_configuration_that_is_tried_leaves_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody asked for a fold so late or for such a ceiling: it is one of those that are compared."""
    late = _config(context_window_size=5_000, target_token_budget=8_000)

    play(chat_tape(3), late, name="late")

    assert caplog.messages == []


@pytest.fixture(scope="module", params=CONFIGS)
def played(request: pytest.FixtureRequest) -> tuple[str, Replay]:
    return request.param, play(tool_tape(15), CONFIGS[request.param], name=request.param)


def test_a_message_is_read_once(played: tuple[str, Replay]) -> None:
    """No message is given to a summarizer twice, and all that is folded once."""
    name, report = played[0], played[1].report
    folds = [call.fold for call in report.calls if call.fold is not None]
    read = [
        position
        for fold in folds
        for start, stop in fold.messages_read
        for position in range(start, stop)
    ]

    summarizes = name != "counting"
    assert report.totals.most_reads == int(summarizes)
    assert read == (list(range(max(fold.cut for fold in folds))) if summarizes else [])


def test_the_prefix_breaks_at_folds_and_nowhere_else(played: tuple[str, Replay]) -> None:
    """Between two folds each request begins with the whole of the one before, and all are valid."""
    report = played[1].report

    broke = [call.number for call in report.calls if call.prefix_broke]
    assert broke == [call.number for call in report.calls if call.status == "performed"]
    assert report.totals.prefix_breaks == report.totals.folds > 1
    assert report.totals.invalid_requests == 0


def test_a_restart_before_every_call_changes_nothing(played: tuple[str, Replay]) -> None:
    """The replay, whose state goes through JSON each time, decides as one process does."""
    name, replay = played
    tape = tool_tape(15)
    reducer = HistoryReducer(
        CONFIGS[name], counter=tape.counter, clock=lambda: datetime(2000, 1, 1, tzinfo=UTC)
    )
    history, state = History(counter=tape.counter), None
    views: list[tuple[str, list[Message]]] = []
    for position in tape.calls:
        history.extend(tape.messages[history.total : position])
        reduced = reducer.reduce_sync(history, state=state)
        state = reduced.state
        views.append((reduced.verdict.kind, reduced.messages))

    decided = [(call.verdict, call.view_messages) for call in replay.report.calls]
    assert decided == [(kind, len(view)) for kind, view in views]
    assert list(replay.view) == views[-1][1]


@pytest.mark.parametrize("name", CONFIGS)
def test_a_system_message_in_the_middle_is_valid(name: str) -> None:
    """It stays in its place until a fold puts it in front; no request is called invalid for it."""
    said = list(tool_tape(12).messages)
    for place in range(len(said) - 1, 0, -5):
        said.insert(place - (place - 1) % 5, Message.system(f"Rule {place}."))
    tape = Tape(Session(id="rules", format="test", messages=tuple(said)))
    totals = play(tape, CONFIGS[name], name=name).report.totals

    assert (totals.folds > 1, totals.invalid_requests) == (True, 0)


def test_the_tokens_of_a_view_add_up() -> None:
    """What is kept and what is new make the request; what is kept never exceeds what was sent."""
    calls = play(tool_tape(12), CONFIGS["rolling"], name="rolling").report.calls

    assert all(call.kept_tokens + call.fresh_tokens == call.view_tokens for call in calls)
    assert all(call.kept_tokens <= call.prior_tokens for call in calls)
    assert [call.prior_tokens for call in calls[1:]] == [call.view_tokens for call in calls[:-1]]


def test_a_turn_that_the_breaker_ends_is_run_again() -> None:
    """Where the circuit breaker ends a turn, the request is that of the next run: a small view."""
    config = _config(
        strategy="message_counting",
        behavior="circuit_breaker",
        counting_unit="messages",
        target_count=9,
    )

    report = play(chat_tape(20), config, name="breaker").report

    halts = [call for call in report.calls if call.verdict == "halt"]
    assert report.totals.folds == len(halts) > 1
    assert all(call.view_messages == 10 for call in halts)
    assert report.totals.prefix_breaks == len(halts)


def test_a_damaged_session_gives_valid_requests() -> None:
    """Calls without answers and answers without calls are repaired in every view."""
    lost = [
        Message.user("Look it up, please."),
        *(Message.tool(f"none-{one}", "An answer to nothing at all.") for one in range(3)),
        Message.assistant("It is there."),
    ]
    session = Session(format="test", messages=tuple(lost * 8))
    config = _config(counting_unit="messages", target_count=6, summarization_threshold=3)

    report = play(Tape(session), config, name="damaged").report

    assert report.totals.folds > 1
    assert report.totals.invalid_requests == 0


@pytest.mark.parametrize(
    ("positions", "ranges"),
    [
        ([], ()),
        ([3], ((3, 4),)),
        ([0, 1, 2], ((0, 3),)),
        ([2, 0, 1, 1], ((0, 3),)),
        ([0, 1, 5, 7, 8], ((0, 2), (5, 6), (7, 9))),
    ],
)
def test_positions_become_ranges(positions: list[int], ranges: tuple[tuple[int, int], ...]) -> None:
    """Neighbours make one range, in any order and however often they are named."""
    assert spans(positions) == ranges


def test_the_log_counts_every_reading() -> None:
    """A message in two requests was read twice; the log has the name of its summarizer."""
    messages = tuple(Message.user(f"Please call number {one}.") for one in range(3))
    log = ReadingLog(DigestSummarizer(), messages)
    assert log.name == DigestSummarizer().name

    for given in (messages[:2], messages[1:]):
        request = SummaryRequest(messages=given, prompt="", budget=100)
        asyncio.run(log.summarize(request))

    assert log.most == 2
    read, written = log.take()
    assert spans(read) == ((0, 3),)
    assert len(written) == 2
    assert log.take() == ([], [])
