"""
What the OpenAI Chat Completions API refuses in `messages`.

Source: OpenAI Chat Completions API reference, and the errors that the API answers.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from foldline.history.formats.wire import is_list, is_object
from foldline.testing.grammars.violations import Rule, Violation, check_sendable, is_name


_CONTENT_TYPES = {
    "system": {"text"},
    "developer": {"text"},
    "tool": {"text"},
    "function": set[str](),
    "assistant": {"text", "refusal"},
    "user": {"text", "image_url", "input_audio", "file"},
}
_ID_LIMIT = 40
_NAME_LIMIT = 64
_SPEAKER = re.compile(r"[^\s<|\\/>]{1,64}")


def check_openai_chat(items: Sequence[Any]) -> tuple[Violation, ...]:
    """Return every rule that *items* break, in order; none for a request that is accepted."""
    if not items:
        return (Violation(-1, Rule.EMPTY, "there is no message"),)
    found: list[Violation] = []
    for index, item in enumerate(items):
        found.extend(check_sendable(index, item))
        if not is_object(item):
            found.append(Violation(index, Rule.SHAPE, "the message is not an object"))
        elif str(item.get("role")) not in _CONTENT_TYPES:
            found.append(Violation(index, Rule.ROLE, "the role is unknown"))
        else:
            found.extend(_item(index, item))
    found.extend(_pairs(items))
    return tuple(sorted(found, key=lambda violation: violation.index))


def _item(index: int, item: dict[str, Any]) -> Iterator[Violation]:
    yield from _content(index, item)
    name = item.get("name", "x")
    if not isinstance(name, str) or not _SPEAKER.fullmatch(name):
        yield Violation(index, Rule.CALL_NAME, "name is not allowed")
    if item["role"] == "function" and "name" not in item:
        yield Violation(index, Rule.CALL_NAME, "name is missing")
    if item["role"] == "tool" and not isinstance(item.get("tool_call_id"), str):
        yield Violation(index, Rule.CALL_ID, "tool_call_id is not a string")
    if item["role"] == "assistant" and "tool_calls" in item:
        yield from _calls(index, item["tool_calls"])
    if "function_call" in item and not is_object(item["function_call"]):
        yield Violation(index, Rule.SHAPE, "function_call is not an object")


def _content(index: int, item: dict[str, Any]) -> Iterator[Violation]:
    content = item.get("content")
    if isinstance(content, str):
        return
    if content is None:
        instead = ("tool_calls", "function_call", "refusal", "audio")
        if item["role"] != "assistant" or not any(item.get(key) for key in instead):
            yield Violation(index, Rule.CONTENT, "content is missing")
    elif not is_list(content):
        yield Violation(index, Rule.SHAPE, "content is neither a string nor a list")
    elif not content:
        yield Violation(index, Rule.CONTENT, "content is an empty list")
    else:
        for place, block in enumerate(content):
            yield from _block(index, place, block, item["role"])


def _block(index: int, place: int, block: Any, role: str) -> Iterator[Violation]:
    kind = block.get("type") if is_object(block) else None
    if not isinstance(kind, str):
        yield Violation(index, Rule.SHAPE, f"content[{place}] has no type")
    elif kind not in _CONTENT_TYPES[role]:
        yield Violation(index, Rule.CONTENT_TYPE, f"content[{place}] is not for this role")
    elif kind == "text" and not isinstance(block.get("text"), str):
        yield Violation(index, Rule.SHAPE, f"content[{place}].text is not a string")


def _calls(index: int, calls: Any) -> Iterator[Violation]:
    if not is_list(calls) or not calls:
        yield Violation(index, Rule.SHAPE, "tool_calls is not a list of at least one call")
        return
    seen: set[Any] = set()
    for place, call in enumerate(calls):
        field = f"tool_calls[{place}]"
        if not is_object(call):
            yield Violation(index, Rule.SHAPE, f"{field} is not an object")
            continue
        yield from _call(index, field, call)
        if str(call.get("id")) in seen:
            yield Violation(index, Rule.DUPLICATE_ID, f"{field}.id is given twice")
        seen.add(str(call.get("id")))


def _call(index: int, field: str, call: dict[str, Any]) -> Iterator[Violation]:
    call_id = call.get("id")
    if not isinstance(call_id, str) or not 1 <= len(call_id) <= _ID_LIMIT:
        yield Violation(index, Rule.CALL_ID, f"{field}.id is not 1 to {_ID_LIMIT} characters")
    kind = call.get("type")
    tool = call.get(kind) if isinstance(kind, str) else None
    if kind not in ("function", "custom") or not is_object(tool):
        yield Violation(index, Rule.SHAPE, f"{field} is neither a function nor a custom call")
        return
    if not is_name(tool.get("name"), limit=_NAME_LIMIT):
        yield Violation(index, Rule.CALL_NAME, f"{field}.{kind}.name is not allowed")
    if not isinstance(tool.get("arguments" if kind == "function" else "input"), str):
        yield Violation(index, Rule.ARGUMENTS, f"{field}.{kind} has no string of arguments")


def _pairs(items: Sequence[Any]) -> Iterator[Violation]:
    """Every call is answered, once, before any other message; nothing else is answered."""
    opened_at, known, waiting = -1, set[str](), set[str]()
    end: dict[str, Any] = {}
    for index, item in enumerate([*items, end]):
        if not is_object(item):
            continue
        if item.get("role") == "tool":
            call_id = str(item.get("tool_call_id"))
            if call_id not in known:
                yield Violation(index, Rule.ORPHAN, "tool_call_id names no call before it")
            elif call_id not in waiting:
                yield Violation(index, Rule.DUPLICATE_ID, "the call is answered twice")
            waiting.discard(call_id)
            continue
        if waiting:
            yield Violation(opened_at, Rule.UNANSWERED, "a call has no answer after it")
        opened_at, known = index, _call_ids(item)
        waiting = set(known)


def _call_ids(item: dict[str, Any]) -> set[str]:
    calls = item.get("tool_calls") if item.get("role") == "assistant" else None
    if not is_list(calls):
        return set()
    return {str(call.get("id")) for call in calls if is_object(call)}
