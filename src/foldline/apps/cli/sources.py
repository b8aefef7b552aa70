"""From the command line to sessions, reductions and configurations."""

from codecs import BOM_UTF8
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, TypeVar, cast

import msgspec

from foldline.apps.cli.files import STANDARD_INPUT, read_file
from foldline.apps.cli.options import ConfigOptions, SourceOptions
from foldline.apps.cli.terminal import note, progress
from foldline.checks import expect_choice
from foldline.errors import ConfigError, FormatError, StoreVersionError, UsageError
from foldline.history.codec import decode_json
from foldline.logs.importer import Session
from foldline.logs.sessions import read_sessions
from foldline.providers.book import window_of_model
from foldline.providers.price_list import nearest_listed
from foldline.providers.vendors.spelling import check_spelling
from foldline.reduction.config import (
    CHOICES,
    COUNT_FIELDS,
    SUMMARY_FIELDS,
    TOKEN_FIELDS,
    HistoryReductionConfig,
)
from foldline.reduction.config_reader import config_from_mapping, read_json, read_toml
from foldline.reduction.state import HistoryReductionState
from foldline.threads.snapshot import ThreadSnapshot, decode_snapshot


_DEFAULT = HistoryReductionConfig()

# What says how to reduce, and what says how much fits.
_FIELDS = {
    "strategy": "strategy",
    "unit": "counting_unit",
    "target": "target_count",
    "threshold": "summarization_threshold",
    "token_target": "target_token_budget",
    "token_threshold": "token_budget_threshold",
    "behavior": "behavior",
    "trigger": "trigger",
}
_SIZES = {"window": "context_window_size", "ceiling": "ceiling", "loss_cost": "loss_cost"}
_STORES = ("MessageStoreSnapshot", "MessageStoreState")
_MOST_NOTES = 5
_Config = TypeVar("_Config")
_Error = TypeVar("_Error", ConfigError, FormatError)


def sessions_of(options: SourceOptions) -> tuple[Session, ...]:
    """Return the sessions that *options* ask for: all of the file, or the one they name."""
    with progress(f"reading {PurePath(options.file).name}", None):
        return sessions_in(read_file(options.file), options)


def sessions_in(data: bytes, options: SourceOptions) -> tuple[Session, ...]:
    """Return the sessions that *options* ask for from *data*, the content of the file."""
    is_file = options.file != STANDARD_INPUT
    where = options.file if is_file else "standard input"
    name = PurePath(options.file).name.partition(".")[0] if is_file else ""
    try:
        snapshot = snapshot_in(data, options)
        if snapshot is None:
            sessions = read_sessions(data, format=options.format, name=name)
        else:
            sessions = (_of_snapshot(snapshot),)
    except FormatError as error:
        raise _placed(where, error) from error
    if options.session is None:
        return sessions
    return (_chosen(sessions, options.session, where),)


def snapshot_in(data: bytes, options: SourceOptions) -> ThreadSnapshot | None:
    """Return the thread whose snapshot *data* is; None if it is something else."""
    if options.format is not None or not _is_snapshot(data):
        return None
    try:
        return decode_snapshot(data)
    except StoreVersionError as error:
        raise UsageError(str(error)) from error


def _is_snapshot(data: bytes) -> bool:
    if not any(name.encode() in data for name in _STORES):
        return False
    try:
        value = decode_json(data)
    except FormatError:
        return False
    return isinstance(value, dict) and any(name in value for name in _STORES)


def _of_snapshot(snapshot: ThreadSnapshot) -> Session:
    if not snapshot.messages:
        raise FormatError("no conversation inside: the thread of the snapshot has no messages")
    return Session(
        id=snapshot.id, format="snapshot", title=snapshot.display_name, messages=snapshot.messages
    )


def recorded_in(files: Sequence[str], format: str | None) -> list[Session]:
    """Return the sessions of *files*, but note those of several that cannot be read."""
    is_alone = len(files) == 1
    with progress("reading", len(files)) as step:
        read = [_readable(file, format, step, is_alone=is_alone) for file in files]
    found: list[Session] = []
    # What is printed beside a bar would stand in its line.
    for one in read:
        if isinstance(one, str):
            note(one)
        else:
            note_sessions(one)
            found += one
    return found


def _readable(
    file: str, format: str | None, step: Callable[[], None], *, is_alone: bool
) -> tuple[Session, ...] | str:
    """Return the sessions of *file*, or why it cannot be read."""
    try:
        return sessions_in(read_file(file), SourceOptions(file=file, format=format))
    except (FormatError, UsageError) as error:
        if is_alone:
            raise
        return str(error)
    finally:
        step()


def one_session(options: SourceOptions) -> Session:
    """Return the one session that *options* ask for."""
    first, *others = sessions_of(options)
    if others:
        count = 1 + len(others)
        raise UsageError(
            f"{options.file} holds {count} sessions: choose one with --session 1 to --session "
            f"{count}, or by its id; `foldline formats FILE` lists them"
        )
    return first


def _chosen(sessions: Sequence[Session], wanted: str, where: str) -> Session:
    at = {session.id: number for number, session in enumerate(sessions, start=1)}.get(wanted)
    is_listed = wanted.isascii() and wanted.isdigit() and 0 < int(wanted[:9]) <= len(sessions)
    number = int(wanted[:9]) if is_listed else at
    if number is None:
        raise UsageError(
            f"{where} holds no session {wanted[:80]!r}: it has {len(sessions)}, named by number from "
            "1 or by id; `foldline formats FILE` lists them"
        )
    if at not in {None, number}:
        note(
            f"--session {wanted} is no. {number} of the list; the session with this id is no. {at}"
        )
    return sessions[number - 1]


def note_sessions(sessions: Sequence[Session]) -> None:
    """Note on the standard error what of the log is not among the messages of *sessions*."""
    notes = [(session.id, text) for session in sessions for text in session.notes]
    for id, text in notes[:_MOST_NOTES]:
        note(" ".join(f"{id}: {text}".split()))
    if len(notes) > _MOST_NOTES:
        note(f"and {len(notes) - _MOST_NOTES:,} more; `foldline formats FILE` lists them")


def read_state(name: str) -> HistoryReductionState:
    """Return the reduction in the file *name*."""
    data = read_file(name)
    try:
        return HistoryReductionState.from_json(data)
    except FormatError as error:
        what = str(error) if data.strip() else "not a reduction: the file is empty"
        message = f"{name}: {what}: delete it to start over, or name another file"
        raise FormatError(message) from error


def read_config(name: str) -> HistoryReductionConfig:
    """Return the configuration in the file *name*."""
    return config_in(name, config_from_mapping)


def config_in(name: str, read: Callable[[Mapping[str, Any]], _Config]) -> _Config:
    """Return what *read* makes of the fields in the file *name*."""
    fields = _fields(name)
    try:
        return read(fields)
    except ConfigError as error:
        raise _placed(name, error) from error


def _fields(name: str) -> Mapping[str, Any]:
    """Return the fields in the file *name*: JSON if it begins with `{`, else TOML."""
    data = read_file(name).removeprefix(BOM_UTF8)
    try:
        if data.lstrip().startswith(b"{"):
            return cast("Mapping[str, Any]", read_json(data))
        return read_toml(data.decode())
    except UnicodeDecodeError as error:
        message = f"{name}: neither JSON nor TOML in UTF-8: name a configuration file"
        raise ConfigError(message) from error
    except (ConfigError, FormatError) as error:
        raise ConfigError(f"{name}: {error}: fix it there") from error


def _placed(name: str, error: _Error) -> _Error:
    """Return *error* with the file *name* at the start of its message."""
    return type(error)(f"{name}: {error}")


def is_configured(options: ConfigOptions) -> bool:
    """Whether *options* say anything about how to reduce."""
    return any(getattr(options, name) is not None for name in (*_FIELDS, "layers"))


def configured(
    options: ConfigOptions, base: HistoryReductionConfig | None = None, *, model: str | None = None
) -> HistoryReductionConfig:
    """Return *base*, or the default, as *options* change it, for the window of *model*."""
    fields: dict[str, Any] = msgspec.structs.asdict(base or _DEFAULT)
    for name, field in (_FIELDS | _SIZES).items():
        value = getattr(options, name)
        if field in CHOICES and value is not None:
            value = value.lower().replace("_", "-")
            choices = tuple(one.replace("_", "-") for one in CHOICES[field])
            expect_choice(f"--{name}", value, choices)
        if value is not None:
            fields[field] = value
    if options.layers is not None:
        fields["use_single_summary"] = not options.layers
    in_tokens = _in_tokens(options, fields)
    _check_effect(options, in_tokens, fields)
    # What the file says in another unit would be refused.
    for name in COUNT_FIELDS if in_tokens else TOKEN_FIELDS:
        fields[name] = None
    if options.token_target is not None or options.token_threshold is not None:
        # These would win over what was asked for.
        fields |= {"max_token_budget": None, "token_budget_trigger_percentage": None}
    if options.strategy is not None:
        # What the file says of another strategy would be refused too.
        idle = SUMMARY_FIELDS if fields["strategy"] != "summarizing" else ()
        fields |= {name: getattr(_DEFAULT, name) for name in (*idle, "clear_tool_results")}
    if model is not None and fields["context_window_size"] is None:
        fields["context_window_size"] = _known_window(model)
    return config_from_mapping(fields)


def _known_window(model: str) -> int:
    check_spelling(model)
    window = window_of_model(model)
    if window is None:
        raise UsageError(
            f"--model {model[:80]!r}: its window is not known: give --window{nearest_listed(model)}"
        )
    return window


def _in_tokens(options: ConfigOptions, fields: Mapping[str, Any]) -> bool:
    if fields["counting_unit"] is not None:
        return str(fields["counting_unit"]) == "tokens"
    if options.token_target is not None or options.token_threshold is not None:
        return options.target is None and options.threshold is None
    return all(fields[name] is None for name in COUNT_FIELDS)


def _check_effect(options: ConfigOptions, in_tokens: bool, fields: Mapping[str, Any]) -> None:
    for name in ("target", "threshold"):
        if in_tokens and getattr(options, name) is not None:
            raise ConfigError(f"--{name} has no effect on tokens: use --token-{name}")
        if not in_tokens and getattr(options, f"token_{name}") is not None:
            unit = fields["counting_unit"] or "exchanges"
            raise ConfigError(f"--token-{name} has no effect on {unit}: add --unit tokens")
    if options.token_threshold is not None and fields["target_token_budget"] is None:
        raise ConfigError("--token-threshold has no effect without a target: add --token-target")
    strategy = fields["strategy"].replace("_", " ").replace("-", " ")
    if options.layers is not None and strategy != "summarizing":
        raise ConfigError(f"--layers and --single have no effect on {strategy}: leave them out")
