"""A view in the caller's form, in which what is unchanged is the caller's own object."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from operator import is_
from typing import Any, TypeAlias

from msgspec import Struct

from foldline.agent.known import Conversion
from foldline.agent.writers import Writer
from foldline.agent.written_view import (
    Ids,
    Settled,
    Step,
    WrittenView,
    changes_before,
    fresh,
    ids_in,
    is_said,
    joined,
    shown,
)
from foldline.history.formats import CONVERTERS
from foldline.history.formats.objects import plain
from foldline.history.formats.renderings.openai_chat import has_object, with_objects
from foldline.history.formats.renderings.sending import only_text
from foldline.history.formats.wire import is_list, is_object, maybe_list, maybe_object
from foldline.history.messages import Message, NativeFormat


_Dict: TypeAlias = dict[str, Any]

# System messages, which each view has, are mostly in front.
_FRONT = 8


class Writing(Struct, frozen=True, eq=False):
    """Writes views of one list."""

    made: Conversion
    kept: Sequence[Any]
    writer: Writer

    def write(self, view: list[Message]) -> list[Any]:
        """Return *view* in the caller's form; what one before it begins with is not written again."""
        for known in self.made.views:
            if known.begins(view):
                longer = self._with_texts(known, view)
                if longer is None and known.settled is not None:
                    longer = self._after(known.settled, view, known)
                if longer is not None:
                    return longer
        nothing = Settled(
            messages=0, steps=(), ids=frozenset(), keeps_ids=False, writer=self.writer
        )
        whole = self._after(nothing, view)
        assert whole is not None
        return whole

    def _with_texts(self, known: WrittenView, view: list[Message]) -> list[Any] | None:
        """Return *view* if it is *known*, or that and all items since, each of them one text."""
        # Every vendor takes these as they are, one after the other, if the speakers take turns.
        new, start, size = self.kept[known.size :], len(known.view), len(self.kept)
        if len(view) != start + len(new):
            return None
        if not new:
            return shown(known.steps, self.kept)
        # What does not end with an item of the caller's own may end otherwise in a longer view.
        run = known.steps[-1] if known.steps else None
        last = self.kept[run.stop - 1] if isinstance(run, range) else None
        if not is_object(last):
            return None
        # What a user says may come before it in a longer view.
        speaker = "user" if last.get("role") == "system" else last.get("role")
        if not _take_turns(speaker, new):
            return None
        if not all(map(is_, view[start:], self.made.history[-len(new) :])):
            return None
        steps = joined(known.steps, [range(known.size, size)])
        self.made.views[:] = [WrittenView(view=view, steps=steps, size=size, settled=known.settled)]
        return shown(steps, self.kept)

    def _after(
        self, start: Settled, view: list[Message], known: WrittenView | None = None
    ) -> list[Any] | None:
        """Return *view* after *start*, a part of *known*; None if what is new changes that."""
        rest, front = view[start.messages :], shown(start.steps, self.kept)
        sources = _Sources(self, rest)
        made = start.writer(rest, original=sources.of, opens=known is None)
        written = sources.put_together(sources.in_objects(made.items, rest), rest)
        keeps_ids = self._keeps_ids(view, len(front) + len(written))
        size, new = (0, rest) if known is None else (known.size, view[len(known.view) :])
        ids = sources.ids(new, size, start.ids)
        if known is not None and (
            ids is None or keeps_ids is not start.keeps_ids or changes_before(rest, written)
        ):
            return None
        found = sources.as_given(sources.with_ids(written, len(front)) if keeps_ids else written)
        messages, items = sources.last_turn(rest, found)
        begun = joined(start.steps, sources.steps(found[:items]))
        settled = None
        if ids is not None and start.messages + messages:
            settled = Settled(
                messages=start.messages + messages,
                steps=begun,
                ids=ids,
                keeps_ids=keeps_ids,
                writer=made.writer if messages < made.front else made.later,
            )
        steps = joined(begun, sources.steps(found[items:]))
        self.made.views[:] = [
            WrittenView(view=view, steps=steps, size=len(self.kept), settled=settled)
        ]
        return front + found

    def _keeps_ids(self, view: Sequence[Message], count: int) -> bool:
        """Whether *count* items of *view* are all that was given, and no id among them is taken off."""
        is_whole = len(view) == self.made.history.total and count == len(self.kept)
        return is_whole and self.made.wire is NativeFormat.OPENAI_RESPONSES


def _take_turns(before: object, items: Sequence[Any]) -> bool:
    """Whether each of *items* is one text of another speaker than the one *before* it."""
    for item in items:
        # An answer loses the white space at its end, and what is blank is another text.
        text = only_text(item)
        if text is None or item["role"] == before or not text[-1:].strip():
            return False
        before = item["role"]
    return True


class _Sources:
    """The caller's own items of the messages of a view."""

    def __init__(self, items: Writing, view: list[Message]) -> None:
        self._items = items
        self._split = CONVERTERS[items.made.wire].split
        self._pieces: dict[int, list[_Dict]] = {}
        self._plain: dict[int, _Dict] = {}
        self._indexes = _indexes(items.made, view)
        self._places: dict[int, list[int]] = {}

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

    def in_objects(self, written: list[_Dict], view: Sequence[Message]) -> list[_Dict]:
        """Return *written* with objects as arguments where a call of *view* is new, if the list has such."""
        is_new = any(one.tool_calls and id(one) not in self._indexes for one in view)
        return [*map(with_objects, written)] if is_new and self._has_objects() else written

    def _has_objects(self) -> bool:
        if self._items.made.wire is not NativeFormat.OPENAI_CHAT:
            return False
        for one in self._items.kept:
            calls = one.get("tool_calls") if is_object(one) else getattr(one, "tool_calls", None)
            if calls:
                return has_object(maybe_object(maybe_list(plain(one).get("tool_calls"))[0]))
        return False

    def put_together(self, written: list[_Dict], view: Sequence[Message]) -> list[_Dict]:
        """Return *written* with the items that were read as several messages, all of *view*."""
        if not any(message.native is not None and message.native.continues for message in view):
            return written
        places = self._items.made.places
        firsts = [self._item(places[index]) for index in self._indexes.values()]
        own = {_first_block(item): item for item in firsts}
        same = (own.get(_first_block(item), item) for item in written)
        return [one if one == item else item for item, one in zip(written, same, strict=True)]

    def ids(self, view: Sequence[Message], size: int, ids: Ids) -> Ids | None:
        """Return *ids* and those of *view*, whose items begin at *size*; None if one comes twice."""
        new = [*ids_in(item for place, item in self._plain.items() if place >= size)]
        for message in view:
            if id(message) in self._indexes or message.is_summary:
                continue
            if message.native is not None:
                return None
            new += [("call", call.id) for call in message.tool_calls]
        found = frozenset(new)
        if len(found) < len(new) or not found.isdisjoint(ids):
            return None
        return ids | found if found else ids

    def last_turn(self, view: Sequence[Message], found: list[Any]) -> tuple[int, int]:
        """Return where in *view* and in *found* the newest turn begins that is one by itself."""
        given, places = self._items.kept, self._items.made.places
        # A program may say the same thing again with the same object: that has several places.
        held = Counter(id(given[at]) for at in {places[at] for at in self._indexes.values()})
        where = {id(item): at for at, item in enumerate(found) if held[id(item)] == 1}
        for at in range(len(view) - 1, 0, -1):
            index = self._indexes.get(id(view[at]))
            if index is None or places[index] == places[index - 1]:
                continue
            place = where.get(id(given[places[index]]), 0)
            if place and view[at - 1].role == "system" and not _is_rule(found[place - 1]):
                # It was written after this.
                continue
            if place and is_said(plain(found[place - 1])) != is_said(self._item(places[index])):
                return at, place
        return 0, 0

    def with_ids(self, written: list[_Dict], start: int) -> list[_Dict]:
        """Return *written*, all from *start* on and no reasoning missing, with the ids of items."""
        own = map(self._item, range(start, start + len(written)))
        pairs = zip(written, own, strict=True)
        return [one if one == item | {"id": one.get("id")} else item for item, one in pairs]

    def as_given(self, written: list[_Dict]) -> list[Any]:
        """Return *written* with the caller's own objects in place of what was read from them."""
        given = self._items.kept
        own = {id(item): given[place] for place, item in self._plain.items()}
        return [own.get(id(item), item) for item in written]

    def steps(self, found: list[Any]) -> list[Step]:
        """Return the runs of *found* that are the caller's own items, and the others; all in turn."""
        if not self._places:
            for place in sorted(self._plain, reverse=True):
                self._places.setdefault(id(self._items.kept[place]), []).append(place)
        steps: list[Step] = []
        for one in found:
            held = self._places.get(id(one))
            # What was given at several places is at the next of them.
            at = None if held is None else held.pop() if len(held) > 1 else held[0]
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


def _indexes(made: Conversion, view: list[Message]) -> dict[int, int]:
    """Return where the messages of *view* are in those of *made*, by their identities."""
    wanted = {id(message) for message in view if not message.is_summary}
    newest = made.newest(min(len(view), made.history.total)) if view else []
    start = made.history.total - len(newest)
    found = {id(one): at for at, one in enumerate(newest, start) if id(one) in wanted}
    # Most views are those and some in front, and not worth a walk over all messages.
    for size in (_FRONT, made.history.total):
        if len(found) < len(wanted):
            messages = made.messages[:size]
            found |= {id(one): at for at, one in enumerate(messages) if id(one) in wanted}
    return found


def _is_rule(item: Any) -> bool:
    return plain(item).get("role") in ("system", "developer")


def _first_block(item: _Dict) -> int:
    """Return the identity of the first block of *item*, or of *item* if it has no blocks."""
    content = item.get("content")
    return id(content[0]) if is_list(content) and content else id(item)
