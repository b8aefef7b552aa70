"""What is asked in each wire format: messages, tools, settings, and marks of the cache."""

from typing import Any

import pytest

from foldline.agent.reducer import HistoryReducer
from foldline.history.formats.anthropic import from_anthropic
from foldline.history.formats.openai_responses import from_openai_responses
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.providers.model import ChatRequest, ToolDefinition
from foldline.providers.vendors.cache_marks import mark_anthropic, mark_openai
from foldline.providers.vendors.vendor_model import PerLoop
from foldline.providers.vendors.wire_formats import (
    DEFAULT_MAX_TOKENS,
    AnthropicMessages,
    OpenAIChat,
    OpenAIResponses,
    is_strict,
)
from foldline.reduction.config import HistoryReductionConfig
from foldline.testing.grammars import check_anthropic
from tests.providers.vendors.asking import ask, opened, request_of, unmarked
from tests.servers.vendor import Answer, VendorServer


CHAT, RESPONSES, CLAUDE = "openai-chat:gpt-4o", "openai:gpt-4o", "anthropic:claude-sonnet-4-6"
QUESTION = Message.user("x")
MARK = {"type": "ephemeral"}
MARKED = {"type": "text", "text": "x", "cache_control": MARK}
MARKS_MESSAGES = {"supports_auto_cache": False}
TEXT = {"type": "string"}


def closed(**properties: Any) -> dict[str, Any]:
    """Return an object that requires all of its *properties* and allows no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


OPEN = {"type": "object", "properties": {"q": TEXT}}
TOOLS = (
    ToolDefinition(name="find", description="Find it.", parameters=closed(q=TEXT)),
    ToolDefinition(name="loose", parameters=OPEN),
)
FIND = {"name": "find", "description": "Find it."}
ITEMS = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "x"}]
SETTINGS: dict[str, Any] = {"temperature": 0.5, "max_tokens": 64_000, "unknown_setting": {"a": 1}}
BODIES: dict[str, dict[str, Any]] = {
    CHAT: {
        "model": "gpt-4o",
        "messages": ITEMS,
        "tools": [
            {
                "type": "function",
                "function": {**FIND, "parameters": closed(q=TEXT), "strict": True},
            },
            {"type": "function", "function": {"name": "loose", "parameters": OPEN}},
        ],
    },
    RESPONSES: {
        "model": "gpt-4o",
        "input": ITEMS,
        "store": False,
        "tools": [
            {"type": "function", **FIND, "parameters": closed(q=TEXT), "strict": True},
            {"type": "function", "name": "loose", "parameters": OPEN, "strict": False},
        ],
    },
    CLAUDE: {
        "model": "claude-sonnet-4-6",
        "system": [{"type": "text", "text": "be brief", "cache_control": MARK}],
        "messages": ITEMS[1:],
        "tools": [
            {**FIND, "input_schema": closed(q=TEXT)},
            {"name": "loose", "input_schema": OPEN},
        ],
        "cache_control": MARK,
    },
}
"""What is sent for two messages and two tools, without the settings."""


def sent(vendor: VendorServer, spec: str, request: ChatRequest) -> Any:
    """Return what *vendor* is asked in the format of *spec*."""
    said = {"role": "assistant", "content": "so"}
    answer = {"choices": [{"message": said}], "output": [], "content": []}
    vendor.answers = [Answer.of(answer)]
    ask(opened(vendor, spec), request)
    return vendor.asked[-1].body


def body(
    *messages: Message,
    name: str = "m",
    settings: dict[str, object] | None = None,
    **options: Any,
) -> Any:
    """Return what Anthropic would be sent for *messages*."""
    request = ChatRequest(messages=messages, settings=settings or {})
    model = AnthropicMessages(CLAUDE, model=name, clients=PerLoop(None), **options)
    return model.body(request, streamed=False)


@pytest.mark.parametrize("spec", BODIES)
def test_the_request(vendor: VendorServer, spec: str) -> None:
    """Messages, tools and settings are where the vendor wants them, settings as given."""
    request = request_of(Message.system("be brief"), QUESTION, tools=TOOLS, **SETTINGS)

    assert sent(vendor, spec, request) == BODIES[spec] | SETTINGS


@pytest.mark.parametrize("spec", BODIES)
def test_settings_beside_the_body(vendor: VendorServer, spec: str) -> None:
    """A vendor's own tools in the settings come after ours; headers are sent as such."""
    own = {"type": "custom", "custom": {"name": "own"}}
    settings = {"tools": [own], "extra_headers": {"x-own": "1"}}
    request = ChatRequest(messages=(QUESTION,), tools=TOOLS, settings=settings)

    found = sent(vendor, spec, request)

    assert found["tools"] == [*BODIES[spec]["tools"], own]
    assert vendor.asked[0].headers["x-own"] == "1"
    assert "extra_headers" not in found


def test_the_calls_of_another_agent_are_sent_with_a_tool() -> None:
    """Anthropic refuses calls where no tool is defined, so one is that the model cannot call."""
    call = {"type": "tool_use", "id": "t1", "name": "find", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "it"}
    items = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    talk = (QUESTION, *from_anthropic(items))
    found, own = body(*talk), {"type": "web_search_20250305", "name": "web_search"}

    assert [tool["name"] for tool in found["tools"]] == ["none"]
    assert found["tool_choice"] == {"type": "none"}
    assert body(*talk, settings={"tools": [own]})["tools"] == [own]
    assert "tools" not in body(QUESTION)


def test_a_model_that_does_not_reason_gets_no_reasoning() -> None:
    """What another model of OpenAI has thought is left out, with the ids that would name it."""
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "s"}
    call = {"type": "function_call", "call_id": "c1", "name": "find", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c1", "output": "it"}
    given = [ITEMS[1], thought, {**call, "id": "fc_1"}, result]
    talk = from_openai_responses(given)

    assert openai_items(RESPONSES, "gpt-5.2", *talk) == given
    for name in ("gpt-4o", "gpt-4.1-mini", "ft:gpt-4.1:org", "gpt-5-chat-latest"):
        assert openai_items(RESPONSES, name, *talk) == [ITEMS[1], call, result]


def test_the_limit_of_anthropic() -> None:
    """A limit is always sent, and what a model may think is added to what it may write."""
    thinking = {"type": "enabled", "budget_tokens": 2000}

    assert body(QUESTION)["max_tokens"] == DEFAULT_MAX_TOKENS
    assert (
        body(QUESTION, settings={"thinking": thinking})["max_tokens"] == DEFAULT_MAX_TOKENS + 2000
    )


def test_betas_are_a_header(vendor: VendorServer) -> None:
    """The names of betas in the settings go out as a header, beside the headers of the settings."""
    request = request_of(QUESTION, betas=["one", "two"], extra_headers={"x-own": "1"})

    assert "betas" not in sent(vendor, CLAUDE, request)
    assert vendor.asked[0].headers["anthropic-beta"] == "one,two"
    assert vendor.asked[0].headers["x-own"] == "1"


BINDING = "thinking-binding-controls-2026-08-01"
DROPS = {"prefix_mismatch_behavior": "drop_block"}


@pytest.mark.parametrize(
    "name",
    [
        "claude-opus-5-5",
        "claude-fable-5-1",
        "claude-fable-6-20270101",
        "us.anthropic.claude-opus-5-5-v1:0",
    ],
)
def test_thinking_bound_elsewhere_is_to_be_dropped(name: str) -> None:
    """A model that checks thinking is asked to drop what is bound elsewhere, before any setting."""
    found = body(QUESTION, name=name, settings={"betas": ["one"]})

    assert found["thinking"] == {"type": "adaptive", "block_binding": DROPS}
    assert found["betas"] == ["one", BINDING]


@pytest.mark.parametrize(
    "name",
    [
        "claude-sonnet-4-6",
        "claude-opus-5-20260901",
        "claude-mythos-5-1",
        "claude-3-7-sonnet-latest",
        "x",
    ],
)
def test_other_models_know_no_binding(name: str) -> None:
    """A model without the check is not asked, since it refuses the field."""
    thinking = {"type": "adaptive"}

    assert body(QUESTION, name=name, settings={"thinking": thinking})["thinking"] == thinking
    assert "thinking" not in body(QUESTION, name=name)


def test_the_caller_chooses_the_binding() -> None:
    """What the settings say about thinking and its binding stays, and none is asked for if it is off."""
    given = {
        "type": "enabled",
        "budget_tokens": 9,
        "block_binding": {"prefix_mismatch_behavior": "error"},
    }
    off = {"type": "disabled"}
    none = {"type": "adaptive", "block_binding": None}

    found = body(QUESTION, name="claude-opus-5-5", settings={"thinking": none})

    assert found["thinking"] == {"type": "adaptive"}
    assert "betas" not in found
    assert body(QUESTION, name="claude-opus-5-5", settings={"thinking": given})["thinking"] == given
    assert body(QUESTION, name="claude-opus-5-5", settings={"thinking": off})["thinking"] == off


def test_the_cache_can_be_chosen() -> None:
    """The cache is asked for as the settings say, or not at all; the caller's marks are enough."""
    mark = {"type": "ephemeral", "ttl": "1h"}
    given = from_anthropic([{"role": "user", "content": [MARKED]}])

    assert body(QUESTION, settings={"cache_control": mark})["cache_control"] == mark
    assert "cache_control" not in body(QUESTION, caches_prompt=False)
    assert "cache_control" not in body(*given)


def test_marks_in_the_messages_move_alone() -> None:
    """If the mark is in a message, all but the mark stays the same from call to call."""
    history = [Message.system("be brief"), QUESTION, Message.assistant("so"), Message.user("y")]

    first = body(*history[:2], profile=MARKS_MESSAGES)
    second = body(*history, profile=MARKS_MESSAGES)
    plain = body(*history, caches_prompt=False)

    assert first["system"] == [{"type": "text", "text": "be brief", "cache_control": MARK}]
    assert first["messages"][-1]["content"] == [MARKED]
    assert second["messages"][-1]["content"][-1]["cache_control"] == MARK
    assert list(map(unmarked, second["messages"])) == list(map(unmarked, plain["messages"]))
    assert "cache_control" not in second
    assert "system" not in body(QUESTION, profile=MARKS_MESSAGES)


TALK = [Message.system("be brief"), QUESTION, Message.assistant("so"), Message.user("y")]
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}


@pytest.mark.parametrize("profile", [{}, MARKS_MESSAGES])
def test_an_early_message_of_anthropic_is_marked(profile: dict[str, object]) -> None:
    """What a fold leaves at the front is found again after whatever changes after it."""
    found = body(*TALK, profile=profile)
    is_marked = ["cache_control" in repr(item) for item in found["messages"]]

    assert is_marked == [True, True, bool(profile)]
    assert check_anthropic(found["system"], found["messages"]) == ()
    assert body(*TALK[:3], profile=profile)["messages"][0]["content"] == [MARKED]
    assert "cache_control" not in repr(body(QUESTION)["messages"])


@pytest.mark.parametrize(("profile", "marks"), [({}, [1, 4]), (MARKS_MESSAGES, [1, 4, 6])])
def test_the_end_of_the_request_before_is_marked(
    profile: dict[str, object], marks: list[int]
) -> None:
    """Anthropic looks back 20 blocks from a mark: ten calls and their results have more."""
    said = [QUESTION, Message.assistant("so"), Message.user("y"), Message.assistant("no"), QUESTION]
    calls = [ToolCallPart(id=f"t{number}", name="look", arguments="{}") for number in range(10)]
    results = [Message.tool(one.id, "found") for one in calls]

    found = body(*said, Message.assistant("hm", tool_calls=calls), *results, profile=profile)
    at = [at for at, item in enumerate(found["messages"]) if "cache_control" in repr(item)]

    assert at == marks
    assert len(found["messages"]) == 7
    assert len(found["messages"][5]["content"] + found["messages"][6]["content"]) > 20


def folded() -> list[Message]:
    """Return a view with a summary in it, and some messages after that."""
    said = [Message.user("x " * 90), Message.assistant("y " * 90)] * 4
    config = HistoryReductionConfig(counting_unit="messages", target_count=3)
    return HistoryReducer(config).reduce_sync([*said, QUESTION]).messages


def test_the_summary_is_marked() -> None:
    """The last block of it for Anthropic; for OpenAI, which takes no mark there, what follows it."""
    view = folded()
    place = next(at for at, one in enumerate(view) if one.is_summary)
    anthropic = body(*view)["messages"]
    openai = openai_items(RESPONSES, "gpt-5.6", *view)
    marked = [at for at, one in enumerate(anthropic) if "cache_control" in repr(one)]
    explicit = [at for at, one in enumerate(openai) if "breakpoint" in repr(one)]

    assert view[place].text in anthropic[marked[0]]["content"][-1]["text"]
    assert explicit == [place + 1]
    assert len(openai) > place + 2


def test_marks_of_the_caller_on_tools_are_left_alone() -> None:
    """The vendor takes four in all."""
    tool = {"name": "t", "input_schema": {"type": "object"}, "cache_control": MARK}

    assert repr(body(*TALK, settings={"tools": [tool]})).count("cache_control") == 1


def test_the_mark_of_the_settings_is_used_everywhere() -> None:
    """A lifetime of an hour may not follow one of five minutes, and None asks for no cache."""
    mark = {"type": "ephemeral", "ttl": "1h"}
    found = body(*TALK, settings={"cache_control": mark})
    off = body(*TALK, settings={"cache_control": None})

    assert found["system"][0]["cache_control"] == mark
    assert found["messages"][1]["content"][0]["cache_control"] == mark
    assert "ephemeral" not in repr(off)


def test_what_may_carry_no_mark_has_none() -> None:
    """A mark moves to the last block that may carry one."""
    text = {"type": "text", "text": "x"}
    items: list[dict[str, Any]] = [
        {"role": "user", "content": [text, {"type": "text", "text": ""}, THOUGHT]},
        {"role": "user", "content": [THOUGHT]},
    ]
    found = mark_anthropic([], items, {}, marks_request=False)["messages"]

    assert found == [{"role": "user", "content": [MARKED, *items[0]["content"][1:]]}, items[1]]


def openai_items(
    spec: str, name: str, *messages: Message, caches_prompt: bool = True, **given: Any
) -> Any:
    """Return the items that the model *name* of OpenAI would be sent."""
    wire = OpenAIChat if spec == CHAT else OpenAIResponses
    options: dict[str, Any] = {"caches_prompt": caches_prompt, "holds_history": "thread" in given}
    model = wire(spec, model=name, clients=PerLoop(None), **options)
    found = model.body(request_of(*messages, **given), streamed=False)
    return found["messages" if spec == CHAT else "input"]


@pytest.mark.parametrize(("spec", "kind"), [(CHAT, "text"), (RESPONSES, "input_text")])
@pytest.mark.parametrize("name", ["gpt-5.6", "gpt-5.6-sol", "gpt-6.1-terra"])
def test_late_models_of_openai_get_marks(spec: str, kind: str, name: str) -> None:
    """The end of the instructions and of an early message; the others stay as they were."""
    plain = openai_items(spec, "gpt-5.5", *TALK)
    found = openai_items(spec, name, *TALK)
    mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}

    assert [found[at]["content"] for at in (0, 3)] == [
        [{"type": kind, "text": "be brief", **mark}],
        [{"type": kind, "text": "y", **mark}],
    ]
    assert found[1:3] == plain[1:3]
    assert "breakpoint" not in repr(plain)


@pytest.mark.parametrize("spec", [CHAT, RESPONSES])
def test_what_is_not_marked_for_openai(spec: str) -> None:
    """Nothing if the caller marks or wants no marks; no empty and no assistant message."""
    off: list[dict[str, Any]] = [
        {"prompt_cache_options": {"mode": "explicit"}},
        {"caches_prompt": False},
    ]
    plain = openai_items(spec, "gpt-5", *TALK)
    kind = "text" if spec == CHAT else "input_text"
    marked = {"type": kind, "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}}
    given: list[dict[str, Any]] = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": [marked]},
    ]
    empty: list[dict[str, Any]] = [
        {"role": "system", "content": ""},
        {"role": "assistant", "content": "x"},
    ]

    assert [openai_items(spec, "gpt-6-sol", *TALK, **settings) for settings in off] == [plain] * 2
    assert mark_openai(given, {}, kind) == given
    assert mark_openai(empty, {}, kind) == empty


def test_a_delta_is_not_marked() -> None:
    """What continues a conversation at the vendor has no beginning to mark."""
    found = openai_items(RESPONSES, "gpt-6-sol", QUESTION, thread="resp_1")

    assert found == ITEMS[1:]


CLOSED = [
    closed(),
    closed(a=TEXT),
    closed(a=closed(b={"type": ["string", "null"]})),
    closed(a={"type": "array", "items": closed(b=TEXT)}),
    closed(a={"anyOf": [TEXT, {"type": "null"}]}),
    {**closed(a={"$ref": "#/$defs/b"}), "$defs": {"b": closed(c=TEXT)}},
]
LOOSE: list[dict[str, Any]] = [
    {},
    TEXT,
    {"type": "object"},
    {"type": "object", "properties": {"a": TEXT}, "required": ["a"]},
    {**closed(a=TEXT), "required": []},
    {**closed(a=TEXT), "additionalProperties": TEXT},
    closed(a={**TEXT, "default": "x"}),
    closed(a={**TEXT, "pattern": "x"}),
    closed(a={"type": "object"}),
    closed(a={"type": ["object", "null"]}),
    closed(a={"type": "array", "items": {"type": "object"}}),
    closed(a={"anyOf": [{"type": "object"}]}),
    closed(a=True),
    {**closed(a=TEXT), "$defs": {"b": {"type": "object"}}},
]


def test_strict_schemas() -> None:
    """A schema is strict if every object in it is closed, and no key is unknown."""
    assert [schema for schema in CLOSED if not is_strict(schema)] == []
    assert [schema for schema in LOOSE if is_strict(schema)] == []
