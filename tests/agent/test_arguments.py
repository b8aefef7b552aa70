"""What a caller without a type checker gets wrong is said in one line."""

from functools import partial, wraps
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from foldline import (
    Agent,
    AgentConfig,
    AgentOptions,
    AgentRunConfig,
    MemoryStore,
    ReductionCache,
)
from foldline.agent.reducer import HistoryReducer
from foldline.agent.request import described
from foldline.agent.tools.tool import tools_by_name
from foldline.agent.wire import read_items
from foldline.errors import ConfigError, FormatError
from foldline.history.messages import Message, Usage
from foldline.providers.model import ChatRequest, ChatResponse
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.provider import ProviderConfig
from foldline.reduction.request import SummaryRequest
from foldline.testing.model import ScriptedModel
from foldline.testing.summarizer import ScriptedSummarizer


CONFIG = HistoryReductionConfig(counting_unit="messages")
TALK = [Message.user("a"), Message.assistant("b")]
ITEM = {"role": "user", "content": "secret"}


class Named:
    def __init__(self, name: object, summarize: object) -> None:
        self.name = name
        self.summarize = summarize


class Calling:
    async def __call__(self, request: SummaryRequest) -> str:
        return "text"


class Opaque:
    """A wrapper that does not show whether it awaits."""

    def __call__(self, request: SummaryRequest) -> object:
        return write(request)


class Blocking:
    name = "blocking"

    def respond(self, request: ChatRequest) -> ChatResponse:
        return ChatResponse(messages=())


async def write(request: SummaryRequest) -> str:
    return "text"


def blocking(request: SummaryRequest) -> str:
    return "text"


@wraps(write)
def wrapped(request: SummaryRequest) -> object:
    return write(request)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"config": {"enabled": True}}, "config must be .*, got dict: `config_from_mapping` makes"),
        ({"config": "openai:gpt-5-mini"}, "got str: .* the name of a model goes to `model=`"),
        ({"summarizer": print}, "summarizer must be a Summarizer, got builtin_function_or_method"),
        ({"summarizer": [1]}, r"summarizer\[0\] must be a Summarizer, got int: it needs a name"),
        ({"summarizer": ScriptedSummarizer}, "must be an instance, got the class Scripted"),
        ({"summarizer": [Named]}, r"summarizer\[0\] must be an instance, got the class Named"),
        ({"summarizer": Named(7, write)}, r"summarizer.name must be a str, got int"),
        ({"summarizer": Named("n", blocking)}, "summarize must be async"),
        ({"summarizer": [Named("n", partial(blocking))]}, "summarize must be async"),
        ({"summarizer": Named("n", "text")}, "summarize must be async"),
        (
            {"summary_budget": 0},
            "summary_budget must be a whole number of at least 1 or None, got 0",
        ),
        ({"summary_budget": True}, "summary_budget must be .*, got True"),
        ({"summarizer_window": -1}, "summarizer_window must be .*, got -1"),
        ({"timeout": 0.0}, r"timeout must be a number of seconds above 0, got 0\.0"),
        ({"timeout": float("nan")}, "timeout must be .*, got nan"),
        ({"timeout": None}, "timeout must be .*, got None"),
        ({"counter": len}, "counter must be a TokenCounter or None, got builtin"),
        ({"cache": {}}, "cache must be a ReductionCache or None, got dict"),
    ],
)
def test_wrong_arguments_of_a_reducer_are_refused(arguments: dict[str, Any], said: str) -> None:
    """The error names the argument and what it was, in one line."""
    with pytest.raises(ConfigError, match=said) as caught:
        HistoryReducer(**cast("dict[str, Any]", {"config": CONFIG, **arguments}))

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"options": {}}, "options must be an AgentOptions, got dict"),
        (
            {"history_reduction": {}},
            "history_reduction must be a HistoryReductionConfig or None, got dict: .* turns it off; .*",
        ),
        (
            {"history_reduction": HistoryReducer()},
            "history_reduction must be .*, got HistoryReducer: .* goes to `reducer=`",
        ),
        ({"instructions": None}, "instructions must be a str, got None"),
        ({"name": 7}, "name must be a str, got int"),
        ({"background_fold": 5}, "background_fold must be a BackgroundFold or None, got int"),
        (
            {"telemetry": 5},
            r"telemetry must be an Observer or None, got int: `Telemetry\(\)` is one",
        ),
        ({"model": Blocking()}, r"Blocking\.respond must be async"),
    ],
)
def test_wrong_arguments_of_an_agent_are_refused(arguments: dict[str, Any], said: str) -> None:
    """The error names the argument when the agent is made, and not in the first turn."""
    with pytest.raises(ConfigError, match=f"^{said}$"):
        Agent(**cast("dict[str, Any]", {"model": ScriptedModel(), **arguments}))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_iterations": 0}, "max_iterations must be a whole number of at least 1, got 0"),
        ({"max_consecutive_failures": 0}, "max_consecutive_failures must be .*, got 0"),
        ({"max_identical_calls": 1}, "max_identical_calls must be .* at least 2, got 1"),
        ({"max_duration": 0}, "max_duration must be a number of seconds above 0, got 0"),
        ({"max_duration": "long"}, "max_duration must be .*, got 'long'"),
        ({"settings": 3}, "settings must be a Mapping, got int"),
        ({"settings": {"response_format": dict}}, r"settings\['response_format'\] .*class dict"),
        ({"max_overflow_folds": -1}, "max_overflow_folds must be .*, got -1"),
        ({"parallel_tool_calls": 1}, "parallel_tool_calls must be a bool, got int"),
        (
            {"terminate_on_unknown_tools": "no"},
            "terminate_on_unknown_tools must be a bool, got str",
        ),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], said: str) -> None:
    """The error names the field and the value."""
    with pytest.raises(ConfigError, match=f"^{said}$"):
        AgentOptions(**options)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ([ITEM], r"message\[0\] must be a Message, got dict"),
        ((Message.user("a"), "b"), r"message\[1\] must be a Message, got str"),
        (ITEM, "message must be a str or Message or Sequence, got dict"),
        (b"text", r"message\[0\] must be a Message, got int"),
        (7, "message must be a str or Message or Sequence, got int"),
    ],
)
def test_a_wrong_input_is_refused(message: Any, said: str) -> None:
    """The error says where it is and how to convert a vendor's items."""
    for run in (Agent(ScriptedModel([])).run_sync, Agent(ScriptedModel([])).run_stream):
        with pytest.raises(ConfigError, match=f"^{said}: convert .* `from_openai_chat`") as caught:
            run(message)
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"config": {}}, "config must be an AgentRunConfig or None, got dict"),
        ({"thread": "support-42"}, "thread must be a ConversationThread or None, got str"),
    ],
)
def test_wrong_arguments_of_a_turn_are_refused(arguments: dict[str, Any], said: str) -> None:
    """They are refused before anything runs."""
    with pytest.raises(ConfigError, match=f"^{said}"):
        Agent(ScriptedModel()).run_sync("hi", **arguments)
    with pytest.raises(ConfigError, match=f"^{said}"):
        Agent(ScriptedModel()).run_stream("hi", **arguments)


async def test_overrides_without_effect_are_refused_before_a_turn() -> None:
    """What the configuration of the agent rules out is said before the message is stored."""
    config = HistoryReductionConfig(strategy="message_counting")
    agent = Agent(ScriptedModel(), history_reduction=config)
    thread = await MemoryStore().thread("t")
    overrides = AgentRunConfig(custom_summarization_prompt_override="Be short.")
    with pytest.raises(ConfigError, match="has no effect"):
        await agent.run("hello", thread=thread, config=overrides)

    assert thread.count == 0


def test_a_description_without_a_model_makes_no_agent() -> None:
    """The error says which field is missing."""
    with pytest.raises(ConfigError, match="provider must name a model, got None"):
        Agent.from_config(AgentConfig())


@pytest.mark.parametrize("entries", [0, -1, 1.5, "x", True, None])
def test_a_cache_has_a_bound(entries: Any) -> None:
    """A cache for no entries is a mistake, and so is a bound that is not a number."""
    with pytest.raises(ConfigError, match=f"max_entries must be .* at least 1, got {entries!r}"):
        ReductionCache(max_entries=entries)


@pytest.mark.parametrize(
    "method",
    [write, wrapped, partial(write), Calling(), Opaque()],
    ids=["plain", "wrapped", "partial", "calling", "opaque"],
)
def test_anything_that_may_be_awaited_is_a_summarizer(method: Any) -> None:
    """Wrappers of all kinds are accepted, also those that do not show what they return."""
    reducer = HistoryReducer(CONFIG, summarizer=Named("n", method))  # type: ignore[arg-type]

    assert reducer.plan(TALK).kind == "skip"


@pytest.mark.parametrize("overrides", [{}, {"skip_history_reduction": True}, CONFIG, True])
def test_overrides_have_their_own_type(overrides: Any) -> None:
    """An empty dictionary does not pass for no overrides either."""
    with pytest.raises(ConfigError, match="overrides must be an AgentRunConfig, got"):
        HistoryReducer(CONFIG).plan(TALK, overrides=overrides)


def test_json_is_no_state() -> None:
    """The error says how to read it."""
    with pytest.raises(ConfigError, match=r"with HistoryReductionState\.from_json"):
        HistoryReducer(CONFIG).reduce_sync(TALK, state=b"{}")  # type: ignore[arg-type]


def test_a_model_by_name_needs_its_summarizer() -> None:
    """A configured provider without a summarizer is not silently ignored."""
    provider = ProviderConfig(provider_key="openai", model_name="m")
    config = msgspec.structs.replace(CONFIG, summarizer_provider=provider)

    with pytest.raises(ConfigError, match="pass the summarizer"):
        HistoryReducer(config)
    assert HistoryReducer(config, summarizer=ScriptedSummarizer()).plan(TALK).kind == "skip"


@pytest.mark.parametrize("scope", [3, None])
def test_a_scope_is_a_str(scope: Any) -> None:
    """Another type is refused before anything is folded."""
    with pytest.raises(ConfigError, match=r"^scope must be a str, got "):
        HistoryReducer(CONFIG).reduce_sync(TALK, scope=scope)


@pytest.mark.parametrize(
    ("item", "says"),
    [
        ({"content": "x"}, "message 0: it has no role"),
        ({"role": "robot", "content": "x"}, "not one of system, developer, user, assistant, tool,"),
    ],
)
def test_a_wrong_role_is_named_with_all_that_are_read(item: dict[str, Any], says: str) -> None:
    """Without a sign of a vendor the roles are those of OpenAI Chat, which has the most."""
    with pytest.raises(FormatError, match=says):
        HistoryReducer(CONFIG).reduce_sync([item])


def look(city: str) -> str:
    """Say what the weather is."""
    return city


class VendorUsage:
    input_tokens = 100
    cache_read_input_tokens = 2_000
    cache_creation_input_tokens = None


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (None, 0),
        (7, 7),
        (Usage(input_tokens=7, cache_read_tokens=5), 7),
        ({"prompt_tokens": 7, "completion_tokens": 2}, 7),
        ({"input_tokens": 7, "cache_creation_input_tokens": 10}, 17),
        (VendorUsage(), 2_100),
        ({"id": "r", "usage": {"input_tokens": 7}}, 7),
        ({"inputTokens": 7, "cacheReadInputTokens": 5, "cacheWriteInputTokens": 3}, 15),
        ({"output": {}, "usage": {"inputTokens": 7}}, 7),
        (SimpleNamespace(usage_metadata=SimpleNamespace(prompt_token_count=7)), 7),
        (SimpleNamespace(usage=VendorUsage()), 2_100),
        (SimpleNamespace(usage=None), 0),
    ],
)
def test_usage_is_what_a_vendor_reports(usage: object, tokens: int) -> None:
    """Input tokens in all: Anthropic counts what is cached beside the others."""
    assert described(usage, None, None, None).reported == tokens


def said(count: int) -> list[dict[str, str]]:
    text = "the parcel is on its way to the customer " * 12
    return [{"role": ("user", "assistant")[n % 2], "content": f"{n} {text}"} for n in range(count)]


def test_a_count_is_compared_with_the_view_that_the_cache_has() -> None:
    """A caller who passes no state is sent as small requests as one who does."""
    reducer = HistoryReducer(window=16_000)
    messages, usage, sizes, ceiling = list[dict[str, str]](), 0, list[int](), 0
    for item in said(300):
        messages.append(item)
        if item["role"] == "user":
            reduced = reducer.reduce_sync(messages, usage=usage)
            # A vendor that counts as the estimate does.
            usage = read_items(reduced.messages, None, None).history.tokens()
            sizes.append(usage)
            ceiling = reduced.event.ceiling or 0

    assert ceiling / 2 < max(sizes) <= ceiling


def test_a_count_says_nothing_of_a_view_that_was_folded_since() -> None:
    """A request that is tried again after its fold has the ceiling that it had."""
    config = HistoryReductionConfig(
        counting_unit="messages", target_count=4, summarization_threshold=2
    )
    reducer = HistoryReducer(config)
    messages = said(15)
    usage = read_items(messages[:-2], None, None).history.tokens()
    first = reducer.reduce_sync(messages, usage=usage, tools=[look])
    again = reducer.reduce_sync(messages, state=first.state, usage=usage, tools=[look])

    assert first.event.status == "performed"
    assert (
        again.event.request_tokens
        == reducer.reduce_sync(messages, state=first.state, tools=[look]).event.request_tokens
    )


def test_instructions_may_be_blocks_of_text() -> None:
    """As Anthropic takes them, with marks of its cache."""
    mark = {"type": "ephemeral"}
    blocks = [{"type": "text", "text": "a", "cache_control": mark}, {"type": "text", "text": "b"}]

    assert described(None, blocks, None, None).instructions == "a\nb"


def test_tools_of_a_request_may_be_functions() -> None:
    """They count as the definitions that an agent sends for them."""
    named = tools_by_name([look])["look"]
    sent = {"name": "look", "description": named.description, "parameters": named.parameters}
    (first, second, third) = described(
        None, None, (one for one in (look, named, sent)), None
    ).schemas

    assert first == second == third


def test_pins_are_any_iterable() -> None:
    """Also one that is read only once."""
    assert described(None, "", (), (at for at in (2, 3))).pins == (2, 3)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"usage": -1}, "usage must be a whole number of at least 0, got -1"),
        ({"usage": True}, "usage must be a whole number of at least 0, got True"),
        ({"usage": 1.5}, "usage must be a whole number of at least 0, got 1.5"),
        ({"usage": Usage(input_tokens=-1)}, "usage.input_tokens must be .* at least 0, got -1"),
        ({"usage": {"prompt_tokens": -1}}, "usage.prompt_tokens must be .* at least 0, got -1"),
        (
            {"usage": {"input_tokens": 1, "cache_read_input_tokens": "2"}},
            "usage.cache_read_input_tokens must be .* at least 0, got '2'",
        ),
        (
            {"usage": {"total": 7}},
            "usage must be .*, or a usage with input_tokens or prompt_tokens, got dict",
        ),
        ({"tools": "look"}, "tools must be a list, got str"),
        ({"tools": ["look"]}, r"tools\[0\] must be a schema as it is sent, got str"),
        ({"tools": [{}, object()]}, r"tools\[1\] must be a schema as it is sent, got object"),
        ({"tools": [None]}, r"tools\[0\] must be a schema as it is sent, got NoneType"),
        ({"pins": 3}, "pins must be a list, got int"),
        ({"instructions": 3}, "instructions must be a str or None, got int"),
        (
            {"instructions": [{"text": "a"}, {"type": "image"}]},
            r"instructions\[1\].text must be a str, got None",
        ),
    ],
)
def test_wrong_parts_of_a_request_are_refused(arguments: dict[str, Any], said: str) -> None:
    """The error names the argument, what is expected and what was given."""
    with pytest.raises(ConfigError, match=said):
        HistoryReducer().plan([Message.user("hi")], **arguments)


@pytest.mark.parametrize("model", ["antropic:claude-sonnet-4-6", "Opnai:gpt-5"])
def test_a_misspelt_vendor_of_a_reducer_is_named(model: str) -> None:
    """The nearest common one is suggested."""
    with pytest.raises(ConfigError, match=r"unknown vendor .*: did you mean '(anthropic|openai)'"):
        HistoryReducer(model=model)


@pytest.mark.parametrize(
    "model",
    [
        "anthropic.claude-v2:1",
        "us.anthropic.claude-sonnet-4-6-v1:0",
        "google-vertex:gemini-3-pro",
        "mistralai:mistral-large",
        "gpt-5",
        "ollama_chat:qwen3",
    ],
)
def test_names_of_models_as_others_write_them_are_accepted(model: str) -> None:
    """Bedrock, gateways and frameworks have names of their own."""
    assert HistoryReducer(model=model).model == model
