"""
Which wire format a list of dictionaries is written in.

Every item is a witness: it says which formats it can be in. What all of them agree on is the
format; where nothing is left, the list is in none or in two, and its owner has to say which.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from foldline.errors import FormatError
from foldline.history.formats.wire import is_list
from foldline.history.messages import NativeFormat


_Formats: TypeAlias = frozenset[NativeFormat]

_CHAT: _Formats = frozenset({NativeFormat.OPENAI_CHAT})
_RESPONSES: _Formats = frozenset({NativeFormat.OPENAI_RESPONSES})
_ANTHROPIC: _Formats = frozenset({NativeFormat.ANTHROPIC})
_OPENAI: _Formats = _CHAT | _RESPONSES
_VENDORS: _Formats = _OPENAI | _ANTHROPIC
_OTEL: _Formats = frozenset({NativeFormat.OTEL})


def _by_word(*rows: tuple[_Formats, str]) -> dict[str, _Formats]:
    return {word: formats for formats, words in rows for word in words.split()}


_ROLES = {"developer": _OPENAI, "tool": _CHAT, "function": _CHAT}
_KEYS = _by_word(
    (_CHAT, "tool_calls tool_call_id function_call refusal audio"),
    (_RESPONSES, "encrypted_content call_id summary"),
    (_ANTHROPIC, "stop_reason"),
)
BLOCKS = _by_word(
    (_CHAT, "file image_url thoughts"),
    (_OPENAI, "input_audio refusal"),
    (_RESPONSES, "input_text output_text input_image input_file"),
    (_ANTHROPIC, "compaction container_upload document image redacted_thinking search_result"),
    (_ANTHROPIC, "server_tool_use thinking tool_result tool_use"),
)
"""The formats that have a content block of each type; an unknown type may be in any of them."""

_TURNS = ("user", "assistant")
_PLAIN_ROLES = (*_TURNS, "system")
_PLAIN_SIZE = 2
"""A role and a content."""


class Witnesses(Struct, frozen=True, kw_only=True):
    """What the items of a list say of its format."""

    possible: frozenset[NativeFormat] = _VENDORS | _OTEL
    """The formats that all of them can be in."""

    has_rules: bool = False
    """Whether one is neither the user's nor the assistant's."""

    @property
    def format(self) -> NativeFormat:
        """The format of the list; see `detect_items`."""
        if self.possible >= _VENDORS and not self.has_rules:
            return NativeFormat.ANTHROPIC
        preferred = (*_CHAT, *_RESPONSES, *_ANTHROPIC)
        return next((one for one in preferred if one in self.possible), NativeFormat.OTEL)


_NONE = Witnesses()


def detect_items(items: Iterable[Mapping[str, Any]]) -> NativeFormat:
    """
    Return the wire format that *items* are written in.

    Plain text between user and assistant is the same in OpenAI Chat and Anthropic. It counts as
    Anthropic, whose stricter rules make a rendering that OpenAI Chat accepts as well. A message of
    the role `system` does not exist there, so plain text with one counts as OpenAI Chat; beside
    blocks that only Anthropic has, it is what its owner keeps with the messages. Items that
    contradict each other, and a user's without content, raise FormatError.
    """
    return witnesses_in(items).format


def witnesses_in(items: Iterable[Mapping[str, Any]], before: Witnesses = _NONE) -> Witnesses:
    """Return what *items* say of their format, with those *before*; FormatError as there."""
    possible, has_rules, known = before.possible, before.has_rules, None
    for index, item in enumerate(items):
        role, content = item.get("role"), item.get("content")
        # Most items of a long history are exactly this.
        if len(item) == _PLAIN_SIZE and role in _PLAIN_ROLES and content is not None:
            found = _VENDORS if type(content) is str else _of_blocks(content, _VENDORS)
        else:
            found = _formats_of(item)
            if role == "user" and found is not _OTEL and "content" not in item:
                # An object of another library, or a row with a name of its own for the text.
                raise FormatError(f"message {index}: it has no content")
        if found is not known:
            if not possible <= found:
                possible = _narrowed(possible, found, index)
            known = found
        # A role that nobody has is reported with the roles of OpenAI Chat, which has the most.
        has_rules = has_rules or role not in _TURNS
    return Witnesses(possible=possible, has_rules=has_rules)


def _narrowed(possible: _Formats, found: _Formats, index: int) -> _Formats:
    if not possible & found:
        of_item = f"is {_named(found)}, not {_named(possible)} as those before it"
        seen = of_item if found else "has signs of more than one format"
        raise FormatError(f"message {index} {seen}: pass format=")
    return possible & found


def _named(formats: _Formats) -> str:
    return " or ".join(sorted(one.value for one in formats))


def _formats_of(item: Mapping[str, Any]) -> _Formats:
    """Return the formats that *item* can be in; none where it contradicts itself."""
    if "parts" in item:
        return _OTEL
    formats = _ROLES.get(str(item.get("role")), _VENDORS)
    for key in item:
        if key in _KEYS:
            formats &= _KEYS[key]
    if "type" in item:
        # The answers of both SDKs call themselves messages; all else has a type in one of them.
        formats &= _RESPONSES | _ANTHROPIC if item["type"] == "message" else _RESPONSES
    return _of_blocks(item.get("content"), formats)


def _of_blocks(content: object, formats: _Formats) -> _Formats:
    """Return those of *formats* that have all blocks of *content*."""
    if type(content) is list or is_list(content):
        for block in content:
            # Most are dictionaries, and to ask for a mapping takes much longer.
            is_object = type(block) is dict or isinstance(block, Mapping)
            kind = block.get("type") if is_object else None
            if kind == "thinking" and is_list(block.get("thinking")):
                # Mistral's; Anthropic has a text there.
                kind = "thoughts"
            if kind != "text" and (found := BLOCKS.get(str(kind))) is not None:
                # They are all of vendors.
                formats = found if formats is _VENDORS else formats & found
    return formats
