"""
What the wire formats share: shapes of JSON, lists of blocks, media between words.

What starts with `as_` raises a `FormatError` that names the field; what starts with `maybe_` reads
what is missing or of another kind as empty, as the records of others have it.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeGuard

from foldline.checks import expect
from foldline.errors import FormatError
from foldline.history.codec import decode_json, encode_json
from foldline.history.messages import Message, Native, NativeFormat
from foldline.history.parts import (
    BlobPart,
    CompactionPart,
    FilePart,
    GenericPart,
    Part,
    TextPart,
    ToolCallResponsePart,
    UriPart,
)


Object: TypeAlias = dict[str, Any]
"""A JSON object."""

FAILED = GenericPart("is_error", '{"type":"is_error"}')
"""What ends a result that the record marks as an error."""

_MILLISECONDS = 1e11
"""As seconds this is a time thousands of years away; a larger number counts milliseconds."""

PLAIN_KEYS = ("role", "content")
"""What most messages of both formats of OpenAI have, in this order."""

_SPEAKERS = ("user", "assistant", "system")
_ROLE_SHOWN = 32
_ENDLESS = (TypeError, ValueError, OverflowError, RecursionError)


def json_text(value: Any) -> str:
    """Return *value* as JSON text."""
    try:
        return encode_json(value).decode()
    except _ENDLESS as error:
        raise FormatError(f"not a JSON value ({type(error).__name__})") from error


def native_of(item: Object, format: NativeFormat) -> Native | None:
    """Return *item* as what is kept beside a message; None if it is no JSON."""
    try:
        return Native(format=format, item=encode_json(item).decode())
    except _ENDLESS:
        return None


def plain_message(role: Any, said: Any) -> Message | None:
    """Return what one of OpenAI's formats says with a role and a str; None if that is no such item."""
    if type(said) is not str or role not in _SPEAKERS:
        return None
    return Message(role=role, parts=(TextPart(said),))


def are_texts(*values: object) -> bool:
    """Whether all *values* are strings that UTF-8 has a form of, as most are."""
    for one in values:
        if type(one) is not str:
            return False
        if not one.isascii():
            try:
                one.encode()
            except UnicodeEncodeError:
                return False
    return True


def object_from_json(text: str) -> dict[str, Any]:
    """Return the JSON object that *text* is; any other text is wrapped into one, unless empty."""
    if not text:
        return {}
    try:
        value = decode_json(text)
    except FormatError:
        return {"arguments": text}
    return value if is_object(value) else {"arguments": value}


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether *value* is a JSON object."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Whether *value* is a JSON list."""
    return isinstance(value, (list, tuple))


def as_object(value: Any, field: str) -> dict[str, Any]:
    """Return *value*, which has to be an object."""
    if not is_object(value):
        raise FormatError(f"{field} is not an object")
    return value


def as_list(value: Any, field: str) -> list[Any] | tuple[Any, ...]:
    """Return *value*, which has to be a list."""
    if not is_list(value):
        raise FormatError(f"{field} is not a list")
    return value


def as_text(value: Any, field: str) -> str:
    """Return *value*, which has to be a string."""
    if not isinstance(value, str):
        raise FormatError(f"{field} is not a string")
    return value


def as_text_or_none(value: Any, field: str) -> str | None:
    """Return *value*, which has to be a string or missing."""
    return None if value is None else as_text(value, field)


def checked_messages(messages: Iterable[object], format: NativeFormat) -> Iterator[Message]:
    """Yield *messages*, to be written in *format*; `ConfigError` for an item that is not read yet."""
    expect("messages", messages, Iterable)
    for place, one in enumerate(messages):
        if isinstance(one, Message):
            yield one
        else:
            reader = f"from_{format.value.replace('-', '_')}"
            expect(f"messages[{place}]", one, Message, hint=f"read it with {reader}")


def check_role(role: Any, known: Iterable[str]) -> str:
    """Return *role*, which has to be one of *known*."""
    if isinstance(role, str) and role in known:
        return role
    if role is None:
        raise FormatError("it has no role")
    shown = repr(role[:_ROLE_SHOWN]) if isinstance(role, str) else "which is not a string"
    raise FormatError(f"role {shown} is not one of {', '.join(known)}")


def media_from_url(url: str, modality: str) -> BlobPart | UriPart:
    """Return the bytes of *url* if it is a data URL, else the address."""
    header, comma, data = url.partition(",")
    if comma and header.startswith("data:") and header.endswith(";base64"):
        return BlobPart(modality, header[len("data:") : -len(";base64")], data)
    return UriPart(modality, url)


def data_url(part: BlobPart) -> str:
    """Return *part* as a data URL."""
    return f"data:{part.mime_type};base64,{part.content}"


def readable_text(part: Part) -> str | None:
    """Return the text to send for *part* where a vendor has no place for it; None without any."""
    match part:
        case TextPart(content=content):
            return content
        case CompactionPart(content=content):
            return content or None
        case UriPart(uri=uri):
            return uri
        case BlobPart(modality=modality) | FilePart(modality=modality):
            return f"[{modality}]"
        case _:
            return None


def is_elsewhere(part: Part, other: str) -> bool:
    """Whether *part* is a file of an app, or of the vendor whose ids begin with *other*."""
    return isinstance(part, FilePart) and (part.file_id.startswith(other) or "://" in part.file_id)


def is_failed(part: ToolCallResponsePart) -> bool:
    """Whether the record itself marks *part* as an error."""
    inner = () if isinstance(part.response, str) else part.response
    return any(isinstance(one, GenericPart) and one.kind == FAILED.kind for one in inner)


def speaker(message: Message) -> str:
    """Return who says the words of *message*; those of a tool beside its results are the user's."""
    if message.role == "system":
        return "system"
    if message.tool_calls:
        return "assistant"
    return "user" if message.role == "tool" else message.role


def blocks_in(content: Any, field: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Give each block of *content*, which is no text, with the name of its place; None has none."""
    if content is None:
        return
    if not is_list(content):
        raise FormatError(f"{field} is neither a string nor a list")
    for place, block in enumerate(content):
        name = f"{field}[{place}]"
        yield as_object(block, name), name


def text_block(text: str) -> Object:
    """Return the block that is *text*."""
    return {"type": "text", "text": text}


def listed_blocks(content: Any) -> list[Any]:
    """Return *content*, a str or a list, as a list of blocks."""
    return [text_block(content)] if isinstance(content, str) else list(content or ())


def written_blocks(
    parts: Iterable[Part],
    *,
    media: Callable[[Part], dict[str, Any] | None] | None = None,
    text_type: str = "text",
) -> list[dict[str, Any]]:
    """Write *parts* as blocks: what *media* has a block for as that, all else as readable text."""
    blocks: list[dict[str, Any]] = []
    for part in parts:
        block = media(part) if media is not None else None
        text = readable_text(part)
        if block is not None:
            blocks.append(block)
        elif text is not None:
            blocks.append({"type": text_type, "text": text})
    return blocks


def item_of(role: str, blocks: list[Object]) -> list[Object]:
    """Return the item in which *role* says *blocks*, a mere str if they are one text; nothing for none."""
    if not blocks:
        return []
    is_text = len(blocks) == 1 and "text" in blocks[0]
    return [{"role": role, "content": blocks[0]["text"] if is_text else blocks}]


def maybe_object(value: Any) -> Object:
    """Return *value* if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def maybe_list(value: Any) -> list[Any]:
    """Return *value* if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def maybe_text(value: Any) -> str:
    """Return *value* if it is a str, else an empty one."""
    return value if isinstance(value, str) else ""


def maybe_count(value: Any) -> int:
    """Return *value* if it is a whole number and not negative, else 0."""
    return value if type(value) is int and value > 0 else 0


def maybe_time(value: Any) -> datetime | None:
    """Return *value*, ISO 8601 or seconds or milliseconds since 1970, as a time, UTC by default."""
    try:
        if isinstance(value, str):
            time = datetime.fromisoformat(value)
            return time if time.tzinfo else time.replace(tzinfo=UTC)
        if type(value) in {int, float}:
            seconds = value / 1000 if value > _MILLISECONDS else value
            return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def first_text(record: Object, *keys: str) -> str:
    """Return the first of *keys* in *record* that is a str or a whole number, as a str."""
    for key in keys:
        value = record.get(key)
        if (isinstance(value, str) and value) or type(value) is int:
            return str(value)
    return ""


def scalars(record: Object, keys: Iterable[str]) -> Object:
    """Return those of *keys* in *record* that hold a str, a number or a bool."""
    return {
        key: record[key]
        for key in keys
        if isinstance(record.get(key), str | int | float) and record[key] != ""
    }


@contextmanager
def at(place: str) -> Generator[None]:
    """Name *place* in every `FormatError` that is raised inside."""
    try:
        yield
    except FormatError as error:
        raise FormatError(f"{place}: {error}") from error
