"""The vendors that pydantic-ai knows: their names, keys, addresses, clients and wire formats."""

import inspect
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, cast, get_args
from urllib.parse import urlsplit

from foldline.errors import ConfigError, MissingExtraError
from foldline.providers.vendors.anthropic_messages import AnthropicMessages
from foldline.providers.vendors.dialect import Dialect
from foldline.providers.vendors.failure import limit_waits
from foldline.providers.vendors.openai_chat import OpenAIChat
from foldline.providers.vendors.openai_responses import OpenAIResponses
from foldline.reduction.config import ProviderConfig


if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider


__all__ = ["COMMON_VENDORS", "as_model", "check_address", "dialect_of", "model_maker"]


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

_MOST_NEAR = 3

_EXTRA = {"pydantic_ai": "pydantic-ai-slim", "openai": "openai", "anthropic": "anthropic"}
_ADDRESSES = ("base_url", "azure_endpoint", "api_base")
"""The names that providers have for the argument that is an address."""

_SCHEMES = ("http", "https")
_GATEWAY = "gateway/"
_WIRE_CLASSES = ("OpenAIResponsesModel", "OpenAIChatModel", "AnthropicModel")
# Who signs in instead of sending a key is left to pydantic-ai.
_SIGNED_IN = frozenset({"GitHubCopilotModel", "OpenAICodexModel"})
_SIGNED_IN_VENDORS = frozenset({"openai-chatgpt"})
_VARIABLE = re.compile(r"`([A-Z][A-Z0-9_]{3,})`")
_EXAMPLE = re.compile(r"e\.g\. ('[\w./:-]+')")
_GROUP = re.compile(r"pydantic-ai-slim\[([\w-]+)\]")


def as_model(value: object) -> "Model[Any]":
    """
    Return *value* if it is a model of pydantic-ai.

    Raises:
        ConfigError: It is something else.
    """
    got = "None" if value is None else type(value).__name__
    message = f"model must be 'vendor:model', a ProviderConfig or a ChatModel, got {got}"
    try:
        from pydantic_ai.models import Model  # noqa: PLC0415
    except ImportError:
        raise ConfigError(message) from None
    given: Any = value
    if isinstance(value, Model):
        return cast("Model[Any]", given)
    raise ConfigError(message)


def model_maker(config: ProviderConfig) -> "Callable[[], Model[Any]]":
    """
    Return what makes the model that *config* names, each time with its own client.

    Making one raises:
        ConfigError: The vendor is unknown, or lacks a key or an address.
        MissingExtraError: The `llm` extra is not installed.
    """

    def make() -> "Model[Any]":
        with _openings(config):
            from pydantic_ai.models import infer_model  # noqa: PLC0415

            _check_vendor(config.provider_key)
            check_address(config)
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
        near = get_close_matches(vendor, _known_vendors(), n=_MOST_NEAR)
        hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        message = f"unknown vendor {vendor!r}: {hint}common ones are {', '.join(COMMON_VENDORS)}"
        raise ConfigError(message) from None


def check_address(config: ProviderConfig) -> None:
    """
    Check that the `base_url` of *config* is an address, if there is one.

    Raises:
        ConfigError: It is not.
    """
    if config.base_url is None:
        return
    import httpx2  # noqa: PLC0415

    try:
        address = urlsplit(config.base_url)
        is_one = address.scheme in _SCHEMES and address.hostname and address.port != 0
        # It takes fewer hosts than the standard library does.
        httpx2.URL(config.base_url)
    except (ValueError, httpx2.InvalidURL):
        is_one = False
    if not is_one:
        # Not shown: an address may hold a password.
        message = (
            f"base_url of {config.provider_key!r} must begin with http:// or https:// and a host"
        )
        raise ConfigError(message)


def dialect_of(
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

    names = {name.partition(":")[0] for name in get_args(KnownModelName.__value__)}
    for kind in (OpenAIChatCompatibleProvider, OpenAIResponsesCompatibleProvider):
        names.update(get_args(kind.__value__))
    return sorted(names - {"test"})


def _provider(config: ProviderConfig) -> "Provider[Any]":
    from pydantic_ai.providers import infer_provider, infer_provider_class  # noqa: PLC0415

    vendor, key, address = config.provider_key, config.api_key or None, config.base_url
    if key is None and address is None:
        return infer_provider(vendor)
    if vendor.startswith(_GATEWAY):
        from pydantic_ai.providers import gateway  # noqa: PLC0415

        # Its overloads name SDKs that need not be installed.
        unchecked: Any = gateway
        make = cast("Callable[..., Provider[Any]]", unchecked.gateway_provider)
        return make(vendor.removeprefix(_GATEWAY), api_key=key, base_url=address)
    make = cast("Callable[..., Provider[Any]]", infer_provider_class(vendor))
    takes = inspect.signature(make).parameters
    options: dict[str, Any] = {}
    if key is not None:
        options[_argument(vendor, ("api_key", "token"), takes, "key")] = key
    if address is None:
        return make(**options)
    if "openai_client" in takes and not set(_ADDRESSES) & takes.keys():
        return make(openai_client=make(**options).client.copy(base_url=address))
    options[_argument(vendor, _ADDRESSES, takes, "address")] = address
    return make(**options)


def _argument(vendor: str, names: tuple[str, ...], takes: Any, what: str) -> str:
    for name in names:
        if name in takes:
            return name
    message = f"vendor {vendor!r} takes no {what} from a ProviderConfig"
    raise ConfigError(message)


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
    package = _EXTRA.get(name.partition(".")[0])
    if package is not None:
        return MissingExtraError(package=package, extra="llm")
    group = _GROUP.search(f"{error}")
    wanted = group[0] if group else "its SDK"
    return ConfigError(f"vendor {vendor!r} needs another package: pip install '{wanted}'")


def _lacking(config: ProviderConfig, text: str) -> str:
    vendor, name = config.provider_key, config.model_name
    names = list(dict.fromkeys(_VARIABLE.findall(text)))
    if names:
        wanted = " or ".join(names)
        return (
            f"vendor {vendor!r} needs {wanted}: set it in the environment, or pass a ProviderConfig"
        )
    if repr(name) in text:
        example = _EXAMPLE.search(text)
        hint = f" such as {example[1]}" if example else ""
        return f"vendor {vendor!r} needs another form of model name{hint}, got {name!r}"
    return f"vendor {vendor!r} cannot be opened by name: pass its pydantic-ai model instead"
