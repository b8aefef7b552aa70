"""
The stand-in's signatures of thinking, and which thinking in a request it refuses.

The signature of a thinking block holds what the request that produced it began with: `system`,
`tools` and every block before it. The vendor refuses a block after anything else, and names it:
"The block is bound to a different conversation". Here each earlier thinking block counts as well; the
vendor lets those at the beginning go.

Source: platform.claude.com, "Prefix checks on thinking blocks" and "Fix a thinking block bound to a
different conversation", read on 2026-11-22.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from foldline.history.formats.wire import is_list, is_object


__all__ = ["check_thinking", "sign_thinking"]


_MARK = "cache_control"
_THINKING = {"thinking": "signature", "redacted_thinking": "data"}


def sign_thinking(request: Mapping[str, Any], said: Sequence[Any] = ()) -> str:
    """Return the signature of a thinking block that answers *request* after the blocks *said*."""
    seal = _opening(request)
    for _, _, after in _walk(request, seal):
        seal = after
    for block in said:
        seal = _sealed(seal, "assistant", block)
    return seal


def check_thinking(request: Mapping[str, Any]) -> list[int]:
    """Return the place of the message of each thinking block that `sign_thinking` bound elsewhere."""
    found: list[int] = []
    before = _opening(request)
    for index, block, after in _walk(request, before):
        field = _THINKING.get(str(block.get("type")))
        if field is not None and block.get(field) != before:
            found.append(index)
        before = after
    return found


def _opening(request: Mapping[str, Any]) -> str:
    system = [_unmarked(block) for block in _blocks(request.get("system"))]
    return _digest([system, _unmarked(list(request.get("tools") or ()))])


def _walk(request: Mapping[str, Any], seal: str) -> Iterator[tuple[int, dict[str, Any], str]]:
    """Yield each block: the place of its message, itself, and what a next one is bound to."""
    for index, item in enumerate(request.get("messages") or ()):
        for block in _blocks(item.get("content")):
            seal = _sealed(seal, str(item.get("role")), block)
            yield index, block, seal


def _sealed(seal: str, role: str, block: Any) -> str:
    return _digest([seal, role, _unmarked(block)])


def _digest(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [block for block in content if is_object(block)] if is_list(content) else []


def _unmarked(value: Any) -> Any:
    if is_object(value):
        return {key: _unmarked(inner) for key, inner in value.items() if key != _MARK}
    return [_unmarked(inner) for inner in value] if is_list(value) else value
