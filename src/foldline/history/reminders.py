"""
What a harness says in the place of a user: reminders, each in a tag of its own.

Claude Code puts them beside tool results, Codex before the first message.
"""

__all__ = ["is_reminder"]


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
_FIRST = "< \n"


def is_reminder(text: str) -> bool:
    """Whether *text* is nothing but reminders."""
    at = 0 if text[:1] in _FIRST else -1
    while 0 <= at < len(text):
        at = at + 1 if text[at].isspace() else _after(text, at)
    return at > 0 and not text.isspace()


def _after(text: str, at: int) -> int:
    """Return where the reminder ends that begins at *at*, or -1 if none does."""
    for begin, end in _MARKS:
        if text.startswith(begin, at) and (stop := text.find(end, at)) >= 0:
            return stop + len(end)
    return -1
