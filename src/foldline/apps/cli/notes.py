"""What people should know beside the answer: one line each, on the standard error."""

from collections.abc import Sequence

from rich.text import Text

from foldline.apps.cli.terminal import clean, error_console
from foldline.logs.importer import Session


__all__ = ["MOST_NOTES", "tell", "tell_of_sessions"]


MOST_NOTES = 5
"""How many notes about the sessions of a file are shown."""


def tell(note: str) -> None:
    """Print *note* as one line."""
    error_console().print(Text(f"note: {clean(note)}", style="dim"), soft_wrap=True)


def tell_of_sessions(sessions: Sequence[Session]) -> None:
    """Print what of their log is not among the messages of *sessions*."""
    notes = [(session.id, note) for session in sessions for note in session.notes]
    for id, note in notes[:MOST_NOTES]:
        tell(" ".join(f"{id}: {note}".split()))
    if len(notes) > MOST_NOTES:
        tell(f"and {len(notes) - MOST_NOTES:,} more; `foldline formats FILE` lists them")
