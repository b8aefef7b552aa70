"""
What the OpenAI Responses API refuses in `input`.

Source: OpenAI Responses API reference, and the errors that the API answers. Of the hosted tools'
own items only what concerns ids and pairs is judged. Of compactions: developers.openai.com,
"Compaction", read on 2026-11-22.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from foldline.history.formats.wire import is_list, is_object
from foldline.testing.grammars.violations import Rule, Violation, check_sendable, is_name


_INPUT_TYPES = {"input_text", "input_image", "input_file", "input_audio"}
_CONTENT_TYPES = {
    "system": _INPUT_TYPES,
    "developer": _INPUT_TYPES,
    "user": _INPUT_TYPES,
    "assistant": {"output_text", "refusal"},
}
_ID_PREFIXES = {
    "message": "msg",
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "reasoning": "rs",
}
_MADE_BY_REASONING = frozenset({"message", "function_call", "custom_tool_call"})
_PAIR_KEYS = {"mcp_approval_request": "id", "mcp_approval_response": "approval_request_id"}
_ID_LIMIT = 64
_NAME_LIMIT = 64


def check_openai_responses(
    items: Sequence[Any], *, said: Sequence[Any] = ()
) -> tuple[Violation, ...]:
    """
    Return every rule that *items* break, in order; none for a request that is accepted.

    *said* is the whole conversation, if the newest compaction in it has to be in the request: the
    vendor accepts one without it, but the model has forgotten what was compacted.
    """
    if not items:
        return (Violation(-1, Rule.EMPTY, "there is no item"),)
    found: list[Violation] = []
    for index, item in enumerate(items):
        found.extend(check_sendable(index, item))
        kind = _kind(item)
        if kind is None:
            found.append(Violation(index, Rule.SHAPE, "the item has no type"))
        else:
            found.extend(_item(index, item, kind))
    found.extend(_pairs(items))
    found.extend(_reasoning(items))
    found.extend(_made_by_reasoning(items))
    found.extend(_own_ids(items))
    found.extend(_compactions(items, said))
    return tuple(sorted(found, key=lambda violation: violation.index))


def _kind(item: Any) -> str | None:
    if not is_object(item):
        return None
    kind = item.get("type", "message" if "role" in item else None)
    return kind if isinstance(kind, str) else None


def _item(index: int, item: dict[str, Any], kind: str) -> Iterator[Violation]:
    if kind == "message":
        yield from _message(index, item)
    elif kind == "function_call":
        if not is_name(item.get("name"), limit=_NAME_LIMIT):
            yield Violation(index, Rule.CALL_NAME, "name is not allowed")
        if not isinstance(item.get("arguments"), str):
            yield Violation(index, Rule.ARGUMENTS, "arguments is not a string")
    elif kind == "function_call_output" and not (
        isinstance(item.get("output"), str) or is_list(item.get("output"))
    ):
        yield Violation(index, Rule.CONTENT, "output is neither a string nor a list")
    if "call_id" in item or kind.startswith("function_call"):
        call_id = item.get("call_id")
        if not isinstance(call_id, str) or not 1 <= len(call_id) <= _ID_LIMIT:
            yield Violation(index, Rule.CALL_ID, f"call_id is not 1 to {_ID_LIMIT} characters")


def _message(index: int, item: dict[str, Any]) -> Iterator[Violation]:
    role, content = str(item.get("role")), item.get("content")
    if role not in _CONTENT_TYPES:
        yield Violation(index, Rule.ROLE, "the role is unknown")
    elif content is None:
        yield Violation(index, Rule.CONTENT, "content is missing")
    elif is_list(content):
        for place, block in enumerate(content):
            kind = block.get("type") if is_object(block) else None
            if not isinstance(kind, str) or kind not in _CONTENT_TYPES[role]:
                yield Violation(index, Rule.CONTENT_TYPE, f"content[{place}] is not for this role")
    elif not isinstance(content, str):
        yield Violation(index, Rule.SHAPE, "content is neither a string nor a list")


def _pairs(items: Sequence[Any]) -> Iterator[Violation]:
    """Every call, or request for approval, has one output after it, and every output a call."""
    called: dict[str, int] = {}
    answered: set[str] = set()
    for index, item in enumerate(items):
        kind = _kind(item) or ""
        call_id = item.get(_PAIR_KEYS.get(kind, "call_id")) if is_object(item) else None
        if not isinstance(call_id, str):
            continue
        caller = item.get("caller")
        if is_object(caller) and caller.get("caller_id", call_id) not in {*called, call_id}:
            yield Violation(index, Rule.ORPHAN, "the program that calls is missing")
        if not _is_answer(kind):
            if call_id in called:
                yield Violation(index, Rule.DUPLICATE_ID, "call_id is given twice")
            called[call_id] = index
        elif call_id not in called:
            yield Violation(index, Rule.ORPHAN, "call_id names no call before it")
        elif call_id in answered:
            yield Violation(index, Rule.DUPLICATE_ID, "the call is answered twice")
        else:
            answered.add(call_id)
    for call_id, index in called.items():
        if call_id not in answered:
            yield Violation(index, Rule.UNANSWERED, "the call has no answer after it")


def _is_answer(kind: str) -> bool:
    return kind.endswith("_output") or kind == "mcp_approval_response"


def _reasoning(items: Sequence[Any]) -> Iterator[Violation]:
    for index, (item, following) in enumerate(pairwise([*items, None])):
        if _kind(item) == "reasoning" and not _is_of_model(following):
            text = "reasoning is not followed by what the model made of it"
            yield Violation(index, Rule.REASONING, text)


def _is_of_model(item: Any) -> bool:
    kind = _kind(item)
    if kind == "message":
        return bool(item.get("role") == "assistant")
    return kind is not None and not _is_answer(kind)


def _made_by_reasoning(items: Sequence[Any]) -> Iterator[Violation]:
    """
    In a request with reasoning, what the model made has an id only after some of its own.

    The vendor remembers which reasoning an id belongs to and refuses the id without it; a request
    does not say. So this is judged more strictly than the vendor does: an item whose response
    held no reasoning could keep its id. A request without any reasoning may be that of a model
    that does not reason, where ids are free.
    """
    if not any(_kind(item) == "reasoning" for item in items):
        return
    is_proven = False
    for index, item in enumerate(items):
        kind = _kind(item)
        is_proven = kind == "reasoning" or (is_proven and _is_of_model(item))
        if is_proven or kind not in _MADE_BY_REASONING or not _is_of_model(item):
            continue
        if isinstance(item.get("id"), str):
            yield Violation(index, Rule.REASONING, "an item with an id has no reasoning before it")


def _compactions(items: Sequence[Any], said: Sequence[Any]) -> Iterator[Violation]:
    for index, item in enumerate(items):
        if _kind(item) == "compaction" and not item.get("encrypted_content"):
            yield Violation(index, Rule.COMPACTION, "a compaction has no encrypted_content")
    sealed = [item for item in said if _kind(item) == "compaction"]
    if sealed and all(item != sealed[-1] for item in items):
        yield Violation(-1, Rule.COMPACTION, "the newest compaction is missing")


def _own_ids(items: Sequence[Any]) -> Iterator[Violation]:
    seen: set[str] = set()
    for index, item in enumerate(items):
        own = item.get("id") if is_object(item) else None
        if not isinstance(own, str):
            continue
        prefix = _ID_PREFIXES.get(_kind(item) or "", "")
        if not own.startswith(prefix):
            yield Violation(index, Rule.CALL_ID, f"id does not begin with {prefix}")
        if own in seen:
            yield Violation(index, Rule.DUPLICATE_ID, "id is given twice")
        seen.add(own)
