"""The vendors that pydantic-ai knows: their names, keys, addresses and clients."""

import inspect
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, cast, get_args
from urllib.parse import urlsplit

from foldline.errors import ConfigError, MissingExtraError
from foldline.reduction.config import ProviderConfig


if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider


__all__ = ["COMMON_VENDORS", "as_model", "model_maker"]


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
"""The vendors that are named to whoever names one that there is not."""

_MOST_NEAR = 3

_EXTRA = {"pydantic_ai": "pydantic-ai-slim", "openai": "openai", "anthropic": "anthropic"}
_ADDRESSES = ("base_url", "azure_endpoint", "api_base")
"""What the providers call the argument that is an address."""

_SCHEMES = ("http", "https")
_GATEWAY = "gateway/"
_VARIABLE = re.compile(r"`([A-Z][A-Z0-9_]{3,})`")
_EXAMPLE = re.compile(r"e\.g\. ('[\w./:-]+')")
_GROUP = re.compile(r"pydantic-ai-slim\[([\w-]+)\]")


def as_model(value: object) -> "Model[Any]":
    """
    Return *value* where it is a model of pydantic-ai.

    Raises:
        ConfigError: It is something else.
    """
    kind = f"a model is a {type(value).__name__}"
    message = f"{kind}: allowed is 'vendor:model', a ProviderConfig, or a ChatModel"
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
    Return what makes the model that *config* names, each time with a client of its own.

    Making one raises:
        ConfigError: There is no such vendor, or it has no key or no address.
        MissingExtraError: The `llm` extra is not installed.
    """

    def make() -> "Model[Any]":
        with _openings(config):
            from pydantic_ai.models import infer_model  # noqa: PLC0415

            _check_vendor(config.provider_key)
            _check_address(config)
            spec = f"{config.provider_key}:{config.model_name}"
            return infer_model(spec, provider_factory=lambda _: _provider(config))

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


def _check_address(config: ProviderConfig) -> None:
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
            f"base_url of {config.provider_key!r} is no address: allowed is http:// or https://"
        )
        raise ConfigError(message)


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
    message = f"vendor {vendor!r} takes no {what} in a ProviderConfig"
    raise ConfigError(message)


@contextmanager
def _openings(config: ProviderConfig) -> Generator[None]:
    """Turn what pydantic-ai raises while a vendor is opened into errors of foldline."""
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
    return ConfigError(f"vendor {vendor!r} needs a package more: pip install '{wanted}'")


def _lacking(config: ProviderConfig, text: str) -> str:
    vendor, name = config.provider_key, config.model_name
    names = list(dict.fromkeys(_VARIABLE.findall(text)))
    if names:
        wanted = " or ".join(names)
        return (
            f"vendor {vendor!r} lacks {wanted}: set it in the environment, or in a ProviderConfig"
        )
    if repr(name) in text:
        example = _EXAMPLE.search(text)
        hint = f", as in {example[1]}" if example else ""
        return f"vendor {vendor!r} wants the name of a model in another form than {name!r}{hint}"
    return f"vendor {vendor!r} cannot be opened by name: pass its model of pydantic-ai"
