"""`foldline threads summary`: the summary that is stored in a thread."""

from pathlib import Path

import pytest

from tests.apps.conftest import Run


@pytest.fixture(autouse=True)
def _store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLDLINE_STORE", "a.db")


def test_the_summary_of_a_thread_is_shown(run: Run, chat: Path) -> None:
    """The newest one is printed as `inspect` does it, and an older one if it is asked for."""
    run("threads", "import", chat, "--id", "t")
    run("threads", "fold", "t", "--keep", "20")
    run("threads", "fold", "t", "--keep", "9")

    newest, older = run("threads", "summary", "t"), run("threads", "summary", "t", "--back", "1")

    assert newest.code == older.code == 0
    assert "The summary of messages 0 to " in newest.out
    assert any(line.startswith("0 =") for line in newest.out.splitlines())
    covered = [
        run("threads", "summary", "t", "--json", *back).json()["covered"]
        for back in ((), ("--back", "1"))
    ]
    assert covered[0] > covered[1] > 0


def test_a_thread_without_a_summary_says_so(run: Run, chat: Path) -> None:
    """Where nothing is folded, or so many folds ago, the command is refused with the reason."""
    run("threads", "import", chat, "--id", "t")

    refused = run("threads", "summary", "t")

    assert refused.code == 2
    assert "thread 't' has no summary yet" in refused.err
