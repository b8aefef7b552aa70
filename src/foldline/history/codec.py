"""
Messages to JSON and back, with a format number.

JSON text here is what RFC 8259 allows plus two things that real conversations hold: lone
surrogates (written as escapes) and, in a vendor's unknown fields, `NaN` and infinities.
"""

import json
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from foldline.errors import FormatError, NewerFormatError
from foldline.history.messages import READ_HINT, Message


HISTORY_FORMAT = 1
"""The number of the stored form of a history; a reader refuses a higher one."""

_SORTED = msgspec.json.Encoder(order="sorted")
_PLAIN = msgspec.json.Encoder()
_UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)


_Kind = TypeVar("_Kind")


class _Header(msgspec.Struct, kw_only=True):
    format: int


class _Document(_Header, kw_only=True):
    messages: tuple[Message, ...]


_MESSAGE = msgspec.json.Decoder(Message)
_DOCUMENT = msgspec.json.Decoder(_Document)


def encode_json(value: Any) -> bytes:
    """Write *value* as JSON that keeps the order of its keys, `NaN` and lone surrogates."""
    try:
        data = _PLAIN.encode(value)
    except UnicodeEncodeError:
        return _escaped(value, sort_keys=False)
    # msgspec writes NaN as null, which would lose it.
    return _escaped(value, sort_keys=False) if b"null" in data else data


def canonical_json(value: Any) -> bytes:
    """
    Write *value* in its one canonical form: sorted keys, no spaces, UTF-8.

    A lone surrogate has no UTF-8 form. A value with one is written with escapes after a byte that
    starts no JSON, so that no other value is written alike. A number that is not finite is null.
    """
    try:
        return _SORTED.encode(value)
    except UnicodeEncodeError:
        return b"\\" + _escaped(value, sort_keys=True)


def _escaped(value: Any, *, sort_keys: bool) -> bytes:
    plain = msgspec.to_builtins(value)
    return json.dumps(plain, sort_keys=sort_keys, separators=(",", ":")).encode()


def decode_json(data: bytes | str) -> Any:
    """Read JSON, which may hold `NaN` and lone surrogates; raise FormatError if it is none."""
    try:
        return msgspec.json.decode(data)
    except _UNREADABLE:
        return _loads(data)


def _loads(data: bytes | str) -> Any:
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        message = f"not JSON: line {error.lineno}, column {error.colno}"
    except UnicodeDecodeError as error:
        message = f"not JSON: byte {error.start} is not UTF-8"
    except RecursionError:
        message = "not readable JSON: nested too deeply"
    except ValueError:
        message = "not readable JSON: a number has too many digits"
    raise FormatError(message)


def encode_message(message: Message) -> bytes:
    """Write one message as JSON; a surrogate pair in two halves comes back as one character."""
    try:
        data = _SORTED.encode(message)
    except UnicodeEncodeError:
        return _escaped(message, sort_keys=True)
    # Metadata alone can hold a NaN, which msgspec writes as null.
    lossy = message.metadata is not None and b"null" in data
    return _escaped(message, sort_keys=True) if lossy else data


def decode_message(data: bytes | str) -> Message:
    """Read what `encode_message` wrote; raise FormatError if *data* is no message."""
    try:
        return _MESSAGE.decode(data)
    except _UNREADABLE:
        return _convert(_loads(data), Message, name="message")


def not_a_message(value: object) -> FormatError | None:
    """Return why *value* is no message, by field and type and never a value; None if it is one."""
    if not isinstance(value, Message):
        got = type(value).__name__
        return FormatError(f"message must be a Message, got {got}: {READ_HINT}")
    try:
        decode_message(encode_message(value))
    except FormatError as error:
        return error
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        return FormatError(f"not a foldline message: {error} - at `$.{unwritable(value)}`")
    return None


def unwritable(value: object) -> str:
    """Return the name of the first field of *value* that cannot be written as JSON; empty if all can."""
    for name in type(value).__struct_fields__ if isinstance(value, msgspec.Struct) else ():
        try:
            encode_json(getattr(value, name))
        except (TypeError, ValueError, OverflowError, RecursionError):
            return name
    return ""


def encode_history(messages: Iterable[Message]) -> bytes:
    """Write *messages* as one JSON document with a format number."""
    body = b",".join(map(encode_message, messages))
    return b'{"format":%d,"messages":[%b]}' % (HISTORY_FORMAT, body)


def decode_history(data: bytes | str) -> tuple[Message, ...]:
    """Read what `encode_history` wrote; raise FormatError for others, and what is newer."""
    try:
        document = _DOCUMENT.decode(data)
    except _UNREADABLE:
        value = _loads(data)
        # The number first: the messages of a newer format may have another shape.
        _refuse_newer(_convert(value, _Header, name="document"))
        document = _convert(value, _Document, name="document")
    _refuse_newer(document)
    return document.messages


def _refuse_newer(header: _Header) -> None:
    if header.format > HISTORY_FORMAT:
        raise NewerFormatError(what="history", found=header.format, known=HISTORY_FORMAT)


def without_values(error: Exception) -> str:
    """Return what *error* of msgspec says of fields and types, without the values in it."""
    text = str(error)
    start = min((at for at in (text.find(" '"), text.find(' "')) if at >= 0), default=-1)
    if start < 0:
        return text
    # The value may hold quotes itself: it ends at the last one that nothing or a path follows.
    quote = text[start + 1]
    end = text.rfind(quote)
    while end > start + 1:
        if end == len(text) - 1 or text.startswith(" - at ", end + 1):
            return text[:start] + text[end + 1 :]
        end = text.rfind(quote, 0, end)
    return text


def _convert(value: Any, kind: type[_Kind], *, name: str) -> _Kind:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        message = f"not a foldline {name}: {without_values(error)}"
    except UnicodeEncodeError:
        message = f"not a foldline {name}: a str where an object should be"
    # Outside the handler, since the error of msgspec may quote text of a conversation.
    raise FormatError(message)
