"""A checkpointer of LangGraph in threads, against the one in memory."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from foldline.conversation.conversation import call_sync
from foldline.integrations.langgraph_checkpoints import FoldlineSaver
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore


def added(old: list[str], new: list[str]) -> list[str]:
    """Return both."""
    return old + new


class State(TypedDict):
    """What the graph keeps."""

    words: Annotated[list[str], added]
    blob: bytes


def graph_on(saver: Any) -> Any:
    """Return a graph of two steps."""
    graph: Any = StateGraph(State)
    graph.add_node("one", lambda state: {"words": [f"one {len(state['words'])}"], "blob": b"\x00"})
    graph.add_node("two", lambda state: {"words": [f"two {len(state['words'])}"]})
    graph.add_edge(START, "one")
    graph.add_edge("one", "two")
    return graph.compile(checkpointer=saver)


def config(thread: str, checkpoint: str | None = None) -> Any:
    """Return the configuration of a thread."""
    held = {"thread_id": thread} | ({"checkpoint_id": checkpoint} if checkpoint else {})
    return {"configurable": held}


def story(saver: Any) -> list[Any]:
    """Run, go back in time, run again from there, and return what every checkpoint has."""
    graph = graph_on(saver)
    graph.invoke({"words": ["a"]}, config("t@x"))
    graph.invoke({"words": ["b"]}, config("t@x"))
    past = list(graph.get_state_history(config("t@x")))
    early = next(one for one in past if one.values.get("words") == ["a", "one 1"])
    graph.update_state(early.config, {"words": ["changed"]})
    graph.invoke(None, config("t@x"))
    graph.invoke({"words": ["other"]}, config("u"))
    return [
        (one.values, one.next, one.metadata["step"])
        for name in ("t@x", "u")
        for one in graph.get_state_history(config(name))
    ]


SAVERS: dict[str, Callable[[Path], Any]] = {
    "memory": lambda _: MemoryStore(),
    "sqlite": lambda folder: SQLiteStore(folder / "graph.db"),
}


@pytest.mark.parametrize("make", SAVERS.values(), ids=SAVERS)
def test_a_story_with_branches_is_told_alike(make: Callable[[Path], Any], tmp_path: Path) -> None:
    """Each checkpoint of both branches has what LangGraph's own saver has, also when read afresh."""
    store = make(tmp_path)
    call_sync(store.open)
    expected = story(InMemorySaver())

    found = story(FoldlineSaver(store))
    graph = graph_on(FoldlineSaver(store))
    again = [
        (one.values, one.next, one.metadata["step"])
        for name in ("t@x", "u")
        for one in graph.get_state_history(config(name))
    ]

    assert found == again == expected
    call_sync(store.close)


def test_lists_of_all_threads_and_of_few() -> None:
    """A list without a thread has all of them; a limit, a filter and a bound are kept."""
    own, theirs = FoldlineSaver(MemoryStore()), InMemorySaver()
    for saver in (own, theirs):
        story(saver)

    for wanted in ({}, {"limit": 2}, {"filter": {"source": "input"}}):
        for place in (None, config("t@x")):
            found = [one.metadata["step"] for one in own.list(place, **wanted)]
            assert sorted(found) == sorted(
                one.metadata["step"] for one in theirs.list(place, **wanted)
            )


def test_a_thread_is_copied_and_deleted() -> None:
    """A copy has every checkpoint and grows on its own; what is deleted is gone, also for others."""
    store = MemoryStore()
    saver, other = FoldlineSaver(store), FoldlineSaver(store)
    graph = graph_on(saver)
    graph.invoke({"words": ["a"]}, config("t"))
    saver.copy_thread("t", "copy")
    graph.invoke({"words": ["b"]}, config("copy"))

    assert graph_on(other).get_state(config("t")).values["words"] == ["a", "one 1", "two 2"]
    assert len(graph_on(other).get_state(config("copy")).values["words"]) == 6
    saver.delete_thread("t")
    assert other.get_tuple(config("t")) is None


async def _awaited() -> list[str]:
    graph = graph_on(FoldlineSaver(MemoryStore()))
    await graph.ainvoke({"words": ["a"]}, config("t"))
    state = await graph.aget_state(config("t"))
    listed = [one async for one in graph.aget_state_history(config("t"))]
    assert len(listed) == 4
    words: list[str] = state.values["words"]
    return words


def test_it_is_awaited() -> None:
    """The awaited face keeps the same."""
    assert asyncio.run(_awaited()) == ["a", "one 1", "two 2"]
