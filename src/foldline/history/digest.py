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
absurdly deep, since vendors and frameworks write them differently. Of what the vendor's own tools
leave, a key that is null is not there: an SDK writes one for each field that it knows, or none.

A writer of rows needs the digest of the row before and nothing else, also in the middle of a run
of assistant rows. Version 1, which older stores hold, had one step for each message. The first
digests of version 2 had such keys in them.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from hashlib import sha256
from math import isfinite
from typing import Any, TypeAlias, cast

import msgspec

from foldline.errors import FormatError
from foldline.history.codec import (
    canonical_json,
    decode_json,
    decode_message,
    encode_json,
    encode_message,
)
from foldline.history.messages import Message
from foldline.history.parts import (
    GenericPart,
    Part,
    ResponseContent,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)


DIGEST_SIZE = 32
"""The length of a digest in bytes."""

EMPTY_DIGEST = bytes(DIGEST_SIZE)
"""The digest of the prefix of no messages."""

_VERSION = 2

_Step: TypeAlias = tuple[int, str, str | None, list[Any]]

# What a system message holds is not sent as a result.
_RESULT_ROLES = frozenset({"user", "tool"})


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
    form = _one_form(message)
    if form is None:
        return _chained(previous, message, _steps)
    return sha256(previous + sha256(form).digest()).digest()


def chain_digests(previous: bytes, messages: Sequence[Message]) -> list[bytes]:
    """Return the digest after each of *messages*, *previous* being that before; see `chain_digest`."""
    digests: list[bytes] = []
    # To encode all first takes less time than all of it for each message.
    forms = [None if one.role == "system" else _one_form(one) for one in messages]
    steps = [None if form is None else sha256(form).digest() for form in forms]
    for message, step in zip(messages, steps, strict=True):
        if step is not None:
            previous = sha256(previous + step).digest()
        elif message.role != "system":
            previous = _chained(previous, message, _steps)
        digests.append(previous)
    return digests


def digest_at(chain: bytearray, messages: Sequence[Message], size: int) -> bytes:
    """Return the digest of *size* of *messages*, up to which *chain* then has those of all prefixes."""
    start, end = size * DIGEST_SIZE, len(chain)
    if start >= end:
        new = messages[end // DIGEST_SIZE - 1 : size]
        digests = chain_digests(bytes(chain[end - DIGEST_SIZE : end]), new)
        # Two threads at once write the same bytes to the same place.
        chain[end : start + DIGEST_SIZE] = b"".join(digests)
    return bytes(chain[start : start + DIGEST_SIZE])


def _one_form(message: Message) -> bytes | None:
    """Return the one step of *message* if it is one text or one result, as most are; else None."""
    parts, role = message.parts, message.role
    if len(parts) != 1:
        return None
    part, name = parts[0], message.name
    if type(part) is TextPart and role != "tool" and (text := part.content):
        said: tuple[Part] = parts if text.isascii() else (TextPart(_copied(text)),)
    elif type(part) is ToolCallResponsePart and role in _RESULT_ROLES:
        role, name = "tool", None
        said = (_projection(_without_nulls(part), _ARGUMENTS),)
    else:
        return None
    try:
        return _encode((_VERSION, role, name, said))
    except UnicodeEncodeError:
        return None


def _chained(previous: bytes, message: Message, steps: Callable[[Message], list[_Step]]) -> bytes:
    try:
        forms = [_encode(step) for step in steps(message)]
    except UnicodeEncodeError:
        # Storage joins a surrogate pair in two halves.
        bare = Message(role=message.role, name=message.name, parts=message.parts)
        stored = decode_message(encode_message(bare))
        forms = [canonical_json(step) for step in steps(stored)]
    for form in forms:
        previous = sha256(previous + sha256(form).digest()).digest()
    return previous


def chain_digest_1(previous: bytes, message: Message) -> bytes:
    """Return what `chain_digest` returned in version 1."""
    return _chained(previous, message, _steps_1)


def chain_digest_with_nulls(previous: bytes, message: Message) -> bytes:
    """Return what `chain_digest` returned when nulls of a vendor were in it."""
    return _chained(previous, message, lambda one: _steps(one, said_by=_as_it_is))


def _steps_1(message: Message) -> list[_Step]:
    parts = [_projection(part, _ARGUMENTS_1) for part in message.parts]
    return [(1, message.role, message.name, parts)]


def follows(previous: bytes, message: Message, digest: bytes) -> bool:
    """Whether *digest*, of whatever version, is that of the prefix that *message* ends."""
    if message.role == "system":
        return digest == previous
    versions = chain_digest, chain_digest_with_nulls, chain_digest_1
    return any(digest == made(previous, message) for made in versions)


def hash_text(digest: bytes) -> str:
    """Return the stored form of the prefix digest *digest*."""
    return f"sha256-{_VERSION}:{digest.hex()}"


def same_hash(one: str, other: str) -> bool:
    """
    Whether two stored forms are of the same digest, whatever version made it.

    A thread whose first rows were stored with version 1 continues from the digest of the last of
    them. A reduction of these rows names version 1 and is as good as a new one.
    """
    return one == other or one.partition(":")[2] == other.partition(":")[2]


def prefix_digest(messages: Iterable[Message]) -> bytes:
    """Return the digest of *messages* as a prefix; system messages are not part of one."""
    digest = EMPTY_DIGEST
    for message in messages:
        if message.role != "system":
            digest = chain_digest(digest, message)
    return digest


def _as_it_is(part: Part) -> Part:
    return part


def _without_nulls(part: Part) -> Part:
    """Return *part* without the keys that are null, if it is what a vendor's tool leaves."""
    if type(part) is GenericPart and not part.opaque:
        return GenericPart(part.kind, _json_without_nulls(part.data))
    # Of a call of a vendor's tool the item itself is kept, and its type is its name.
    if type(part) is ToolCallPart and part.name.endswith("_call"):
        return ToolCallPart(part.id, part.name, _json_without_nulls(part.arguments))
    if type(part) is ToolCallResponsePart and type(part.response) is tuple:
        said = tuple([cast("ResponseContent", _without_nulls(one)) for one in part.response])
        return ToolCallResponsePart(part.id, said)
    return part


def _json_without_nulls(text: str) -> str:
    if "null" not in text:
        return text
    try:
        value = decode_json(text)
    except (FormatError, RecursionError):
        return text
    return text if _nests_deep(text, value) else encode_json(_valued(value)).decode()


def _valued(value: Any) -> Any:
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {key: _valued(one) for key, one in fields.items() if one is not None}
    return (
        [_valued(one) for one in cast("list[object]", value)] if isinstance(value, list) else value
    )


def _steps(message: Message, *, said_by: Callable[[Part], Part] = _without_nulls) -> list[_Step]:
    role = message.role
    name = None if role == "tool" else message.name
    steps: list[_Step] = []
    said: list[Any] | None = None
    for part in message.parts:
        if type(part) is TextPart:
            if not part.content:
                continue
            projection = part if part.content.isascii() else _text(part)
        else:
            projection = _projection(said_by(part), _ARGUMENTS)
        if type(part) is ToolCallResponsePart and role in _RESULT_ROLES:
            steps.append((_VERSION, "tool", None, [projection]))
            said = None
        elif said is None or role == "assistant":
            said = [projection]
            steps.append((_VERSION, role, name, said))
        else:
            said.append(projection)
    # An empty answer may have no steps, since it may be the rest of the one before it.
    return steps if steps or role == "assistant" else [(_VERSION, role, name, [])]


def _projection(part: Part, decoder: msgspec.json.Decoder[Any]) -> Any:
    if isinstance(part, TextPart):
        return _text(part)
    if isinstance(part, ToolCallPart):
        return _call(part, decoder)
    return _result(part) if isinstance(part, ToolCallResponsePart) else part


def _text(part: TextPart) -> TextPart:
    return part if part.content.isascii() else TextPart(_copied(part.content))


def _result(part: ToolCallResponsePart) -> ToolCallResponsePart:
    said = part.response
    if not isinstance(said, str) or said.isascii():
        return part
    return ToolCallResponsePart(part.id, _copied(said))


def _copied(text: str) -> str:
    """Return an equal str to encode: the UTF-8 form that encoding leaves in it goes with it."""
    return "".join(("", text))  # noqa: FLY002 - an f-string of it would be the very same str


def _call(part: ToolCallPart, decoder: msgspec.json.Decoder[Any]) -> Any:
    # No arguments are an empty object: one of the vendors can write nothing else.
    said = part.arguments or ("{}" if decoder is _ARGUMENTS else "")
    try:
        # Strict on purpose: what is not plain JSON (NaN, lone surrogates) enters as its text.
        arguments = decoder.decode(
            said if said.isascii() else said.encode("utf-8", "surrogatepass")
        )
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return part
    # Each level takes two brackets.
    if len(said) > 2 * _DEEPEST and _nests_deep(said, arguments):
        return part
    if _repeats_a_key(said, arguments):
        return part
    return {"type": "tool_call", "id": part.id, "name": part.name, "value": arguments}


def _repeats_a_key(written: str, value: object) -> bool:
    colons = written.count(":")
    # As many keys as colons, as in most calls, leave none for a second time.
    if colons <= 1 or (isinstance(value, dict) and len(cast("dict[str, object]", value)) == colons):
        return False
    repeats: list[bool] = []
    json.loads(
        written, object_pairs_hook=lambda pairs: repeats.append(len(dict(pairs)) < len(pairs))
    )
    return any(repeats)


def _nests_deep(written: str, value: object) -> bool:
    if written.count("[") + written.count("{") <= _DEEPEST:
        return False
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
