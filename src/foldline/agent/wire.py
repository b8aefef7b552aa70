"""The caller's own form of messages: read on the way in, written on the way out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, takewhile
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from foldline.errors import FormatError
from foldline.history.formats.anthropic import ANTHROPIC
from foldline.history.formats.detect import detect_items
from foldline.history.formats.openai_chat import OPENAI_CHAT
from foldline.history.formats.openai_responses import OPENAI_RESPONSES
from foldline.history.formats.renderings.anthropic import render_anthropic
from foldline.history.formats.renderings.openai_chat import render_openai_chat
from foldline.history.formats.renderings.openai_responses import render_openai_responses
from foldline.history.formats.wire import is_list
from foldline.history.history import History
from foldline.history.messages import Message, NativeFormat
from foldline.history.tokens import TokenCounter


__all__ = ["Items", "read_items"]


_Dict: TypeAlias = dict[str, Any]
_Original: TypeAlias = Callable[[Message], Sequence[_Dict] | None]


class _Writer(Protocol):
    def __call__(self, view: Sequence[Message], /, *, original: _Original) -> list[_Dict]: ...


def _anthropic_messages(view: Sequence[Message], *, original: _Original) -> list[_Dict]:
    rendered = render_anthropic(view, original=original)
    # The vendor has a field for system messages; a caller who has them here gets them here.
    front = [original(message) or () for message in view if message.role == "system"]
    return [*chain.from_iterable(front), *rendered.messages]


def _detected_chat_messages(view: Sequence[Message], *, original: _Original) -> list[_Dict]:
    """
    Write *view* as OpenAI Chat, but the plain text in front so that it fits either vendor.

    Until its first tool call such a conversation was taken for Anthropic's. What was sent then must
    be sent again, byte for byte, or the vendor's prompt cache starts over without a fold.
    """
    head = list(takewhile(lambda message: _is_either(message, original), view))
    if not head:
        return render_openai_chat(view, original=original)
    front = render_anthropic(head, original=original).messages
    rest = view[len(head) :]
    return [*front, *render_openai_chat(rest, original=original)] if rest else front


def _is_either(message: Message, original: _Original) -> bool:
    if message.is_summary:
        return True
    items = original(message)
    return items is not None and detect_items(items) is NativeFormat.ANTHROPIC


_CONVERTERS = (ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES)
_WRITERS: Mapping[NativeFormat, _Writer] = MappingProxyType(
    {
        NativeFormat.ANTHROPIC: _anthropic_messages,
        NativeFormat.OPENAI_CHAT: render_openai_chat,
        NativeFormat.OPENAI_RESPONSES: render_openai_responses,
    }
)


class Items(Struct, frozen=True, kw_only=True):
    """What a caller passed in, as a history, and the way back."""

    history: History
    kept: Sequence[Any]
    """What was passed in; a copy, if it was a list."""

    writer: _Writer | None = None
    """Writes a view in the format that was given; None if messages were given."""

    messages: Sequence[Message] = ()
    """What was read from dictionaries."""

    sources: Sequence[_Dict | list[_Dict]] = ()
    """The dictionary that each of these was read from, or a list of them."""

    def given(self) -> list[Any]:
        """Return what was passed in."""
        if isinstance(self.kept, History):
            return self.kept.everything()
        return list(self.kept)

    def write(self, view: list[Message]) -> list[Any]:
        """Return *view* in the caller's form; what is unchanged is the caller's own object."""
        if self.writer is None:
            return view
        sources = dict(zip(map(id, self.messages), self.sources, strict=True))

        def original(message: Message) -> list[_Dict] | None:
            source = sources.get(id(message))
            return [source] if isinstance(source, dict) else source

        written = self.writer(view, original=original)
        if not any(message.native is not None and message.native.continues for message in view):
            return written
        # An item that was read as several messages is the caller's own if all of them are here.
        own = {_first_block(item): item for item in self.kept}
        same = (own.get(_first_block(item), item) for item in written)
        return [one if one == item else item for item, one in zip(written, same, strict=True)]


def read_items(
    messages: Any,
    format: NativeFormat | None,
    counter: TokenCounter | None,
) -> Items:
    """Read *messages* in whatever form they are."""
    if isinstance(messages, History):
        return Items(history=messages, kept=messages)
    if not isinstance(messages, Iterable) or isinstance(messages, str | bytes | Mapping):
        text = f"messages must be a list of messages, got {type(messages).__name__}"  # pyright: ignore[reportUnknownArgumentType] - any object
        raise FormatError(text)
    # The caller's list may grow while a summary is written.
    given: list[Any] = list(messages)  # pyright: ignore[reportUnknownArgumentType] - any object
    are_read = not given or isinstance(given[0], Message)
    kind = Message if are_read else Mapping
    for index, one in enumerate(given):
        if not isinstance(one, kind):
            what = "a Message like the first" if are_read else "a dictionary"
            hint = "" if are_read else " (use model_dump of an SDK's object)"
            text = f"messages[{index}] must be {what}, got {type(one).__name__}{hint}"
            raise FormatError(text)
    if are_read:
        return Items(history=History(given, counter=counter), kept=given)
    wire = detect_items(given) if format is None else format
    fitting = (one for one in _CONVERTERS if wire in (one.format, one.format.value))
    converter = next(fitting, None)
    if converter is None:
        known = ", ".join(one.format.value for one in _CONVERTERS)
        text = f"format must be one of {known}, got {getattr(wire, 'value', wire)!r}"
        raise FormatError(text)
    read, sources = converter.read(given)
    # A caller who names a format knows what is to come.
    is_detected = format is None and wire is NativeFormat.OPENAI_CHAT
    writer = _detected_chat_messages if is_detected else _WRITERS[converter.format]
    history = History(read, counter=counter)
    return Items(history=history, kept=given, writer=writer, messages=read, sources=sources)


def _first_block(item: _Dict) -> int:
    """Return the identity of the first block of *item*, or of *item* if it has no blocks."""
    content = item.get("content")
    return id(content[0]) if is_list(content) and content else id(item)
