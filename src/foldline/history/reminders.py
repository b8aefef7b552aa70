"""
What a harness says in the place of a user: reminders, each in a tag of its own.

Claude Code and Cline put them beside tool results and beside what the user types, Codex before the
first message. A tag begins a line: a sentence with one in it speaks of it. A long one is no reminder: it holds
the instructions of a project, which the user wrote.
"""

from collections.abc import Iterator


__all__ = ["is_reminder", "without_reminders"]


_TAGS = (
    "system-reminder",
    "environment_context",
    "environment_details",
    "ide_opened_file",
    "local-command-caveat",
    "local-command-stdout",
)
_MARKS = tuple([(f"<{tag}>", f"</{tag}>") for tag in _TAGS])
_LONGEST = 1_500


def is_reminder(text: str) -> bool:
    """Whether *text* is nothing but reminders."""
    return bool(text.strip()) and not without_reminders(text)


def without_reminders(text: str) -> str:
    """Return what is left of *text*; a tag without an end is no reminder."""
    if "</" not in text:
        return text
    left = text
    for begin, end in _MARKS:
        if begin in left:
            left = "".join(_around(left, begin, end))
    return text if left == text else left.strip()


def _around(text: str, begin: str, end: str) -> Iterator[str]:
    done = start = 0
    while (start := text.find(begin, start)) >= 0 and (stop := text.find(end, start)) >= 0:
        stop += len(end)
        if stop - start <= _LONGEST and _begins_line(text, start):
            yield text[done:start]
            done = stop
        start = stop
    yield text[done:]


def _begins_line(text: str, at: int) -> bool:
    """Whether there are only spaces before *at* in its line, or another tag ends there."""
    while at and text[at - 1] in " \t":
        at -= 1
    return not at or text[at - 1] in "\r\n>"
