"""
Calls that an agent writes in its text, and results that it is given in the user's place.

Agents without the tools of a vendor write a call as a block of code, as tags, or after `Action:`, and
are sent the result as a message of the user. Here both are read as what they are, so that what a tool
has said is neither taken for the user's wish nor quoted as his words.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

from msgspec.structs import replace

from foldline.errors import FormatError
from foldline.history.codec import decode_json, encode_json
from foldline.history.messages import Message
from foldline.history.parts import Part, TextPart, ToolCallPart, ToolCallResponsePart


__all__ = ["text_results", "with_text_calls"]


# How the harnesses of such agents begin a result: with a tag, or with the call in brackets.
_BEGINS = re.compile(
    r"\s{0,9}(?:\W{0,4}observations?:|execution result of \[[^\]\n]{1,80}\]:|\[[^\n]{1,400}\] result:"
    r"|<(?:\w{1,20}[-_])?(?:observation|outputs?|results?|response|returncode|stdout|exit_code)>)",
    re.IGNORECASE,
).match
# A user may begin so as well: they are results if every reply to such a call is one.
_MAY_BEGIN = re.compile(
    r"\W{0,9}(?:[\w-]{1,20} ){0,2}(?:outputs?|results?|stdout|(?:exit|return) ?code)\s?:",
    re.IGNORECASE,
).match
_LEAST_ALIKE = 3
_CODES = frozenset({"returncode", "exit_code"})
_FINE = "exit code 0"
# A shell has answered if it waits for the next command.
_ENDS = re.compile(r"(?:\A|\n)\S{0,60}[$#] ?\Z").search
_LONGEST_PROMPT = 70
# What the user has said in the same message is not the tool's.
_BY_USER = re.compile(r"<(?:feedback|user_message|answer|task)>").search

_SHELLS = frozenset({"", "bash", "sh", "shell", "zsh", "console", "terminal", "powershell", "cmd"})
_IS_SHELL = re.compile(r"bash|shell|command|terminal|cmd", re.IGNORECASE).search
_FENCE = "```"
_LANGUAGE = re.compile(r"[\w+.-]{0,40}[ \t]{0,9}\n")
_ACTION = re.compile(
    r"^[ \t*]{0,9}Action:[ \t*]{0,9}([^\n]{1,80})\n[ \t*]{0,9}Action Input:[ \t*]{0,9}",
    re.MULTILINE,
)
_FUNCTION = re.compile(r"<function=([\w.-]{1,80})>")
_PARAMETER = re.compile(r"<parameter=([\w.-]{1,80})>(.*?)(?:</parameter>|\Z)", re.DOTALL)
_CLOSING = re.compile(r"</([A-Za-z][\w-]{1,40})>\s{0,20}(?:<end_\w{1,20}>)?\Z").search
_OPENING = re.compile(r"\s{0,20}<([A-Za-z][\w-]{0,40})>").match
_CLOSING_LENGTH = 100
# The editor of SWE-agent takes its commands from the shell.
_EDITOR = re.compile(r"(open|create|edit|insert)[ \t]+(\S.*)", re.DOTALL).fullmatch


class _Call(NamedTuple):
    """A call in a text: where it begins, what is called, and with what."""

    start: int
    name: str
    arguments: dict[str, object]


def text_results(messages: Sequence[Message], *, is_first: bool) -> frozenset[int]:
    """
    Return the places of those of *messages* that are results of calls in the text of an answer.

    The first one is none if it *is first* in the conversation; else the answer after it tells how the
    agent calls.
    """
    users = [at for at in range(is_first, len(messages)) if _is_user(messages[at])]
    found = [at for at in users if _is_result(messages[at].text)]
    if found:
        return frozenset(at for at in found if _is_reply(messages, at))
    # Most conversations have none, which is seen at once.
    if sum(map(_may_begin, (messages[at].text for at in users))) < _LEAST_ALIKE:
        return frozenset()
    replies = [at for at in users if _is_reply(messages, at)]
    is_alike = all(_may_begin(messages[at].text) for at in replies)
    return frozenset(replies if is_alike and len(replies) >= _LEAST_ALIKE else ())


def with_text_calls(messages: Sequence[Message], *, is_first: bool) -> tuple[Message, ...]:
    """Return *messages* with the calls in their texts as calls where they have a result, which is one as well."""
    read = [*messages]
    for at in text_results(messages, is_first=is_first):
        id, message = f"text-{at}", messages[at]
        result = ToolCallResponsePart(id=id, response=_unframed(message.text))
        read[at] = replace(message, role="tool", parts=(result,), native=None)
        if at and (call := _call_of(messages[at - 1 : at])) is not None:
            parts = _parts(messages[at - 1], call, id)
            read[at - 1] = replace(messages[at - 1], parts=tuple(parts), native=None)
    return tuple(read)


def _is_user(message: Message) -> bool:
    return message.role == "user" and all(type(part) is TextPart for part in message.parts)


def _is_reply(messages: Sequence[Message], at: int) -> bool:
    return _call_of(messages[at - 1 if at else 1 : at or 2]) is not None


def _may_begin(text: str) -> bool:
    return bool(_MAY_BEGIN(text))


def _is_result(text: str) -> bool:
    is_like = _BEGINS(text) or _ENDS(text[-_LONGEST_PROMPT:])
    return bool(is_like) and not _BY_USER(text)


def _unframed(text: str) -> str:
    """Return what a tool has answered in *text*, without what the harness has put around it."""
    begun = _BEGINS(text) or _MAY_BEGIN(text)
    if begun is None:
        return text
    if not begun[0].endswith(">"):
        return text[begun.end() :].lstrip(" ").strip("\n")
    found = [*_values(text)]
    told = [f"exit code {value}" if name in _CODES else value for name, value, _ in found]
    rest = text[found[-1][2] if found else 0 :]
    return "\n".join([*(one for one in told if one != _FINE), rest]).strip("\n")


def _parts(message: Message, call: _Call, id: str) -> Iterator[Part]:
    yield from (part for part in message.parts if type(part) is not TextPart)
    if said := message.text[: call.start].strip():
        yield TextPart(said)
    yield ToolCallPart(id, call.name, encode_json(call.arguments).decode())


def _call_of(answers: Sequence[Message]) -> _Call | None:
    """Return the call in the text of the one answer, if that is one without other calls."""
    if not answers or answers[0].role != "assistant" or answers[0].tool_calls:
        return None
    text = answers[0].text
    for find in (_function, _action, _tagged, _fenced):
        if (found := find(text)) is not None:
            return found
    return None


def _function(text: str) -> _Call | None:
    """Return the last call written as `<function=name><parameter=key>value</parameter>`."""
    start = text.rfind("<function=")
    if start < 0 or (found := _FUNCTION.match(text, start)) is None:
        return None
    given = _PARAMETER.findall(text, found.end())
    return _Call(start, found[1], {name: value.strip("\n") for name, value in given})


def _action(text: str) -> _Call | None:
    """Return the last call written as `Action: name` and `Action Input: …`."""
    calls = [*_ACTION.finditer(text)]
    if not calls:
        return None
    found = calls[-1]
    name = found[1].strip()
    return _Call(found.start(), name, _given(text[found.end() :].strip(), name))


def _tagged(text: str) -> _Call | None:
    """Return a call in tags that *text* ends with: `<name><key>value</key></name>`, or JSON or code in them."""
    closing = _CLOSING(text, max(0, len(text) - _CLOSING_LENGTH))
    if closing is None:
        return None
    name = closing[1]
    start = text.rfind(f"<{name}>", 0, closing.start())
    if start < 0:
        return None
    inner = text[start + len(name) + 2 : closing.start()]
    arguments: dict[str, object] = {key: value for key, value, _ in _values(inner)}
    if arguments:
        return _Call(start, name, arguments)
    given = _given(inner.strip(), name)
    return _named(start, given) or _Call(start, name, given)


def _values(inner: str) -> Iterator[tuple[str, str, int]]:
    """Yield the keys and values that *inner* begins with, and where each of them ends."""
    at = 0
    while found := _OPENING(inner, at):
        end = inner.find(f"</{found[1]}>", found.end())
        if end < 0:
            return
        value = inner[found.end() : end].strip("\n")
        at = end + len(found[1]) + 3
        yield found[1], value, at


def _fenced(text: str) -> _Call | None:
    """Return the last block of code of *text*."""
    end = text.rfind(_FENCE)
    start = text.rfind(_FENCE, 0, max(0, end))
    if start < 0 or (found := _LANGUAGE.match(text, start + len(_FENCE))) is None:
        return None
    language, code = found[0].strip().lower(), text[found.end() : end].strip("\n")
    if language == "json":
        return _named(start, _given(code, language))
    if language not in _SHELLS and not _IS_SHELL(language):
        return _Call(start, language, {"code": code})
    if (edited := _EDITOR(code)) is not None:
        is_path = edited[1] in {"open", "create"}
        return _Call(start, edited[1], {"path" if is_path else "change": edited[2].strip()})
    return _Call(start, "bash", {"command": code})


def _named(start: int, given: dict[str, object]) -> _Call | None:
    """Return the call that the object *given* describes, with a name and what it is called with."""
    name = given.get("name", given.get("action", given.get("tool")))
    inner = given.get("arguments", given.get("action_input", given.get("parameters")))
    if not isinstance(name, str) or inner is None:
        return None
    return _Call(start, name, inner if isinstance(inner, dict) else {"input": inner})


def _given(text: str, name: str) -> dict[str, object]:
    """Return the object *text*, or what the tool *name* most likely takes *text* as."""
    if text.startswith("{"):
        try:
            value = decode_json(text)
        except (FormatError, RecursionError):
            value = None
        if isinstance(value, dict):
            return cast("dict[str, object]", value)
    return {"command" if _IS_SHELL(name) else "input": text}
