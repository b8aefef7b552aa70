"""What is kept for a guest: a reduction in its own store, as JSON, and its objects in a thread."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeVar, cast

from msgspec.structs import replace

from foldline.agent.reduced import ReducedHistory
from foldline.history.messages import Message
from foldline.reduction.state import HistoryReductionState
from foldline.threads.change import Change
from foldline.threads.thread import ConversationThread


REDUCTION_KEY = "foldline_reduction"
"""Where it is, if the guest has one reduction in a store."""

_WHOLE = "guest_object"

_Object = TypeVar("_Object")


def kept_reduction(
    store: Mapping[str, object], key: str = REDUCTION_KEY
) -> HistoryReductionState | None:
    """Return the reduction that *store* keeps; None if it keeps none."""
    text = store.get(key)
    return HistoryReductionState.from_json(text) if text and isinstance(text, str) else None


def new_reduction(
    store: Mapping[str, object], state: HistoryReductionState | None, key: str = REDUCTION_KEY
) -> dict[str, str]:
    """Return what *store* has to be updated with; nothing if it keeps *state* already."""
    text = None if state is None else state.to_json().decode()
    return {} if text is None or text == store.get(key) else {key: text}


async def reduced_in(
    thread: ConversationThread | None,
    reduce: Callable[[HistoryReductionState | None], Awaitable[ReducedHistory[_Object]]],
) -> ReducedHistory[_Object]:
    """Return what *reduce* makes with the reduction in the metadata of *thread*, which keeps a new one."""
    store: Mapping[str, object] = {} if thread is None else thread.metadata
    reduced = await reduce(kept_reduction(store))
    new = new_reduction(store, reduced.state)
    if thread is not None and new:
        await thread.retry(lambda one: Change(metadata={**one.metadata, **new}))
    return reduced


def rows_of(said: Sequence[Message], whole: object) -> list[Message]:
    """Return *said*, what an object says, as rows of which the first has *whole*, it as JSON."""
    first, *others = said or [Message(role="system")]
    return [replace(first, metadata={**(first.metadata or {}), _WHOLE: whole}), *others]


def objects_in(rows: Iterable[Message]) -> list[dict[str, object]]:
    """Return the objects that *rows* have, as they were given to `rows_of`."""
    held = (one.metadata or {} for one in rows)
    return [cast("dict[str, object]", one[_WHOLE]) for one in held if _WHOLE in one]
