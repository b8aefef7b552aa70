"""A view as it was written, and what of it a longer view begins with."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from operator import is_
from typing import Any, TypeAlias, cast

from msgspec import Struct

from foldline.history.formats.wire import is_list, is_object
from foldline.history.messages import Message


Step: TypeAlias = range | dict[str, object]
"""A run of the caller's own items, or an item that was made beside them."""

Ids: TypeAlias = frozenset[tuple[str, str]]
"""Ids of items and of calls, with what each of them is."""

_MARK = "cache_control"


class Settled(Struct, frozen=True, kw_only=True, eq=False):
    """
    The beginning of a written view that every longer one has as well.

    It ends where the speaker changes, with all calls answered, so that what comes next is written
    by itself: nobody's item is put together with one before, and each id is the first of its kind.
    """

    # How many of the view it is.
    messages: int
    steps: Sequence[Step]
    # Those of calls and of items in the whole view, each of which is there once.
    ids: Ids
    # Whether items have their ids in any case, since the view is all that was given.
    keeps_ids: bool
    # Writes the rest.
    writer: Callable[..., Any]


class WrittenView(Struct, frozen=True, kw_only=True, eq=False):
    """A view as it was written."""

    view: Sequence[Message]
    steps: Sequence[Step]
    # The number of items of the list.
    size: int
    # What a longer view begins with; None if all of that has to be written again.
    settled: Settled | None = None

    def begins(self, view: Sequence[Message]) -> bool:
        """Whether *view* begins with this one."""
        return len(view) >= len(self.view) and all(map(is_, self.view, view))


def shown(steps: Iterable[Step], given: Sequence[object]) -> list[Any]:
    """Return what *steps* are of the items *given*, of which the first ones are the same list."""
    found: list[Any] = []
    for one in steps:
        if isinstance(one, range):
            found += given[one.start : one.stop]
        else:
            found.append(fresh(one))
    return found


def joined(first: Sequence[Step], others: Sequence[Step]) -> list[Step]:
    """Return the steps *first* and *others*, which come after them."""
    last, following = first[-1] if first else None, others[0] if others else None
    if isinstance(last, range) and isinstance(following, range) and last.stop == following.start:
        return [*first[:-1], range(last.start, following.stop), *others[1:]]
    return [*first, *others]


def fresh(value: Any) -> Any:
    """Return a copy of *value*, an item or what is in one, which its caller may change."""
    if type(value) is dict:
        made = cast("dict[str, object]", value).copy()
        for key, one in made.items():
            if type(one) is not str:
                made[key] = fresh(one)
        return made
    if type(value) is list:
        return [fresh(one) for one in cast("list[object]", value)]
    return deepcopy(value)


def is_said(item: dict[str, Any]) -> bool:
    """Whether *item* comes from the model, and not from its surroundings."""
    role, kind = item.get("role"), item.get("type")
    if isinstance(role, str):
        return role == "assistant"
    return not (isinstance(kind, str) and kind.endswith(("_output", "_response")))


def ids_in(items: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the ids of *items* and of the calls in them, which are written otherwise if they come twice."""
    for item in items:
        if isinstance(own := item.get("id"), str):
            yield "item", own
        if is_said(item) and isinstance(call := item.get("call_id"), str):
            yield "call", call
        for block in _listed(item, "tool_calls"):
            yield "call", str(block.get("id"))
        for block in _listed(item, "content"):
            if block.get("type") == "tool_use":
                yield "call", str(block.get("id"))


def changes_before(view: Iterable[Message], items: Iterable[dict[str, Any]]) -> bool:
    """Whether *view*, written as *items*, changes what comes before it."""
    # System messages may go in front, a compaction stands for all before it, cache marks are few.
    return any(message.role == "system" for message in view) or any(
        block.get(_MARK) is not None or block.get("type") == "compaction"
        for item in items
        for block in _listed(item, "content")
    )


def _listed(item: dict[str, Any], key: str) -> list[dict[str, Any]]:
    value = item.get(key)
    return [one for one in value if is_object(one)] if is_list(value) else []
