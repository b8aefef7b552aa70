"""
Messages that a view shows shortened: clipped to their head and tail, or cleared to a note.

What is shown depends on the message and on the entry in the record alone, so it stays the same, byte
for byte, until the next fold or batch. The history keeps everything: a note has a pointer to it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from foldline.history.codec import encode_json
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import (
    BlobPart,
    CompactionPart,
    FilePart,
    GenericPart,
    Part,
    ReasoningPart,
    ResponseContent,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
    is_opaque,
    texts_in,
)
from foldline.history.served import is_of_program
from foldline.history.signed import REASONING_NOTE, only_sealed, still_reasoned
from foldline.history.tokens import TokenCounter, count_message


class Shortened(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the message at *index* is shown: the head and tail of each long text, and a note."""

    index: int

    digest: str
    """The digest of the prefix that the message ends, in hexadecimal."""

    tokens: int
    """The estimated tokens of the message as it is shown."""

    note: str
    """What takes the place of a text, or of its middle; `{count}` is the characters left out."""

    head: int = 0
    """The characters kept at the beginning of each long text; 0 if nothing is."""

    tail: int = 0
    """The characters kept at its end."""

    media: bool = True
    """Whether content that is not text is shown, and reasoning."""

    outline: bool = False
    """Whether its texts are shown as one, its calls without arguments, and nothing else."""


_COUNT = "{count}"
_LEAST_CHARACTERS = 32
# What an identifier may look like: a path, an address, a code, a number of some digits.
_IDENTIFIER = re.compile(r"\w(?<![\w./@#:+-].)[\w./@#:+-]{3,79}+(?![\w./@#:+-])")
_SIGN = re.compile(r"[\d/@]").search
# Alone it says nothing, and may be the end of one with a comma: 365,900.75.
_FIGURE = re.compile(r"\d+\.\d+").fullmatch
_MOST_IDENTIFIERS, _LONGEST_IDENTIFIERS = 12, 160


def pointer(index: int, *, recall: bool | None) -> str:
    """Return what a note says of where to find the message at *index*; None for *recall*: nowhere."""
    if recall is None:
        return "the request had no room for them"
    return f"recall(message={index}) returns it" if recall else f"message {index} of the history"


def clip(
    history: History,
    index: int,
    *,
    limit: int,
    recall: bool | None,
    media: bool = True,
    outline: bool = False,
) -> Shortened | None:
    """
    Return how to show a message as heads and tails; None if that would not be shorter.

    It has at most *limit* tokens, or as few as possible. What only its vendor can read stays.
    """
    message, counter = history[index], history.counter
    if _stays(message):
        return None
    whole = history.tokens(index, index + 1)
    lengths = [len(text) for text in _texts(message)]
    longest = sum(lengths) if outline else max(lengths, default=0)
    entry = Shortened(
        index=index,
        digest=_digest(history, index),
        tokens=whole,
        note=f"\n[… {_COUNT} characters left out: {pointer(index, recall=recall)} …]\n",
        media=media,
        outline=outline,
    )
    # Without its media a message may fit as it is.
    size = max(_LEAST_CHARACTERS, longest * limit // (2 * whole) if media else longest)
    while True:
        entry = replace(entry, head=size, tail=size)
        entry = replace(entry, tokens=count_message(shown(message, entry), counter))
        if entry.tokens <= limit or size == _LEAST_CHARACTERS:
            return entry if entry.tokens < whole else None
        size = max(_LEAST_CHARACTERS, int(size * min(0.9, limit / entry.tokens)))


def bare(history: History, index: int) -> Shortened | None:
    """Return how to show only that the message called tools, or answered; None if it did not."""
    message = history[index]
    if _stays(message) or not (message.tool_calls or message.tool_call_responses):
        return None
    entry = Shortened(
        index=index, digest=_digest(history, index), tokens=0, note="", media=False, outline=True
    )
    return replace(entry, tokens=count_message(shown(message, entry), history.counter))


def clear(history: History, index: int, *, name: str, recall: bool | None) -> Shortened | None:
    """
    Return how to show the message at *index* as a short note; None if that would not be shorter.

    The note has the identifiers of what it replaces.

    Args:
        history: The history.
        index: The message: the result of a tool, or a call with long arguments.
        name: What the note calls it.
        recall: Whether the model can call the tool `recall`; None names no place to look.
    """
    message, counter = history[index], history.counter
    if _stays(message):
        return None
    found = _identifiers(_texts(message))
    kept = f" Identifiers in it: {found}." if found else ""
    entry = Shortened(
        index=index,
        digest=_digest(history, index),
        tokens=0,
        note=f"[{name} cleared: {_COUNT} characters, {pointer(index, recall=recall)}.{kept}]",
        media=False,
    )
    entry = replace(entry, tokens=count_message(shown(message, entry), counter))
    return entry if entry.tokens < history.tokens(index, index + 1) else None


def _stays(message: Message) -> bool:
    """Whether only its vendor can read *message*, or refuses others without it."""
    return only_sealed(message) is not None or is_of_program(message)


def clip_text(text: str, *, limit: int, counter: TokenCounter, note: str) -> str:
    """Return *text* in at most *limit* tokens: its head, *note*, and its tail."""
    tokens = counter.count(text)
    size = len(text) * limit // max(1, tokens) // 2
    while tokens > limit and size >= _LEAST_CHARACTERS:
        shorter = _middle_out(text, size, size, note)
        tokens = counter.count(shorter)
        if tokens <= limit:
            return shorter
        size = int(size * min(0.9, limit / tokens))
    return text if tokens <= limit else note.replace(_COUNT, f"{len(text):,}").strip()


def fitting(
    history: History, entries: Sequence[Shortened], *, cut: int, pinned: int | None
) -> tuple[Shortened, ...]:
    """Return those of *entries* that are still of messages which the view shows."""
    if not entries:
        return ()
    length = len(history)
    found = [one for one in entries if one.index == pinned or cut <= one.index < length]
    # A digest is of a whole prefix: where the longest one matches, the others do.
    last = found[-1] if found else None
    if last is not None and last.index != pinned and last.digest != _digest(history, last.index):
        found = [
            one for one in found if one.index == pinned or one.digest == _digest(history, one.index)
        ]
    return tuple(found)


def shown(message: Message, entry: Shortened) -> Message:
    """Return *message* as *entry* shows it."""

    def short(text: str) -> str:
        return _middle_out(text, entry.head, entry.tail, entry.note)

    parts = message.parts if entry.media else tuple(_plain(message.parts))
    parts = _outline(parts, short) if entry.outline else tuple(_short(parts, short))
    # A vendor's own item would still hold everything.
    return still_reasoned(message, replace(message, parts=parts, native=None))


def _plain(parts: Sequence[Part]) -> Iterator[Part]:
    """Give *parts* without reasoning, and with notes in place of what is not text."""
    if all(isinstance(part, ReasoningPart) for part in parts):
        yield TextPart(REASONING_NOTE)
    for part in parts:
        match part:
            case CompactionPart(content=text):
                yield TextPart(text)
            case ToolCallResponsePart(response=tuple() as contents):
                seen = tuple([_noted(one) for one in contents if not is_opaque(one)])
                yield replace(part, response=seen)
            case ReasoningPart() | GenericPart(opaque=True):
                pass
            case BlobPart() | UriPart() | FilePart() | GenericPart():
                yield _noted(part)
            case _:
                yield part


def _noted(part: ResponseContent) -> TextPart:
    if isinstance(part, TextPart):
        return part
    kind = part.kind if isinstance(part, GenericPart) else part.modality
    return TextPart(f"[{kind} left out]")


def _short(parts: Sequence[Part], short: Callable[[str], str]) -> Iterator[Part]:
    for part in parts:
        match part:
            case TextPart(content=text):
                yield TextPart(short(text))
            case ToolCallPart(arguments=text):
                shorter = short(text)
                if shorter != text:
                    # Vendors want an object.
                    shorter = encode_json({"shortened": shorter}).decode()
                yield replace(part, arguments=shorter)
            case ToolCallResponsePart(response=str() as text):
                yield replace(part, response=short(text))
            case ToolCallResponsePart(response=contents):
                assert not isinstance(contents, str)
                response = [
                    TextPart(short(one.content)) if isinstance(one, TextPart) else one
                    for one in contents
                ]
                yield replace(part, response=tuple(response))
            case _:
                yield part


def _outline(parts: Sequence[Part], short: Callable[[str], str]) -> tuple[Part, ...]:
    """Return the texts of *parts* as one, with its calls and answers, which need one another."""
    text = short("\n".join(part.content for part in parts if isinstance(part, TextPart)))
    found: list[Part] = [TextPart(text)] if text else []
    for part in parts:
        if isinstance(part, ToolCallPart):
            found.append(replace(part, arguments="{}"))
        elif isinstance(part, ToolCallResponsePart):
            found.append(replace(part, response=short("\n".join(texts_in(part)))))
    return tuple(found)


def _middle_out(text: str, head: int, tail: int, note: str) -> str:
    left_out = len(text) - head - tail
    shorter = f"{text[:head]}{note.replace(_COUNT, f'{left_out:,}')}{text[len(text) - tail :]}"
    return shorter if len(shorter) < len(text) else text


def _texts(message: Message) -> Iterator[str]:
    for part in message.parts:
        match part:
            case TextPart(content=text) | ToolCallPart(arguments=text):
                yield text
            case ToolCallResponsePart():
                yield from texts_in(part)
            case _:
                pass


def _identifiers(texts: Iterable[str]) -> str:
    """List the first and the last identifiers of *texts*, few enough for a note, and how many more."""
    # Most words come more than once.
    words = dict.fromkeys(chain.from_iterable(map(_IDENTIFIER.findall, texts)))
    named = [one.rstrip(".:-") for one in words if _SIGN(one)]
    found = [one for one in dict.fromkeys(named) if not _FIGURE(one)]
    ends: tuple[list[str], list[str]] = ([], [])
    room = _LONGEST_IDENTIFIERS
    for at in range(min(len(found), _MOST_IDENTIFIERS)):
        one = found[-1 - at // 2 if at % 2 else at // 2]
        room -= len(one) + 2
        if room < 0:
            break
        ends[at % 2].append(one)
    first, last = ends
    left = len(found) - len(first) - len(last)
    return ", ".join([*first, *([f"… ({left:,} more) …"] if left else []), *reversed(last)])


def _digest(history: History, index: int) -> str:
    return history.digest(index + 1).hex()
