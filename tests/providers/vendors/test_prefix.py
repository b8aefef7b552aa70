"""What a growing conversation sends again: the very bytes that it has sent before."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeAlias

import pytest

from foldline.history.messages import Message
from tests.providers.vendors.asking import opened, request_of, shared_prefix
from tests.providers.vendors.asking import streamed as read_stream
from tests.servers.vendor import Answer, Recorded, VendorServer


Recordings: TypeAlias = Callable[[str], list[Recorded]]

ITEMS = {"/v1/chat/completions": "messages", "/v1/responses": "input", "/v1/messages": "messages"}
SYSTEM = Message.system("Answer in one word.")


async def grown(
    vendor: VendorServer, spec: str, answers: list[Answer], *, streams: bool
) -> list[list[Any]]:
    """Hold a conversation of one turn per answer; return what each request sent."""
    vendor.answers = list(answers)
    history = [SYSTEM]
    async with opened(vendor, spec) as model:
        for number in range(len(answers)):
            calls = history[-1].tool_calls
            history += [Message.tool(call.id, f"result {number}") for call in calls]
            history += [] if calls else [Message.user(f"question {number}")]
            request = request_of(*history)
            if streams:
                response = (await read_stream(model, request)).response
            else:
                response = await model.respond(request)
            history += response.messages
    return [asked.body[ITEMS[asked.path]] for asked in vendor.asked]


@pytest.mark.parametrize(
    ("name", "spec", "streams"),
    [
        ("openai--run_stream_sync_streams_real_model", "openai-chat:gpt-4o-mini", True),
        ("openai_responses--openai_responses_stream", "openai:gpt-4o", True),
        ("anthropic--anthropic_model_thinking_part_stream", "anthropic:claude-sonnet-4-6", True),
        ("anthropic--multiple_parallel_tool_calls", "anthropic:claude-sonnet-4-6", False),
        (
            "cache_prefix_stability--anthropic_thinking_roundtrip_wire_stable_vercel",
            "anthropic:claude-sonnet-4-6",
            False,
        ),
        (
            "anthropic--anthropic_compaction_usage_with_cache_streaming",
            "anthropic:claude-sonnet-4-6",
            True,
        ),
    ],
)
async def test_old_messages_are_the_same_bytes(
    vendor: VendorServer, recordings: Recordings, name: str, spec: str, streams: bool
) -> None:
    """Over six turns of recorded answers, each request begins with all of the one before it."""
    recorded = [one.answer for one in recordings(name)]
    answers = (recorded * 6)[:6]

    sent = await grown(vendor, spec, answers, streams=streams)

    assert len(sent) == 6
    for before, after in pairwise(sent):
        assert shared_prefix(before, after) == len(before)
        assert len(after) > len(before)
