"""
The frame of every converter: items of a wire format to messages and back, byte for byte.

Vendors disagree on what an item is: an answer is one item or several, the results of parallel calls
are several items or one. Here neighboring items of one assistant are one message, and each tool
result is a message of its own, so that a conversation has the same messages in every format.

The promise is that what came in one format goes out in it byte for byte. So a message that was read
is written again from its parts, and only if that gives other bytes, the items themselves are kept
beside the parts as JSON text.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from foldline.errors import FormatError
from foldline.history.codec import decode_json
from foldline.history.formats.objects import plain_items
from foldline.history.formats.wire import (
    Object,
    as_object,
    checked_messages,
    is_list,
    is_object,
    json_text,
    listed_blocks,
)
from foldline.history.messages import Message, Native, NativeFormat, Role
from foldline.history.parts import Part, ToolCallPart, ToolCallResponsePart


_ANSWERS: tuple[Role, Role] = ("assistant", "assistant")
_FIRST_KEYS = ("role", "type")
_TOOL_PARTS = (ToolCallPart, ToolCallResponsePart)
_encode = msgspec.json.Encoder().encode


class Converter(Struct, frozen=True, kw_only=True):
    """Reads and writes the items of one wire format."""

    format: NativeFormat
    """The format."""

    parse: Callable[[Object], Message]
    """Reads what one item says."""

    build: Callable[[Message], list[Object]]
    """Writes a message from its parts: as several items, or none, if the format has it so."""

    usual: Callable[[object], Message | None] = lambda _: None
    """
    Reads an item of the shapes that most have; None for any other, or what is no object.

    It knows without a comparison whether the parts write the item again, and keeps it if not.
    """

    id_key: Callable[[Object], str | None]
    """Names the field with the id of a call in what is a call or a result; None for all else."""

    list_key: str = ""
    """The field of an item that holds calls or results, if they are no items of their own."""

    result_type: str = ""
    """The type of a result in that field, if it may be there among others."""

    def messages(self, items: object) -> tuple[Message, ...]:
        """Read *items* of a request or a log, or an SDK's objects; FormatError names the place."""
        if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
            raise FormatError("the messages are not a list")
        return tuple(self.read(plain_items(items))[0])

    def items(self, messages: Iterable[Message]) -> list[Object]:
        """Write *messages* as items; those that were read from this format come out as they were."""
        items: list[Object] = []
        blocks: list[Any] | None = None
        for message in checked_messages(messages, self.format):
            own = self.own_items(message)
            native = message.native
            continues = native is not None and native.format is self.format and native.continues
            if continues and items and own and items[-1].get("role") == own[0].get("role"):
                if blocks is None:
                    blocks = listed_blocks(items[-1].get(self.list_key))
                    items[-1] = {**items[-1], self.list_key: blocks}
                blocks.extend(listed_blocks(own[0].get(self.list_key)))
            else:
                items.extend(own)
                blocks = None
        return items

    def message(self, item: Any) -> Message:
        """Read one item as one message, whatever is next to it."""
        fields = as_object(item, "the message")
        return self._kept(self.parse(fields), [fields])

    def own_items(self, message: Message) -> list[Object]:
        """Write one message: as the items that it was read from, or from its parts."""
        items = self.native_items(message)
        return self.build(message) if items is None else items

    def native_items(self, message: Message) -> list[Object] | None:
        """Return the items of this format that *message* keeps; None if it keeps none."""
        native = message.native
        if native is None or native.format is not self.format or not native.item:
            return None
        kept = decode_json(native.item)
        return [as_object(item, "the kept item") for item in (kept if is_list(kept) else [kept])]

    def read(self, items: Iterable[Any]) -> tuple[list[Message], list[int]]:
        """
        Read plain *items*, with the place of the first item of each message, or raise FormatError.

        Messages of one item have the same place. A text after a text is an answer of its own.
        """
        given = [*items]
        usual = [*map(self.usual, given)]
        messages = [one for one in usual if one is not None]
        if len(messages) == len(given) and _ANSWERS not in pairwise([one.role for one in messages]):
            return messages, [*range(len(given))]
        messages = []
        pieces: list[Object] = []
        places: list[int] = []
        # Where the last answer begins, and whether its items have to be looked at together.
        start, is_open = -1, False
        for place, message, item, is_plain in self._pieces(given, usual):
            is_answer = message.role == "assistant"
            goes_on = is_answer and start >= 0 and not message.begins_after(messages[-1])
            if goes_on and messages[start].name == message.name:
                is_open = True
            else:
                if is_open:
                    self._join(messages, pieces, places, start)
                start = len(messages) if is_answer else -1
                is_open = is_answer and not is_plain
            messages.append(message)
            pieces.append(item)
            places.append(place)
        if is_open:
            self._join(messages, pieces, places, start)
        return messages, places

    def split(self, item: Object) -> list[Object]:
        """Divide *item* so that each result in it is an item of its own, as is what is between."""
        blocks = item.get(self.list_key)
        if not self.result_type or item.get("role") == "assistant" or not is_list(blocks):
            return [item]
        groups: list[list[Any]] = []
        ends = True
        for block in blocks:
            is_result = isinstance(block, dict) and block.get("type") == self.result_type
            if ends or is_result:
                groups.append([])
            groups[-1].append(block)
            ends = is_result
        if len(groups) <= 1:
            return [item]
        speaker = {key: item[key] for key in ("role", "name") if key in item}
        first = {**item, self.list_key: groups[0]}
        return [first, *({**speaker, self.list_key: group} for group in groups[1:])]

    def with_parts(self, message: Message, parts: Sequence[Part | None]) -> Message:
        """Return *message* of kept items with *parts*, one for each of its own, or None without."""
        said = tuple(part for part in parts if part is not None)
        bare = replace(message, parts=said, native=None)
        ids = [
            new.id if isinstance(new, _TOOL_PARTS) else None
            for old, new in zip(message.parts, parts, strict=True)
            if isinstance(old, _TOOL_PARTS)
        ]
        keeps_rest = len(ids) == len(parts) or not all(isinstance(p, _TOOL_PARTS) for p in said)
        items = self._edited(self.native_items(message) or (), iter(ids), keeps_rest=keeps_rest)
        try:
            read = tuple(part for item in items for part in self.parse(item).parts)
        except FormatError:
            return bare
        # What cannot be said by changing ids has to be built from the parts.
        return self._kept(bare, items) if read == said else bare

    def said_by(self, message: Message, items: list[Object]) -> Message:
        """Return *message* as it is if its items, of this format, are *items*."""
        parts = tuple(part for item in items for part in self.parse(item).parts)
        return self._kept(replace(message, parts=parts, native=None), items)

    def _edited(
        self, items: Iterable[Object], ids: Iterator[str | None], *, keeps_rest: bool
    ) -> list[Object]:
        """Return *items* with *ids* in their calls and results; one whose id is None goes."""
        edited: list[Object] = []
        for item in items:
            key, blocks = self.id_key(item), item.get(self.list_key)
            if key is not None:
                new = next(ids, None)
                edited += [] if new is None else [{**item, key: new}]
            elif is_list(blocks) and "role" in item:
                left = self._edited(blocks, ids, keeps_rest=keeps_rest)
                rest = {name: value for name, value in item.items() if name != self.list_key}
                edited.append({**item, self.list_key: left} if left else rest)
            elif keeps_rest:
                edited.append(item)
        return edited

    def _pieces(
        self, items: Iterable[Any], usual: Iterable[Message | None]
    ) -> Iterator[tuple[int, Message, Object, bool]]:
        """Yield each piece of an item: its place, message, itself, and whether all is compared."""
        for place, (item, read) in enumerate(zip(items, usual, strict=True)):
            if read is not None:
                yield place, read, item, True
                continue
            try:
                for message, piece in self._parsed(as_object(item, "the message")):
                    yield place, message, piece, message.role != "assistant"
            except FormatError as error:
                raise FormatError(f"message {place}: {error}") from error

    def _parsed(self, item: Object) -> Iterator[tuple[Message, Object]]:
        for number, piece in enumerate(self.split(item)):
            message = self.parse(piece)
            # Of an answer all items are compared at once.
            if message.role != "assistant":
                message = self._kept(message, [piece])
            if number:
                own = "" if message.native is None else message.native.item
                native = Native(format=self.format, item=own, continues=True)
                message = replace(message, native=native)
            yield message, piece

    def _join(
        self, messages: list[Message], pieces: list[Object], places: list[int], start: int
    ) -> None:
        """Make one message of those from *start* on, an answer."""
        joined, run = messages[start], messages[start:]
        if len(run) > 1:
            joined = Message(
                role=joined.role,
                parts=tuple(chain.from_iterable(message.parts for message in run)),
                id=next((message.id for message in run if message.id is not None), None),
                name=joined.name,
            )
        messages[start:] = [self._kept(joined, pieces[start:], places[start])]
        # What they were read from is not looked at again.
        pieces[start:] = pieces[start : start + 1]
        places[start:] = places[start : start + 1]

    def _kept(self, message: Message, items: list[Object], start: int | None = None) -> Message:
        """Return *message* with its *items* beside it, unless its parts give the same JSON."""
        if all(map(_begins_as_written, items)) and is_same(self.build(message), items):
            return message
        texts: list[str] = []
        for item in items:
            try:
                texts.append(json_text(item))
            except FormatError as error:
                where = "" if start is None else f"message {start + len(texts)}: "
                raise FormatError(f"{where}{error}") from error
        text = texts[0] if len(texts) == 1 else f"[{','.join(texts)}]"
        return replace(message, native=Native(format=self.format, item=text))


def _begins_as_written(item: Object) -> bool:
    """Whether *item* begins as those do that are built; what an SDK dumps begins otherwise."""
    content = item.get("content")
    block = content[0] if is_list(content) and content else None
    return next(iter(item), "") in _FIRST_KEYS and (
        not is_object(block) or next(iter(block), "") == "type"
    )


def is_same(built: object, items: object) -> bool:
    """Whether both are the same JSON; False also if msgspec cannot write one of them."""
    # The bytes tell 1 from 1.0 and the order of keys, the values NaN from null.
    try:
        return built == items and _encode(built) == _encode(items)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return False
