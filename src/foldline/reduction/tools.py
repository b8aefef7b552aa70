"""What the name and the arguments of a call say: whether it shows something or changes something."""

import re

from foldline.history.parts import ToolCallPart


COMMAND_LABELS = ("command", "cmd", "script", "CommandLine")
"""The names of arguments that hold a line for a shell."""

SETS = frozenset(
    {"set", "update", "change", "move", "modify", "assign", "rename"}
    | {"reassign", "reschedule", "resize", "scale", "toggle"}
)
"""Verbs of tools that give a new value."""

EDITS = frozenset({"edit", "replace", "insert", "update", "patch", "modify", "append", "apply"})
"""Verbs of tools that change what is there."""

CREATES = frozenset({"write", "create", "save", "new", "add"})
"""Verbs of tools that make something."""

DELETES = frozenset({"delete", "remove", "unlink"})
"""Verbs of tools that take something away."""

_DOES = SETS | EDITS | CREATES | DELETES
_NAME_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])").findall
_READS = (
    r"read|view|open|cat|show|get|load|goto|search|find|grep|glob|list|ls|tree|diff|history|logs?|fetch|http"
    r"|web|brows\w+|crawl|scrape|navigate|query|look\w*|describe|inspect|check|retrieve|recall"
)
_IS_READ = re.compile(_READS).fullmatch
# What the agent itself has written, or another one.
_OWN = r"think|todos?|task|plan|note|memory|agent"
_IS_OWN = re.compile(_OWN).fullmatch
_SHOWING = re.compile(f"{_READS}|{_OWN}").fullmatch
_CHANGES = frozenset({"replace", "apply"})
_ASKS = re.compile(r'"(?:ur[il]s?|q|query|pattern|regex)"\s*:').search
# A statement for a database, and one that changes it: in a query only capitals tell it from a search.
_HAS_STATEMENT = re.compile(r'"sql"\s*:').search
_VERBS = "|".join(sorted(_DOES))
_HAS_CHANGE = re.compile(
    rf'"sql"\s*:\s*"\s*(?i:{_VERBS})\b|"query"\s*:\s*"\s*(?:{_VERBS.upper()})\b'
).search
_HAS_COMMAND = re.compile(rf'"(?:{"|".join(COMMAND_LABELS)})"\s*:').search
# Where a command begins in the arguments as they are written.
_BEGINS = re.compile(r'&&|\|\||;|\\n|(?<!\\)"')
# What shows something, and does not write it to a file.
_SHOWS = re.compile(
    r"\s*(?:(?:sudo|time|env|\w+=\S*)\s+)*(?:cat|head|tail|less|more|view|[ef]?grep|rg|ag|ack|find|fd"
    r"|ls|tree|sed(?! -i)|awk|jq|curl|wget|echo|printf|diff|man"
    r"|git (?:log|show|diff|status|blame|grep|add))\b(?![^|]*(?<![\d&=-])>)"
).match

_OF_GIT = re.compile(r"\s*git\b").match
_COMMITS = re.compile(r"\s*git\b[^|]{0,80} commit\b").match


def name_words(name: str) -> set[str]:
    """Return the words that the *name* of a tool is put together of."""
    return {part.lower() for part in _NAME_PARTS(name)}


def shows(call: ToolCallPart) -> bool:
    """Whether the answer to *call* is a text that it was to show, which says nothing of the call."""
    parts = name_words(call.name)
    if _ASKS(call.arguments) or (any(map(_SHOWING, parts)) and not parts & _CHANGES):
        return True
    return _shows_by_command(call.arguments)


def changes(call: ToolCallPart) -> bool:
    """
    Whether *call* is to change something, as far as its name and its arguments say.

    The first verb of the name that is known decides; a name without one changes something, as `refund`
    does, unless the arguments ask or only look.
    """
    parts = [part.lower() for part in _NAME_PARTS(call.name)]
    if _HAS_CHANGE(call.arguments) or _CHANGES.intersection(parts):
        return True
    if _HAS_STATEMENT(call.arguments):
        return False
    for part in parts:
        if part in _DOES or _IS_READ(part):
            return part in _DOES
    if _ASKS(call.arguments) or all(map(_IS_OWN, parts)):
        return False
    return not _shows_by_command(call.arguments)


def _shows_by_command(arguments: str) -> bool:
    """Whether *arguments* hold a line for a shell that only shows something."""
    if not _HAS_COMMAND(arguments):
        return False
    commands = _BEGINS.split(arguments)
    shown = [one for one in commands if _SHOWS(one)]
    # What git tells after a commit is what was committed.
    return bool(shown) and not (any(map(_COMMITS, commands)) and all(map(_OF_GIT, shown)))
