"""Which items of a section fit: greedy by rank, shown in their own order."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldline.providers.digest.text import shorten


__all__ = ["Counter", "Item", "Selection", "lay_out", "select"]


Counter: TypeAlias = Callable[[str], int]
"""Counts the tokens of a text."""


# Fewer characters a token than any usual text has, so that what is cut also fits.
_CHARACTERS = 2
# A shorter beginning says nothing.
_SHORTEST_CUT = 24


class Item(Struct, frozen=True):
    """One thing that a section could say."""

    text: str
    """The thing itself, one line."""

    order: int
    """Its place among those shown; items are offered by rank, which is another order."""

    group: str = ""
    """What is written once in front of all items that share it, on their one line."""


class Selection(Struct, frozen=True):
    """What was taken."""

    items: tuple[Item, ...]
    """The items that fit."""

    cost: int
    """The tokens that they take, heading included; 0 when nothing fits."""


def select(items: Sequence[Item], *, title: str, limit: int, count: Counter) -> Selection:
    """
    Take items by rank while they fit into *limit* tokens, under a heading of the text *title*.

    An item that does not fit is passed over, so a short one behind it may still be taken. Only
    the first is cut to fit, so that a small section says the beginning of what matters most.
    """
    spent = count(title) + 1
    taken: list[Item] = []
    groups: set[str] = set()
    for offered in items:
        if spent >= limit:
            break
        item = offered if taken else _cut(offered, room=limit - spent, count=count)
        cost = _cost(item, is_new=item.group not in groups, count=count)
        if item.text and spent + cost <= limit:
            spent += cost
            taken.append(item)
            groups.add(item.group)
    if not taken:
        return Selection((), 0)
    return Selection(tuple(taken), spent)


def _cut(item: Item, *, room: int, count: Counter) -> Item:
    if item.group or _cost(item, is_new=True, count=count) <= room:
        return item
    text = shorten(item.text, limit=room * _CHARACTERS)
    return replace(item, text=text if len(text) >= _SHORTEST_CUT else "")


def _cost(item: Item, *, is_new: bool, count: Counter) -> int:
    if not item.group:
        return count(f"- {item.text}\n")
    lead = count(f"- {item.group}: \n") if is_new else 0
    return lead + count(f"{item.text}, ")


def lay_out(items: Sequence[Item]) -> tuple[str, ...]:
    """Write *items* in their order, those of one group on one line."""
    lines: dict[str, list[str]] = {}
    for place, item in enumerate(sorted(items, key=lambda item: item.order)):
        # A null in the key keeps the lines of ungrouped items apart; no text holds one.
        lines.setdefault(item.group or f"\0{place}", []).append(item.text)
    return tuple(
        texts[0] if key.startswith("\0") else f"{key}: {', '.join(texts)}"
        for key, texts in lines.items()
    )
