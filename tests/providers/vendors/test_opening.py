"""Models by their names."""

import sys

import pytest

from foldline.errors import ConfigError, ContextOverflowError, MissingExtraError
from foldline.history.messages import Message
from foldline.providers.model import (
    ChatModel,
    ChatRequest,
    ChatResponse,
    StreamingChatModel,
    window_of,
)
from foldline.providers.vendors.opening import open_model
from foldline.providers.vendors.spelling import COMMON_VENDORS
from foldline.providers.vendors.vendor_model import WireModel
from foldline.reduction.provider import ProviderConfig
from tests.providers.vendors.asking import KEY, ask, config, request_of
from tests.providers.vendors.test_client_model import fake
from tests.servers.vendor import Answer, VendorServer


CHAT_ANSWER = {"id": "c", "choices": [{"message": {"role": "assistant", "content": "yes"}}]}


class Parrot:
    """A model of somebody's own."""

    name = "own:parrot"

    async def respond(self, request: ChatRequest) -> ChatResponse:
        return ChatResponse(messages=())


def keyed(vendor: str, model: str = "some-model", **more: str) -> ProviderConfig:
    return ProviderConfig(provider_key=vendor, model_name=model, api_key=KEY, **more)


@pytest.mark.parametrize(
    ("spec", "binding"),
    [
        ("openai:some/model", "OpenAIResponses"),
        ("openai-responses:some/model", "OpenAIResponses"),
        ("openai-chat:some/model", "OpenAIChat"),
        ("deepseek:some/model", "OpenAIChat"),
        ("openrouter:some/model", "OpenAIChat"),
        ("together:some/model", "OpenAIChat"),
        ("cerebras:some/model", "OpenAIChat"),
        ("anthropic:some/model", "AnthropicMessages"),
        # Who signs in instead of sending a key is left to pydantic-ai.
        ("github-copilot:gpt-4o", "PydanticModel"),
    ],
)
def test_each_vendor_has_its_binding(spec: str, binding: str) -> None:
    """The class of the model in pydantic-ai decides which wire format is spoken."""
    model = open_model(keyed(*spec.split(":")))

    assert isinstance(model, StreamingChatModel)
    assert isinstance(model, WireModel) == (binding != "PydanticModel")
    assert repr(model) == f"{binding}('{spec}')"
    assert model.name == spec


def test_the_window_is_known() -> None:
    """The window of a model is that in the book, and None if the book has none."""
    windows = {
        ("openai", "gpt-4o"): 128_000,
        ("openai-chat", "gpt-4o"): 128_000,
        ("anthropic", "claude-sonnet-4-5"): 200_000,
        ("deepseek", "deepseek-v4-pro"): 1_000_000,
        ("openai", "nobody-knows-it"): None,
    }

    assert {known: window_of(open_model(keyed(*known))) for known in windows} == windows


def test_own_models_come_back_as_they_are() -> None:
    """An object that is a model already is returned itself."""
    parrot = Parrot()

    assert isinstance(parrot, ChatModel)
    assert open_model(parrot) is parrot


def test_the_environment_gives_the_key(
    vendor: VendorServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A string takes key and address from the environment; a local server needs no key."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{vendor.url}/v1")
    vendor.answers = [Answer.of(CHAT_ANSWER), Answer.of(CHAT_ANSWER)]

    for key in ("", KEY):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        (response,) = ask(open_model("openai-chat:gpt-4o"), request_of(Message.user("x")))
        assert response.messages[0].text == "yes"
    assert vendor.asked[1].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("name", ["openai-chat", "deepseek", "ollama", "openrouter", "moonshotai"])
def test_an_address_of_its_own(vendor: VendorServer, name: str) -> None:
    """A compatible server is asked at the address of the configuration, with its key."""
    vendor.answers = [Answer.of(CHAT_ANSWER)]

    ask(open_model(config(vendor, f"{name}:some/model")), request_of(Message.user("x")))

    assert vendor.asked[0].path == "/v1/chat/completions"
    assert vendor.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert vendor.asked[0].body["model"] == "some/model"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        *(
            (spec, f"model must be 'vendor:model' such as 'openai:gpt-5-mini', got {spec!r}")
            for spec in ("openai", "openai:", ":gpt-5", "")
        ),
        ("opnai:gpt-5", "unknown vendor 'opnai': did you mean 'openai'"),
        ("antropic:claude", "unknown vendor 'antropic': did you mean 'anthropic'"),
        ("deepsek:x", "unknown vendor 'deepsek': did you mean 'deepseek'?"),
        ("zzzzzzzz:x", "unknown vendor 'zzzzzzzz': common ones are openai, openai-chat,"),
        (
            "openai:gpt-5",
            "vendor 'openai' needs OPENAI_API_KEY: set it in the environment, or pass",
        ),
        ("anthropic:claude", "vendor 'anthropic' needs ANTHROPIC_API_KEY: set it"),
        ("deepseek:x", "vendor 'deepseek' needs DEEPSEEK_API_KEY: set it"),
        ("ollama:x", "vendor 'ollama' needs OLLAMA_BASE_URL: set it"),
        ("openai-chatgpt:x", "vendor 'openai-chatgpt' cannot be opened by name"),
        ("sentence-transformers:x", "vendor 'sentence-transformers' cannot be opened by name"),
        (
            3,
            (
                "model must be 'vendor:model', a ProviderConfig or a ChatModel, got int: "
                "one of your own needs a `name` and async respond()"
            ),
        ),
        (None, "model must be 'vendor:model', a ProviderConfig or a ChatModel, got None"),
        (
            fake("messages", print),
            (
                "model must be 'vendor:model', a ProviderConfig or a ChatModel, got SimpleNamespace: "
                "`open_model(name, client=…)` makes one of a client"
            ),
        ),
        (keyed("openai-chatgpt"), "vendor 'openai-chatgpt' takes no api_key from a ProviderConfig"),
        (keyed("snowflake"), "vendor 'snowflake' needs SNOWFLAKE_ACCOUNT"),
        (keyed("gateway/openai"), "vendor 'gateway/openai' takes no api_key from"),
        (
            keyed("openrouter", "gpt-4o"),
            ("vendor 'openrouter' needs another form of model name, got 'gpt-4o'"),
        ),
        (keyed("nobody", base_url="http://127.0.0.1"), "unknown vendor 'nobody'"),
        *(
            (keyed("deepseek", base_url=url), "base_url of 'deepseek' must begin with")
            for url in (
                "",
                "nonsense",
                "ftp://x",
                "http://",
                "http://[bad",
                "http://x:99999/v1",
                "http://999.1.1.1",
            )
        ),
    ],
)
def test_what_cannot_be_opened(spec: object, message: str) -> None:
    """The error says in one line what is wrong and what to do."""
    with pytest.raises(ConfigError) as caught:
        open_model(spec)

    assert f"{caught.value}".startswith(message)
    assert "\n" not in f"{caught.value}"
    assert KEY not in f"{caught.value}"
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_vendor_whose_sdk_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vendor whose own SDK is not installed is an error that names the package."""
    monkeypatch.setitem(sys.modules, "groq", None)

    with pytest.raises(ConfigError, match=r"pip install 'pydantic-ai-slim\[groq\]'"):
        open_model("groq:x")


@pytest.mark.parametrize(
    ("spec", "kind", "says"),
    [
        ("opnai:x", ConfigError, "unknown vendor 'opnai': did you mean 'openai'"),
        ("cohere:x", ConfigError, r"common ones are openai, .*foldline\[llm\]'\) has more"),
        ("google-vertex:x", MissingExtraError, "pydantic-ai-slim is not installed"),
    ],
)
def test_a_typo_is_no_missing_package(
    monkeypatch: pytest.MonkeyPatch, spec: str, kind: type[Exception], says: str
) -> None:
    """Without pydantic-ai an unknown vendor is answered with those that are known, and where more are."""
    for name in [one for one in sys.modules if one.startswith("pydantic_ai")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)

    with pytest.raises(kind, match=says):
        open_model(spec)


@pytest.mark.parametrize(
    ("vendor", "module", "package", "extra"),
    [
        ("deepseek", "pydantic_ai.models", "pydantic-ai-slim", "llm"),
        ("deepseek", "openai", "openai", "llm"),
        ("openai", "openai", "openai", "openai"),
        ("openai-chat", "openai", "openai", "openai"),
        ("anthropic", "anthropic", "anthropic", "anthropic"),
    ],
)
def test_without_the_extra(
    monkeypatch: pytest.MonkeyPatch, vendor: str, module: str, package: str, extra: str
) -> None:
    """Without the extra the error names the package and the extra."""
    # What is loaded already would not be looked for again.
    for name in ("pydantic_ai.providers.deepseek", "pydantic_ai.providers.openai", module):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(MissingExtraError) as caught:
        open_model(keyed(vendor))

    assert caught.value.package == package
    assert caught.value.extra == extra


def test_only_responses_holds_a_history() -> None:
    """A vendor that holds no history refuses to be opened as if it did."""
    with pytest.raises(ConfigError, match="holds no history"):
        open_model(keyed("anthropic", "claude-sonnet-4-6"), holds_history=True)


def test_keys_are_never_shown() -> None:
    """Neither a model nor what it consists of shows its key."""
    model = open_model(keyed("openai-chat", "gpt-4o"))
    parts = [model, *vars(model).values()]
    parts += [vars(part) for part in parts[1:] if hasattr(part, "__dict__")]

    assert KEY not in repr(parts)


@pytest.mark.parametrize("vendor", COMMON_VENDORS)
def test_common_vendors_are_vendors(vendor: str) -> None:
    """The vendors that the error for an unknown one lists are known: each needs something."""
    with pytest.raises((ConfigError, MissingExtraError), match="needs") as caught:
        open_model(f"{vendor}:x")

    assert "unknown vendor" not in f"{caught.value}"


@pytest.mark.parametrize("spec", ["openai:gpt-4o", "openai-chat:gpt-4o", "anthropic:claude-x"])
def test_an_sdk_alone_is_enough(
    vendor: VendorServer, monkeypatch: pytest.MonkeyPatch, spec: str
) -> None:
    """OpenAI and Anthropic are asked without pydantic-ai, and without a list of prices."""
    for name in [one for one in sys.modules if one.startswith(("pydantic_ai", "genai_prices"))]:
        monkeypatch.setitem(sys.modules, name, None)
    vendor.answers = [Answer.of({"error": {"message": "prompt is too long"}}, status=400)]
    model = open_model(config(vendor, spec))

    with pytest.raises(ContextOverflowError):
        ask(model, request_of(Message.user("x")))
    assert window_of(model) == (128_000 if "gpt-4o" in spec else 200_000)


def test_reasoning_is_asked_for_if_there_is_some(vendor: VendorServer) -> None:
    """Models of OpenAI that reason are asked to return their reasoning, and others are not."""
    for model in ("gpt-5-mini", "o3", "gpt-5-chat-latest", "gpt-4o"):
        vendor.answers = [Answer.of({"error": {"message": "prompt is too long"}}, status=400)]
        with pytest.raises(ContextOverflowError):
            ask(open_model(config(vendor, f"openai:{model}")), request_of(Message.user("x")))

    assert ["include" in asked.body for asked in vendor.asked] == [True, True, False, False]
