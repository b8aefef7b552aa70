"""
The parts of a message: a closed union, named as in the OpenTelemetry GenAI message schema.

Source of the names: OpenTelemetry `semantic-conventions-genai`, the JSON schemas of
`gen_ai.input.messages` and `gen_ai.output.messages`.

Every field is a mere str once a part is made, since JSON cannot be written of a framework's
subclass of it: that becomes one, and any other value is an error on the spot.
"""

import json
from collections.abc import Iterator, Sequence
from typing import TypeAlias, cast, get_args

from msgspec import Struct
from msgspec.structs import force_setattr

from foldline.checks import expect
from foldline.errors import ConfigError


def _settle(part: Struct) -> None:
    """Make every field of *part* that is text a mere str; raise ConfigError if one is no text."""
    kind = part.__struct_config__.tag
    for name in part.__struct_fields__:
        value = getattr(part, name)
        if type(value) is str or (name == "opaque" and type(value) is bool):
            continue
        expect(f"{name} of a {kind} part", value, bool if name == "opaque" else str)
        force_setattr(part, name, str.__str__(value))


class TextPart(Struct, frozen=True, gc=False, tag_field="type", tag="text"):
    """Text that was said."""

    content: str
    """The text, exactly as it came."""

    def __post_init__(self) -> None:
        if type(self.content) is not str:
            _settle(self)


class ToolCallPart(Struct, frozen=True, gc=False, tag_field="type", tag="tool_call"):
    """A request of the model to run a tool."""

    id: str
    """What the response repeats; empty where a vendor gave none."""

    name: str
    """The tool's name."""

    arguments: str
    """
    The arguments as JSON text, exactly as the model wrote them, so perhaps not valid JSON.

    A dict is written as JSON.
    """

    def __post_init__(self) -> None:
        if type(self.id) is str and type(self.name) is str and type(self.arguments) is str:
            return
        arguments: object = self.arguments
        if isinstance(arguments, dict):
            force_setattr(self, "arguments", _json("arguments", cast("object", arguments)))
        _settle(self)


class BlobPart(Struct, frozen=True, gc=False, tag_field="type", tag="blob"):
    """Binary content, inline."""

    modality: str
    """`image`, `audio`, `video` or `document`."""

    mime_type: str
    """The media type; empty where it is unknown."""

    content: str
    """The bytes in base64."""

    def __post_init__(self) -> None:
        _settle(self)


class UriPart(Struct, frozen=True, gc=False, tag_field="type", tag="uri"):
    """Content that lives at an address."""

    modality: str
    """`image`, `audio`, `video` or `document`."""

    uri: str
    """The address, never fetched by foldline."""

    def __post_init__(self) -> None:
        _settle(self)


class FilePart(Struct, frozen=True, gc=False, tag_field="type", tag="file"):
    """Content that was uploaded to a vendor before."""

    modality: str
    """`image`, `audio`, `video` or `document`."""

    file_id: str
    """The vendor's identifier of the upload."""

    def __post_init__(self) -> None:
        _settle(self)


class _Opacity(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    opaque: bool = False
    """Whether it is a value of the program's own: kept and hashed, but neither sent nor counted."""


class GenericPart(_Opacity, frozen=True, gc=False, tag_field="type", tag="generic"):
    """Content of a kind that foldline does not know: kept, hashed and sent back, never read."""

    kind: str
    """The kind, as the vendor names it."""

    data: str
    """The whole item as JSON text; of an opaque one any text, such as bytes in base64."""

    def __post_init__(self) -> None:
        if type(self.kind) is str and type(self.data) is str and type(self.opaque) is bool:
            return
        _settle(self)


ResponseContent: TypeAlias = TextPart | BlobPart | UriPart | FilePart | GenericPart
"""What a tool may answer with, where it answers with more than text."""

_CONTENTS = frozenset(get_args(ResponseContent))


class ToolCallResponsePart(
    Struct, frozen=True, gc=False, tag_field="type", tag="tool_call_response"
):
    """What a tool answered."""

    id: str
    """The id of the call that it answers."""

    response: str | tuple[ResponseContent, ...]
    """
    The answer: text, or several parts where it is more than text.

    A dict, and a list of anything but such parts, is written as JSON.
    """

    def __post_init__(self) -> None:
        said = self.response
        if type(said) is not str and not (
            type(said) is tuple and _CONTENTS.issuperset(map(type, said))
        ):
            force_setattr(self, "response", as_result(self.response))
        if type(self.id) is not str:
            expect("id of a tool_call_response part", self.id, str)
            force_setattr(self, "id", str.__str__(self.id))


class ReasoningPart(Struct, frozen=True, gc=False, tag_field="type", tag="reasoning"):
    """What the model thought before it spoke; empty where the vendor keeps it sealed."""

    content: str
    """The reasoning, or its summary, as text."""

    def __post_init__(self) -> None:
        if type(self.content) is not str:
            _settle(self)


class CompactionPart(Struct, frozen=True, gc=False, tag_field="type", tag="compaction"):
    """A vendor's own summary of what came before, readable or sealed."""

    content: str
    """The summary as text; empty where the vendor keeps it sealed."""

    def __post_init__(self) -> None:
        _settle(self)


Part: TypeAlias = (
    TextPart
    | ToolCallPart
    | ToolCallResponsePart
    | ReasoningPart
    | BlobPart
    | UriPart
    | FilePart
    | CompactionPart
    | GenericPart
)
"""Every kind of part; `match` over it is exhaustive."""


def is_opaque(part: Part) -> bool:
    """Whether *part* is a value that no model gets."""
    return type(part) is GenericPart and part.opaque


def texts_in(part: ToolCallResponsePart) -> Iterator[str]:
    """Yield the texts that *part* answers."""
    if isinstance(part.response, str):
        yield part.response
    else:
        yield from (one.content for one in part.response if isinstance(one, TextPart))


def as_result(value: object) -> str | tuple[ResponseContent, ...]:
    """Return *value* as a part keeps it, a mere str, parts or JSON text; else raise ConfigError."""
    expect("response of a tool_call_response part", value, str | dict | list | tuple)
    if isinstance(value, str):
        return str.__str__(value)
    parts = _parts_of(value)
    return _json("response", value) if parts is None else parts


def _parts_of(value: object) -> tuple[ResponseContent, ...] | None:
    if not isinstance(value, list | tuple):
        return None
    given = tuple(cast("Sequence[object]", value))
    parts = tuple([one for one in given if isinstance(one, ResponseContent)])
    # A list of nothing is a value, a tuple of nothing an answer without a part.
    is_whole = len(parts) == len(given) and (parts or isinstance(value, tuple))
    return parts if is_whole else None


def _json(name: str, value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        reason = type(error).__name__
    # Outside the handler, since the error may quote what was said.
    raise ConfigError(f"{name} cannot be written as JSON: {reason}")
