"""
Recorded conversations of other people, under every kind of configuration.
"""

from pathlib import Path

from foldline.history.formats.sessions import read_sessions
from foldline.reduction.config import HistoryReductionConfig
from foldline.replay.comparison import compare
from foldline.replay.tape import Tape


SUFFIXES = {".json", ".jsonl", ".yaml"}
LONGEST = 8

CONFIGS = {
    "rolling": HistoryReductionConfig(
        enabled=True,
        strategy="summarizing",
        counting_unit="messages",
        target_count=10,
        summarization_threshold=10,
    ),
    "layers": HistoryReductionConfig(
        enabled=True,
        strategy="summarizing",
        target_count=2,
        summarization_threshold=3,
        use_single_summary=False,
    ),
    "tokens": HistoryReductionConfig(
        enabled=True,
        strategy="summarizing",
        counting_unit="tokens",
        target_token_budget=3_000,
        token_budget_threshold=3_000,
    ),
    "counting": HistoryReductionConfig(
        enabled=True, counting_unit="messages", target_count=10, summarization_threshold=5
    ),
}


def test_every_recorded_conversation_replays(shared_data: Path) -> None:
    """
    Of every shared file the longest sessions replay under four configurations.

    No request is invalid, and no prefix breaks but at a fold.
    """
    files = sorted(path for path in shared_data.rglob("*") if path.suffix in SUFFIXES)
    assert len(files) > 20

    for path in files:
        sessions = read_sessions(path.read_bytes(), name=path.stem)
        longest = sorted(sessions, key=lambda session: -len(session.messages))[:LONGEST]
        for session in longest:
            for report in compare(Tape(session), CONFIGS).reports[2:]:
                found = [text for call in report.calls for text in call.violations]
                where = f"{path.name} {session.id} {report.name}"
                assert (where, found) == (where, [])
                unexplained = [
                    call.number
                    for call in report.calls
                    if call.prefix_broke and call.status != "performed"
                ]
                assert (where, unexplained) == (where, [])


def test_a_long_recorded_session_folds_often(shared_data: Path) -> None:
    """
    The 990 messages of one real session are cut down to a small view, many times.
    """
    path = shared_data / "pi-coding-agent" / "before-compaction.jsonl"
    (session,) = read_sessions(path.read_bytes())

    reports = compare(Tape(session), CONFIGS).reports

    full = reports[0].totals
    assert all(report.totals.folds > 10 for report in reports[1:])
    assert all(report.totals.sent_tokens < full.sent_tokens / 4 for report in reports[2:])
