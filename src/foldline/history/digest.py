"""
The digest of a message, and of a prefix of a history: the same whatever vendor's form it came in.

A digest is a chain over *steps*: `SHA-256(previous || SHA-256(step))`, from 32 zero bytes. A step
is the canonical JSON of `[version, role, name, parts]`, and a message is one of them, except that

- of an assistant each part is a step. Whether an answer came as one message or as several
  neighboring ones, as vendors disagree, the digest after its last part is the same;
- each tool result is a step of the role `tool`, in whatever message it is, and nothing that a
  tool says has a name, since only some vendors give one;
- an empty text says nothing and is left out.

What a vendor or an owner adds (ids of messages, times, metadata, usage, native items) is left out
too. Tool arguments enter as the value they are where they are valid JSON that is not nested
absurdly deep, since vendors and frameworks write them differently.

A writer of rows needs the digest of the row before and nothing else, also in the middle of a run
of assistant rows. Version 1, which older stores hold, had one step for each message.
"""

import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from hashlib import sha256
from math import isfinite
from typing import Any, cast

import msgspec

from foldline.history.codec import canonical_json, decode_message, encode_message
from foldline.history.messages import Message
from foldline.history.parts import Part, TextPart, ToolCallPart, ToolCallResponsePart


__all__ = [
    "DIGEST_SIZE",
    "EMPTY_DIGEST",
    "chain_digest",
    "chain_digest_1",
    "follows",
    "message_digest",
    "prefix_digest",
]


DIGEST_SIZE = 32
"""The length of a digest in bytes."""

EMPTY_DIGEST = bytes(DIGEST_SIZE)
"""The digest of the prefix of no messages."""

_VERSION = 2


def _fraction(text: str) -> dict[str, str]:
    """Return *text* in its shortest spelling of the same value: vendors write 0.10 as 0.1."""
    short = repr(float(text))
    try:
        is_exact = isfinite(float(text)) and Decimal(short) == Decimal(text)
    except ArithmeticError:
        is_exact = False
    return {"\0": short if is_exact else text}


_ARGUMENTS = msgspec.json.Decoder(float_hook=_fraction)
_ARGUMENTS_1 = msgspec.json.Decoder(float_hook=lambda text: {"\0": text})

# What `canonical_json` writes, without its care for lone surrogates.
_encode = msgspec.json.Encoder(order="sorted").encode

# How deep a reader gets depends on its stack, and a digest may depend on its message alone.
_DEEPEST = 100


def message_digest(message: Message) -> bytes:
    """Return the 32-byte digest of what *message* says: that of a prefix of it alone."""
    return chain_digest(EMPTY_DIGEST, message)


def chain_digest(previous: bytes, message: Message) -> bytes:
    """Return the digest of a prefix that ends with *message*, *previous* being that before it."""
    parts = message.parts
    # Most messages are one text, and it is ASCII: those need no other form of their parts.
    if len(parts) == 1 and type(parts[0]) is TextPart and message.role != "tool":
        text = parts[0].content
        if text and text.isascii():
            step = _encode((_VERSION, message.role, message.name, parts))
            return sha256(previous + sha256(step).digest()).digest()
    for said in _steps(message):
        previous = sha256(previous + sha256(_form(_VERSION, said)).digest()).digest()
    return previous


def chain_digest_1(previous: bytes, message: Message) -> bytes:
    """Return what `chain_digest` returned in version 1."""
    return sha256(previous + sha256(_form(1, message)).digest()).digest()


def follows(previous: bytes, message: Message, digest: bytes) -> bool:
    """
    Whether *digest*, of any version, is that of the prefix that *message* ends.

    Rows that an older foldline stored are chained by version 1, and later ones by version 2, from
    the last of these on: each link of such a chain follows. After a system message the digest is
    that before it.
    """
    if message.role == "system":
        return digest == previous
    if digest == chain_digest(previous, message):
        return True
    return digest == chain_digest_1(previous, message)


def prefix_digest(messages: Iterable[Message]) -> bytes:
    """Return the digest of *messages* as a prefix; system messages are not part of one."""
    digest = EMPTY_DIGEST
    for message in messages:
        if message.role != "system":
            digest = chain_digest(digest, message)
    return digest


def _steps(message: Message) -> Iterator[Message]:
    role = message.role
    name = None if role == "tool" else message.name
    parts = [part for part in message.parts if type(part) is not TextPart or part.content != ""]
    if role == "assistant":
        for part in parts:
            yield Message(role=role, name=name, parts=(part,))
        return
    said: list[Part] = []
    has_answers = False
    for part in parts:
        if type(part) is not ToolCallResponsePart or role == "system":
            said.append(part)
            continue
        if said:
            yield Message(role=role, name=name, parts=tuple(said))
        yield Message(role="tool", parts=(part,))
        said, has_answers = [], True
    if said or not has_answers:
        yield Message(role=role, name=name, parts=tuple(said))


def _form(version: int, said: Message) -> bytes:
    try:
        return _encode(_projected(version, said))
    except UnicodeEncodeError:
        # Storage joins a surrogate pair in two halves; the digest has to stay the same.
        bare = Message(role=said.role, name=said.name, parts=said.parts)
        return canonical_json(_projected(version, decode_message(encode_message(bare))))


def _projected(version: int, said: Message) -> Any:
    parts = [_projection(version, part) for part in said.parts]
    return (version, said.role, said.name, parts)


def _projection(version: int, part: Part) -> Any:
    if isinstance(part, ToolCallPart):
        return _call(version, part)
    if isinstance(part, TextPart):
        return TextPart(_copied(part.content))
    if isinstance(part, ToolCallResponsePart) and isinstance(part.response, str):
        return ToolCallResponsePart(part.id, _copied(part.response))
    return part


def _copied(text: str) -> str:
    """Return an equal str to encode: the UTF-8 form that encoding leaves in it goes with it."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass")


def _call(version: int, part: ToolCallPart) -> Any:
    written = part.arguments.encode("utf-8", "surrogatepass")
    decoder = _ARGUMENTS_1
    if version > 1:
        # No arguments are an empty object: one of the vendors can write nothing else.
        decoder, written = _ARGUMENTS, written or b"{}"
    try:
        # Strict on purpose: what is not plain JSON (NaN, lone surrogates) enters as its text.
        arguments = decoder.decode(written)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return part
    if written.count(b"[") + written.count(b"{") > _DEEPEST and _is_deep(arguments):
        return part
    if written.count(b":") > 1 and _repeats_a_key(written):
        return part
    return {"type": "tool_call", "id": part.id, "name": part.name, "value": arguments}


def _repeats_a_key(written: bytes) -> bool:
    repeats: list[bool] = []
    json.loads(
        written, object_pairs_hook=lambda pairs: repeats.append(len(dict(pairs)) < len(pairs))
    )
    return any(repeats)


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
