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

import inspect
import os
import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast, get_args
from urllib.parse import urlsplit

from foldline.errors import ConfigError, MissingExtraError
from foldline.providers.model import ChatModel
from foldline.providers.vendors.anthropic_messages import AnthropicMessages
from foldline.providers.vendors.dialect import Dialect
from foldline.providers.vendors.failure import limit_waits
from foldline.providers.vendors.openai_chat import OpenAIChat
from foldline.providers.vendors.openai_responses import OpenAIResponses
from foldline.providers.vendors.pydantic_model import PydanticModel
from foldline.providers.vendors.vendor_model import PerLoop, WireModel
from foldline.reduction.config import ProviderConfig


if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider


__all__ = ["COMMON_VENDORS", "open_model"]


COMMON_VENDORS = (
    "openai",
    "openai-chat",
    "anthropic",
    "google",
    "azure",
    "bedrock",
    "mistral",
    "groq",
    "deepseek",
    "openrouter",
    "ollama",
)
"""The vendors that the error for an unknown vendor lists."""

_EXTRA = {"pydantic_ai": "pydantic-ai-slim", "openai": "openai", "anthropic": "anthropic"}
# The names that providers have for the arguments that are a key and an address.
_KEYS = ("api_key", "token")
_ADDRESSES = ("base_url", "azure_endpoint", "api_base")
_SCHEMES = ("http", "https")
_GATEWAY = "gateway/"
_WIRE_CLASSES = ("OpenAIResponsesModel", "OpenAIChatModel", "AnthropicModel")
# Who signs in instead of sending a key is left to pydantic-ai.
_SIGNED_IN = frozenset({"GitHubCopilotModel", "OpenAICodexModel"})
_SIGNED_IN_VENDORS = frozenset({"openai-chatgpt"})
_VARIABLE = re.compile(r"`([A-Z][A-Z0-9_]{3,})`")
_GROUP = re.compile(r"pydantic-ai-slim\[([\w-]+)\]")

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
        make = _model_maker(spec)
        first = make()
        clients = PerLoop(first, make)
    elif isinstance(spec, ChatModel):
        return spec
    else:
        first = _as_model(spec)
        name = f"{first.system}:{first.model_name}"
        clients = PerLoop(first)
    theirs = _dialect_of(first, name, holds_history=holds_history, caches_prompt=caches_prompt)
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
    """Return what makes a client of the SDK of the vendor that *config* names."""
    package, client, variables = _SDKS[config.provider_key]

    def make() -> Any:
        try:
            sdk = import_module(package)
        except ImportError:
            raise MissingExtraError(package=package, extra=package) from None
        _check_address(config)
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


def _as_model(value: object) -> "Model[Any]":
    """Return *value* if it is a model of pydantic-ai; `ConfigError` if it is something else."""
    got = "None" if value is None else type(value).__name__
    with suppress(ImportError):
        from pydantic_ai.models import Model  # noqa: PLC0415

        if isinstance(value, Model):
            return value  # pyright: ignore[reportUnknownVariableType] - Model[?]
    message = f"model must be 'vendor:model', a ProviderConfig or a ChatModel, got {got}"
    raise ConfigError(message)


def _model_maker(config: ProviderConfig) -> "Callable[[], Model[Any]]":
    """Return what makes the model that *config* names, each time with its own client."""

    def make() -> "Model[Any]":
        with _openings(config):
            from pydantic_ai.models import infer_model  # noqa: PLC0415

            _check_vendor(config.provider_key)
            _check_address(config)
            spec = f"{config.provider_key}:{config.model_name}"
            model = infer_model(spec, provider_factory=lambda _: _provider(config))
            limit_waits(getattr(model, "client", None))
            return model

    return make


def _check_vendor(vendor: str) -> None:
    from pydantic_ai.providers import infer_provider_class  # noqa: PLC0415

    try:
        infer_provider_class(vendor)
    except ValueError:
        near = get_close_matches(vendor, _known_vendors(), n=3)
        hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        message = f"unknown vendor {vendor!r}: {hint}common ones are {', '.join(COMMON_VENDORS)}"
        raise ConfigError(message) from None


def _check_address(config: ProviderConfig) -> None:
    """Check that the `base_url` of *config* is an address, if there is one; else `ConfigError`."""
    import httpx2  # noqa: PLC0415

    if config.base_url is None:
        return
    with suppress(ValueError, httpx2.InvalidURL):
        address = urlsplit(config.base_url)
        # It takes fewer hosts than the standard library does.
        httpx2.URL(config.base_url)
        if address.scheme in _SCHEMES and address.hostname and address.port != 0:
            return
    # Not shown: an address may hold a password.
    message = f"base_url of {config.provider_key!r} must begin with http:// or https:// and a host"
    raise ConfigError(message)


def _dialect_of(
    model: "Model[Any]", name: str, *, holds_history: bool, caches_prompt: bool
) -> Dialect | None:
    """Return the wire format that *model* is asked in; None for one that foldline cannot write."""
    wire_class = _wire_class(model)
    profile: dict[str, Any] = {**model.profile} if wire_class else {}
    match wire_class:
        case "OpenAIResponsesModel":
            return OpenAIResponses(
                name,
                model=model.model_name,
                holds_history=holds_history,
                seals_reasoning=bool(profile.get("openai_supports_encrypted_reasoning_content")),
            )
        case "OpenAIChatModel":
            strict = bool(profile.get("openai_supports_strict_tool_definition", True))
            return OpenAIChat(name, model=model.model_name, strict_tools=strict)
        case "AnthropicModel":
            return AnthropicMessages(
                name,
                model=model.model_name,
                caches_prompt=caches_prompt,
                marks_messages=not profile.get("supports_auto_cache", True),
            )
        case _:
            return None


def _wire_class(model: "Model[Any]") -> str:
    # By names, since the classes cannot be loaded without the SDKs of their vendors.
    own = type(model)
    if not own.__module__.startswith("pydantic_ai."):
        return ""
    if own.__name__ in _SIGNED_IN or model.system in _SIGNED_IN_VENDORS:
        return ""
    return next((kind.__name__ for kind in own.__mro__ if kind.__name__ in _WIRE_CLASSES), "")


def _known_vendors() -> list[str]:
    from pydantic_ai.models import (  # noqa: PLC0415
        KnownModelName,
        OpenAIChatCompatibleProvider,
        OpenAIResponsesCompatibleProvider,
    )

    kinds = (KnownModelName, OpenAIChatCompatibleProvider, OpenAIResponsesCompatibleProvider)
    names = {name.partition(":")[0] for kind in kinds for name in get_args(kind.__value__)}
    return sorted(names - {"test"})


def _provider(config: ProviderConfig) -> "Provider[Any]":
    from pydantic_ai.providers import infer_provider, infer_provider_class  # noqa: PLC0415

    vendor, key, address = config.provider_key, config.api_key or None, config.base_url
    if key is None and address is None:
        return infer_provider(vendor)
    make = cast("Callable[..., Provider[Any]]", infer_provider_class(vendor))
    # The class of a gateway is that of the vendor: it would take the key, and ask the vendor.
    takes = [] if vendor.startswith(_GATEWAY) else [*inspect.signature(make).parameters]
    options: dict[str, Any] = {}
    for names, value in ((_KEYS, key), (_ADDRESSES, address)):
        name = next((name for name in names if name in takes), None)
        if name is not None and value is not None:
            options[name] = value
        elif value is not None and (names is _KEYS or "openai_client" not in takes):
            message = f"vendor {vendor!r} takes no {names[0]} from a ProviderConfig"
            raise ConfigError(message)
    made = make(**options)
    if address is None or address in options.values():
        return made
    return make(openai_client=made.client.copy(base_url=address))


@contextmanager
def _openings(config: ProviderConfig) -> Generator[None]:
    """Turn what pydantic-ai raises while it opens a vendor into errors of foldline."""
    try:
        yield
    except ImportError as error:
        raise _missing(config.provider_key, error) from None
    except RuntimeError as error:
        # A `UserError`; it may quote paths, so that only names of variables and models are taken.
        raise ConfigError(_lacking(config, f"{error}")) from None


def _missing(vendor: str, error: ImportError) -> Exception:
    cause = error.__cause__
    name = error.name or (cause.name if isinstance(cause, ImportError) else None) or ""
    if package := _EXTRA.get(name.partition(".")[0]):
        return MissingExtraError(package=package, extra="llm")
    group = _GROUP.search(f"{error}")
    wanted = group[0] if group else "its SDK"
    return ConfigError(f"vendor {vendor!r} needs another package: pip install '{wanted}'")


def _lacking(config: ProviderConfig, text: str) -> str:
    vendor, name = f"vendor {config.provider_key!r}", config.model_name
    if names := dict.fromkeys(_VARIABLE.findall(text)):
        wanted = " or ".join(names)
        return f"{vendor} needs {wanted}: set it in the environment, or pass a ProviderConfig"
    if repr(name) in text:
        return f"{vendor} needs another form of model name, got {name!r}"
    return f"{vendor} cannot be opened by name: pass its pydantic-ai model instead"
