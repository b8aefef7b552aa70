"""
What a harness says in the place of a user: reminders, each in a tag of its own.

Claude Code puts them beside tool results, Codex before the first message.
"""

from collections.abc import Iterator


__all__ = ["is_reminder", "without_reminders"]


_TAGS = (
    "system-reminder",
    "environment_context",
    "local-command-caveat",
    "local-command-stdout",
    "ide_opened_file",
    "ide_selection",
    "task-notification",
)
_MARKS = tuple([(f"<{tag}>", f"</{tag}>") for tag in _TAGS])


def is_reminder(text: str) -> bool:
    """Whether *text* is nothing but reminders."""
    return bool(text.strip()) and not without_reminders(text)


def without_reminders(text: str) -> str:
    """Return what is left of *text*; a tag without an end is no reminder."""
    left = text
    for begin, end in _MARKS:
        if begin in left:
            left = "".join(_around(left, begin, end))
    return text if left is text else left.strip()


def _around(text: str, begin: str, end: str) -> Iterator[str]:
    done = 0
    while (start := text.find(begin, done)) >= 0 and (stop := text.find(end, start)) >= 0:
        yield text[done:start]
        done = stop + len(end)
    yield text[done:]
