"""The caller's own kind of messages: read on the way in, written on the way out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from types import MappingProxyType
from typing import Any, TypeAlias

from msgspec import Struct

from foldline.errors import FormatError
from foldline.history.formats.anthropic import from_anthropic
from foldline.history.formats.detect import detect_items
from foldline.history.formats.openai_chat import from_openai_chat
from foldline.history.formats.openai_responses import from_openai_responses
from foldline.history.formats.renderings.anthropic import render_anthropic
from foldline.history.formats.renderings.openai_chat import render_openai_chat
from foldline.history.formats.renderings.openai_responses import render_openai_responses
from foldline.history.history import History
from foldline.history.messages import Message, NativeFormat
from foldline.history.tokens import TokenCounter


__all__ = ["Items", "read_items"]


_Dict: TypeAlias = dict[str, Any]
_Original: TypeAlias = Callable[[Message], _Dict | None]


def _anthropic_messages(view: Sequence[Message], original: _Original) -> list[_Dict]:
    rendered = render_anthropic(view, original=original)
    # The vendor wants them in a field of their own; a caller who has them here gets them here.
    front = [original(message) for message in view if message.role == "system"]
    return [*(item for item in front if item is not None), *rendered.messages]


def _chat_messages(view: Sequence[Message], original: _Original) -> list[_Dict]:
    return render_openai_chat(view, original=original)


def _detected_chat_messages(view: Sequence[Message], original: _Original) -> list[_Dict]:
    """
    Write *view* as OpenAI Chat, and the plain text in front as if it could still be either vendor's.

    Until its first tool call such a conversation was taken for Anthropic's. What was sent then has
    to be sent again, byte for byte, or the vendor's prompt cache starts over without a fold.
    """
    head = list(takewhile(lambda message: _is_either(message, original), view))
    if not head:
        return _chat_messages(view, original)
    front = render_anthropic(head, original=original).messages
    rest = view[len(head) :]
    return [*front, *_chat_messages(rest, original)] if rest else front


def _is_either(message: Message, original: _Original) -> bool:
    if message.is_summary:
        return True
    item = original(message)
    return item is not None and detect_items([item]) is NativeFormat.ANTHROPIC


def _responses_items(view: Sequence[Message], original: _Original) -> list[_Dict]:
    return render_openai_responses(view, original=original)


_READERS: Mapping[NativeFormat, Callable[[Iterable[_Dict]], Sequence[Message]]] = MappingProxyType(
    {
        NativeFormat.ANTHROPIC: from_anthropic,
        NativeFormat.OPENAI_CHAT: from_openai_chat,
        NativeFormat.OPENAI_RESPONSES: from_openai_responses,
    }
)
_WRITERS: Mapping[NativeFormat, Callable[[Sequence[Message], _Original], list[_Dict]]] = (
    MappingProxyType(
        {
            NativeFormat.ANTHROPIC: _anthropic_messages,
            NativeFormat.OPENAI_CHAT: _chat_messages,
            NativeFormat.OPENAI_RESPONSES: _responses_items,
        }
    )
)


class Items(Struct, frozen=True, kw_only=True):
    """What a caller gave, as a history, and the way back."""

    history: History
    """All that was said."""

    kept: Sequence[Any]
    """What was given, a copy of a list."""

    writer: Callable[[Sequence[Message], _Original], list[_Dict]] | None = None
    """What writes a view in the format that was given; None where messages were."""

    messages: Sequence[Message] = ()
    """Those messages that were read from dictionaries, one for each."""

    def given(self) -> list[Any]:
        """Return what was given, as it was."""
        if isinstance(self.kept, History):
            return self.kept.everything()
        return list(self.kept)

    def write(self, view: list[Message]) -> list[Any]:
        """Return *view* in the caller's kind; what stayed as it was is the caller's own object."""
        if self.writer is None:
            return view
        pairs = zip(self.messages, self.kept, strict=True)
        originals = {id(message): item for message, item in pairs}
        return self.writer(view, lambda message: originals.get(id(message)))


def read_items(
    messages: Any,
    format: NativeFormat | None,
    counter: TokenCounter | None,
) -> Items:
    """
    Read *messages*, of whatever kind they are.

    Raises:
        FormatError: They are no list, are of different kinds, or one is not a message of its format.
    """
    if isinstance(messages, History):
        return Items(history=messages, kept=messages)
    if not _is_list(messages):
        text = f"messages is a {type(messages).__name__}: allowed is a list of messages"
        raise FormatError(text)
    # A list of the caller may grow while a summary is written.
    given: list[Any] = list(messages)
    if not given or isinstance(given[0], Message):
        return _read_messages(given, counter)
    return _read_dicts(given, format, counter)


def _is_list(messages: object) -> bool:
    return isinstance(messages, Iterable) and not isinstance(messages, (str, bytes, Mapping))


def _format(format: object) -> NativeFormat:
    try:
        return NativeFormat(format)
    except ValueError:
        known = ", ".join(one.value for one in _READERS)
        text = f"format {format!r} is not known; known are {known}"
        raise FormatError(text) from None


def _read_messages(messages: Sequence[Any], counter: TokenCounter | None) -> Items:
    for index, message in enumerate(messages):
        if not isinstance(message, Message):
            text = f"message {index} is a {type(message).__name__} among Message objects"
            raise FormatError(text)
    return Items(history=History(messages, counter=counter), kept=messages)


def _read_dicts(
    items: Sequence[Any], format: NativeFormat | None, counter: TokenCounter | None
) -> Items:
    for index, item in enumerate(items):
        if not isinstance(item, Mapping):
            kind = type(item).__name__
            text = f"message {index} is a {kind}, not a dictionary (an SDK's object has model_dump)"
            raise FormatError(text)
    wire = detect_items(items) if format is None else _format(format)
    reader = _READERS.get(wire)
    if reader is None:
        known = ", ".join(sorted(one.value for one in _READERS))
        text = f"format {wire.value!r} cannot be sent to a model; known are {known}"
        raise FormatError(text)
    messages = reader(items)
    # Who names a format knows what is to come.
    is_detected = format is None and wire is NativeFormat.OPENAI_CHAT
    writer = _detected_chat_messages if is_detected else _WRITERS[wire]
    history = History(messages, counter=counter)
    return Items(history=history, kept=items, writer=writer, messages=messages)
