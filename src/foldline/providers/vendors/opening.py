"""
A model by its name.

The vendors, their addresses, their keys in the environment and the windows of their models are those
that pydantic-ai knows. Which binding serves a vendor follows from the class of its model there:

| class in pydantic-ai | binding | for example |
|---|---|---|
| `OpenAIResponsesModel` | `WireModel`, OpenAI Responses | `openai:`, `openai-responses:`, `azure-responses:` |
| `OpenAIChatModel` | `WireModel`, Chat Completions | `openai-chat:`, `deepseek:`, `openrouter:`, `ollama:` |
| `AnthropicModel` | `WireModel`, Anthropic Messages | `anthropic:` |
| any other | `PydanticModel` | `google:`, `bedrock:`, `mistral:` |

So `openai:` is the Responses API, and `openai-chat:` is what asks for Chat Completions. Vendors that take a
sign-in instead of a key, and classes from elsewhere, are left to pydantic-ai too.
"""

from typing import TYPE_CHECKING, Any

from foldline.errors import ConfigError
from foldline.history.formats.fields import maybe_count
from foldline.providers.model import ChatModel
from foldline.providers.vendors.anthropic_messages import DEFAULT_MAX_TOKENS, AnthropicMessages
from foldline.providers.vendors.catalogue import as_model, model_maker
from foldline.providers.vendors.dialect import Dialect
from foldline.providers.vendors.openai_chat import OpenAIChat
from foldline.providers.vendors.openai_responses import OpenAIResponses
from foldline.providers.vendors.per_loop import PerLoop
from foldline.providers.vendors.pydantic_model import PydanticModel
from foldline.providers.vendors.wire_model import WireModel
from foldline.reduction.config import ProviderConfig


if TYPE_CHECKING:
    from pydantic_ai.models import Model


__all__ = ["open_model"]


_SIGNED_IN = frozenset({"GitHubCopilotModel", "OpenAICodexModel"})
_SIGNED_IN_VENDORS = frozenset({"openai-chatgpt"})


def open_model(
    spec: object, *, holds_history: bool = False, caches_prompt: bool = True
) -> ChatModel:
    """
    Return the model that *spec* names.

    Args:
        spec: A string `vendor:model`, a `ProviderConfig`, a model of pydantic-ai, or any object that
            is a `ChatModel` already, which comes back as it is.
        holds_history: Whether the vendor keeps the conversation, so that only what is new is sent.
            The Responses API can.
        caches_prompt: Whether Anthropic is asked to cache the prompt; others do it unasked.

    Raises:
        ConfigError: There is no such vendor, it has no key or no address, or *spec* is something else.
        MissingExtraError: The `llm` extra is not installed.
    """
    if isinstance(spec, str):
        vendor, colon, model_name = spec.partition(":")
        if not (vendor and colon and model_name):
            message = f"model {spec!r} is not of the form 'vendor:model', as in 'openai:gpt-5-mini'"
            raise ConfigError(message)
        spec = ProviderConfig(provider_key=vendor, model_name=model_name)
    if isinstance(spec, ProviderConfig):
        name = f"{spec.provider_key}:{spec.model_name}"
        make = model_maker(spec)
        first = make()
        clients = PerLoop(first, make)
    elif isinstance(spec, ChatModel):
        return spec
    else:
        first = as_model(spec)
        name = f"{first.system}:{first.model_name}"
        clients = PerLoop(first)
    return _bound(first, name, clients, holds_history=holds_history, caches_prompt=caches_prompt)


def _bound(
    model: "Model[Any]", name: str, clients: PerLoop, *, holds_history: bool, caches_prompt: bool
) -> ChatModel:
    dialect = _dialect(model, name, holds_history=holds_history, caches_prompt=caches_prompt)
    if holds_history and not isinstance(dialect, OpenAIResponses):
        message = f"holds_history=True: {name} holds no history, the Responses API does"
        raise ConfigError(message)
    window = model.context_window
    if dialect is None:
        return PydanticModel(name, clients=clients, context_window=window)
    return WireModel(name, dialect=dialect, clients=clients, context_window=window)


def _dialect(
    model: "Model[Any]", name: str, *, holds_history: bool, caches_prompt: bool
) -> Dialect | None:
    wire_class = _wire_class(model)
    if not wire_class:
        return None
    profile: dict[str, Any] = {**model.profile}
    match wire_class:
        case "OpenAIResponsesModel":
            return OpenAIResponses(
                model=model.model_name,
                holds_history=holds_history,
                seals_reasoning=bool(profile.get("openai_supports_encrypted_reasoning_content")),
            )
        case "OpenAIChatModel":
            strict = profile.get("openai_supports_strict_tool_definition", True)
            return OpenAIChat(name, model=model.model_name, strict_tools=bool(strict))
        case _:
            most = maybe_count(profile.get("anthropic_max_output_tokens")) or DEFAULT_MAX_TOKENS
            return AnthropicMessages(
                name,
                model=model.model_name,
                max_tokens=min(DEFAULT_MAX_TOKENS, most),
                caches_prompt=caches_prompt,
                marks_messages=not profile.get("supports_auto_cache", True),
            )


def _wire_class(model: "Model[Any]") -> str:
    """
    Return the class of *model* that says which wire format its vendor speaks; empty for others.

    By names, since the classes themselves cannot be loaded without the SDKs of their vendors.
    """
    own = type(model)
    if not own.__module__.startswith("pydantic_ai."):
        return ""
    if own.__name__ in _SIGNED_IN or model.system in _SIGNED_IN_VENDORS:
        return ""
    known = ("OpenAIResponsesModel", "OpenAIChatModel", "AnthropicModel")
    return next((kind.__name__ for kind in own.__mro__ if kind.__name__ in known), "")
