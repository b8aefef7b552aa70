"""From the command line to sessions, states and configurations."""

from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, TypeVar, cast

import msgspec

from foldline.apps.cli.files import STANDARD_INPUT, read_file
from foldline.apps.cli.options import ConfigOptions, SourceOptions
from foldline.errors import ConfigError, FormatError, UsageError
from foldline.history.codec import decode_json
from foldline.history.units import COUNTING_UNITS
from foldline.logs import read_sessions
from foldline.logs.importer import Session
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.config_reader import config_from_mapping, read_toml
from foldline.reduction.state import HistoryReductionState


__all__ = [
    "config_fields",
    "configured",
    "enabled_unless_said",
    "is_configured",
    "one_session",
    "placed",
    "read_config",
    "read_state",
    "reduction_section",
    "sessions_in",
    "sessions_of",
]


_DEFAULT = HistoryReductionConfig(enabled=True, strategy="summarizing")

_FIELDS = {
    "strategy": "strategy",
    "unit": "counting_unit",
    "target": "target_count",
    "threshold": "summarization_threshold",
    "token_target": "target_token_budget",
    "token_threshold": "token_budget_threshold",
    "behavior": "behavior",
}
_CHOICES = {
    "strategy": ("summarizing", "message-counting"),
    "unit": COUNTING_UNITS,
    "behavior": ("continue", "circuit-breaker"),
}
_SECTION = "historyreduction"
_EXAMPLE = ("strategy", "summarizing")
_Error = TypeVar("_Error", ConfigError, FormatError)


def sessions_of(options: SourceOptions) -> tuple[Session, ...]:
    """
    Return the sessions that *options* ask for: all of the file, or the one they name.

    Raises:
        UsageError: The file cannot be read, or holds no such session.
        FormatError: The file holds no conversation that foldline reads.
    """
    return sessions_in(read_file(options.file), options)


def sessions_in(data: bytes, options: SourceOptions) -> tuple[Session, ...]:
    """
    Return the sessions of *data*, the content of the file, that *options* ask for.

    Raises:
        UsageError: It holds no such session.
        FormatError: It holds no conversation that foldline reads.
    """
    where = "standard input" if options.file == STANDARD_INPUT else options.file
    name = PurePath(options.file).name.partition(".")[0] if options.file != STANDARD_INPUT else ""
    try:
        sessions = read_sessions(data, format=options.format, name=name)
    except FormatError as error:
        raise placed(where, error) from error
    if options.session is None:
        return sessions
    return (_chosen(sessions, options.session, where),)


def one_session(options: SourceOptions) -> Session:
    """
    Return the one session that *options* ask for.

    Raises:
        UsageError: The file cannot be read, holds no such session, or holds several.
        FormatError: The file holds no conversation that foldline reads.
    """
    first, *others = sessions_of(options)
    if others:
        count = 1 + len(others)
        message = (
            f"{options.file} holds {count} sessions: choose one with --session 1 to --session "
            f"{count}, or by its id; `foldline formats FILE` lists them"
        )
        raise UsageError(message)
    return first


def _chosen(sessions: Sequence[Session], wanted: str, where: str) -> Session:
    for session in sessions:
        if session.id == wanted:
            return session
    if wanted.isascii() and wanted.isdigit() and 0 < int(wanted[:9]) <= len(sessions):
        return sessions[int(wanted[:9]) - 1]
    message = (
        f"{where} holds no session {wanted[:80]!r}: there are {len(sessions)}, by number from 1 "
        "on or by id; `foldline formats FILE` lists them"
    )
    raise UsageError(message)


def read_state(name: str) -> HistoryReductionState:
    """
    Return the reduction in the file *name*.

    Raises:
        UsageError: The file cannot be read.
        FormatError: It holds no reduction.
    """
    data = read_file(name)
    try:
        return HistoryReductionState.from_json(data)
    except FormatError as error:
        what = str(error) if data.strip() else "not a reduction: the file is empty"
        message = f"{name}: {what}: delete it to start anew, or name another file"
        raise FormatError(message) from error


def read_config(name: str) -> HistoryReductionConfig:
    """
    Return the configuration in the file *name*, JSON where it starts like JSON, else TOML.

    It is enabled unless the file says that it is not: who names a file wants what stands in it.

    Raises:
        UsageError: The file cannot be read.
        ConfigError: It holds no configuration, or one that is not allowed.
    """
    fields = config_fields(name)
    try:
        config = config_from_mapping(fields)
    except ConfigError as error:
        raise placed(name, error) from error
    section = reduction_section(fields)
    return enabled_unless_said(config, fields if section is None else section)


def config_fields(name: str, example: tuple[str, str] = _EXAMPLE) -> dict[str, Any]:
    """
    Return the fields in the file *name*, JSON where it starts like JSON, else TOML.

    Args:
        name: The file.
        example: A field and its value, for errors.

    Raises:
        UsageError: The file cannot be read.
        ConfigError: It is neither.
    """
    data = read_file(name)
    try:
        return _fields(name, data, example)
    except ConfigError as error:
        raise placed(name, error) from error


def _fields(name: str, data: bytes, example: tuple[str, str]) -> dict[str, Any]:
    field, value = example
    start = data.removeprefix(BOM_UTF8).lstrip()
    if start.startswith(b"{") or (start.startswith(b"[") and _is_json(name, start)):
        return _json_fields(start, f'{{"{field}": "{value}"}}')
    try:
        return read_toml(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        message = "no text in UTF-8: neither JSON nor TOML; save it as such"
        raise ConfigError(message) from error
    except ConfigError as error:
        message = f'{error}: mend it there, as in {field} = "{value}"'
        raise ConfigError(message) from error


def _is_json(name: str, data: bytes) -> bool:
    """Whether *data* is a list of JSON and no table of TOML; both start in the same way."""
    try:
        return isinstance(decode_json(data), list)
    except FormatError:
        return PurePath(name).suffix.lower() == ".json"


def _json_fields(data: bytes, example: str) -> dict[str, Any]:
    try:
        fields = decode_json(data)
    except FormatError as error:
        message = f"{error}: mend it there, as in {example}"
        raise ConfigError(message) from error
    if isinstance(fields, dict):
        return cast("dict[str, Any]", fields)
    message = f"a JSON list, and no object of fields: write it as in {example}"
    raise ConfigError(message)


def reduction_section(fields: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what a configuration that could be read says of reduction, where that is a section."""
    return next((value for key, value in fields.items() if _plain(key) == _SECTION), None)


def enabled_unless_said(
    config: HistoryReductionConfig, section: Mapping[str, Any]
) -> HistoryReductionConfig:
    """Return *config*, enabled unless *section*, which it was read from, says whether it is."""
    is_said = any(_plain(key) == "enabled" for key in section)
    return msgspec.structs.replace(config, enabled=config.enabled or not is_said)


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def placed(name: str, error: _Error) -> _Error:
    """Return *error* with the file *name* in front of what it says."""
    return type(error)(f"{name}: {error}")


def is_configured(options: ConfigOptions) -> bool:
    """Whether *options* say anything about how to reduce."""
    given = (*_FIELDS, "layers")
    return any(getattr(options, name) is not None for name in given)


def configured(
    options: ConfigOptions, base: HistoryReductionConfig | None = None
) -> HistoryReductionConfig:
    """
    Return *base*, or the default of the command, as *options* change it.

    Raises:
        ConfigError: A value is not allowed, or has no effect.
    """
    for name, allowed in _CHOICES.items():
        _check_choice(name, getattr(options, name), allowed)
    fields: dict[str, Any] = msgspec.structs.asdict(base or _DEFAULT)
    for name, field in _FIELDS.items():
        value = getattr(options, name)
        if value is not None:
            fields[field] = value
    if options.layers is not None:
        fields["use_single_summary"] = not options.layers
    if options.token_target is not None or options.token_threshold is not None:
        # These would win over what was asked for.
        fields |= {"max_token_budget": None, "token_budget_trigger_percentage": None}
    config = config_from_mapping(fields)
    _check_effect(options, config)
    return config


def _check_choice(name: str, value: str | None, allowed: Sequence[str]) -> None:
    if value is not None and _plain(value) not in map(_plain, allowed):
        message = f"--{name} {value[:80]!r}: allowed is {' or '.join(allowed)}"
        raise ConfigError(message)


def _check_effect(options: ConfigOptions, config: HistoryReductionConfig) -> None:
    in_tokens = config.counting_unit == "tokens"
    for name in ("target", "threshold"):
        if in_tokens and getattr(options, name) is not None:
            message = f"--{name} has no effect on tokens: use --token-{name}"
            raise ConfigError(message)
        if not in_tokens and getattr(options, f"token_{name}") is not None:
            message = f"--token-{name} has no effect on {config.counting_unit}: add --unit tokens"
            raise ConfigError(message)
    if options.layers is not None and config.strategy != "summarizing":
        message = "--layers and --single have no effect on message counting: leave them out"
        raise ConfigError(message)
