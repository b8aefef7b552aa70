"""What a caller without a type checker may get wrong, said in one line."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar, get_args

import msgspec
from msgspec import UNSET

from foldline.errors import ConfigError, FormatError
from foldline.history.codec import without_values
from foldline.history.messages import Message, Native, Role, Usage
from foldline.history.parts import Part, ResponseContent, TextPart, ToolCallResponsePart
from foldline.reduction.state import HistoryReductionState
from foldline.threads.checkpoint import CheckpointSource
from foldline.threads.current import CurrentMessages
from foldline.threads.loop_state import LOOP_FORMAT, AgentLoopState
from foldline.threads.old_change import COMMIT_ID_SIZE, Change
from foldline.threads.tool_run import ToolRun


__all__ = [
    "check_answer",
    "check_change",
    "check_commit_id",
    "check_count",
    "check_fields",
    "check_index",
    "check_kind",
    "check_messages",
    "check_metadata",
    "check_moment",
    "check_text",
    "check_ttl",
    "several",
    "texts",
]


_Value = TypeVar("_Value")

_ROLES: Final = get_args(Role)
_PARTS: Final = frozenset(get_args(Part))
_CONTENTS: Final = frozenset(get_args(ResponseContent))
_USAGE: Final[frozenset[type]] = frozenset({Usage, type(None)})
_NATIVE: Final[frozenset[type]] = frozenset({Native, type(None)})
_SOURCES: Final = get_args(CheckpointSource)
# Left as they are, so that none of them passes for a text.
_NO_TEXTS: Final = (bytes, datetime)
_KEPT: Final = (*_NO_TEXTS, CurrentMessages)


def check_fields(name: str, value: object, kind: type) -> None:
    """
    See that every field of *value* is of its kind: what is stored otherwise could not be read.

    Texts are looked at and not copied, so that a long one costs no more than a short one.

    Args:
        name: What it is, for the message.
        value: The object.
        kind: Its class.

    Raises:
        ConfigError: It is something else, or a field is; the message says which, and no value.
    """
    _check_kind(name, value, kind)
    try:
        plain = msgspec.to_builtins(value, builtin_types=_KEPT, str_keys=True)
        msgspec.convert(plain, kind, builtin_types=_NO_TEXTS)
    except msgspec.MsgspecError as error:
        reason = without_values(error)
    except UnicodeError:
        reason = "a text stands where a name of ours should"
    except RecursionError:
        reason = "it is nested too deeply"
    except (TypeError, ValueError, OverflowError, NotImplementedError) as error:
        reason = f"a value has no place in JSON: {type(error).__name__}"
    else:
        return
    # Outside the handlers, since an error of msgspec may quote text of a conversation.
    message = f"{name} cannot be stored: {reason}"
    raise ConfigError(message)


def _check_kind(name: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        message = f"{name} cannot be stored: it is a {type(value).__name__}, not a {kind.__name__}"
        raise ConfigError(message)


def check_kind(name: str, value: object, kind: type) -> None:
    """
    See that *value* is a *kind*.

    Raises:
        ConfigError: It is something else; the message says *name*.
    """
    if not isinstance(value, kind):
        message = f"{name} is a {type(value).__name__}: allowed is a {kind.__name__}"
        raise ConfigError(message)


def several(name: str, values: Iterable[_Value]) -> tuple[_Value, ...]:
    """
    Return *values* as a tuple; what each of them is is not looked at.

    Raises:
        ConfigError: It is a single value, a text or a mapping; the message says *name*.
    """
    _check_several(name, values)
    return tuple(values)


def _check_several(name: str, values: object) -> None:
    kind = type(values).__name__
    # A text and a mapping can be gone through too, but what comes of it was not meant.
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        message = f"{name} is a {kind}: allowed is a list"
        raise ConfigError(message)


def texts(name: str, values: Iterable[str]) -> tuple[str, ...]:
    """
    Return *values* as a tuple.

    Raises:
        ConfigError: They are no list, or one of them is no text; the message says *name*.
    """
    given = several(name, values)
    for value in given:
        check_text(f"one of {name}", value)
    return given


def check_index(name: str, value: object) -> None:
    """
    See that *value* is a whole number, as every index is; whether there is one is not looked at.

    Raises:
        ConfigError: It is something else; the message says *name*.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        message = f"{name} is a {type(value).__name__}: allowed is a whole number"
        raise ConfigError(message)


def check_count(name: str, value: int) -> None:
    """
    See that *value* is a whole number of 0 or more.

    Raises:
        ConfigError: It is something else; the message says *name*.
    """
    check_index(name, value)
    if value < 0:
        message = f"{name}={value}: allowed is 0 or more"
        raise ConfigError(message)


def check_messages(messages: Iterable[object]) -> None:
    """
    See that *messages* are messages, and that each can be read again.

    Raises:
        ConfigError: One is something else, or a field of one is; the message says which.
    """
    for message in messages:
        if not isinstance(message, Message):
            text = f"a message is a {type(message).__name__}: allowed are Message objects"
            raise ConfigError(text)
        if not _is_one_text(message):
            check_fields("a message", message, Message)
            _check_objects(message)


def _is_one_text(message: Message) -> bool:
    """Whether *message* is what most messages are, one text and nothing else, and is typed so."""
    parts = message.parts
    return (
        type(parts) is tuple
        and len(parts) == 1
        and type(parts[0]) is TextPart
        and type(parts[0].content) is str
        and message.role in _ROLES
        and message == Message(role=message.role, parts=parts)
    )


def _check_objects(message: Message) -> None:
    """See that nothing in *message* is a dict that merely looks like the object in its place."""
    for place, part in enumerate(message.parts):
        _check_one_of(part, _PARTS, f"parts[{place}]")
        if isinstance(part, ToolCallResponsePart) and not isinstance(part.response, str):
            for content in part.response:
                _check_one_of(content, _CONTENTS, f"parts[{place}].response")
    _check_one_of(message.usage, _USAGE, "usage")
    _check_one_of(message.native, _NATIVE, "native")


def _check_one_of(value: object, kinds: frozenset[type], field: str) -> None:
    if type(value) not in kinds:
        message = f"a message cannot be stored: a {type(value).__name__} - at `$.{field}`"
        raise ConfigError(message)


def check_change(change: Change) -> None:
    """
    See that what *change* stores can be read again.

    Raises:
        ConfigError: Something is of another kind, or a field of it is; the message says which.
    """
    check_messages(change.messages)
    if change.execution is not UNSET and change.execution is not None:
        _check_state(change.execution)
    if change.reduction is not UNSET:
        _check_reduction(change.reduction)
    for run in change.tools:
        check_fields("a tool run", run, ToolRun)
    for call_id in change.settled:
        check_text("the id of a settled call", call_id)
    if change.source not in _SOURCES:
        message = f"a source that is not known: allowed are {', '.join(_SOURCES)}"
        raise ConfigError(message)


def _check_state(state: AgentLoopState) -> None:
    name = "an execution state"
    _check_kind(name, state, AgentLoopState)
    if state.active_reduction is not None:
        # The reduction is stored by itself, and not as it stands there.
        state = state.with_reduction(None)
    check_fields(name, state, AgentLoopState)
    if state.format != LOOP_FORMAT:
        message = f"{name} cannot be stored: format {state.format}, not {LOOP_FORMAT}"
        raise ConfigError(message)


def _check_reduction(reduction: HistoryReductionState) -> None:
    name = "a reduction"
    _check_kind(name, reduction, HistoryReductionState)
    # The store keeps those before it by themselves.
    reduction = msgspec.structs.replace(reduction, previous=None)
    check_fields(name, reduction, HistoryReductionState)
    try:
        # What one field says of another is judged where a reduction is read.
        HistoryReductionState.from_json(reduction.to_json())
    except UnicodeError:
        message = f"{name} cannot be stored: half a character in a text"
    except FormatError as error:
        message = f"{name} cannot be stored: {error}"
    else:
        return
    raise ConfigError(message)


def check_answer(text: object) -> None:
    """
    See that *text*, the answer to a tool call, is a text.

    Raises:
        ConfigError: It is something else.
    """
    check_text("the answer to a tool call", text)


def check_text(name: str, text: object) -> None:
    """
    See that *text* is a text.

    Raises:
        ConfigError: It is something else; the message says *name*.
    """
    if not isinstance(text, str):
        message = f"{name} is a {type(text).__name__}: allowed is a text"
        raise ConfigError(message)


def check_commit_id(commit_id: object) -> None:
    """
    See that *commit_id* is the id of a commit, or None.

    Raises:
        ConfigError: It is something else.
    """
    if commit_id is None or (isinstance(commit_id, bytes) and len(commit_id) == COMMIT_ID_SIZE):
        return
    message = f"commit_id is a {type(commit_id).__name__}: allowed are {COMMIT_ID_SIZE} bytes"
    raise ConfigError(message)


def check_metadata(metadata: Mapping[str, object] | None, display_name: object) -> None:
    """
    See that *metadata* has names for keys, and *display_name* is a text or None.

    Raises:
        ConfigError: It is not so.
    """
    _check_mapping(metadata)
    for key in metadata or ():
        _check_key(key)
    if display_name is not None and not isinstance(display_name, str):
        message = f"display_name is a {type(display_name).__name__}: allowed is a text"
        raise ConfigError(message)


def _check_mapping(metadata: object) -> None:
    if metadata is not None and not isinstance(metadata, Mapping):
        message = f"metadata is a {type(metadata).__name__}: allowed is a dict"
        raise ConfigError(message)


def _check_key(key: object) -> None:
    if not isinstance(key, str):
        message = f"metadata has a key that is a {type(key).__name__}: allowed are names (texts)"
        raise ConfigError(message)
    if not key.strip():
        message = "metadata has a blank key: allowed are names"
        raise ConfigError(message)


def check_moment(name: str, moment: object, *, is_needed: bool = False) -> None:
    """
    See that *moment* is a time with a zone, or None.

    Args:
        name: What it is, for the message.
        moment: The time.
        is_needed: Whether None is refused too.

    Raises:
        ConfigError: It is not, or UTC has no such year; the message says *name*.
    """
    if moment is None and not is_needed:
        return
    if not isinstance(moment, datetime) or moment.utcoffset() is None:
        kind = type(moment).__name__
        shown = f"={moment.isoformat()}" if isinstance(moment, datetime) else f" is a {kind}"
        message = f"{name}{shown}: allowed is a datetime with a time zone"
        raise ConfigError(message)
    if not _has_year(moment):
        message = f"{name}={moment.isoformat()}: allowed are the years 1 to 9999 in UTC"
        raise ConfigError(message)


def _has_year(moment: datetime) -> bool:
    try:
        moment.astimezone(UTC)
    except OverflowError:
        return False
    return True


def check_ttl(ttl: object, *, clock: Callable[[], datetime]) -> None:
    """
    See that *ttl* is a span above zero, or None.

    Args:
        ttl: How long something lives.
        clock: What tells from when on.

    Raises:
        ConfigError: It is not, or its end has no date.
    """
    if ttl is None:
        return
    if not isinstance(ttl, timedelta) or ttl <= timedelta(0):
        message = f"ttl={ttl!r}: allowed is a timedelta above zero"
        raise ConfigError(message)
    try:
        is_dated = _has_year(clock() + ttl)
    except OverflowError:
        is_dated = False
    if not is_dated:
        message = f"ttl={ttl!r}: allowed is one that ends before the year 10000"
        raise ConfigError(message)
