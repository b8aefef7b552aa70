"""
Reading a configuration from JSON, TOML or a mapping.

Keys and choices may be written in snake_case, camelCase or PascalCase, so a file written for the C#
original loads unchanged.
"""

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, TypeVar, cast

import msgspec

from foldline.checks import expect
from foldline.errors import ConfigError
from foldline.history.codec import decode_json
from foldline.reduction.config import BUDGET_FIELDS, CHOICES, COUNT_FIELDS, HistoryReductionConfig
from foldline.reduction.prices import Prices, PriceTier
from foldline.reduction.provider import ProviderConfig


_Kind = TypeVar("_Kind")

_SECTION = "historyreduction"
_OLD_NAMES: Mapping[str, str] = {
    "targetmessagecount": "target_count",
    "targettokencount": "target_token_budget",
    "thresholdtokencount": "token_budget_threshold",
}
_ORIGINAL: Mapping[str, object] = {
    **dict(zip((*COUNT_FIELDS, *BUDGET_FIELDS), (20, 5, 4000, 1000), strict=True)),
    "custom_summarization_prompt": "",
}
# The original's name for summarizing with tokens as the unit.
_BY_TOKENS = "tokenbased"
_OLD_PROVIDER_NAMES: Mapping[str, str] = {"endpoint": "base_url"}


def config_from_json(text: str | bytes) -> HistoryReductionConfig:
    """
    Read a configuration from a JSON object.

    The object holds the fields themselves, or holds them under `HistoryReduction` like the
    configuration of an agent; other keys beside that one are not read.

    Raises:
        ConfigError: A key is unknown (the nearest known one is named) or a value is invalid.
        FormatError: *text* is not JSON.
    """
    return config_from_mapping(read_json(text))


def read_json(text: str | bytes) -> Any:
    """Read JSON; raises `FormatError` if *text* is not JSON."""
    expect("text", text, str | bytes)
    return decode_json(text)


def config_from_toml(text: str) -> HistoryReductionConfig:
    """
    Read a configuration from TOML: the fields at the top, or in a table `history_reduction`.

    Raises:
        ConfigError: *text* is not TOML, a key is unknown (the nearest known one is named) or a
            value is invalid.
    """
    return config_from_mapping(read_toml(text))


def read_toml(text: str) -> dict[str, Any]:
    """Read TOML; raises `ConfigError` if *text* is not TOML."""
    expect("text", text, str)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not TOML: {error}") from error


def config_from_mapping(data: Mapping[str, Any]) -> HistoryReductionConfig:
    """
    Read a configuration from a mapping, as `config_from_json` does.

    Raises:
        ConfigError: A key is unknown (the nearest known one is named) or a value is invalid.
    """
    fields = read_fields(
        _section(data), HistoryReductionConfig, "history reduction", old_names=_OLD_NAMES
    )
    for name, choices in CHOICES.items():
        if name in fields:
            fields[name] = _choice(fields[name], choices)
    if _plain(str(fields.get("strategy"))) == _BY_TOKENS:
        unit = fields.get("counting_unit")
        # Exchanges are the default of the original, which its files may name.
        if unit not in {None, "tokens", "exchanges"}:
            message = f"counting_unit must be 'tokens' with the strategy TokenBased, got {unit!r}"
            raise ConfigError(message)
        fields |= {"strategy": "summarizing", "counting_unit": "tokens"}
    _drop_idle(fields)
    provider = fields.get("summarizer_provider")
    if provider is not None and not isinstance(provider, ProviderConfig):
        fields["summarizer_provider"] = provider_from_mapping(provider, "summarizer_provider")
    prices = fields.get("prices")
    if prices is not None and not isinstance(prices, Prices):
        found = read_fields(as_fields(prices, "prices"), Prices, "prices")
        if "tiers" in found:
            found["tiers"] = _tiers(found["tiers"])
        fields["prices"] = convert_fields(found, Prices)
    return convert_fields(fields, HistoryReductionConfig)


def _tiers(given: Any) -> tuple[PriceTier, ...]:
    if not isinstance(given, list | tuple):
        raise ConfigError(f"prices.tiers must be a list of objects, got {type(given).__name__}")
    found: list[PriceTier] = []
    for place, one in enumerate(cast("list[object]", given)):
        where = f"prices.tiers[{place}]"
        tier = read_fields(as_fields(one, where), PriceTier, where)
        found.append(convert_fields(tier, PriceTier))
    return tuple(found)


def _drop_idle(fields: dict[str, Any]) -> None:
    """Leave out what has no effect and is the original's default: its files name every field."""
    counts = any(fields.get(name) is not None for name in COUNT_FIELDS)
    unit = fields.get("counting_unit") or ("exchanges" if counts else "tokens")
    by_share = fields.get("token_budget_trigger_percentage") is not None
    active = COUNT_FIELDS if unit != "tokens" else () if by_share else BUDGET_FIELDS
    for name, default in _ORIGINAL.items():
        if name not in active and fields.get(name) == default:
            del fields[name]


def _section(data: Any) -> Mapping[str, Any]:
    fields = as_fields(data, "a configuration")
    for key, value in fields.items():
        if _plain(str(key)) == _SECTION:
            return as_fields(value, "a configuration")
    return fields


def as_fields(data: Any, what: str) -> Mapping[str, Any]:
    """Return *data*, checked to be an object with fields; errors call it *what*."""
    if not isinstance(data, Mapping):
        raise ConfigError(f"{what} must be an object with fields, got {type(data).__name__}")
    return cast("Mapping[str, Any]", data)


def provider_from_mapping(data: Any, where: str) -> ProviderConfig:
    """Read a provider, which errors call *where*."""
    found = read_fields(
        as_fields(data, where), ProviderConfig, where, old_names=_OLD_PROVIDER_NAMES
    )
    return convert_fields(found, ProviderConfig)


def read_fields(
    data: Mapping[str, Any],
    kind: type[Any],
    where: str,
    *,
    old_names: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the fields of *kind* that *data* gives in any spelling, under their own names."""
    known = {_plain(name): name for name in kind.__struct_fields__} | dict(old_names)
    result: dict[str, Any] = {}
    for key, value in data.items():
        name = known.get(_plain(str(key)))
        if name is None:
            raise ConfigError(_unknown(str(key), known, where))
        if name in result:
            message = f"{where}: {name} is given twice, as {key!r} and under another spelling"
            raise ConfigError(message)
        result[name] = value
    return result


def _unknown(key: str, known: Mapping[str, str], where: str) -> str:
    nearest = get_close_matches(_plain(key), known, n=1)
    known_ones = ", ".join(dict.fromkeys(known.values()))
    hint = f"the nearest known one is {known[nearest[0]]!r}" if nearest else f"use {known_ones}"
    return f"{where}: unknown key {key!r}; {hint}"


def _choice(value: Any, choices: tuple[str, ...]) -> Any:
    if not isinstance(value, str):
        return value
    return next((name for name in choices if _plain(name) == _plain(value)), value)


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def convert_fields(fields: dict[str, Any], kind: type[_Kind]) -> _Kind:
    """Return the *kind* that *fields*, as `read_fields` gives them, describe."""
    for name, value in fields.items():
        if name in CHOICES:
            continue
        wanted = kind.__annotations__[name]
        try:
            msgspec.convert(value, wanted)
        except msgspec.ValidationError as error:
            reason = str(error).partition(" - at")[0]
            shown = "***" if name == "api_key" else repr(value)
            raise ConfigError(f"{name}={shown}: {reason[:1].lower()}{reason[1:]}") from error
    try:
        return kind(**fields)
    except TypeError as error:
        raise ConfigError(f"{kind.__name__}: {error}") from error
