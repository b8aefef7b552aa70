"""
What the Anthropic Messages API refuses in `system` and `messages`.

Source: Anthropic Messages API reference, "Mid-conversation system messages" and "Programmatic tool
calling", and the errors that the API answers, read on 2026-11-27; of compactions also
platform.claude.com, "Compaction on demand" and "Compaction at a token threshold", and the errors
`compaction_block_misplaced`, `compaction_block_ambiguous` and `compaction_content_mismatch` of the
vendor's SDK, read on 2026-11-22.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

from foldline.history.formats.wire import is_list, is_object
from foldline.testing.grammars.violations import Rule, Violation, check_sendable, is_name


_USER_ONLY = {"tool_result", "image", "document", "search_result", "container_upload"}
_ASSISTANT_ONLY = {"tool_use", "thinking", "redacted_thinking", "server_tool_use"}
_ID_LIMIT = 64
_NAME_LIMIT = 128
_CACHE_MARKS = 4
_SERVED = frozenset({"server_tool_use", "mcp_tool_use"})
_UNMARKABLE = frozenset({"thinking", "redacted_thinking"})


def check_anthropic(
    system: str | Sequence[Any] | None, messages: Sequence[Any], *, said: Sequence[Any] = ()
) -> tuple[Violation, ...]:
    """
    Return every rule that a request breaks, in order; none for a request that is accepted.

    *system* is the field of the request, None or empty where it is left out. *said* is the whole
    conversation, if the newest signed compaction in it has to be in the request.
    """
    found = list(_system(system or ()))
    if not messages:
        found.append(Violation(-1, Rule.EMPTY, "there is no message"))
    for index, item in enumerate(messages):
        found.extend(check_sendable(index, item))
        found.extend(_message(index, item, is_last=index == len(messages) - 1))
    if messages and not _opens(messages[0]):
        found.append(Violation(0, Rule.FIRST_ROLE, "the first message is not the user's"))
    found.extend(_rules(messages))
    content = [_blocks(one) for one in messages if not _is_rule(one)]
    found.extend(_pairs(content))
    found.extend(_served(content))
    found.extend(_compactions(messages, said))
    blocks = chain(_objects(system or ()), *map(_blocks, messages))
    marked = [block for block in blocks if block.get("cache_control") is not None]
    if any(block.get("type") in _UNMARKABLE for block in marked):
        found.append(Violation(-1, Rule.CACHE_MARKS, "a thinking block carries a cache mark"))
    if len(marked) > _CACHE_MARKS:
        found.append(Violation(-1, Rule.CACHE_MARKS, f"more than {_CACHE_MARKS} cache marks"))
    return tuple(sorted(found, key=lambda violation: violation.index))


def _opens(item: Any) -> bool:
    """Whether *item* may come first: it is the user's, or begins with a compaction."""
    if not is_object(item):
        return False
    first = _blocks(item)[:1]
    return item.get("role") == "user" or any(block.get("type") == "compaction" for block in first)


def _is_rule(item: Any) -> bool:
    return is_object(item) and item.get("role") == "system"


def _rules(messages: Sequence[Any]) -> Iterator[Violation]:
    """System messages come between what the user says, or a tool of the vendor returned, and an answer."""
    before: Any = None
    for index, (item, following) in enumerate(pairwise([*messages, None])):
        if not _is_rule(item):
            before = item
            continue
        last = [block.get("type") for block in _blocks(before)][-1:]
        is_returned = any(str(kind).endswith("_tool_result") for kind in last)
        if before is None or not (before.get("role") == "user" or is_returned):
            yield Violation(index, Rule.ROLE, "a system message does not follow the user's")
        if following is not None and following.get("role") == "user":
            yield Violation(index, Rule.ROLE, "a system message does not precede an answer")


def _served(content: Sequence[list[dict[str, Any]]]) -> Iterator[Violation]:
    """What a tool of the vendor returned, and what its program called, comes after that call."""
    called: set[object] = set()
    for index, blocks in enumerate(content):
        for block in blocks:
            kind, caller = str(block.get("type")), block.get("caller")
            if kind in _SERVED:
                called.add(block.get("id"))
            of_call = block.get("tool_use_id") if kind.endswith("_tool_result") else None
            if is_object(caller) and "tool_id" in caller:
                of_call = caller["tool_id"]
            if of_call is not None and of_call not in called:
                yield Violation(index, Rule.ORPHAN, "the call of a tool of the vendor is missing")


def _compactions(messages: Sequence[Any], said: Sequence[Any]) -> Iterator[Violation]:
    """A compaction is the model's, or first; a signed one is first, alone, and as it came."""
    found = _placed(messages)
    for index, place, block in found:
        is_first = index == place == 0
        if block.get("content") == "":
            yield Violation(index, Rule.COMPACTION, "a compaction is empty")
        is_free = messages[index].get("role") == "assistant" and not block.get("signature")
        if not is_first and not is_free:
            yield Violation(index, Rule.COMPACTION, "a compaction is not the first block")
    if sum(bool(block.get("signature")) for _, _, block in found) > 1:
        yield Violation(-1, Rule.COMPACTION, "there is more than one signed compaction")
    signed = [block for _, _, block in _placed(said) if block.get("signature")]
    if signed and all(block != signed[-1] for _, _, block in found):
        yield Violation(-1, Rule.COMPACTION, "the newest signed compaction is missing")


def _placed(messages: Sequence[Any]) -> list[tuple[int, int, dict[str, Any]]]:
    return [
        (index, place, block)
        for index, item in enumerate(messages)
        for place, block in enumerate(_blocks(item))
        if block.get("type") == "compaction"
    ]


def _system(system: str | Sequence[Any]) -> Iterator[Violation]:
    yield from check_sendable(-1, system)
    if isinstance(system, str):
        return
    if not is_list(system):
        yield Violation(-1, Rule.SHAPE, "system is neither a string nor a list")
        return
    for place, block in enumerate(system):
        if not is_object(block) or block.get("type") != "text":
            yield Violation(-1, Rule.CONTENT_TYPE, f"system[{place}] is not a text block")
        else:
            yield from _text(-1, f"system[{place}]", block)


def _objects(content: Any) -> list[dict[str, Any]]:
    if not is_list(content):
        return []
    return [block for block in content if is_object(block)]


def _blocks(item: Any) -> list[dict[str, Any]]:
    return _objects(item.get("content")) if is_object(item) else []


def _message(index: int, item: Any, *, is_last: bool) -> Iterator[Violation]:
    if not is_object(item):
        yield Violation(index, Rule.SHAPE, "the message is not an object")
        return
    role, content = str(item.get("role")), item.get("content")
    if role not in {"user", "assistant", "system"}:
        yield Violation(index, Rule.ROLE, "the role is unknown")
    elif not isinstance(content, (str, list, tuple)):
        yield Violation(index, Rule.SHAPE, "content is neither a string nor a list")
    elif not (content or item.get("output_config") or (is_last and role == "assistant")):
        yield Violation(index, Rule.CONTENT, "content is empty")
    elif is_list(content):
        yield from _content(index, content, role)
    elif content and not str(content).strip():
        yield Violation(index, Rule.CONTENT, "content is blank")
    if is_last and role == "assistant" and _ends_in_space(content):
        yield Violation(index, Rule.TRAILING_SPACE, "the text ends in white space")


def _ends_in_space(content: Any) -> bool:
    text = content
    if is_list(content):
        last = content[-1] if content else None
        text = last.get("text") if is_object(last) else None
    return isinstance(text, str) and text != text.rstrip()


def _content(index: int, content: Sequence[Any], role: str) -> Iterator[Violation]:
    other = False
    for place, block in enumerate(content):
        field = f"content[{place}]"
        kind = block.get("type") if is_object(block) else None
        if not isinstance(kind, str):
            yield Violation(index, Rule.SHAPE, f"{field} has no type")
            continue
        if kind in (_USER_ONLY if role == "assistant" else _ASSISTANT_ONLY):
            yield Violation(index, Rule.CONTENT_TYPE, f"{field} is not for this role")
        if kind == "tool_result" and other:
            yield Violation(index, Rule.RESULT_ORDER, f"{field} comes after other content")
        other = other or kind != "tool_result"
        yield from _block(index, field, block)


def _block(index: int, field: str, block: dict[str, Any]) -> Iterator[Violation]:
    match block["type"]:
        case "text":
            yield from _text(index, field, block)
        case "thinking":
            if not isinstance(block.get("thinking"), str) or not block.get("signature"):
                yield Violation(index, Rule.REASONING, f"{field} is thinking without signature")
        case "tool_use":
            yield from _call(index, field, block)
        case "tool_result":
            yield from _result(index, field, block)
        case _:
            pass


def _text(index: int, field: str, block: dict[str, Any]) -> Iterator[Violation]:
    text = block.get("text")
    if not isinstance(text, str):
        yield Violation(index, Rule.SHAPE, f"{field}.text is not a string")
    elif not text.strip():
        yield Violation(index, Rule.CONTENT, f"{field}.text is blank")


def _call(index: int, field: str, block: dict[str, Any]) -> Iterator[Violation]:
    if not is_name(block.get("id"), limit=_ID_LIMIT):
        yield Violation(index, Rule.CALL_ID, f"{field}.id is not allowed")
    if not is_name(block.get("name"), limit=_NAME_LIMIT):
        yield Violation(index, Rule.CALL_NAME, f"{field}.name is not allowed")
    if not is_object(block.get("input")):
        yield Violation(index, Rule.ARGUMENTS, f"{field}.input is not an object")


def _result(index: int, field: str, block: dict[str, Any]) -> Iterator[Violation]:
    if not isinstance(block.get("tool_use_id"), str):
        yield Violation(index, Rule.CALL_ID, f"{field}.tool_use_id is not a string")
    content = block.get("content", "")
    if not isinstance(content, (str, list, tuple)):
        yield Violation(index, Rule.SHAPE, f"{field}.content is neither a string nor a list")
    for place, part in enumerate(_objects(content)):
        if part.get("type") == "text":
            yield from _text(index, f"{field}.content[{place}]", part)


def _pairs(content: Sequence[list[dict[str, Any]]]) -> Iterator[Violation]:
    """The message after one with calls answers exactly those, each once; no id is given twice."""
    given, before = set[str](), set[str]()
    for index, blocks in enumerate([*content, []]):
        results = _ids(blocks, "tool_result", "tool_use_id")
        if not before.issubset(results):
            text = "a call is not answered in the next message"
            yield Violation(index - 1, Rule.UNANSWERED, text)
        calls = _ids(blocks, "tool_use", "id")
        for call_id in calls:
            if call_id in given:
                yield Violation(index, Rule.DUPLICATE_ID, "a call's id is given twice")
            given.add(call_id)
        if len(set(results)) != len(results):
            yield Violation(index, Rule.DUPLICATE_ID, "a call is answered twice")
        if not before.issuperset(results):
            yield Violation(index, Rule.ORPHAN, "a result answers no call of the message before")
        before = set(calls)


def _ids(blocks: list[dict[str, Any]], kind: str, key: str) -> list[str]:
    return [str(block.get(key)) for block in blocks if block.get("type") == kind]
