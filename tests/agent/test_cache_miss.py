"""What the vendor says of its cache, if the settings ask for it."""

from typing import Any

import pytest

from foldline import Agent, AgentOptions, ConversationThread, MemoryStore
from foldline.agent.events import IterationFinishedEvent
from tests.agent.telemetry.watched import watch
from tests.providers.vendors.asking import opened
from tests.servers.vendor import Answer, VendorServer


CLAUDE, GPT = "anthropic:claude-sonnet-4-6", "openai:gpt-5.6-sol"
SETTINGS: dict[str, dict[str, Any]] = {
    CLAUDE: {"diagnostics": {}},
    GPT: {"prompt_cache_options": {"comparison_response_id": None}},
}
SAID: list[dict[str, Any]] = [
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "fine"}]}
]
pytestmark = pytest.mark.usefixtures("no_proxy")


def answer(spec: str, number: int, miss: dict[str, Any] | None, *, streams: bool) -> Answer:
    """Answer with the id *number* and what the vendor says in its diagnostics."""
    usage = {"input_tokens": 5_000, "output_tokens": 1}
    whole: dict[str, Any]
    if spec == CLAUDE:
        whole = {"type": "message", "id": f"id_{number}", "diagnostics": miss, "usage": usage}
        text = {"type": "text", "text": "fine"}
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": {**whole, "content": []}},
            {"type": "content_block_start", "index": 0, "content_block": text},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
            {"type": "message_stop"},
        ]
        whole["content"] = [text]
    else:
        whole = {"id": f"id_{number}", "prompt_cache_diagnostics": miss, "output": SAID}
        whole |= {"status": "completed", "usage": usage}
        events = [{"type": "response.completed", "response": whole}]
    return Answer.stream(events) if streams else Answer.of(whole)


async def finished(
    agent: Agent, text: str, thread: ConversationThread, *, streams: bool
) -> list[IterationFinishedEvent]:
    """Ask *agent* and return the event of each call."""
    if streams:
        given = [event async for event in agent.run_stream(text, thread=thread)]
    else:
        given = [*(await agent.run(text, thread=thread)).events]
    return [one for one in given if isinstance(one, IterationFinishedEvent)]


def compared(spec: str, body: dict[str, Any]) -> Any:
    """Return what *body* asks the vendor to compare it with."""
    if spec == CLAUDE:
        return body["diagnostics"]["previous_message_id"]
    return body["prompt_cache_options"]["comparison_response_id"]


MISSES: dict[str, list[dict[str, Any] | None]] = {
    CLAUDE: [
        None,
        {"cache_miss_reason": {"type": "messages_changed", "cache_missed_input_tokens": 9}},
        {"cache_miss_reason": None},
    ],
    GPT: [
        {"type": "comparison_response_not_found"},
        {"type": "cache_miss", "reason": "input_changed", "cache_missed_tokens": 9},
        {"type": "cache_hit"},
    ],
}
FOUND = {
    CLAUDE: [None, "messages_changed", None],
    GPT: ["comparison_response_not_found", "input_changed", None],
}


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("spec", [CLAUDE, GPT])
async def test_the_vendor_says_why_its_cache_missed(spec: str, *, streams: bool) -> None:
    """Each request names the last response, also after a restart, and the event has the reason."""
    watched, thread = watch(), await MemoryStore().thread("t")
    done: list[IterationFinishedEvent] = []
    with VendorServer() as vendor:
        vendor.answers = [
            answer(spec, number, miss, streams=streams) for number, miss in enumerate(MISSES[spec])
        ]
        async with opened(vendor, spec) as model:
            for number in range(3):
                # An agent of its own knows the last response from the stored state alone.
                options = AgentOptions(settings=SETTINGS[spec])
                agent = Agent(model, options=options, telemetry=watched.telemetry)
                done += await finished(agent, f"question {number}", thread, streams=streams)
        asked = [compared(spec, one.body) for one in vendor.asked]

    assert asked == [None, "id_0", "id_1"]
    assert [one.cache_miss for one in done] == FOUND[spec]
    assert [one.missed_tokens for one in done] == [0, 5_000, 5_000]
    assert "input_changed" in repr(watched.points("foldline.tokens.missed")) or spec == CLAUDE


@pytest.mark.parametrize("spec", [CLAUDE, GPT])
async def test_nothing_is_asked_of_its_own_accord(spec: str) -> None:
    """Without the setting no request has an id; one that the caller names stays."""
    own: dict[str, Any] = {
        "diagnostics": {"previous_message_id": "own"},
        "prompt_cache_options": {"comparison_response_id": "own"},
    }
    name = "diagnostics" if spec == CLAUDE else "prompt_cache_options"
    with VendorServer() as vendor:
        vendor.answers = [answer(spec, number, None, streams=False) for number in range(3)]
        async with opened(vendor, spec) as model:
            thread = await MemoryStore().thread("t")
            for settings in ({}, {}, {name: own[name]}):
                options = AgentOptions(settings=settings)
                await Agent(model, options=options).run("question", thread=thread)
        bodies = [one.body for one in vendor.asked]

    assert [name in body for body in bodies] == [False, False, True]
    assert compared(spec, bodies[2]) == "own"
