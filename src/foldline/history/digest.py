"""
The digest of a message, and of a prefix of a history.

A message digest is SHA-256 over the canonical JSON of a projection that is written out here and
carries a version number: role, name and ordered parts. What a vendor or an owner adds beside them
(ids of messages, times, metadata, usage, native items) is left out, so the digest of a message
survives a change of format. Tool arguments enter as the value they stand for where they are valid
JSON that is not nested absurdly deep, since vendors and frameworks space them differently.

A prefix digest chains them: `SHA-256(previous || message_digest)`, starting at 32 zero bytes.
Comparing a prefix of any length is one comparison, and appending is O(1).
"""

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, cast

import msgspec

from foldline.history.codec import canonical_json, decode_message, encode_message
from foldline.history.messages import Message
from foldline.history.parts import Part, TextPart, ToolCallPart, ToolCallResponsePart


__all__ = ["DIGEST_SIZE", "EMPTY_DIGEST", "chain_digest", "message_digest", "prefix_digest"]


DIGEST_SIZE = 32
"""The length of a digest in bytes."""

EMPTY_DIGEST = bytes(DIGEST_SIZE)
"""The digest of the prefix of no messages."""

_VERSION = 1

# A fraction enters as it is written: as a float it could equal another one.
_ARGUMENTS = msgspec.json.Decoder(float_hook=lambda text: {"\0": text})

# What `canonical_json` writes, without its care for lone surrogates.
_encode = msgspec.json.Encoder(order="sorted").encode

# How deep a reader gets depends on its stack, and a digest may depend on its message alone.
_DEEPEST = 100


def message_digest(message: Message) -> bytes:
    """Return the 32-byte digest of what *message* says."""
    return sha256(_form(message)).digest()


def _form(message: Message) -> bytes:
    parts = message.parts
    # Most messages are one text, and it is ASCII: those need no other form of their parts.
    if len(parts) == 1 and type(parts[0]) is TextPart and parts[0].content.isascii():
        return _encode((_VERSION, message.role, message.name, parts))
    try:
        return _encode(_projected(message))
    except UnicodeEncodeError:
        return _escaped_form(message)


def _escaped_form(message: Message) -> bytes:
    # Storage joins a surrogate pair in two halves; the digest has to be the same behind it.
    said = Message(role=message.role, name=message.name, parts=message.parts)
    return canonical_json(_projected(decode_message(encode_message(said))))


def _projected(message: Message) -> Any:
    parts = [_projection(part) for part in message.parts]
    return (_VERSION, message.role, message.name, parts)


def _projection(part: Part) -> Any:
    if isinstance(part, ToolCallPart):
        return _call(part)
    if isinstance(part, TextPart):
        return TextPart(_copied(part.content))
    if isinstance(part, ToolCallResponsePart) and isinstance(part.response, str):
        return ToolCallResponsePart(part.id, _copied(part.response))
    return part


def _copied(text: str) -> str:
    """
    Return an equal text that is thrown away after use.

    Writing a text as UTF-8 leaves a second copy of it in the object; a history held in memory
    would carry that for ever, for each message that is not ASCII.
    """
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass")


def _call(part: ToolCallPart) -> Any:
    written = part.arguments.encode("utf-8", "surrogatepass")
    try:
        # Strict on purpose: what is not plain JSON (NaN, lone surrogates) enters as its text.
        arguments = _ARGUMENTS.decode(written)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return part
    if written.count(b"[") + written.count(b"{") > _DEEPEST and _is_deep(arguments):
        return part
    if written.count(b":") > 1 and _repeats_a_key(written):
        return part
    return {"type": "tool_call", "id": part.id, "name": part.name, "value": arguments}


def _repeats_a_key(written: bytes) -> bool:
    try:
        json.loads(written, object_pairs_hook=_unique)
    except _RepeatedKeyError:
        return True
    return False


class _RepeatedKeyError(ValueError):
    pass


def _unique(pairs: list[tuple[str, object]]) -> None:
    if len(dict(pairs)) < len(pairs):
        raise _RepeatedKeyError


def _is_deep(value: object) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value) if isinstance(value, list) else ()


def chain_digest(previous: bytes, message: Message) -> bytes:
    """
    Return the digest of the prefix that *message* ends, *previous* being that of all before it.
    """
    return sha256(previous + sha256(_form(message)).digest()).digest()


def prefix_digest(messages: Iterable[Message]) -> bytes:
    """Return the digest of *messages* as a prefix; system messages are not part of one."""
    digest = EMPTY_DIGEST
    for message in messages:
        if message.role != "system":
            digest = chain_digest(digest, message)
    return digest
