"""
What a reduction carries of those before it: a few of them, stored without what they share.

Most lines, quotes and shortened messages of a reduction are also those of the next one. So a stored
reduction has a table of each, and those before it name places in them. The tables begin with what
the reduction itself holds, which is not written again.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from functools import cache, cached_property
from itertools import islice
from typing import Annotated, Generic, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct
from msgspec.structs import replace

from foldline.history.codec import canonical_json
from foldline.reduction.quotes import Quote
from foldline.reduction.shortening import Shortened
from foldline.reduction.stride import FOLD_STRIDE


# How many bytes earlier reductions may take, beside as many as the newest one does.
_ROOM = 8192
MOST_CARRIED = 64
"""How many there may be; what is read has no more text than so many times its own."""

# The digits of a place in a table, and a comma.
_PLACE = 5
# In the tables, or said by the order.
_SHARED = {"summary_content": "", "quotes": (), "shortened": (), "previous": None}
_State = TypeVar("_State", bound=Struct)
_Item = TypeVar("_Item", bound=Hashable)
_Found = TypeVar("_Found")


class Carrier(Struct, frozen=True, kw_only=True):
    """A reduction that is carried, or carries others."""

    state: Struct
    """The reduction."""

    lines: Sequence[str]
    """The lines of its summary."""

    quotes: tuple[Quote, ...]
    """What is quoted in it."""

    shortened: tuple[Shortened, ...]
    """The messages that it shows shortened."""

    number: int
    """How many reductions were made up to it."""

    kind: Hashable
    """How it was made: one that was made otherwise does not take its place."""


class Earlier(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An earlier reduction as it is stored."""

    fields: Raw
    """What is in none of the tables, and no default."""

    lines: tuple[int, ...]
    """The places of the lines of its summary."""

    quotes: tuple[int, ...]
    """The places of its quotes."""

    shortened: tuple[int, ...] = ()
    """The places of its shortened messages; in earlier versions they are among the fields."""


class Carried(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The earlier reductions as they are stored, and the rest of the tables."""

    earlier: Annotated[tuple[Earlier, ...], Meta(max_length=MOST_CARRIED)]
    """The reductions, the newest first."""

    lines: tuple[str, ...]
    """The lines that the reduction itself does not have."""

    quotes: tuple[Quote, ...]
    """The quotes that the reduction itself does not have."""

    shortened: tuple[Shortened, ...] = ()
    """The shortened messages that the reduction itself does not have."""


class _Table(Generic[_Item]):
    """What reductions hold of one sort: what was there first, *own*, and what was added."""

    def __init__(self, own: Sequence[_Item]) -> None:
        self.items, self._own = [*own], len(own)

    @cached_property
    def _places(self) -> dict[_Item, list[int]]:
        places: dict[_Item, list[int]] = {}
        for at, item in enumerate(self.items):
            places.setdefault(item, []).append(at)
        return places

    def add(self, items: Iterable[_Item]) -> tuple[int, ...]:
        """Return the places of *items*; none has the place of another, though it is the same."""
        seen, found = Counter[_Item](), list[int]()
        for item in items:
            places = self._places.setdefault(item, [])
            if len(places) == seen[item]:
                places.append(len(self.items))
                self.items.append(item)
            found.append(places[seen[item]])
            seen[item] += 1
        return tuple(found)

    @property
    def rest(self) -> tuple[_Item, ...]:
        """What was added."""
        return tuple(self.items[self._own :])


class Tables:
    """The lines, quotes and shortened messages of reductions that are stored together."""

    def __init__(
        self, lines: Sequence[str], quotes: Sequence[Quote], shortened: Sequence[Shortened]
    ) -> None:
        """Begin with what is stored already."""
        self._lines, self._quotes = _Table(lines), _Table(quotes)
        self._shortened = _Table(shortened)

    def stored(self, one: Carrier) -> Earlier:
        """Return *one* as it is stored; the tables get what they do not have."""
        return Earlier(
            fields=Raw(msgspec.json.encode(_fields(one.state))),
            lines=self._lines.add(one.lines),
            quotes=self._quotes.add(one.quotes),
            shortened=self._shortened.add(one.shortened),
        )

    @property
    def rest(self) -> tuple[tuple[str, ...], tuple[Quote, ...], tuple[Shortened, ...]]:
        """What they got."""
        return self._lines.rest, self._quotes.rest, self._shortened.rest

    def read(self, one: Earlier, kind: type[_State]) -> _State:
        """
        Return the reduction that is stored as *one*, a *kind*.

        Raises:
            msgspec.ValidationError: It is none, or what it holds is not in the tables.
        """
        shortened = picked(self._shortened.items, one.shortened)
        return replace(
            msgspec.json.decode(one.fields, type=kind),
            summary_content="\n".join(picked(self._lines.items, one.lines)),
            quotes=tuple(picked(self._quotes.items, one.quotes)),
            **({"shortened": tuple(shortened)} if shortened else {}),
        )


def kept(newest: Carrier, earlier: Sequence[Carrier]) -> list[Struct]:
    """
    Return those of *earlier* that *newest* carries, the newest first.

    They are the newest of each kind and, between one power of two and the next, the oldest: after an
    edit there is one not far before it. Of the last 16 those are carried too that have room in little
    more. All together they take about as many bytes as *newest*, but the one before it is carried at
    any size, as what is left when *newest* is taken back.

    Args:
        newest: The reduction that is to carry them.
        earlier: The reductions, the newest first.
    """
    if len(earlier) <= 1:
        return [one.state for one in earlier]
    number = max([newest.number, *(one.number for one in earlier)])
    ages = [number - one.number for one in earlier]
    firsts: dict[Hashable, int] = {}
    oldest: dict[Hashable, int] = {}
    for at, one in enumerate(earlier):
        firsts.setdefault(one.kind, at)
        oldest[one.kind, ages[at].bit_length()] = at
    recent = [at for at, age in enumerate(ages) if age < FOLD_STRIDE]
    held = [{*table} for table in _tables(newest)]
    room, found = len(canonical_json(newest.state)) + _ROOM, set[int]()
    spread = dict.fromkeys([*firsts.values(), *oldest.values()])
    for nth, at in enumerate(islice(dict.fromkeys([*spread, *recent]), MOST_CARRIED)):
        if nth == len(spread):
            room = min(room, _ROOM)
        one = earlier[at]
        tables = _tables(one)
        new = [[*{*table} - seen] for table, seen in zip(tables, held, strict=True)]
        size = len(canonical_json((_fields(one.state), *new))) + _PLACE * sum(map(len, tables))
        if at == 0 or size <= room:
            for table, seen in zip(tables, held, strict=True):
                seen.update(table)
            found.add(at)
            room -= size
    return [earlier[at].state for at in sorted(found)]


def packed(newest: Carrier, earlier: Iterable[Carrier]) -> Carried:
    """Return the stored form of the *earlier* reductions, which *newest* carries."""
    tables = Tables(newest.lines, newest.quotes, newest.shortened)
    stored = tuple(map(tables.stored, earlier))
    lines, quotes, shortened = tables.rest
    return Carried(earlier=stored, lines=lines, quotes=quotes, shortened=shortened)


def unpacked(newest: Carrier, carried: Carried, kind: type[_State]) -> list[_State]:
    """
    Return the reductions that *newest* has *carried*, the newest first, each of them a *kind*.

    Raises:
        msgspec.ValidationError: They are none, or what they hold is not in the tables.
    """
    tables = Tables(
        [*newest.lines, *carried.lines],
        [*newest.quotes, *carried.quotes],
        [*newest.shortened, *carried.shortened],
    )
    return [tables.read(one, kind) for one in carried.earlier]


def linked(newest: _State, earlier: Sequence[Struct]) -> _State:
    """Return *newest* with those *earlier* reductions, the newest first, and no others."""
    previous = None
    for one in reversed(earlier):
        previous = replace(one, previous=previous)
    return replace(newest, previous=previous)


def _tables(one: Carrier) -> tuple[Sequence[Hashable], ...]:
    return one.lines, one.quotes, one.shortened


def _fields(state: Struct) -> dict[str, object]:
    """Return the fields that are in none of the tables, and no defaults."""
    defaults = _defaults(type(state))
    fields = msgspec.structs.asdict(state) | _SHARED
    # The number of the stored form may be another one by default, one day.
    return {
        name: value for name, value in fields.items() if name == "format" or value != defaults[name]
    }


@cache
def _defaults(kind: type[Struct]) -> dict[str, object]:
    return {one.name: one.default for one in msgspec.structs.fields(kind)}


def picked(table: Sequence[_Found], places: Sequence[int]) -> list[_Found]:
    """
    Return what *table* has at *places*.

    Raises:
        msgspec.ValidationError: There is no such place, or one is named twice.
    """
    # A place that is named again and again would make much of a small text.
    if len({*places}.intersection(range(len(table)))) < len(places):
        raise msgspec.ValidationError("an earlier reduction names wrong places")
    return [table[at] for at in places]
