"""What a summarizer is given to read at once."""

from collections.abc import Callable, Iterator, Mapping

from msgspec.structs import replace

from foldline.history.history import History
from foldline.history.media import media_inside
from foldline.history.messages import Message
from foldline.history.parts import (
    CompactionPart,
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    is_opaque,
)
from foldline.history.tokens import TokenCounter, count_message


# What is shorter is read with the chunk beside it: a summary of next to nothing is not worth a call.
_LEAST_CHUNK = 4
_LEAST_SLICE = 16
# The field of a part that can be divided.
_TEXTS: Mapping[type[Part], str] = {
    TextPart: "content",
    ReasoningPart: "content",
    CompactionPart: "content",
    ToolCallPart: "arguments",
    ToolCallResponsePart: "response",
    GenericPart: "data",
}


def chunk_end(history: History, start: int, cut: int, room: int) -> int:
    """
    Return the index up to which one chunk goes: where a cut tears nothing apart.

    It has at most *room* tokens, or a quarter more at the end, if there is an index that leaves it
    more than next to nothing.
    """
    within, least = history.index_within(start, room), room // _LEAST_CHUNK
    if within < cut:
        end = next(history.whole_indexes(within, start), start)
        if history.tokens(start, end) < least:
            end = history.next_whole_index(within)
        if history.tokens(min(end, cut), cut) > least:
            return end
    return cut


def split(
    message: Message, room: int, counter: TokenCounter, clean: Callable[[str], str]
) -> Iterator[Message]:
    """
    Give *message* as several that have at most *room* tokens each, as far as text can be divided.

    Args:
        message: A message that is too long.
        room: The tokens of each part.
        counter: Counts them.
        clean: Takes secrets out of a text: half of one is not recognized.
    """
    bare = replace(message, parts=(), native=None)
    room -= count_message(bare, counter)
    parts: list[Part] = []
    left = room
    for part, tokens in _divided(message, room, counter, clean):
        if parts and tokens > left:
            yield replace(bare, parts=tuple(parts))
            parts, left = [], room
        parts.append(part)
        left -= tokens
    yield replace(bare, parts=tuple(parts))


def _divided(
    message: Message, room: int, counter: TokenCounter, clean: Callable[[str], str]
) -> Iterator[tuple[Part, int]]:
    around = count_message(Message(role=message.role), counter)
    for whole in message.parts:
        for part in _leaves(whole):
            text = _text(part)
            alone = Message(role=message.role, parts=(part,), native=message.native)
            tokens = count_message(alone, counter) - around
            if text is None or tokens <= room:
                yield part, tokens
                continue
            empty = _with_text(part, "")
            rest = count_message(Message(role=message.role, parts=(empty,)), counter) - around
            for one in slices(clean(text), max(_LEAST_SLICE, room - rest), counter):
                yield _with_text(part, one), rest + counter.count(one)


def _leaves(part: Part) -> Iterator[Part]:
    """Give the contents of an answer that is more than text one by one, anything else as it is."""
    if isinstance(part, ToolCallResponsePart) and not isinstance(part.response, str):
        for content in part.response:
            if isinstance(content, TextPart):
                yield replace(part, response=content.content)
            else:
                yield replace(part, response=(content,))
    elif not is_opaque(part):
        yield part


def _text(part: Part) -> str | None:
    if isinstance(part, GenericPart) and media_inside(part.data)[1]:
        return None
    text: object = getattr(part, _TEXTS.get(type(part), ""), None)
    return text if isinstance(text, str) else None


def _with_text(part: Part, text: str) -> Part:
    return part if _text(part) is None else replace(part, **{_TEXTS[type(part)]: text})


def slices(text: str, room: int, counter: TokenCounter) -> Iterator[str]:
    """Give *text* in slices of at most *room* tokens, or of one character, that end between words."""
    most = max(1, len(text) * max(1, room) // max(1, counter.count(text)))
    start = 0
    while start < len(text):
        size = most
        while True:
            end = _end(text, start, size)
            if end - start == 1 or counter.count(text[start:end]) <= room:
                break
            size = max(1, (end - start) * 3 // 4)
        yield text[start:end]
        start = end


def _end(text: str, start: int, size: int) -> int:
    """Return where a slice of at most *size* characters ends: after a line, a word, or anywhere."""
    end = start + size
    if end >= len(text):
        return len(text)
    for mark in ("\n", " "):
        found = text.rfind(mark, start + size // 2, end)
        if found >= 0:
            return found + 1
    return end
