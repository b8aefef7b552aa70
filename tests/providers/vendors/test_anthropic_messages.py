"""Anthropic Messages: what is asked, where the cache is marked, and why a model stopped."""

from typing import Any

from foldline.history.codec import canonical_json
from foldline.history.formats.anthropic import from_anthropic
from foldline.history.messages import Message
from foldline.providers.model import ChatRequest, ToolDefinition
from foldline.providers.vendors.vendor_model import PerLoop
from foldline.providers.vendors.wire_formats import DEFAULT_MAX_TOKENS, AnthropicMessages
from tests.providers.vendors.asking import ask, ask_stream, opened, request_of
from tests.servers.vendor import Answer, VendorServer


CLAUDE = "anthropic:claude-sonnet-4-6"
QUESTION = Message.user("x")
MARK = {"type": "ephemeral"}
MARKS_MESSAGES = {"supports_auto_cache": False}


def whole(stop: str = "end_turn", *blocks: dict[str, Any]) -> Answer:
    """Answer with one message."""
    content = list(blocks) or [{"type": "text", "text": "so"}]
    return Answer.of({"id": "m", "role": "assistant", "content": content, "stop_reason": stop})


def body(*messages: Message, settings: dict[str, object] | None = None, **options: Any) -> Any:
    """Return what is sent for *messages*."""
    request = ChatRequest(messages=messages, settings=settings or {})
    model = AnthropicMessages(CLAUDE, model="m", clients=PerLoop(None), **options)
    return model.body(request, streamed=False)


def test_the_request(vendor: VendorServer) -> None:
    """System messages, tools, the limit and the cache stand where the vendor wants them."""
    vendor.answers = [whole()]
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    tool = ToolDefinition(name="find", description="Find it.", parameters=schema)

    ask(
        opened(vendor, CLAUDE),
        request_of(Message.system("be brief"), QUESTION, tools=[tool], temperature=0.5),
    )

    assert vendor.asked[0].body == {
        "model": "claude-sonnet-4-6",
        "max_tokens": DEFAULT_MAX_TOKENS,
        "system": [{"type": "text", "text": "be brief"}],
        "messages": [{"role": "user", "content": "x"}],
        "tools": [{"name": "find", "description": "Find it.", "input_schema": schema}],
        "cache_control": MARK,
        "temperature": 0.5,
    }


def test_the_settings_of_the_request(vendor: VendorServer) -> None:
    """The caller's limit is sent as it is, even one that the SDK would want streamed."""
    vendor.answers = [whole(), whole()]

    ask(opened(vendor, CLAUDE), *(request_of(QUESTION, max_tokens=n) for n in (100, 64000)))

    assert [asked.body["max_tokens"] for asked in vendor.asked] == [100, 64000]


def test_thinking_is_on_top_of_the_limit() -> None:
    """What a model may think is added to what it may write."""
    sent = body(QUESTION, settings={"thinking": {"type": "enabled", "budget_tokens": 2000}})

    assert sent["max_tokens"] == DEFAULT_MAX_TOKENS + 2000


def test_the_cache_can_be_chosen() -> None:
    """The cache is asked for as the settings say, or not at all."""
    mark = {"type": "ephemeral", "ttl": "1h"}

    assert body(QUESTION, settings={"cache_control": mark})["cache_control"] == mark
    assert "cache_control" not in body(QUESTION, caches_prompt=False)


def test_betas_are_a_header(vendor: VendorServer) -> None:
    """The names of betas in the settings go out as a header, beside the headers of the settings."""
    vendor.answers = [whole()]
    headers = {"x-own": "1"}

    request = request_of(QUESTION, betas=["one", "two"], extra_headers=headers)
    ask(opened(vendor, CLAUDE), request)

    assert vendor.asked[0].headers["anthropic-beta"] == "one,two"
    assert vendor.asked[0].headers["x-own"] == "1"
    assert "betas" not in vendor.asked[0].body


def test_own_marks_are_left_alone() -> None:
    """If the caller has marked a block, no other mark is added."""
    block = {"type": "text", "text": "x", "cache_control": MARK}
    given = from_anthropic([{"role": "user", "content": [block]}])

    assert "cache_control" not in body(*given)


def test_marks_in_the_messages_move_alone() -> None:
    """If the mark is in a message, all but the mark stays the same from call to call."""
    history = [Message.system("be brief"), QUESTION, Message.assistant("so"), Message.user("y")]

    first = body(*history[:2], profile=MARKS_MESSAGES)
    second = body(*history, profile=MARKS_MESSAGES)
    plain = body(*history, caches_prompt=False)

    assert first["system"] == [{"type": "text", "text": "be brief", "cache_control": MARK}]
    assert first["messages"][-1]["content"][-1]["cache_control"] == MARK
    assert second["messages"][-1]["content"][-1]["cache_control"] == MARK
    assert canonical_json(second["messages"][:-1]) == canonical_json(plain["messages"][:-1])
    assert "cache_control" not in second

    sent = body(QUESTION, profile=MARKS_MESSAGES)
    assert "system" not in sent
    assert sent["messages"][0]["content"] == [{"type": "text", "text": "x", "cache_control": MARK}]


STOPS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
    "something_new": "stop",
}


def test_finish_reasons(vendor: VendorServer) -> None:
    """Every reason to stop has its name here; a refusal without words adds no message."""
    empty = {"id": "m", "role": "assistant", "content": [], "stop_reason": "refusal"}
    vendor.answers = [*map(whole, STOPS), Answer.of(empty)]

    *responses, refusal = ask(opened(vendor, CLAUDE), *[request_of(QUESTION)] * (len(STOPS) + 1))

    assert [response.finish_reason for response in responses] == [*STOPS.values()]
    assert (refusal.messages, refusal.finish_reason) == ((), "content_filter")


def test_a_streamed_call(vendor: VendorServer) -> None:
    """
    Calls between words come in pieces, each with its number, and those of the vendor's own do not.
    """

    def started(index: int, **block: Any) -> dict[str, Any]:
        return {"type": "content_block_start", "index": index, "content_block": block}

    def grown(index: int, text: str) -> dict[str, Any]:
        delta = {"type": "input_json_delta", "partial_json": text}
        return {"type": "content_block_delta", "index": index, "delta": delta}

    events = [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}},
        started(0, type="text", text="hm"),
        started(1, type="server_tool_use", id="s", name="web_search", input={}),
        grown(1, '{"query": "x"}'),
        started(2, type="tool_use", id="a", name="find", input={}),
        grown(2, ""),
        grown(2, '{"q":'),
        grown(2, " 1}"),
        started(3, type="tool_use", id="b", name="stop", input={}),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        {"type": "message_stop"},
    ]
    vendor.answers = [Answer.stream(events)]

    (found,) = ask_stream(opened(vendor, CLAUDE), request_of(QUESTION))

    assert found.text == "hm"
    assert found.calls == [("a", "find", '{"q": 1}'), ("b", "stop", "")]
    assert [call.arguments for call in found.response.messages[0].tool_calls] == ['{"q":1}', "{}"]
    assert found.response.finish_reason == "tool_call"
