"""Telling wire formats apart."""

from typing import Any

import pytest

from foldline.history.formats.detect import detect_items
from foldline.history.messages import NativeFormat


CHAT, RESPONSES = NativeFormat.OPENAI_CHAT, NativeFormat.OPENAI_RESPONSES
ANTHROPIC, OTEL = NativeFormat.ANTHROPIC, NativeFormat.OTEL


def blocks(*kinds: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": [{"type": kind} for kind in kinds]}


@pytest.mark.parametrize(
    ("item", "wanted"),
    [
        ({"role": "system", "content": "a"}, CHAT),
        ({"role": "developer", "content": "a"}, CHAT),
        ({"role": "tool", "tool_call_id": "1", "content": "a"}, CHAT),
        ({"role": "assistant", "content": None, "tool_calls": []}, CHAT),
        ({"role": "assistant", "content": None, "refusal": "no"}, CHAT),
        (blocks("text", "image_url"), CHAT),
        (blocks("input_audio"), CHAT),
        ({"type": "message", "role": "user", "content": "a"}, RESPONSES),
        ({"type": "message", "role": "developer", "content": "a"}, RESPONSES),
        ({"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}, RESPONSES),
        ({"call_id": "1", "output": "a"}, RESPONSES),
        (blocks("input_text"), RESPONSES),
        (blocks("output_text", role="assistant"), RESPONSES),
        (blocks("tool_use", role="assistant"), ANTHROPIC),
        (blocks("tool_result"), ANTHROPIC),
        (blocks("text", "thinking", role="assistant"), ANTHROPIC),
        (blocks("image"), ANTHROPIC),
        ({"role": "user", "parts": []}, OTEL),
    ],
)
def test_one_telling_item_decides(item: dict[str, Any], wanted: NativeFormat) -> None:
    """An item that only one format has tells the format, also behind plain ones."""
    plain = {"role": "user", "content": "a"}

    assert detect_items([item]) is wanted
    assert detect_items([plain, blocks("text"), item]) is wanted


@pytest.mark.parametrize(
    "items",
    [
        [],
        [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
        [blocks("text")],
        [{"role": "user", "content": ["odd"]}],
    ],
)
def test_plain_text_counts_as_the_stricter_format(items: list[dict[str, Any]]) -> None:
    """What could be either is taken as Anthropic, whose renderings OpenAI accepts too."""
    assert detect_items(items) is ANTHROPIC
