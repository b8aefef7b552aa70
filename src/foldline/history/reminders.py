"""
What a harness says in the place of a user: reminders, each in a tag of its own.

Claude Code and Cline put them beside tool results and beside what the user types, Codex and Gemini CLI before
the first message. A tag begins a line: a sentence with one in it speaks of it. A long one is no reminder: it holds
the instructions of a project, which the user wrote. Some hold what a program knows or has found, and may be long.
"""

from collections.abc import Iterator


_LONGEST = {
    "system-reminder": 1_500,
    "environment_context": 1_500,
    "environment_details": 1_500,
    "ide_opened_file": 1_500,
    "local-command-caveat": 1_500,
    "local-command-stdout": 1_500,
    "turn_aborted": 1_500,
    "session_context": 20_000,
    "recommended_plugins": 20_000,
    "task-notification": 20_000,
    "subagent_notification": 20_000,
}
_MARKS = tuple([(f"<{tag}>", f"</{tag}>", longest) for tag, longest in _LONGEST.items()])


def is_reminder(text: str) -> bool:
    """Whether *text* is nothing but reminders."""
    return bool(text.strip()) and not without_reminders(text)


def without_reminders(text: str) -> str:
    """Return what is left of *text*; a tag without an end is no reminder."""
    if "</" not in text:
        return text
    left = text
    for begin, end, longest in _MARKS:
        if begin in left:
            left = "".join(_around(left, begin, end, longest))
    return text if left == text else left.strip()


def _around(text: str, begin: str, end: str, longest: int) -> Iterator[str]:
    done = start = 0
    while (start := text.find(begin, start)) >= 0 and (stop := text.find(end, start)) >= 0:
        stop += len(end)
        if stop - start <= longest and _begins_line(text, start):
            yield text[done:start]
            done = stop
        start = stop
    yield text[done:]


def _begins_line(text: str, at: int) -> bool:
    """Whether there are only spaces before *at* in its line, or another tag ends there."""
    while at and text[at - 1] in " \t":
        at -= 1
    return not at or text[at - 1] in "\r\n>"
