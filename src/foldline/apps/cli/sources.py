"""
From the command line to sessions, states and configurations.
"""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import msgspec

from foldline.apps.cli.files import STANDARD_INPUT, read_file
from foldline.apps.cli.options import ConfigOptions, SourceOptions
from foldline.errors import ConfigError, FormatError, UsageError
from foldline.history.formats.importer import Session
from foldline.history.formats.sessions import read_sessions
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.config_reader import (
    config_from_json,
    config_from_mapping,
    config_from_toml,
)
from foldline.reduction.state import HistoryReductionState


__all__ = [
    "configured",
    "is_configured",
    "one_session",
    "read_config",
    "read_state",
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


def sessions_of(options: SourceOptions) -> tuple[Session, ...]:
    """
    Return the sessions that *options* ask for: all of the file, or the one they name.

    Raises:
        UsageError: The file cannot be read, or holds no such session.
        FormatError: The file holds no conversation that foldline reads.
    """
    where = "standard input" if options.file == STANDARD_INPUT else options.file
    data = read_file(options.file)
    name = PurePath(options.file).name.partition(".")[0] if options.file != STANDARD_INPUT else ""
    try:
        sessions = read_sessions(data, format=options.format, name=name)
    except FormatError as error:
        raise _placed(where, error) from error
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
    try:
        return HistoryReductionState.from_json(read_file(name))
    except FormatError as error:
        raise _placed(name, error) from error


def read_config(name: str) -> HistoryReductionConfig:
    """
    Return the configuration in the file *name*, JSON where it starts like a JSON object, else TOML.

    Raises:
        UsageError: The file cannot be read.
        ConfigError: It holds no configuration, or one that is not allowed.
    """
    data = read_file(name)
    try:
        if data.lstrip().startswith(b"{"):
            return config_from_json(data)
        return config_from_toml(data.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        message = f"{name}: neither JSON nor TOML: it is no text"
        raise ConfigError(message) from error
    except (ConfigError, FormatError) as error:
        raise _placed(name, error) from error


def _placed(name: str, error: ConfigError | FormatError) -> ConfigError | FormatError:
    """
    Return *error* with the file *name* in front of what it says.
    """
    return type(error)(f"{name}: {error}")


def is_configured(options: ConfigOptions) -> bool:
    """
    Whether *options* say anything about how to reduce.
    """
    given = (*_FIELDS, "layers")
    return any(getattr(options, name) is not None for name in given)


def configured(
    options: ConfigOptions, base: HistoryReductionConfig | None = None
) -> HistoryReductionConfig:
    """
    Return *base*, or the default of the command, as *options* change it; always enabled.

    Raises:
        ConfigError: A value is not allowed, or has no effect.
    """
    fields: dict[str, Any] = msgspec.structs.asdict(base or _DEFAULT) | {"enabled": True}
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
