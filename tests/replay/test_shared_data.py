"""Recorded conversations of other people, under every kind of configuration."""

from pathlib import Path

import pytest
from msgspec import structs

from foldline.logs.importer import Session
from foldline.reduction.config import HistoryReductionConfig
from foldline.replay.comparison import compare
from foldline.replay.tape import Tape
from tests.servers.recordings import recorded_sessions


SUFFIXES = {".json", ".jsonl", ".yaml"}
TEXTS = {"LICENSE", "README.md"}
MODERATE = 60

ROLLING = HistoryReductionConfig(
    counting_unit="messages", target_count=10, summarization_threshold=10
)
CONFIGS = {
    "default": HistoryReductionConfig(),
    "small": HistoryReductionConfig(context_window_size=16_000),
    "rolling": ROLLING,
    "layers": HistoryReductionConfig(
        target_count=2, summarization_threshold=10, use_single_summary=False
    ),
    "tokens": HistoryReductionConfig(target_token_budget=3_000, token_budget_threshold=3_000),
    "counting": structs.replace(ROLLING, strategy="message_counting"),
    "clearing": HistoryReductionConfig(strategy="clearing", context_window_size=32_000),
}


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_a_conversation_of_every_file_replays(shared_data: Path, every: int) -> None:
    """Of every shared file a session of moderate length replays under every configuration."""
    for path in _files(shared_data)[::every]:
        sessions = [one for one in recorded_sessions(path) if len(one.messages) <= MODERATE]
        if sessions:
            assert _faults(max(sessions, key=lambda session: len(session.messages))) == []


@pytest.mark.long
def test_every_session_of_every_file_replays(shared_data: Path) -> None:
    """No request is invalid, and no prefix breaks but at a fold."""
    sessions = [session for path in _files(shared_data) for session in recorded_sessions(path)]

    assert len(sessions) > 150
    for session in sessions:
        assert _faults(session) == []


def test_no_shared_file_is_passed_over(shared_data: Path) -> None:
    """What is not replayed are the pages and licences that come with the recordings."""
    files = {path for path in shared_data.rglob("*") if path.is_file()}
    others = files - set(_files(shared_data))

    assert {path.name for path in others} <= TEXTS


def _files(folder: Path) -> list[Path]:
    files = sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES)
    assert len(files) > 20
    return files


def _faults(session: Session) -> list[tuple[str, str, int, tuple[str, ...]]]:
    """Return the calls of *session* that are invalid or break the prefix without a fold."""
    return [
        (session.id, report.name, call.number, call.violations)
        for report in compare(Tape(session), CONFIGS).reports
        for call in report.calls
        if report.kind == "reducer"
        and (call.violations or (call.prefix_broke and call.status != "performed"))
    ]


@pytest.mark.slow
def test_a_long_recorded_session_folds_often(shared_data: Path) -> None:
    """The 990 messages of one real session are cut down to a small view, many times."""
    path = shared_data / "pi-coding-agent" / "before-compaction.jsonl"
    (session,) = recorded_sessions(path)

    reports = compare(Tape(session), {"rolling": CONFIGS["rolling"]}, check=False).reports

    full = reports[0].totals
    assert reports[2].totals.folds > 10
    assert reports[2].totals.sent_tokens < full.sent_tokens / 4
