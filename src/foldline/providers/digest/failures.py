"""
Whether a call failed, judged by how its result begins and ends, and what it is certain to have set.

Only its first and its last lines are a tool's own words. The middle may be a file that was read,
where `except Error as error:` says nothing about the call; so an error named inside a text never
counts. What the record itself marks as an error is one, whatever its text says.
"""

import re
from collections.abc import Mapping, Sequence

from foldline.errors import FormatError
from foldline.history.codec import decode_json
from foldline.providers.digest.span import Json, json_leaves
from foldline.providers.digest.text import one_line, shorten


_LENGTH = 160
_EDGE = 4_000
_JOINED = " … "


def _any_of(*forms: str) -> str:
    return f"(?:{'|'.join(forms)})"


# Empty lines, three spaces at most, and what tools put in front. A first line that is indented
# further is the middle of a file. The group is not possessive: Python before 3.11.5 does not go back
# to where such a group began (gh-106052).
_OPENING = r"(?:[ \t]*+\r?\n)* {0,3}(?:\[|<(?:error|tool_use_error|stderr)>\s{0,4}|[❌✗]\s?)?"
_PLACE = r"[^\s:(]{1,200}(?:\(\d+,\d+\)|:\d+:\d+): (?:fatal )?error\b"
_BEGIN = re.compile(
    _OPENING
    + _any_of(
        # Error: …, ValueError: …, some.module.OddException: …, error[E0308]: …
        r"(?:[A-Za-z_][\w.]{0,80}?)?(?:[Ee]rror|ERROR|Exception)(?:\[\w{1,20}\])?:(?=\s|$)",
        r"Error (?:calling|executing|running|reading|writing|opening|parsing|fetching|while|during"
        r"|code)\b",
        r"(?:Unexpected|Fatal|Internal|Unknown|Runtime|Syntax|System|Server|Tool|API|Validation"
        r"|Network|Connection)(?: [a-z]+)? [Ee]rror:",
        r"An? (?:\w+ )?(?:error|exception) occurred",
        r"Traceback \(most recent call last\)",
        r"(?:fatal|FATAL|panic|Uncaught [\w.]{1,80}):\s",
        r"npm (?:error|ERR!) ",
        r"Your proposed edit has introduced new syntax error",
        r"HTTP(?:/\d(?:\.\d)?)?(?: [Ee]rror)?:? [45]\d\d\b",
        r"[Ss]tatus(?: [Cc]ode)?: [45]\d\d\b",
        r"(?:400 Bad Request|401 Unauthorized|403 Forbidden|404 Not Found|405 Method Not Allowed"
        r"|409 Conflict|422 Unprocessable|429 Too Many Requests|500 Internal Server Error"
        r"|502 Bad Gateway|503 Service Unavailable|504 Gateway Time)",
        _PLACE,
    )
).match
# What counts only in a short text: a longer one may be what the tool was asked for.
_SHORT = 600
_SHORT_LINES = 8
_COMPLAINT = re.compile(
    _OPENING
    + _any_of(
        r"(?:[Cc]ould not|[Cc]annot|[Cc]an['’]t|[Uu]nable to|[Ff]ailed to)\b",
        r"(?:[A-Z][a-z]+ )?(?:[Tt]ool )?(?:[Cc]ommand|[Oo]peration|[Rr]equest|[Tt]ool|[Pp]rocess"
        r"|[Ee]xecution) (?:was |has |call )?(?:aborted|cancelled|failed|interrupted|killed|rejected|timed out"
        r"|denied|not found)\b",
        r"(?:[Pp]ermission|[Aa]ccess) denied|[Nn]o such |[Tt]imed out\b",
        r"(?:The )?[Uu]ser (?:has )?(?:rejected|refused|declined|denied)\b",
        r"(?:Rejected|Refused|Declined|Denied): ",
        r"(?:File|Path|Directory|Module|Tool) (?:does not exist|not found)\b",
        r"No (?:changes made to|replacement was performed)\b",
        # How Python reports an error of the system, after the bracket.
        r"Errno -?\d{1,5}\] ",
        # bash: ponyc: command not found, ls: cannot access 'x': No such file or directory
        r"[\w./+-]{1,120}: (?:[^\s:][^\n:]{0,200}: ){0,3}(?:[Nn]o such file or directory"
        r"|[Pp]ermission denied|(?:command )?not found|cannot |can't |[Nn]ot a directory"
        r"|[Ii]s a directory|unrecognized |invalid |illegal |missing )",
    )
).match
_EXIT = re.compile(
    r"[\[(<]?(?:[A-Za-z]{1,20} ){0,5}(?:[Ee]xit(?:ed with)?[ _]?(?:code|status)|[Rr]eturn ?code)"
    r"(?: of|:|>)? ?(-?\d{1,10})(?:[.\])]{0,2}|</returncode>)"
).fullmatch
_EXIT_LINES = 4
_END = re.compile(
    _any_of(
        _PLACE,
        r"make(?:\[\d+\])?: \*\*\* ",
        r"npm (?:error|ERR!) ",
        r"=++(?= )(?>.*? \d++ (?:failed|errors?)\b)(?>.*? in \d)",
        r"FAILED \((?:failures|errors)=",
        r"Command (?:aborted|cancelled|timed out)\b",
    )
).match
_TRACE = "Traceback (most recent call last):"
_RAISED = re.compile(
    r"[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning)(?:: .*)?"
).fullmatch
# In code, a line with one of these at its end continues.
_CODE_ENDINGS = (",", ";", "{", "(", "[")
_HINT = re.compile(
    r'"(?:(?:is_error|isError|error|exit_code|exitCode|returncode)"'
    r'|(?:success|ok)"\s*:\s*false\b|status"\s*:\s*"(?i:error|fail|failure)")'
)
_MARKS = {"is_error": True, "isError": True, "success": False, "ok": False}
_FAILS = frozenset({"error", "fail", "failure"})
_CODES = ("exit_code", "exitCode", "returncode")
_UNSAID = "error"


def failure_of(text: str, *, is_marked: bool = False) -> str:
    """
    Return the line in which a result says that its call failed; empty if it does not.

    It always has failed if the record itself marks it as an error.
    """
    edges = text if len(text) <= 2 * _EDGE else f"{text[:_EDGE]}\n{text[-_EDGE:]}"
    lines = [line.rstrip() for line in edges.splitlines() if line.strip()]
    said = _exit(lines) if "xit" in text or "eturn" in text else None
    if said is None:
        said = _field(text) or _begin(text, lines) or _end(lines)
    if not said and not is_marked:
        return ""
    return shorten(one_line(said or "".join(lines[:1])), limit=_LENGTH) or _UNSAID


def _exit(lines: Sequence[str]) -> str | None:
    """Return the line of an exit code that is not zero, empty if it is zero, None without one."""
    for line in (*lines[-1:], *lines[:_EXIT_LINES]):
        match = _EXIT(line)
        if match:
            error = next(filter(_BEGIN, lines), line)
            said = line if error == line else f"{line}{_JOINED}{error}"
            return said if int(match[1]) else ""
    return None


def _field(text: str) -> str:
    """Return *text* if it is a JSON object with a field that says that the call failed."""
    if not text.lstrip().startswith(("{", "[")) or not _HINT.search(text):
        return ""
    try:
        value: Json = decode_json(text)
    except FormatError:
        return ""
    if not isinstance(value, dict):
        return ""
    about = value.get("metadata")
    fields = about | value if isinstance(about, dict) else value
    is_failure = (
        any(value.get(name) is mark for name, mark in _MARKS.items())
        or any(isinstance(code, int | float) and code for code in map(fields.get, _CODES))
        # A long object with a field of this name may be anything.
        or (len(text) <= _SHORT and isinstance(value.get("error"), str | dict) and value["error"])
        or (len(text) <= _SHORT and str(value.get("status")).lower() in _FAILS)
    )
    return text[:_EDGE] if is_failure else ""


def _begin(text: str, lines: Sequence[str]) -> str:
    is_short = len(text) <= _SHORT and len(lines) <= _SHORT_LINES
    if not lines or not (_BEGIN(text) or (is_short and _COMPLAINT(text))):
        return ""
    first, *others = lines
    if others and first.endswith(_CODE_ENDINGS):
        return ""
    if _TRACE in first and _RAISED(lines[-1]):
        return lines[-1]
    # A line such as `ERROR:` alone says nothing.
    return f"{first} {others[0]}" if others and first.endswith(":") else first


def _end(lines: Sequence[str]) -> str:
    # Compilers explain an error in lines that are indented.
    last = next((line for line in reversed(lines) if not line[0].isspace()), "")
    if _END(last) or (_TRACE in lines and _RAISED(last)):
        return last
    return ""


_CONFIRMS = re.compile(
    r"success|(?<![a-z])(?:ok|okay|done|true|succeeded|completed?|confirmed|set|updated|changed"
    r"|modified|moved|assigned|renamed|saved|applied)(?![a-z])",
    re.IGNORECASE,
).search
_BAD = (
    *("fail", "error", "reject", "refus", "declin", "denied", "invalid", "forbid", "unauthor"),
    *("cannot", "exceed", "conflict", "approval"),
)
_NO = "|".join(_BAD)
_REFUSES = re.compile(
    _NO
    + r"|unsuccessful|unable|canceled|cancelled|unchanged|ignored|skipped|reverted|rolled|n['’]t\b"
    r"|\b(?:no|not|never|nothing)\b|^[45]\d\d$",
    re.IGNORECASE,
).search
_NAMES_FAILURE = re.compile(
    rf'"[^"]{{0,40}}?(?:{_NO})[^"]{{0,40}}"\s*:\s*+(?!null|false|0\b|""|\[\s*\]|\{{\s*\}})'
).search
# It may come to pass later, or has in part.
_DOUBTS = re.compile(
    r"pending|queue|wait|schedule|propos|draft|preview|dry.?run|please|require|instead|partial|capped"
    r"|clamped|\b(?:will|would|could|should|must|needs?|but|only|except|0 \w+)\b|\?",
    re.IGNORECASE,
).search
# Under such a name an object says how it went.
_OUTCOME = re.compile(r"stat(?:e|us)|code|result|outcome|message|msg|reason", re.IGNORECASE).search


def confirmed(text: str, given: Mapping[str, str]) -> dict[str, str]:
    """
    Return those of the values *given* to a call that its result *text* says to hold now.

    Words have to confirm them. An object confirms what it repeats, and what it does not name unless it
    says that something is open.
    """
    try:
        value: Json = decode_json(text)
        leaves = list(json_leaves("", value)) if isinstance(value, dict | list) else []
    except (FormatError, RecursionError):
        # A part of an object does not say how it ends.
        leaves = [] if text[:1] != "{" else [("", _UNSAID)]
    if not leaves:
        said = text[:_SHORT]
        return {} if _REFUSES(said) or _DOUBTS(said) or not _CONFIRMS(said) else dict(given)
    named: dict[str, set[str]] = {}
    # A long object may hold anything.
    is_open = len(text) > _SHORT
    for label, leaf in leaves:
        if label in given:
            named.setdefault(label, set()).add(one_line(leaf).lower())
        if leaf == given.get(label):
            continue
        if _CONFIRMS(label) if leaf in {"false", "0"} else _OUTCOME(label) and _REFUSES(leaf):
            return {}
        is_open = is_open or any(
            (_DOUBTS(label), not leaf.isdecimal() and (_REFUSES(leaf) or _DOUBTS(leaf)))
        )
    said = text[:_EDGE].lower()
    # Most answers have none of the words, which is seen at once.
    if any(map(said.__contains__, _BAD)) and _NAMES_FAILURE(said):
        return {}
    return {
        label: one
        for label, one in given.items()
        if (one.lower() in named[label] if label in named else not is_open)
    }
