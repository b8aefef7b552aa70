"""
A model by its name.

| vendor | binding | needs the extra |
|---|---|---|
| `openai:`, `openai-responses:` | `WireModel`, OpenAI Responses | `openai` |
| `openai-chat:` | `WireModel`, Chat Completions | `openai` |
| `anthropic:` | `WireModel`, Anthropic Messages | `anthropic` |
| `deepseek:`, `openrouter:`, `ollama:`, `azure:` and others that pydantic-ai asks in one of these formats | `WireModel` | `llm` |
| `google:`, `bedrock:`, `mistral:` and others | `PydanticModel` | `llm` |

The first three are opened with the vendor's SDK. The names, keys and addresses of all others are
those that pydantic-ai knows.
"""

import os
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from foldline.errors import ConfigError, MissingExtraError
from foldline.providers.model import ChatModel
from foldline.providers.vendors.anthropic_messages import AnthropicMessages
from foldline.providers.vendors.catalogue import as_model, check_address, dialect_of, model_maker
from foldline.providers.vendors.dialect import Dialect
from foldline.providers.vendors.failure import limit_waits
from foldline.providers.vendors.openai_chat import OpenAIChat
from foldline.providers.vendors.openai_responses import OpenAIResponses
from foldline.providers.vendors.pydantic_model import PydanticModel
from foldline.providers.vendors.vendor_model import PerLoop
from foldline.providers.vendors.wire_model import WireModel
from foldline.reduction.config import ProviderConfig


__all__ = ["open_model"]


_OPENAI = ("openai", "AsyncOpenAI", ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"))
_ANTHROPIC = ("anthropic", "AsyncAnthropic", ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"))
_SDKS: Mapping[str, tuple[str, str, tuple[str, ...]]] = MappingProxyType(
    {
        "openai": _OPENAI,
        "openai-chat": _OPENAI,
        "openai-responses": _OPENAI,
        "anthropic": _ANTHROPIC,
    }
)
"""For each vendor with an SDK of its own: the package, its client, and variables with a key."""

# A server of one's own may take no key, but the SDK does not go without one.
_NO_KEY = "no-key"
# The models of OpenAI that reason, and so return reasoning that can be sent back encrypted.
_REASONS = re.compile(r"o\d|gpt-[5-9](?!-chat)").match


def open_model(
    spec: object, *, holds_history: bool = False, caches_prompt: bool = True
) -> ChatModel:
    """
    Return the model that *spec* names.

    Args:
        spec: A string `vendor:model`, a `ProviderConfig`, a model of pydantic-ai, or a `ChatModel`,
            which is returned unchanged.
        holds_history: Whether the vendor keeps the conversation, so that only what is new is sent.
            The Responses API can.
        caches_prompt: Whether Anthropic is asked to cache the prompt; others do it by default.

    Raises:
        ConfigError: The vendor is unknown, lacks a key or an address, or *spec* is something else.
        MissingExtraError: The extra that the vendor needs is not installed.
    """
    if isinstance(spec, str):
        vendor, colon, model_name = spec.partition(":")
        if not (vendor and colon and model_name):
            message = f"model must be 'vendor:model' such as 'openai:gpt-5-mini', got {spec!r}"
            raise ConfigError(message)
        spec = ProviderConfig(provider_key=vendor, model_name=model_name)
    if isinstance(spec, ProviderConfig):
        name = f"{spec.provider_key}:{spec.model_name}"
        if spec.provider_key in _SDKS:
            dialect = _dialect(spec, name, holds_history=holds_history, caches_prompt=caches_prompt)
            make = _client_maker(spec)
            clients, window = PerLoop(make(), make), _window(spec)
            return _bound(name, dialect, clients, window, holds_history=holds_history)
        make = model_maker(spec)
        first = make()
        clients = PerLoop(first, make)
    elif isinstance(spec, ChatModel):
        return spec
    else:
        first = as_model(spec)
        name = f"{first.system}:{first.model_name}"
        clients = PerLoop(first)
    theirs = dialect_of(first, name, holds_history=holds_history, caches_prompt=caches_prompt)
    return _bound(name, theirs, clients, first.context_window, holds_history=holds_history)


def _bound(
    name: str, dialect: Dialect | None, clients: PerLoop, window: int | None, *, holds_history: bool
) -> ChatModel:
    if holds_history and not isinstance(dialect, OpenAIResponses):
        message = f"holds_history=True: {name} holds no history; the Responses API does"
        raise ConfigError(message)
    if dialect is None:
        return PydanticModel(name, clients=clients, context_window=window)
    return WireModel(name, dialect=dialect, clients=clients, context_window=window)


def _dialect(
    config: ProviderConfig, name: str, *, holds_history: bool, caches_prompt: bool
) -> Dialect:
    model = config.model_name
    match config.provider_key:
        case "anthropic":
            return AnthropicMessages(name, model=model, caches_prompt=caches_prompt)
        case "openai-chat":
            return OpenAIChat(name, model=model)
        case _:
            seals = bool(_REASONS(model))
            return OpenAIResponses(
                name, model=model, holds_history=holds_history, seals_reasoning=seals
            )


def _client_maker(config: ProviderConfig) -> Callable[[], Any]:
    """
    Return what makes a client of the SDK of the vendor that *config* names.

    Making one raises:
        ConfigError: There is no key, or the address is none.
        MissingExtraError: The SDK is not installed.
    """
    package, client, variables = _SDKS[config.provider_key]

    def make() -> Any:
        try:
            sdk = import_module(package)
        except ImportError:
            raise MissingExtraError(package=package, extra=package) from None
        check_address(config)
        key = config.api_key or None
        if key is None and not any(map(os.environ.get, variables)):
            if config.base_url is None and not os.environ.get(f"{package.upper()}_BASE_URL"):
                message = (
                    f"vendor {config.provider_key!r} needs {variables[0]}: set it in the "
                    "environment, or pass a ProviderConfig with an api_key"
                )
                raise ConfigError(message)
            key = _NO_KEY
        made = getattr(sdk, client)(api_key=key, base_url=config.base_url)
        limit_waits(made)
        return made

    return make


def _window(config: ProviderConfig) -> int | None:
    try:
        from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415

        vendor = _SDKS[config.provider_key][0]
        _, model = get_snapshot().find_provider_model(
            config.model_name, provider=None, provider_id=vendor, provider_api_url=None
        )
    except (ImportError, LookupError):
        return None
    return model.context_window
