"""The reduction of a conversation in the guest's own store."""

import asyncio

from foldline.guests import REDUCTION_KEY, kept_reduction, new_reduction, reduced_in
from foldline.threads.stores.memory import MemoryStore
from tests.guests.notes import Note, talk
from tests.guests.test_view import make_view


def test_a_reduction_comes_back_from_a_store() -> None:
    """What a store is updated with is what it keeps, and nothing if it keeps that already."""
    state = make_view()[0].reduce_sync(talk(4)).state
    store: dict[str, str] = {}

    store.update(new_reduction(store, state))

    assert state is not None
    assert kept_reduction(store) == state
    assert new_reduction(store, state) == new_reduction(store, None) == {}
    assert kept_reduction({}) is None
    assert kept_reduction({"a": store[REDUCTION_KEY]}, "a") == state


async def _in_thread(notes: list[Note]) -> tuple[int, object, object]:
    view, summarizer = make_view()
    thread = await MemoryStore().thread("t")
    await thread.set_metadata({"own": 1})
    first = await reduced_in(thread, lambda state: view.reduce(notes, state=state))
    afresh, other = make_view()
    again = await reduced_in(thread, lambda state: afresh.reduce(notes, state=state))
    assert again.state == first.state
    alone = await reduced_in(None, lambda state: view.reduce(notes, state=state))
    assert alone.state == first.state
    return len(summarizer.requests), other.requests, thread.metadata["own"]


def test_a_thread_keeps_the_reduction() -> None:
    """Another process folds nothing again, and other metadata stays."""
    assert asyncio.run(_in_thread(talk(4))) == (1, [], 1)
