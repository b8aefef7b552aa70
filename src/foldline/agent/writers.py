"""Writing a view in each format that a caller may have, or going on with one."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, takewhile
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from foldline.history.formats.detect import detect_items
from foldline.history.formats.renderings.anthropic import render_anthropic
from foldline.history.formats.renderings.openai_chat import render_openai_chat
from foldline.history.formats.renderings.openai_responses import render_openai_responses
from foldline.history.formats.renderings.sending import Original, turn_note
from foldline.history.messages import Message, NativeFormat


_Dict: TypeAlias = dict[str, Any]


class Writer(Protocol):
    """Writes views in one format."""

    def __call__(self, view: Sequence[Message], /, *, original: Original, opens: bool) -> "Written":
        """Write *view*, with which a request begins if it *opens* one."""
        ...


class Written(Struct, frozen=True, eq=False):
    """What was written of a view, and who writes what comes after."""

    items: list[_Dict]
    # Writes from one of the *front* messages on, which it has written.
    writer: Writer
    front: int
    # Writes from any other one on.
    later: Writer


def _by(render: Callable[..., list[_Dict]]) -> Writer:
    """Return the writer that *render* is, from any message on."""

    def write(view: Sequence[Message], /, *, original: Original, opens: bool) -> Written:  # noqa: ARG001
        return Written(render(view, original=original), write, 0, write)

    return write


class _Anthropic(Struct, frozen=True):
    """Writes views of a list that begins with so many *rules*, system messages."""

    rules: int

    def __call__(self, view: Sequence[Message], /, *, original: Original, opens: bool) -> "Written":
        rendered = render_anthropic(view, original=original, opens=opens, rules=self.rules)
        # The vendor has a field for what comes first; a caller who has that here gets it here.
        front = [original(message) or () for message in view if message.role == "system"]
        items = [*chain.from_iterable(front[: self.rules]), *rendered.messages]
        return Written(items, self, 0, self)


_chat_messages = _by(render_openai_chat)


def _detected_chat_messages(view: Sequence[Message], *, original: Original, opens: bool) -> Written:
    """
    Write *view* as OpenAI Chat, but the plain text in front so that it fits either vendor.

    Until its first tool call such a conversation was taken for Anthropic's. What was sent then must
    be sent again, byte for byte, or the vendor's prompt cache starts over without a fold.
    """
    head = list(takewhile(lambda message: _is_either(message, original), view))
    if not head:
        return _chat_messages(view, original=original, opens=opens)
    items = render_anthropic(head, original=original, opens=opens).messages
    if rest := view[len(head) :]:
        if note := turn_note(head[-1], rest[0]):
            items.append({"role": "user", "content": note})
        items += render_openai_chat(rest, original=original)
    return Written(items, _detected_chat_messages, len(head), _chat_messages)


def _is_either(message: Message, original: Original) -> bool:
    if message.is_summary:
        return True
    items = original(message)
    return items is not None and detect_items(items) is NativeFormat.ANTHROPIC


_WRITERS: Mapping[NativeFormat, Writer] = MappingProxyType(
    {
        NativeFormat.OPENAI_CHAT: _chat_messages,
        NativeFormat.OPENAI_RESPONSES: _by(render_openai_responses),
    }
)


def writer_of(wire: NativeFormat, *, is_detected: bool, rules: int) -> Writer:
    """
    Return the writer of the format *wire*; a caller who names a format knows what is to come.

    The list begins with *rules* system messages.
    """
    if wire is NativeFormat.ANTHROPIC:
        return _Anthropic(rules)
    if is_detected and wire is NativeFormat.OPENAI_CHAT:
        return _detected_chat_messages
    return _WRITERS[wire]
