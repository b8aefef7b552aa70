"""The caller's own form of messages: read on the way in, written on the way out."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, takewhile
from operator import is_
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from foldline.agent.known import Conversion, KnownList, KnownLists, WrittenView, fresh
from foldline.errors import FormatError
from foldline.history.formats.anthropic import ANTHROPIC
from foldline.history.formats.detect import detect_items, witnesses_in
from foldline.history.formats.objects import plain, plain_items
from foldline.history.formats.openai_chat import OPENAI_CHAT
from foldline.history.formats.openai_responses import OPENAI_RESPONSES
from foldline.history.formats.renderings.anthropic import render_anthropic
from foldline.history.formats.renderings.openai_chat import render_openai_chat
from foldline.history.formats.renderings.openai_responses import render_openai_responses
from foldline.history.formats.renderings.sending import is_plain
from foldline.history.formats.wire import is_list, is_object
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
_CONVERTER_OF = MappingProxyType({one.format: one for one in _CONVERTERS})
_WRITERS: Mapping[NativeFormat, _Writer] = MappingProxyType(
    {
        NativeFormat.ANTHROPIC: _anthropic_messages,
        NativeFormat.OPENAI_CHAT: render_openai_chat,
        NativeFormat.OPENAI_RESPONSES: render_openai_responses,
    }
)


# System messages, which each view has, are mostly in front.
_FRONT = 8


class Items(Struct, frozen=True, kw_only=True):
    """What a caller passed in, as a history, and the way back."""

    made: Conversion
    """What was read; of messages that were given it has the history alone."""

    kept: Sequence[Any]
    """What was passed in; a copy, if it was a list."""

    writer: _Writer | None = None
    """Writes a view in the format that was given; None if messages were given."""

    @property
    def history(self) -> History:
        """The messages as a history."""
        return self.made.history

    def given(self) -> list[Any]:
        """Return what was passed in."""
        if isinstance(self.kept, History):
            return self.kept.everything()
        return list(self.kept)

    def write(self, view: list[Message]) -> list[Any]:
        """Return *view* in the caller's form; what is unchanged is the caller's own object."""
        if self.writer is None:
            return view
        for known in self.made.views:
            if (shown := self._continued(known, view)) is not None:
                return shown
        sources = _Sources(self, view)
        written = self.writer(view, original=sources.of)
        if any(message.native is not None and message.native.continues for message in view):
            # An item that was read as several messages is the caller's own if all of them are here.
            own = {_first_block(item): item for item in sources.first_items()}
            same = (own.get(_first_block(item), item) for item in written)
            written = [
                one if one == item else item for item, one in zip(written, same, strict=True)
            ]
        if len(view) == self.history.total and len(written) == len(self.kept):
            written = sources.with_ids(written)
        found = sources.as_given(written)
        self.made.views[:] = [WrittenView(view, sources.steps(found), len(self.kept))]
        return found

    def _continued(self, known: WrittenView, view: list[Message]) -> list[Any] | None:
        """
        Return *view* if it is *known*, or that and all items since, of which each is one text.

        Every vendor takes these as they are, one after the other, if the speakers take turns.
        """
        new, start = self.kept[known.size :], len(known.view)
        if len(view) != start + len(new) or (shown := known.of(view, self.kept)) is None:
            return None
        if not new:
            return shown
        if not all(map(is_, view[start:], self.history[-len(new) :])):
            return None
        # What does not end with an item of the caller's own may end otherwise in a longer view.
        run = known.steps[-1] if known.steps else None
        last = shown[-1] if isinstance(run, range) else None
        if not is_object(last) or not _take_turns(last.get("role"), new):
            return None
        size, steps = len(self.kept), [*known.steps]
        if isinstance(run, range) and run.stop == known.size:
            steps[-1] = range(run.start, size)
        else:
            steps.append(range(known.size, size))
        self.made.views[:] = [WrittenView(view, steps, size)]
        shown += new
        return shown


def _take_turns(before: object, items: Sequence[object]) -> bool:
    """Whether each of *items* is one text of another speaker than the one *before* it."""
    for item in items:
        # An answer loses the white space at its end, and what is blank is another text.
        if not is_plain(item) or item["role"] == before or not item["content"][-1:].strip():
            return False
        before = item["role"]
    return True


class _Sources:
    """The caller's own items of the messages of a view."""

    def __init__(self, items: Items, view: list[Message]) -> None:
        self._items = items
        self._split = _CONVERTER_OF[items.made.wire].split
        self._pieces: dict[int, list[_Dict]] = {}
        self._plain: dict[int, _Dict] = {}
        self._indexes = _indexes(items.made.messages, view)

    def of(self, message: Message) -> Sequence[_Dict] | None:
        """Return what *message* was read from; None if it is a new one."""
        index = self._indexes.get(id(message))
        if index is None:
            return None
        places = self._items.made.places
        at = places[index]
        end = places[index + 1] if index + 1 < len(places) else len(self._items.kept)
        if end > at and (index == 0 or places[index - 1] < at):
            return [self._item(place) for place in range(at, end)]
        if at not in self._pieces:
            self._pieces[at] = self._split(self._item(at))
        return [self._pieces[at][index - bisect_left(places, at)]]

    def first_items(self) -> list[_Dict]:
        """Return the first item of each message."""
        places = self._items.made.places
        return [self._item(places[index]) for index in self._indexes.values()]

    def with_ids(self, written: list[_Dict]) -> list[_Dict]:
        """Return *written*, all that was given, with the ids of items: no reasoning is missing here."""
        own = map(self._item, range(len(written)))
        pairs = zip(written, own, strict=True)
        return [one if one == item | {"id": one.get("id")} else item for item, one in pairs]

    def as_given(self, written: list[_Dict]) -> list[Any]:
        """Return *written* with the caller's own objects in place of what was read from them."""
        given = self._items.kept
        own = {id(item): given[place] for place, item in self._plain.items()}
        return [own.get(id(item), item) for item in written]

    def steps(self, found: list[Any]) -> list[range | _Dict]:
        """Return the runs of *found* that are the caller's own items, and the others."""
        places: dict[int, int] = {id(self._items.kept[at]): at for at in self._plain}
        steps: list[range | _Dict] = []
        for one in found:
            at = places.get(id(one))
            last = steps[-1] if steps else None
            if at is None:
                steps.append(fresh(one))
            elif isinstance(last, range) and last.stop == at:
                steps[-1] = range(last.start, at + 1)
            else:
                steps.append(range(at, at + 1))
        return steps

    def _item(self, place: int) -> _Dict:
        """Return the item at *place* as a dictionary, always the same one."""
        made = self._plain.get(place)
        if made is None:
            made = self._plain[place] = plain(self._items.kept[place])
        return made


def _indexes(messages: Sequence[Message], view: list[Message]) -> dict[int, int]:
    """Return where the messages of *view* are in *messages*, by their identities."""
    wanted = {id(message) for message in view}
    ends = (
        range(min(_FRONT, len(messages))),
        range(max(0, len(messages) - len(view)), len(messages)),
    )
    found = {id(messages[at]): at for at in chain(*ends) if id(messages[at]) in wanted}
    # Most views are the newest messages, and not worth a walk over all of them.
    if all(id(message) in found or message.is_summary for message in view):
        return found
    return {id(one): at for at, one in enumerate(messages) if id(one) in wanted}


def read_items(
    messages: Any,
    format: NativeFormat | None,
    counter: TokenCounter | None,
    known: KnownLists | None = None,
) -> Items:
    """Read *messages* in whatever form they are; what is *known* of them is not read again."""
    if type(messages) is not list:
        if isinstance(messages, History):
            return Items(made=Conversion(history=messages), kept=messages)
        if not isinstance(messages, Iterable) or isinstance(messages, str | bytes | Mapping):
            text = f"messages must be a list of messages, got {type(messages).__name__}"  # pyright: ignore[reportUnknownArgumentType] - any object
            raise FormatError(text)
    # The caller's list may grow while a summary is written.
    given: list[Any] = list(messages)  # pyright: ignore[reportUnknownArgumentType] - any object
    if not given or isinstance(given[0], Message):
        _check_kinds(given, Message, "a Message like the first")
        made = Conversion(history=History(given, counter=counter))
        return Items(made=made, kept=given)
    return _read_dictionaries(given, format, counter, KnownLists(0) if known is None else known)


def _read_dictionaries(
    given: list[Any], format: NativeFormat | None, counter: TokenCounter | None, known: KnownLists
) -> Items:
    before = known.find(given, format)
    made = None
    if before is not None and before.size == len(given):
        made = before.conversion
    elif before is not None:
        grown = partial(_grown, before, given)
        made = known.keeping(given, format, grown, grown_from=before, reads_copies=True)
    if made is None:
        read = partial(_converted, given, format, counter)
        made = known.keeping(given, format, read, reads_copies=True)
    # A caller who names a format knows what is to come.
    is_detected = format is None and made.wire is NativeFormat.OPENAI_CHAT
    writer = _detected_chat_messages if is_detected else _WRITERS[made.wire]
    return Items(made=made, kept=given, writer=writer)


def _converted(
    given: list[Any],
    format: NativeFormat | None,
    counter: TokenCounter | None,
    copies: Sequence[Any] | None,
) -> Conversion:
    items = plain_items(given) if copies is None else copies
    _check_kinds(items, Mapping, "a dictionary or an object of an SDK")
    witnesses = witnesses_in(items) if format is None else None
    wire = format if witnesses is None else witnesses.format
    fitting = (one for one in _CONVERTERS if wire in (one.format, one.format.value))
    converter = next(fitting, None)
    if converter is None:
        names = ", ".join(one.format.value for one in _CONVERTERS)
        text = f"format must be one of {names}, got {getattr(wire, 'value', wire)!r}"
        raise FormatError(text)
    read, places = converter.read(items)
    return Conversion(
        history=History(read, counter=counter),
        wire=converter.format,
        witnesses=witnesses,
        places=array("q", places),
    )


def _grown(known: KnownList, given: list[Any], copies: Sequence[Any] | None) -> Conversion | None:
    """
    Return what *given* are, of which the beginning is *known*; None if all has to be read.

    That is so if the new items show another format, go on with the last answer, or are wrong: the
    error names their place in the whole list.
    """
    old = known.conversion
    try:
        new = copies
        if new is None:
            new = plain_items(given[known.size :])
            _check_kinds(new, Mapping, "")
        witnesses = None if old.witnesses is None else witnesses_in(new, old.witnesses)
        told = None if witnesses == old.witnesses else witnesses
        if told is not None and told.format is not old.wire:
            return None
        read, places = _CONVERTER_OF[old.wire].read(new)
        if read[0].role == "assistant" and _is_of(read[0], old.history):
            return None
        history, grown = old.history.copy(), array("q", old.places)
        history.extend(read)
        grown.extend([known.size + at for at in places])
    except FormatError:
        return None
    return Conversion(
        history=history,
        wire=old.wire,
        witnesses=witnesses,
        places=grown,
        views=[*old.views],
    )


def _is_of(answer: Message, history: History) -> bool:
    """Whether *answer* may go on with the newest message of *history*."""
    last = history.at(history.total - 1)
    return last.role == answer.role and last.name == answer.name


def _check_kinds(given: Sequence[Any], kind: type, what: str) -> None:
    # Most lists hold one type.
    if all(issubclass(one, kind) for one in {*map(type, given)}):
        return
    for index, one in enumerate(given):
        if not isinstance(one, kind):
            text = f"messages[{index}] must be {what}, got {type(one).__name__}"
            raise FormatError(text)


def _first_block(item: _Dict) -> int:
    """Return the identity of the first block of *item*, or of *item* if it has no blocks."""
    content = item.get("content")
    return id(content[0]) if is_list(content) and content else id(item)
