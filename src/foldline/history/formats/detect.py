"""
Which wire format a list of dictionaries is written in.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from foldline.history.messages import NativeFormat


__all__ = ["detect_items"]


_RESPONSES_KEYS = frozenset({"encrypted_content", "call_id", "summary"})
_CHAT_KEYS = frozenset({"tool_calls", "tool_call_id", "function_call", "refusal", "audio"})
_CHAT_ROLES = frozenset({"system", "developer", "tool", "function"})
_CHAT_BLOCKS = frozenset({"image_url", "input_audio", "refusal"})
_RESPONSES_BLOCKS = frozenset({"input_text", "output_text", "input_image", "input_file"})


def detect_items(items: Iterable[Mapping[str, Any]]) -> NativeFormat:
    """
    Return the wire format that *items* are written in.

    Plain text between user and assistant is the same in OpenAI Chat and Anthropic. It counts as
    Anthropic, whose stricter rules make a rendering that OpenAI Chat accepts as well.
    """
    for item in items:
        found = _telling(item)
        if found is not None:
            return found
    return NativeFormat.ANTHROPIC


def _telling(item: Mapping[str, Any]) -> NativeFormat | None:
    if not _CHAT_KEYS.isdisjoint(item) or item.get("role") in _CHAT_ROLES:
        return NativeFormat.OPENAI_CHAT if "type" not in item else NativeFormat.OPENAI_RESPONSES
    if "type" in item or not _RESPONSES_KEYS.isdisjoint(item):
        return NativeFormat.OPENAI_RESPONSES
    if "parts" in item:
        return NativeFormat.OTEL
    content = item.get("content")
    if not isinstance(content, list):
        return None
    kinds = {str(block.get("type", "text")) for block in content if isinstance(block, Mapping)}
    return _format_of_blocks(kinds - {"text"})


def _format_of_blocks(kinds: set[str]) -> NativeFormat | None:
    if not kinds:
        return None
    if kinds & _CHAT_BLOCKS:
        return NativeFormat.OPENAI_CHAT
    if kinds & _RESPONSES_BLOCKS:
        return NativeFormat.OPENAI_RESPONSES
    return NativeFormat.ANTHROPIC
