"""What the name and the arguments of a call say: whether it shows something or does something."""

import re

from foldline.history.parts import ToolCallPart


__all__ = ["COMMAND_LABELS", "name_words", "shows"]


COMMAND_LABELS = ("command", "cmd", "script", "CommandLine")
"""The names of arguments that hold a line for a shell."""

_NAME_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])").findall
# Of tools whose answer somebody else has written, or the agent itself.
_SHOWING = re.compile(
    r"read|view|open|cat|show|get|load|goto|search|find|grep|glob|list|ls|tree|diff|history|logs?|fetch|http"
    r"|web|brows\w+|crawl|scrape|navigate|query|look\w*|describe|inspect|check|retrieve|recall|think|todos?"
    r"|task|plan|note|memory|agent"
).fullmatch
_CHANGES = frozenset({"replace", "apply"})
_ASKS = re.compile(r'"(?:ur[il]s?|q|query|pattern|regex)"\s*:').search
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
    if not _HAS_COMMAND(call.arguments):
        return False
    commands = _BEGINS.split(call.arguments)
    shown = [one for one in commands if _SHOWS(one)]
    # What git tells after a commit is what was committed.
    return bool(shown) and not (any(map(_COMMITS, commands)) and all(map(_OF_GIT, shown)))
