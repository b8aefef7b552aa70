"""`foldline formats`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from foldline.apps.cli.formats import TARGETS
from foldline.logs.sessions import FORMATS


Run = Callable[..., Any]


def test_every_format_is_listed(run: Run) -> None:
    """The list is the one that files are read by."""
    listed = run("formats", "--json").json()
    shown = run("formats").out

    assert [one["name"] for one in listed["formats"]] == [one.name for one in FORMATS]
    assert listed["targets"] == list(TARGETS)
    assert all(one.name in shown for one in FORMATS)


def test_the_sessions_of_a_file_are_listed(run: Run, chat: Path) -> None:
    """With a file the command lists its format and its sessions."""
    (session,) = run("formats", chat, "--json").json()["sessions"]
    shown = run("formats", chat).out

    assert (session["number"], session["format"], session["messages"]) == (1, "openai-chat", 121)
    assert "format: openai-chat" in shown
    assert session["id"] in shown
