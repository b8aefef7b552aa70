"""Telling wire formats apart."""

from typing import Any

import pytest

from foldline.errors import FormatError
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
        ({"role": "assistant", "content": [{"type": "thinking", "thinking": []}]}, CHAT),
        (blocks("image"), ANTHROPIC),
        (blocks("file"), CHAT),
        (blocks("refusal", role="assistant"), CHAT),
        ({"type": "message", "role": "assistant", **blocks("tool_use")}, ANTHROPIC),
        ({"type": "message", "content": "a", "stop_reason": "end_turn"}, ANTHROPIC),
    ],
)
def test_one_telling_item_decides(item: dict[str, Any], wanted: NativeFormat) -> None:
    """An item that only one format has tells the format, also behind plain ones."""
    plain = {"role": "user", "content": "a"}

    assert detect_items([item]) is wanted
    assert detect_items([item, plain]) is wanted
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


def test_parts_are_those_of_telemetry() -> None:
    """Messages of OpenTelemetry have parts, every one of them."""
    assert detect_items([{"role": "user", "parts": []}, {"role": "system", "parts": []}]) is OTEL


@pytest.mark.parametrize(
    ("items", "wanted"),
    [
        ([{"role": "system", "content": "a"}, blocks("tool_use", role="assistant")], ANTHROPIC),
        ([{"role": "system", "content": "a"}, blocks("input_text")], RESPONSES),
        ([{"role": "developer", "content": "a"}, blocks("output_text")], RESPONSES),
        ([blocks("file"), {"role": "assistant", "content": None, "tool_calls": []}], CHAT),
        ([{"role": "system", "content": "a"}, blocks("video_url")], CHAT),
        ([blocks("input_audio"), {"role": "tool", "content": "a"}], CHAT),
        ([{"type": "message", "role": "assistant", "content": "a"}, blocks("image")], ANTHROPIC),
    ],
)
def test_all_items_decide_together(items: list[dict[str, Any]], wanted: NativeFormat) -> None:
    """What one item leaves open another one tells, in any order."""
    assert detect_items(items) is wanted
    assert detect_items(items[::-1]) is wanted


@pytest.mark.parametrize(
    ("items", "error"),
    [
        (
            [blocks("tool_use"), {"role": "tool", "content": "a"}],
            "message 1 is openai-chat, not anthropic as those before it: pass format=",
        ),
        (
            [{"role": "user", "content": "a"}, {"role": "user", "parts": []}],
            "message 1 is otel, not anthropic or openai-chat or openai-responses as those before",
        ),
        (
            [{"role": "user", "content": "a"}, blocks("tool_use", "input_text")],
            "message 1 has signs of more than one format: pass format=",
        ),
    ],
)
def test_contradictions_are_for_the_owner_to_solve(items: list[dict[str, Any]], error: str) -> None:
    """Items of two formats are refused, and the error says what to do."""
    with pytest.raises(FormatError, match=error):
        detect_items(items)


def test_a_question_without_content_is_no_message() -> None:
    """A row whose text has another name is refused by its place, and not sent as an empty message."""
    with pytest.raises(FormatError, match="message 1: it has no content"):
        detect_items([{"role": "user", "content": None}, {"role": "user", "text": "Where is it?"}])
