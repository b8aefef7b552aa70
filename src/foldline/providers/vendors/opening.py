"""
A model by its name.

| vendor | binding | needs the extra |
|---|---|---|
| `openai:`, `openai-responses:` | `OpenAIResponses` | `openai` |
| `openai-chat:` | `OpenAIChat` | `openai` |
| `anthropic:` | `AnthropicMessages` | `anthropic` |
| `deepseek:`, `openrouter:`, `ollama:`, `azure:` and others that pydantic-ai asks in one of these formats | one of these | `llm` |
| `google:`, `bedrock:`, `mistral:` and others | `PydanticModel` | `llm` |

The first three are opened with the vendor's SDK. The names, keys and addresses of all others are
those that pydantic-ai knows.
"""

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from inspect import iscoroutinefunction, signature, unwrap
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from msgspec import Struct

from foldline.checks import expect
from foldline.errors import ConfigError, MissingExtraError
from foldline.providers.book import window_of_model
from foldline.providers.model import ChatModel
from foldline.providers.vendors.client_model import (
    ClientModel,
    function_model,
    named_model,
    vendor_at,
    wire_of,
)
from foldline.providers.vendors.failure import limit_waits
from foldline.providers.vendors.pydantic_model import PydanticModel
from foldline.providers.vendors.spelling import COMMON_VENDORS, unknown_vendor
from foldline.providers.vendors.vendor_model import PerLoop, WireModel
from foldline.providers.vendors.wire_formats import (
    ENCRYPTS,
    AnthropicMessages,
    OpenAIChat,
    OpenAIResponses,
)
from foldline.reduction.provider import ProviderConfig


if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider


_EXTRA = {"pydantic_ai": "pydantic-ai-slim", "openai": "openai", "anthropic": "anthropic"}
# The names that providers have for the arguments that are a key and an address.
_KEYS = ("api_key", "token")
_ADDRESSES = ("base_url", "azure_endpoint", "api_base")
# By the names of classes in pydantic-ai: those cannot be loaded without the SDKs of their vendors.
_WIRE_MODELS: Mapping[str, type[WireModel]] = {
    "OpenAIResponsesModel": OpenAIResponses,
    "OpenAIChatModel": OpenAIChat,
    "AnthropicModel": AnthropicMessages,
}
# Who signs in instead of sending a key is left to pydantic-ai.
_SIGNED_IN = frozenset({"GitHubCopilotModel", "OpenAICodexModel"})
_SIGNED_IN_VENDORS = frozenset({"openai-chatgpt"})
_DIVIDER = re.compile("[-/]")
_VARIABLE = re.compile(r"`([A-Z][A-Z0-9_]{3,})`")
_GROUP = re.compile(r"pydantic-ai-slim\[([\w-]+)\]")


class _Sdk(Struct, frozen=True):
    """The SDK of a vendor, its variables with a key, and the wire format."""

    package: str
    client: str
    variables: tuple[str, ...]
    wire: type[WireModel]


_OPENAI = ("openai", "AsyncOpenAI", ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"))
_ANTHROPIC = ("anthropic", "AsyncAnthropic", ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"))
_SDKS: Mapping[str, _Sdk] = {
    "openai": _Sdk(*_OPENAI, OpenAIResponses),
    "openai-chat": _Sdk(*_OPENAI, OpenAIChat),
    "openai-responses": _Sdk(*_OPENAI, OpenAIResponses),
    "anthropic": _Sdk(*_ANTHROPIC, AnthropicMessages),
}
# A server of one's own may take no key, but the SDK does not go without one.
_NO_KEY = "no-key"
# The models of OpenAI that reason, and so return reasoning that can be sent back encrypted.
_REASONS = re.compile(r"o\d|gpt-[5-9](?!-chat)").match


def open_model(
    spec: object = None,
    *,
    client: object = None,
    holds_history: bool = False,
    caches_prompt: bool = True,
) -> ChatModel:
    """
    Return the model that *spec* names.

    Args:
        spec: A string `vendor:model`, a `ProviderConfig`, a model of pydantic-ai, or a `ChatModel`,
            which is returned unchanged; with a *client* the name of the model alone will do.
        client: An `OpenAI`, `AsyncOpenAI`, `Anthropic` or `AsyncAnthropic` that asks it, or what has
            their method `create`; it stays yours, and no extra has to be installed. Or a function,
            async or not, from the whole prompt to the answer, which needs no *spec*.
        holds_history: Whether the vendor keeps the conversation, so that only what is new is sent.
            The Responses API can.
        caches_prompt: Whether Anthropic is asked to cache the prompt, and where a prefix ends is
            marked for OpenAI's models since gpt-5.6, at OpenAI's own address; others do it by
            default.

    Raises:
        ConfigError: The vendor is unknown, lacks a key or an address, or *spec* or *client* is
            something else.
        MissingExtraError: The extra that the vendor needs is not installed.
    """
    if client is not None:
        return _asked_by(client, spec, holds_history=holds_history, caches_prompt=caches_prompt)
    if isinstance(spec, str):
        vendor, colon, model_name = spec.partition(":")
        if not (vendor and colon and model_name):
            message = f"model must be 'vendor:model' such as 'openai:gpt-5-mini', got {spec!r}"
            raise ConfigError(message)
        spec = ProviderConfig(provider_key=vendor, model_name=model_name)
    sdk = _SDKS.get(spec.provider_key) if isinstance(spec, ProviderConfig) else None
    if isinstance(spec, ProviderConfig):
        name = f"{spec.provider_key}:{spec.model_name}"
        make = partial(_new_client, spec, sdk) if sdk else partial(_new_model, spec)
        first = make()
        clients = PerLoop(first, make)
    elif isinstance(spec, ChatModel):
        return spec
    else:
        first = _as_model(spec)
        name = f"{first.system}:{first.model_name}"
        clients = PerLoop(first)
    shared = {"holds_history": holds_history, "caches_prompt": caches_prompt}
    return _bound(first, name, sdk, clients=clients, **shared)


def _asked_by(
    client: object, spec: object, *, holds_history: bool, caches_prompt: bool
) -> ChatModel:
    """Return what asks through *client*; only an async client of an SDK streams."""
    expect("model", spec, str | None)
    vendor, _, name = str(spec or "").partition(":")
    sdk = _SDKS.get(vendor)
    model = name if sdk else str(spec or "") or None
    # The Responses API is what `openai:` means, but a server of one's own may have Chat alone.
    wire = sdk.wire if sdk and callable(sdk.wire.method(client)) else wire_of(client)
    _check_held("this client", wire, holds_history=holds_history)
    if wire is None:
        return function_model(client, model)
    model, vendor = named_model(client, model), vendor_at(client)
    # Marks on blocks are known wherever that API is spoken, and without them nothing is cached.
    is_marked = bool(vendor) or wire is AnthropicMessages
    options: dict[str, Any] = {
        "profile": {
            ENCRYPTS: vendor == "openai" and bool(_REASONS(model)),
            "supports_auto_cache": vendor == "anthropic",
        },
        "holds_history": holds_history,
        "caches_prompt": caches_prompt and is_marked,
    }
    is_async = iscoroutinefunction(unwrap(wire.method(client)))
    if not (is_async and callable(wire.method(client, "with_streaming_response.create"))):
        return ClientModel(client, model, wire=wire, **options)
    name = f"{vendor}:{model}" if vendor else model
    window = window_of_model(name)
    return wire(name, model=model, clients=PerLoop(client), context_window=window, **options)


def _check_held(who: str, wire: type[WireModel] | None, *, holds_history: bool) -> None:
    if holds_history and wire is not OpenAIResponses:
        raise ConfigError(
            f"holds_history=True: {who} holds no history: the Responses API, 'openai:model', does"
        )


def _bound(
    first: Any, name: str, sdk: _Sdk | None, *, clients: PerLoop, **shared: Any
) -> ChatModel:
    wire: type[WireModel] | None
    profile: Mapping[str, Any]
    if sdk:
        wire, model = sdk.wire, name.partition(":")[2]
        profile, window = {ENCRYPTS: bool(_REASONS(model))}, None
    else:
        wire, model, window = _wire_class(first), first.model_name, first.context_window
        profile = first.profile if wire else {}
    window = window or window_of_model(name)
    _check_held(name, wire, holds_history=shared["holds_history"])
    if wire in {OpenAIChat, OpenAIResponses} and vendor_at(first) != "openai":
        shared["caches_prompt"] = False
    if wire is None:
        return PydanticModel(name, clients=clients, context_window=window)
    return wire(
        name, model=model, clients=clients, context_window=window, profile=profile, **shared
    )


def _new_client(config: ProviderConfig, sdk: _Sdk) -> Any:
    """Return a client of the SDK of the vendor that *config* names."""
    try:
        client = getattr(import_module(sdk.package), sdk.client)
    except ImportError:
        raise MissingExtraError(package=sdk.package, extra=sdk.package) from None
    _check_address(config)
    key = config.api_key or None
    if key is None and not any(map(os.environ.get, sdk.variables)):
        if config.base_url is None and not os.environ.get(f"{sdk.package.upper()}_BASE_URL"):
            raise ConfigError(_needs(config.provider_key, sdk.variables[0]))
        key = _NO_KEY
    made = client(api_key=key, base_url=config.base_url)
    limit_waits(made)
    return made


def _as_model(value: object) -> "Model[Any]":
    """Return *value* if it is a model of pydantic-ai; `ConfigError` if it is something else."""
    got = "None" if value is None else type(value).__name__
    hint = "one of your own needs a `name` and async respond()"
    if wire_of(value) is not None:
        hint = "`open_model(name, client=…)` makes one of a client"
    with suppress(ImportError):
        from pydantic_ai.models import Model  # noqa: PLC0415

        if isinstance(value, Model):
            return value  # pyright: ignore[reportUnknownVariableType] - Model[?]
    message = f"model must be 'vendor:model', a ProviderConfig or a ChatModel, got {got}: {hint}"
    raise ConfigError(message)


def _new_model(config: ProviderConfig) -> "Model[Any]":
    """Return the model that *config* names, with a client of its own."""
    try:
        from pydantic_ai.models import infer_model  # noqa: PLC0415

        _check_vendor(config.provider_key)
        _check_address(config)
        spec = f"{config.provider_key}:{config.model_name}"
        model = infer_model(spec, provider_factory=lambda _: _provider(config))
    except ImportError as error:
        raise _missing(config.provider_key, error) from None
    except RuntimeError as error:
        # A `UserError`; it may quote paths, so only names of variables and models are taken.
        raise ConfigError(_lacking(config, f"{error}")) from None
    limit_waits(getattr(model, "client", None))
    return model


def _check_vendor(vendor: str) -> None:
    from pydantic_ai.providers import infer_provider_class  # noqa: PLC0415

    try:
        infer_provider_class(vendor)
    except ValueError:
        raise unknown_vendor(vendor, get_close_matches(vendor, COMMON_VENDORS)) from None


def _check_address(config: ProviderConfig) -> None:
    """Check that the `base_url` of *config* is an address, if there is one; else `ConfigError`."""
    import httpx2  # noqa: PLC0415

    if config.base_url is None:
        return
    with suppress(ValueError, httpx2.InvalidURL):
        address = urlsplit(config.base_url)
        # It takes fewer hosts than the standard library does.
        httpx2.URL(config.base_url)
        if address.scheme in {"http", "https"} and address.hostname and address.port != 0:
            return
    # Not shown: an address may hold a password.
    message = f"base_url of {config.provider_key!r} must begin with http:// or https:// and a host"
    raise ConfigError(message)


def _wire_class(model: "Model[Any]") -> type[WireModel] | None:
    own = type(model)
    is_signed_in = own.__name__ in _SIGNED_IN or model.system in _SIGNED_IN_VENDORS
    if is_signed_in or not own.__module__.startswith("pydantic_ai."):
        return None
    return next(filter(None, (_WIRE_MODELS.get(kind.__name__) for kind in own.__mro__)), None)


def _provider(config: ProviderConfig) -> "Provider[Any]":
    from pydantic_ai.providers import infer_provider, infer_provider_class  # noqa: PLC0415

    vendor, key, address = config.provider_key, config.api_key or None, config.base_url
    if key is None and address is None:
        return infer_provider(vendor)
    make = cast("Callable[..., Provider[Any]]", infer_provider_class(vendor))
    # The class of a gateway is that of the vendor: it would take the key, and ask the vendor.
    takes = [] if vendor.startswith("gateway/") else [*signature(make).parameters]
    options: dict[str, Any] = {}
    for names, value in ((_KEYS, key), (_ADDRESSES, address)):
        name = next((name for name in names if name in takes), None)
        if name is not None and value is not None:
            options[name] = value
        elif value is not None and (names is _KEYS or "openai_client" not in takes):
            raise ConfigError(f"vendor {vendor!r} takes no {names[0]} from a ProviderConfig")
    made = make(**options)
    if address is None or address in options.values():
        return made
    return make(openai_client=made.client.copy(base_url=address))


def _missing(vendor: str, error: ImportError) -> Exception:
    cause = error.__cause__
    is_common = set(_DIVIDER.split(vendor)) & set(COMMON_VENDORS)
    if not is_common and find_spec("pydantic_ai") is None:
        near = get_close_matches(vendor, COMMON_VENDORS)
        return unknown_vendor(vendor, near, others="pydantic-ai (pip install 'foldline[llm]')")
    name = error.name or (cause.name if isinstance(cause, ImportError) else None) or ""
    if package := _EXTRA.get(name.partition(".")[0]):
        return MissingExtraError(package=package, extra="llm")
    group = _GROUP.search(f"{error}")
    wanted = group[0] if group else "its SDK"
    return ConfigError(f"vendor {vendor!r} needs another package: pip install '{wanted}'")


def _needs(vendor: str, variables: str) -> str:
    where = "set it in the environment, or pass a ProviderConfig"
    return f"vendor {vendor!r} needs {variables}: {where}"


def _lacking(config: ProviderConfig, text: str) -> str:
    vendor, name = f"vendor {config.provider_key!r}", config.model_name
    if names := dict.fromkeys(_VARIABLE.findall(text)):
        return _needs(config.provider_key, " or ".join(names))
    if repr(name) in text:
        return f"{vendor} needs another form of model name, got {name!r}"
    return f"{vendor} cannot be opened by name: pass its pydantic-ai model instead"
