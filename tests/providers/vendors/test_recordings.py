"""Recorded exchanges with vendors, played again through their own SDKs."""

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from foldline.history.codec import decode_json
from foldline.history.messages import Message, NativeFormat, Usage
from foldline.history.parts import CompactionPart, ReasoningPart, TextPart
from foldline.logs.wire_logs import read_request
from foldline.providers.model import ChatRequest, ChatResponse
from tests.providers.vendors.asking import Streamed, ask, ask_stream, opened, request_of
from tests.servers.vendor import Recorded, VendorServer


Recordings: TypeAlias = Callable[[str], list[Recorded]]

CHAT, RESPONSES = NativeFormat.OPENAI_CHAT, NativeFormat.OPENAI_RESPONSES
ANTHROPIC = NativeFormat.ANTHROPIC

# The recorded names are of models that the SDK warns of by now.
CLAUDE = "anthropic:claude-sonnet-4-6"


def requests(recorded: list[Recorded], wire_format: NativeFormat) -> list[ChatRequest]:
    """Return the conversations that were sent when the exchanges were recorded."""
    return [request_of(*read_request(one.asked, wire_format)) for one in recorded]


def played(
    vendor: VendorServer, recorded: list[Recorded], spec: str, wire_format: NativeFormat
) -> list[ChatResponse]:
    """Ask for what was recorded, with the messages of the record."""
    vendor.answers = [one.answer for one in recorded]
    return ask(opened(vendor, spec, caches_prompt=False), *requests(recorded, wire_format))


def streamed(
    vendor: VendorServer, recorded: list[Recorded], spec: str, wire_format: NativeFormat
) -> list[Streamed]:
    """Ask for what was recorded as streams."""
    vendor.answers = [one.answer for one in recorded]
    return ask_stream(opened(vendor, spec), *requests(recorded, wire_format))


def native(message: Message) -> Any:
    assert message.native is not None
    return decode_json(message.native.item)


def test_a_chat_stream_with_a_call(vendor: VendorServer, recordings: Recordings) -> None:
    """A recorded Chat stream gives the call in pieces, then whole, then the answer."""
    recorded = recordings("openai--run_stream_sync_streams_real_model")

    first, second = streamed(vendor, recorded, "openai-chat:gpt-4o-mini", CHAT)

    assert first.calls == [("call_ZR5UUuTt3pf61kjwAJIYdVMj", "get_capital", '{"country":"UK"}')]
    assert [call.arguments for call in first.response.messages[0].tool_calls] == [
        '{"country":"UK"}'
    ]
    assert first.response.finish_reason == "tool_call"
    assert first.response.usage == Usage(input_tokens=53, output_tokens=15)
    assert [asked.body["stream_options"] for asked in vendor.asked] == [{"include_usage": True}] * 2
    assert second.text == second.response.messages[0].text == "The capital of the UK is London."
    assert second.response.finish_reason == "stop"
    assert second.response.model == "gpt-4o-mini-2024-07-18"
    assert second.response.id == "chatcmpl-Dx0Xq5Xx9rHB2ehcHZCRDsnuymUXc"


@pytest.mark.parametrize(
    ("name", "spec", "wire_format"),
    [
        (
            "cache_prefix_stability--openai_tool_call_roundtrip_wire_stable_vercel",
            "openai-chat:gpt-4o",
            CHAT,
        ),
        (
            "cache_prefix_stability--anthropic_thinking_roundtrip_wire_stable_vercel",
            CLAUDE,
            ANTHROPIC,
        ),
        ("anthropic--multiple_parallel_tool_calls", CLAUDE, ANTHROPIC),
    ],
)
def test_a_request_is_the_recorded_one(
    vendor: VendorServer, recordings: Recordings, name: str, spec: str, wire_format: NativeFormat
) -> None:
    """Recorded conversations, with signed thinking and parallel calls, go out as recorded."""
    recorded = recordings(name)

    played(vendor, recorded, spec, wire_format)

    sent = [asked.body["messages"] for asked in vendor.asked]
    assert sent == [one.asked["messages"] for one in recorded]


def test_the_prompt_cache_of_chat(vendor: VendorServer, recordings: Recordings) -> None:
    """What Chat wrote to its cache and read from it is counted within the input."""
    recorded = recordings("openai_prompt_cache--openai_chat_prompt_cache_e2e")

    first, second = played(vendor, recorded, "openai-chat:gpt-5.6-sol", CHAT)

    assert first.usage == Usage(input_tokens=4020, output_tokens=4, cache_write_tokens=4012)
    assert second.usage == Usage(input_tokens=4020, output_tokens=4, cache_read_tokens=4012)


def test_a_responses_stream(vendor: VendorServer, recordings: Recordings) -> None:
    """A recorded Responses stream gives the call in pieces and keeps the vendor's item verbatim."""
    recorded = recordings("openai_responses--openai_responses_stream")

    first, second = streamed(vendor, recorded, "openai:gpt-4o", RESPONSES)

    assert first.calls == [("call_kL0PCQV7M2WMoVX8V8OtYSAL", "get_capital", '{"country":"France"}')]
    assert first.response.finish_reason == "tool_call"
    assert native(first.response.messages[0])["id"].startswith("fc_67e554a1")
    assert second.text == second.response.messages[0].text == "The capital of France is Paris."
    assert second.response.usage == Usage(input_tokens=278, output_tokens=9)
    assert second.response.service_thread_id is None


def test_a_compacted_history_of_responses(vendor: VendorServer, recordings: Recordings) -> None:
    """A compaction item of Responses is sent back as it came."""
    recorded = recordings("openai_responses--openai_responses_compact_messages")
    chats = [one for one in recorded if one.path.endswith("/responses")]

    responses = played(vendor, chats, "openai:gpt-4o-mini", RESPONSES)

    sent = vendor.asked[-1].body["input"]
    compaction = next(item for item in chats[-1].asked["input"] if item["type"] == "compaction")
    assert compaction in sent
    assert [response.finish_reason for response in responses] == ["stop"] * len(chats)
    assert all(response.messages[0].text for response in responses)


def test_the_prompt_cache_of_anthropic(vendor: VendorServer, recordings: Recordings) -> None:
    """What Anthropic wrote to its cache and read from it is counted within what was read in all."""
    recorded = recordings("anthropic--anthropic_cache_real_api")

    for response, one in zip(played(vendor, recorded, CLAUDE, ANTHROPIC), recorded, strict=True):
        report = decode_json(one.answer.body)["usage"]
        read, written = report["cache_read_input_tokens"], report["cache_creation_input_tokens"]
        assert read + written > 0
        assert response.usage is not None
        assert response.usage.cache_read_tokens == read
        assert response.usage.cache_write_tokens == written
        assert response.usage.input_tokens == report["input_tokens"] + read + written


def test_a_thinking_stream_of_anthropic(vendor: VendorServer, recordings: Recordings) -> None:
    """A recorded stream with thinking gives it in pieces, and its signature is kept in the item."""
    recorded = recordings("anthropic--anthropic_model_thinking_part_stream")

    (found,) = streamed(vendor, recorded, CLAUDE, ANTHROPIC)

    thought, said = found.response.messages[0].parts
    assert thought == ReasoningPart(found.reasoning)
    assert said == TextPart(found.text)
    assert len(found.deltas) > 50
    blocks = native(found.response.messages[0])["content"]
    assert [list(block) for block in blocks] == [
        ["type", "thinking", "signature"],
        ["type", "text"],
    ]
    assert len(blocks[0]["signature"]) > 100
    assert found.response.usage is not None
    assert found.response.usage.output_tokens == 282


@pytest.mark.parametrize(
    "name",
    [
        "anthropic--anthropic_compaction_round_trip",
        "anthropic--anthropic_compaction_usage_with_cache_streaming",
    ],
)
def test_a_compaction_of_anthropic(vendor: VendorServer, recordings: Recordings, name: str) -> None:
    """A compaction block of Anthropic, sent or streamed back, stays as it came."""
    recorded = recordings(name)
    is_stream = recorded[0].asked["stream"]
    edits = recorded[0].asked["context_management"]
    given = read_request(recorded[0].asked, ANTHROPIC)
    request = request_of(*given, context_management=edits)
    vendor.answers = [recorded[0].answer]
    model = opened(vendor, CLAUDE, caches_prompt=False)

    if is_stream:
        (found,) = ask_stream(model, request)
        parts = found.response.messages[0].parts
        assert found.text == "Hello! 👋"
        assert isinstance(parts[0], CompactionPart)
        assert native(found.response.messages[0])["content"][0]["type"] == "compaction"
    else:
        ask(model, request)
        assert vendor.asked[0].body["messages"] == recorded[0].asked["messages"]
    assert vendor.asked[0].body["context_management"] == edits
