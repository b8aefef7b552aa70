"""Calls that an agent writes in its text: after `Action:`, in tags, as a block of code or as a list."""

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

from foldline.errors import FormatError
from foldline.history.codec import decode_json, encode_json


_SHELLS = frozenset({"", "bash", "sh", "shell", "zsh", "console", "terminal", "powershell", "cmd"})
_IS_SHELL = re.compile(r"bash|shell|command|terminal|cmd", re.IGNORECASE).search
_FENCE = "```"
# A language, and the file that the block is for.
_LANGUAGE = re.compile(r"([\w+.-]{0,40})(?:[ \t]{1,9}([^\s=`{]{1,200}))?[ \t]{0,9}\n")
_ACTION = re.compile(
    r"^[ \t*]{0,9}Action:[ \t*]{0,9}([^\n]{1,80})\n[ \t*]{0,9}Action Input:[ \t*]{0,9}",
    re.MULTILINE,
)
_FUNCTION = re.compile(r"<function=([\w.-]{1,80})>")
_PARAMETER = re.compile(r"<parameter=([\w.-]{1,80})>(.*?)(?:</parameter>|\Z)", re.DOTALL)
_LIST = "\nCalling tools:\n"
_CLOSING = re.compile(r"</([A-Za-z][\w-]{1,40})>\s{0,20}(?:<end_\w{1,20}>)?\Z").search
_OPENING = re.compile(r"\s{0,20}<([A-Za-z][\w-]{0,40})>").match
_CLOSING_LENGTH = 100
# The editor of SWE-agent takes its commands from the shell.
_EDITOR = re.compile(r"(open|create|edit|insert)[ \t]+(\S.*)", re.DOTALL).fullmatch
_IS_SHOWN = re.compile(r"\s{0,9}\[?\{'").match
# Python warns of others.
_ESCAPE = re.compile(r"\\[\\'\"\nabfnrtvxuUN0-3]")
_NAMES = ("name", "action", "tool", "tool_name")
_INPUTS = ("arguments", "action_input", "parameters", "args", "tool_input")


class WrittenCall(NamedTuple):
    """A call in a text: where it begins, what is called, and with what."""

    start: int
    name: str
    arguments: dict[str, object]


def written_calls(text: str) -> Sequence[WrittenCall]:
    """Return the last call in *text*, and those of its kind before it that are made with it."""
    listed = f"\n{text}".rfind(_LIST)
    if listed >= 0 and (calls := _listed(text, listed)):
        return calls
    return _last_calls(text)


def _last_calls(text: str) -> Sequence[WrittenCall]:
    for find in (_function, _action, _tagged, _fenced):
        if found := find(text):
            return found
    return ()


def _listed(text: str, at: int) -> Sequence[WrittenCall]:
    """Return the calls of the list *at* the end of *text*, which are written before it as well."""
    listed = _literal(text[at + len(_LIST) - 1 :])
    if not isinstance(listed, list):
        return ()
    start = min((call.start for call in _last_calls(text[:at])), default=at)
    items = (_object(one) or {} for one in cast("list[object]", listed))
    found = (_named(start, _object(one.get("function")) or one) for one in items)
    return [call for call in found if call is not None]


def _function(text: str) -> Sequence[WrittenCall]:
    """Return the last call written as `<function=name><parameter=key>value</parameter>`."""
    start = text.rfind("<function=")
    if start < 0 or (found := _FUNCTION.match(text, start)) is None:
        return ()
    given = _PARAMETER.findall(text, found.end())
    return [WrittenCall(start, found[1], {name: value.strip("\n") for name, value in given})]


def _action(text: str) -> Sequence[WrittenCall]:
    """Return the last call written as `Action: name` and `Action Input: …`."""
    calls = [*_ACTION.finditer(text)]
    if not calls:
        return ()
    found = calls[-1]
    name = found[1].strip()
    return [WrittenCall(found.start(), name, _given(text[found.end() :].strip(), name))]


def _tagged(text: str) -> Sequence[WrittenCall]:
    """Return the calls in tags of one name that *text* ends with."""
    found: list[WrittenCall] = []
    end, name = len(text), ""
    while (closing := _CLOSING(text, max(0, end - _CLOSING_LENGTH), end)) is not None:
        end = text.rfind(f"<{closing[1]}>", 0, closing.start())
        if end < 0 or closing[1] != (name or closing[1]):
            break
        name = closing[1]
        found.append(_in_tags(name, text[end + len(name) + 2 : closing.start()], end))
    return found[::-1]


def _in_tags(name: str, inner: str, start: int) -> WrittenCall:
    """Return the call `<name><key>value</key></name>`, or the one that JSON or code in the tags is."""
    arguments: dict[str, object] = {key: value for key, value, _ in tagged_values(inner)}
    if arguments:
        return WrittenCall(start, name, arguments)
    given = _given(inner.strip(), name)
    return _named(start, given) or WrittenCall(start, name, given)


def tagged_values(inner: str) -> Iterator[tuple[str, str, int]]:
    """Yield the keys and values that *inner* begins with, and where each of them ends."""
    at = 0
    while found := _OPENING(inner, at):
        end = inner.find(f"</{found[1]}>", found.end())
        if end < 0:
            return
        value = inner[found.end() : end].strip("\n")
        at = end + len(found[1]) + 3
        yield found[1], value, at


def _fenced(text: str) -> Sequence[WrittenCall]:
    """Return the last block of code of *text*, and those of the same language before it."""
    found: list[WrittenCall] = []
    end, known = len(text), None
    while (end := text.rfind(_FENCE, 0, end)) > 0:
        start = text.rfind(_FENCE, 0, end)
        opening = _LANGUAGE.match(text, start + len(_FENCE), end) if start >= 0 else None
        if opening is None or opening[1] != (known or opening[1]):
            break
        call = _block(start, opening[1].lower(), opening[2], text[opening.end() : end].strip("\n"))
        if call is None:
            break
        found.append(call)
        end, known = start, opening[1]
        if not known:
            break
    return found[::-1]


def _block(start: int, language: str, path: str | None, code: str) -> WrittenCall | None:
    named = _named(start, _given(code, language)) if language in {"", "json"} else None
    if named is not None or language == "json":
        return named
    if path is not None:
        return WrittenCall(start, language, {"path": path, "content": code})
    if language not in _SHELLS and not _IS_SHELL(language):
        return WrittenCall(start, language, {"code": code})
    if (edited := _EDITOR(code)) is not None:
        is_path = edited[1] in {"open", "create"}
        key = "path" if is_path else "change"
        return WrittenCall(start, edited[1], {key: edited[2].strip()})
    return WrittenCall(start, "bash", {"command": code})


def _named(start: int, given: dict[str, object]) -> WrittenCall | None:
    """Return the call that the object *given* describes, with a name and what it is called with."""
    name = next((given[key] for key in _NAMES if key in given), None)
    inner = next((given[key] for key in _INPUTS if key in given), None)
    if not isinstance(name, str) or inner is None:
        return None
    arguments = _object(inner)
    return WrittenCall(start, name, _one(name, inner) if arguments is None else arguments)


def _given(text: str, name: str) -> dict[str, object]:
    """Return the object *text*, or what the tool *name* most likely takes *text* as."""
    if text.startswith("{"):
        value = _object(_literal(text))
        if value is not None:
            return value
    return _one(name, text)


def _one(name: str, value: object) -> dict[str, object]:
    return {"command" if _IS_SHELL(name) else "input": value}


def _object(value: object) -> dict[str, object] | None:
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def _literal(text: str) -> object:
    """Return the value that *text* is in JSON or as Python shows it; None if it is neither."""
    try:
        return decode_json(text)
    except (FormatError, RecursionError):
        pass
    if not _IS_SHOWN(text) or "\\" in _ESCAPE.sub("", text):
        return None
    try:
        # What JSON has no form for is no argument.
        return decode_json(encode_json(ast.literal_eval(text.strip())))
    except (FormatError, ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
