"""
Messages to JSON and back, with a format number.

JSON text here is what RFC 8259 allows plus two things that real conversations hold: lone
surrogates (written as escapes) and, in a vendor's unknown fields, `NaN` and infinities.
"""

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from foldline.errors import FormatError
from foldline.history.messages import Message


__all__ = [
    "HISTORY_FORMAT",
    "canonical_json",
    "decode_history",
    "decode_json",
    "decode_message",
    "encode_history",
    "encode_json",
    "encode_message",
]


HISTORY_FORMAT = 1
"""The number of the stored form of a history; a reader refuses a higher one."""

_SORTED = msgspec.json.Encoder(order="sorted")
_PLAIN = msgspec.json.Encoder()
_UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)


class _Document(msgspec.Struct, kw_only=True):
    format: int
    messages: tuple[Message, ...]


_MESSAGE = msgspec.json.Decoder(Message)
_DOCUMENT = msgspec.json.Decoder(_Document)


def encode_json(value: Any) -> bytes:
    """
    Write *value* as JSON that keeps the order of its keys, `NaN` and lone surrogates.
    """
    try:
        data = _PLAIN.encode(value)
    except UnicodeEncodeError:
        return _escaped(value, sort_keys=False)
    # msgspec writes NaN as null, which would lose it.
    return _escaped(value, sort_keys=False) if b"null" in data else data


def canonical_json(value: Any) -> bytes:
    """
    Write *value* as the one byte string that stands for it: sorted keys, no spaces, UTF-8.

    A value that holds a lone surrogate has no UTF-8 form. It is written with escapes behind a
    byte that starts no JSON text, so that two different values never share a form.
    """
    try:
        return _SORTED.encode(value)
    except UnicodeEncodeError:
        return b"\\" + _escaped(value, sort_keys=True)


def _escaped(value: Any, *, sort_keys: bool) -> bytes:
    plain = msgspec.to_builtins(value)
    return json.dumps(plain, sort_keys=sort_keys, separators=(",", ":")).encode()


def decode_json(data: bytes | str) -> Any:
    """
    Read JSON, with `NaN` and lone surrogates where there are any.

    Raises:
        FormatError: *data* is not JSON, or is nested too deeply to be read.
    """
    try:
        return msgspec.json.decode(data)
    except _UNREADABLE:
        return _loads(data)


def _loads(data: bytes | str) -> Any:
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        message = f"not JSON: line {error.lineno}, column {error.colno}"
        raise FormatError(message) from error
    except UnicodeDecodeError as error:
        message = f"not JSON: byte {error.start} is not UTF-8"
        raise FormatError(message) from error
    except RecursionError as error:
        message = "not readable JSON: nested too deeply"
        raise FormatError(message) from error


def encode_message(message: Message) -> bytes:
    """
    Write one message as JSON; `decode_message` gives an equal one back.
    """
    try:
        return _SORTED.encode(message)
    except UnicodeEncodeError:
        return _escaped(message, sort_keys=True)


def decode_message(data: bytes | str) -> Message:
    """
    Read what `encode_message` wrote.

    Raises:
        FormatError: *data* is not a message.
    """
    try:
        return _MESSAGE.decode(data)
    except _UNREADABLE:
        return _convert(_loads(data), Message)


def encode_history(messages: Iterable[Message]) -> bytes:
    """
    Write *messages* as one JSON document with a format number.
    """
    body = b",".join(map(encode_message, messages))
    return b'{"format":%d,"messages":[%b]}' % (HISTORY_FORMAT, body)


def decode_history(data: bytes | str) -> tuple[Message, ...]:
    """
    Read what `encode_history` wrote.

    Raises:
        FormatError: *data* is not such a document, or was written by a newer foldline.
    """
    try:
        document = _DOCUMENT.decode(data)
    except _UNREADABLE:
        document = _convert(_loads(data), _Document)
    if document.format > HISTORY_FORMAT:
        message = (
            f"history format {document.format} is newer than {HISTORY_FORMAT}, the newest that "
            "this foldline reads: upgrade foldline"
        )
        raise FormatError(message)
    return document.messages


def _convert(value: Any, kind: type[Any]) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        # The reason names fields and types; it never quotes a value.
        message = f"not a foldline {kind.__name__.strip('_').lower()}: {error}"
        raise FormatError(message) from error
