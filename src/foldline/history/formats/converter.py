"""
The frame of every converter: items of a wire format to messages and back, byte for byte.

Vendors disagree on what an item is: an answer is one item or several, the results of parallel calls
are several items or one. Here neighboring items of one assistant are one message, and each tool
result is a message of its own, so that a conversation has the same messages in every format.

The promise is that what came in one format goes out in it byte for byte. So a message that was read
is written again from its parts, and only if that gives other bytes, the items themselves are kept
beside the parts as JSON text.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import chain
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from foldline.errors import FormatError
from foldline.history.codec import decode_json
from foldline.history.formats.fields import Object, at
from foldline.history.formats.wire import as_object, is_list, json_text
from foldline.history.messages import Message, Native, NativeFormat
from foldline.history.parts import Part, TextPart, ToolCallPart, ToolCallResponsePart


__all__ = ["Converter"]


_PLAIN_KEYS = ("role", "content")
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

    plain_roles: Collection[str] = ()
    """The roles whose items of one str are written as they were read, which needs no check."""

    id_key: Callable[[Object], str | None]
    """Names the field with the id of a call in what is a call or a result; None for all else."""

    list_key: str = ""
    """The field of an item that holds calls or results, if they are no items of their own."""

    result_type: str = ""
    """The type of a result in that field, if it may be there among others."""

    def messages(self, items: object) -> tuple[Message, ...]:
        """
        Read a list of items: that of a request, or a log of such items.

        Raises:
            FormatError: An item has the wrong shape; the error names its place and the field.
        """
        return tuple([message for message, _ in self.pairs(items)])

    def items(self, messages: Iterable[Message]) -> list[Object]:
        """Write *messages* as items; those that were read from this format come out as they were."""
        items: list[Object] = []
        blocks: list[Any] | None = None
        for message in messages:
            own = self.own_items(message)
            native = message.native
            continues = native is not None and native.format is self.format and native.continues
            if continues and items and own and items[-1].get("role") == own[0].get("role"):
                if blocks is None:
                    blocks = self._listed(items[-1])
                    items[-1] = {**items[-1], self.list_key: blocks}
                blocks.extend(self._listed(own[0]))
            else:
                items.extend(own)
                blocks = None
        return items

    def message(self, item: Any) -> Message:
        """
        Read one item as one message, whatever is next to it.

        Raises:
            FormatError: *item* has the wrong shape.
        """
        plain = self._plain(item)
        if plain is not None:
            return plain
        fields = as_object(item, "the message")
        return self._kept(self.parse(fields), [fields])

    def _plain(self, item: Any) -> Message | None:
        """Return the message that *item* is if it is a role and one str, as most items are."""
        if type(item) is not dict or len(item) != len(_PLAIN_KEYS):
            return None
        content = item.get("content")
        if type(content) is not str or next(iter(item)) != "role":
            return None
        role = item["role"]
        if role not in self.plain_roles:
            return None
        return Message(role=role, parts=(TextPart(content),))

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

    def pairs(self, items: object) -> list[tuple[Message, list[Object]]]:
        """
        Read *items* as `messages` does, each message with the items that it was read from.

        Of an item that is several messages each one has a piece, which holds the item's own blocks.

        Raises:
            FormatError: An item has the wrong shape; the error names its place and the field.
        """
        if isinstance(items, (str, bytes, dict)) or not isinstance(items, Iterable):
            text = "the messages are not a list"
            raise FormatError(text)
        pairs: list[tuple[Message, list[Object]]] = []
        # The answer that the last of the pairs is, as far as it was read.
        run: list[Message] = []
        is_open, place = False, 0
        for place, item in enumerate(items):
            plain = self._plain(item)
            pieces = self._pieces(item, place) if plain is None else ((plain, item),)
            for message, own in pieces:
                is_answer = message.role == "assistant"
                if is_answer and run and run[-1].name == message.name:
                    pairs[-1][1].append(own)
                    run.append(message)
                    is_open = True
                    continue
                if is_open:
                    self._join(pairs, run, place)
                pairs.append((message, [own]))
                run = [message] if is_answer else []
                is_open = is_answer and plain is None
        if is_open:
            self._join(pairs, run, place + 1)
        return pairs

    def split(self, item: Object) -> list[Object]:
        """
        Divide *item* so that each result in it is an item of its own, between those of the rest.
        """
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
        """
        Return *message* with other calls and results, and all else that its items hold.

        Args:
            message: A message that keeps items of this format.
            parts: For each of its parts what takes its place: itself, a call or a result with
                another id, or None to leave it out. Of parts that are neither, all or none.
        """
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

    def _pieces(self, item: Any, place: int) -> Sequence[tuple[Message, Object]]:
        try:
            fields = as_object(item, "the message")
            first, *others = self.split(fields)
            message = self.parse(first)
            if not others and message.role == "assistant":
                # Of an answer all items are compared at once.
                return ((message, first),)
            pieces = [(self._kept(message, [first]), first)]
            for piece in others:
                message = self._kept(self.parse(piece), [piece])
                own = "" if message.native is None else message.native.item
                native = Native(format=self.format, item=own, continues=True)
                pieces.append((replace(message, native=native), piece))
        except FormatError as error:
            text = f"message {place}: {error}"
            raise FormatError(text) from error
        return pieces

    def _join(
        self, pairs: list[tuple[Message, list[Object]]], run: Sequence[Message], end: int
    ) -> None:
        """Put one message for all of *run* in the last of *pairs*, which has the items of it."""
        joined, items = run[0], pairs[-1][1]
        if len(run) > 1:
            joined = Message(
                role=joined.role,
                parts=tuple(chain.from_iterable(message.parts for message in run)),
                id=next((message.id for message in run if message.id is not None), None),
                name=joined.name,
            )
        pairs[-1] = (self._kept(joined, items, start=end - len(run)), items)

    def _kept(self, message: Message, items: list[Object], start: int | None = None) -> Message:
        """
        Return *message* with *items* beside it, unless its parts alone give the same JSON.

        Args:
            message: What the items say.
            items: The items.
            start: The place of the first of them, for an error that names it.
        """
        built = self.build(message)
        if _is_same(built, items):
            return message
        texts: list[str] = []
        for place, item in enumerate(items, start or 0):
            with at(f"message {place}") if start is not None else nullcontext():
                texts.append(json_text(item))
        text = texts[0] if len(texts) == 1 else f"[{','.join(texts)}]"
        return replace(message, native=Native(format=self.format, item=text))

    def _listed(self, item: Object) -> list[Any]:
        blocks = item.get(self.list_key)
        return [{"type": "text", "text": blocks}] if isinstance(blocks, str) else list(blocks or ())


def _is_same(built: list[Object], items: list[Object]) -> bool:
    """Whether both are surely the same JSON, without the care for what msgspec cannot write."""
    # The bytes tell 1 from 1.0 and the order of keys, the values NaN from null.
    try:
        return built == items and _encode(built) == _encode(items)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return False
