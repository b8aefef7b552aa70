"""
Requests of Gemini: contents with parts.

Source: the reference of `generateContent` (ai.google.dev/api/caching#Content). Its fields are read as
they are sent, and as Google's SDK for Python has them in dictionaries. Most calls have no id.
"""

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

from foldline.history.formats.wire import (
    Object,
    as_list,
    as_object,
    is_list,
    is_object,
    json_text,
    maybe_list,
    maybe_object,
    maybe_text,
)
from foldline.history.media import modality_of
from foldline.history.messages import Message, Role
from foldline.history.parts import (
    BlobPart,
    GenericPart,
    Part,
    ReasoningPart,
    ResponseContent,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from foldline.logs.bodies import blob_in, messages_of, read_bodies, texts_in
from foldline.logs.importer import Importer, first_item


RESULT = "result"
"""What wraps the answer of a tool that is no object."""

_ROLES = frozenset({"user", "model", "function", "tool", "None"})
_KINDS = (
    *("text", "function_call", "function_response", "inline_data", "file_data"),
    *("executable_code", "code_execution_result"),
)
_WRAPPED = ({RESULT},)
_WRAPPED_BY_AGENTS = ({RESULT}, {"output"}, {"error"})
# Which of them are made of others, or only say how a part is to be read.
_BESIDE = ("part_metadata", "thought", "thought_signature", "media_resolution", "video_metadata")


def is_content(value: Any) -> bool:
    """Whether *value* is a content of Gemini; the parts of others say of which type they are."""
    fields = maybe_object(value)
    parts = fields.get("parts")
    if not parts or not is_list(parts) or f"{fields.get('role')}" not in _ROLES:
        return False
    if not all(is_object(part) and "type" not in part for part in parts):
        return False
    return any(_field(part, kind) is not None for part in parts for kind in _KINDS)


def _field(fields: Object, name: str) -> Any:
    """Return the field *name* of *fields*, in either spelling."""
    if name in fields:
        return fields[name]
    first, *others = name.split("_")
    return fields.get(first + "".join(map(str.capitalize, others)))


def content_parts(part: Object, *, of_agent: bool = False) -> Iterator[Part]:
    """Yield what *part* of a content says; the tools *of_agent*, as Gemini CLI's, answer in one field."""
    call, answer = _field(part, "function_call"), _field(part, "function_response")
    blob, file = _field(part, "inline_data"), _field(part, "file_data")
    if is_object(call):
        given = json_text(call.get("args") or {})
        yield ToolCallPart(maybe_text(call.get("id")), maybe_text(call.get("name")), given)
    elif is_object(answer):
        yield ToolCallResponsePart(
            maybe_text(answer.get("id")),
            _said(answer, _WRAPPED_BY_AGENTS if of_agent else _WRAPPED),
        )
    elif is_object(blob):
        yield blob_in(blob.get("data") or "", maybe_text(_field(blob, "mime_type")))
    elif is_object(file):
        modality = modality_of(maybe_text(_field(file, "mime_type")))
        yield UriPart(modality, maybe_text(_field(file, "file_uri")))
    elif isinstance(text := part.get("text"), str):
        yield ReasoningPart(text) if part.get("thought") else TextPart(text)
    elif kinds := [key for key in part if key not in _BESIDE and part[key] is not None]:
        yield GenericPart(min(kinds), json_text(part))


def _said(answer: Object, wrapped: tuple[set[str], ...]) -> str | tuple[ResponseContent, ...]:
    """Return what a tool answered; its pictures and files are beside the object."""
    given = maybe_object(answer.get("response"))
    said: Any = next(iter(given.values())) if given.keys() in wrapped else given
    text = said if isinstance(said, str) else json_text(said)
    beside = (content_parts(maybe_object(one)) for one in maybe_list(answer.get("parts")))
    media = [one for one in chain.from_iterable(beside) if isinstance(one, BlobPart | UriPart)]
    return (TextPart(text), *media) if media else text


def role_of(content: Object) -> Role:
    """Return who says *content*."""
    return "assistant" if content.get("role") == "model" else "user"


def tool_of(part: Object) -> str | None:
    """Return the name of the tool whose result *part* is."""
    return maybe_text(maybe_object(_field(part, "function_response")).get("name")) or None


def _messages(content: Object) -> list[Message]:
    given = as_list(content.get("parts") or (), "parts")
    parts = [as_object(part, f"parts[{at}]") for at, part in enumerate(given)]
    return messages_of(parts, role=role_of(content), parts=content_parts, tool=tool_of)


def _rules(body: Object) -> list[str]:
    given = (_field(one, "system_instruction") for one in (body, maybe_object(body.get("config"))))
    return [*chain.from_iterable(texts_in(maybe_object(one).get("parts", one)) for one in given)]


GEMINI = Importer(
    name="gemini",
    description="Gemini request bodies or contents",
    matches=lambda document: is_content(first_item(document, "contents")),
    read=partial(read_bodies, key="contents", rules=_rules, read=_messages),
)
"""The importer of what Gemini is sent."""
