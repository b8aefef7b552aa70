"""A checkpointer of LangGraph in threads, against the one in memory."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph, add_messages
from langgraph.prebuilt import create_react_agent
from langgraph.types import Send

from foldline.agent.reducer import HistoryReducer
from foldline.conversation.conversation import call_sync
from foldline.errors import ConfigError, FormatError, ThreadConflictError
from foldline.history.messages import Message
from foldline.integrations.langchain_messages import LangChainCodec
from foldline.integrations.langgraph import fold_messages
from foldline.integrations.langgraph_checkpoints import FoldlineSaver
from foldline.integrations.langgraph_index import RowIndex
from foldline.integrations.langgraph_rows import Row, append
from foldline.testing.summarizer import ScriptedSummarizer
from foldline.threads.row import StoredRow
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage, MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.integrations.counted import Heard, Room, peek
from tests.integrations.golden import (
    RULES,
    SUMMARY,
    TRANSCRIPTS,
    answer_of,
    make_reducer,
    own_views,
    view_hash,
)
from tests.integrations.players.langchain_script import Scripted, as_langchain


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


class CountingStorage(MemoryStorage):
    """Counts the rows that are read."""

    def __init__(self) -> None:
        super().__init__()
        self.read = 0

    async def rows(self, *args: Any, **kwargs: Any) -> list[StoredRow]:
        """Return rows."""
        found = await super().rows(*args, **kwargs)
        self.read += len(found)
        return found


def test_a_new_process_reads_what_it_needs() -> None:
    """The newest checkpoint takes few rows at any length, also with a value of the first call."""
    storage = CountingStorage()
    saver = FoldlineSaver(ThreadStore(storage))
    for word in "abcdefghijklmnopqrst":
        graph_on(saver).invoke({"words": [word]}, config("t"))
    written = len(call_sync(call_sync(saver._store.thread, "t").get_messages))
    storage.read = 0

    state = graph_on(FoldlineSaver(ThreadStore(storage))).get_state(config("t"))

    assert written > 100
    assert storage.read < 50
    assert len(state.values["words"]) == 60
    assert state.values["blob"] == b"\x00"


def test_only_some_threads_are_indexed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many threads the index of the least recently used goes first; all stay readable."""
    monkeypatch.setattr("foldline.integrations.langgraph_index._MOST_ROWS", 40)
    saver = FoldlineSaver(MemoryStore())
    for name in "abcdefgh":
        graph_on(saver).invoke({"words": [name]}, config(name))

    assert len(saver._indexes._indexes) < 8
    assert [graph_on(saver).get_state(config(name)).values["words"][0] for name in "abcdefgh"] == [
        *"abcdefgh"
    ]


def joined(old: list[str], news: list[list[str]]) -> list[str]:
    """Return all of them."""
    return [*old, *(word for one in news for word in one)]


class Deltas(TypedDict):
    """A state of which only what is new is written."""

    words: Annotated[list[str], DeltaChannel(joined, list, snapshot_frequency=3)]
    blob: bytes


def delta_graph_on(saver: Any) -> Any:
    """Return a graph that writes differences."""
    graph: Any = StateGraph(Deltas)
    graph.add_node("one", lambda state: {"words": [f"one {len(state['words'])}"]})
    graph.add_edge(START, "one")
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize("make", [graph_on, delta_graph_on])
def test_a_prune_keeps_the_newest(make: Callable[[Any], Any]) -> None:
    """What is left says the same, with what it takes from earlier ones, and the graph goes on."""
    saver, other = (FoldlineSaver(store) for store in [MemoryStore()] * 2)
    for word in "abc":
        make(saver).invoke({"words": [word], "blob": b"\x01"}, config("t"))
    before = make(other).get_state(config("t"))
    history = list(saver.list(config("t")))

    saver.prune(["t", "none"])

    assert make(other).get_state(config("t")) == before
    assert len(list(other.list(config("t")))) < len(history)
    after = make(other).invoke({"words": ["d"]}, config("t"))["words"]
    assert after[: len(before.values["words"]) + 1] == [*before.values["words"], "d"]
    saver.prune(["t"], strategy="delete")
    assert other.get_tuple(config("t")) is None


def test_what_a_run_has_put_is_deleted() -> None:
    """The checkpoints of other runs stay, with the values that they take from those deleted."""
    saver = FoldlineSaver(MemoryStore())
    graph = graph_on(saver)
    for run in ("first", "second"):
        graph.invoke({"words": [run]}, {**config("t"), "metadata": {"run_id": run}})
    before = graph.get_state(config("t"))

    saver.delete_for_runs(["first"])

    assert graph.get_state(config("t")).values == before.values
    assert {one.metadata["run_id"] for one in saver.list(config("t"))} == {"second"}
    saver.delete_for_runs(["second"])
    assert list(saver.list(None)) == []


def test_what_was_decided_before_a_prune_is_refused() -> None:
    """A checkpoint that names rows as they were before is a conflict, and nothing is written."""
    store = MemoryStore()
    saver = FoldlineSaver(store)
    graph_on(saver).invoke({"words": ["a"]}, config("t"))
    thread = call_sync(store.thread, "t")
    saver.prune(["t"])

    row = Row(call="put", ns="", id="z", at={"words": ("1", 0)})
    with pytest.raises(ThreadConflictError):
        call_sync(append, thread, row, "t")

    assert graph_on(saver).get_state(config("t")).values["words"] == ["a", "one 1", "two 2"]


class WrittenStorage(MemoryStorage):
    """Counts the commits that were tried."""

    tried = 0

    async def commit(self, *args: Any) -> None:
        """Give way before it is made, as a database does."""
        self.tried += 1
        await asyncio.sleep(0)
        await super().commit(*args)


def test_tasks_of_one_step_write_without_conflicts() -> None:
    """LangGraph writes for all of them at once; each commit that fails would be made again."""
    storage = WrittenStorage()
    graph: Any = StateGraph(State)
    graph.add_node("one", lambda _: {"words": ["one"]})
    graph.add_conditional_edges(START, lambda _: [Send("one", {}) for _ in range(20)])
    app = graph.compile(checkpointer=FoldlineSaver(ThreadStore(storage)))

    found = asyncio.run(app.ainvoke({"words": []}, config("t")))

    assert found["words"] == ["one"] * 20
    thread = call_sync(ThreadStore(storage).thread, "t")
    assert thread.count > 20
    assert storage.tried == thread.head.revision


class LateStore(MemoryStore):
    """Gives one thread only when it is told to, as a database does under load."""

    late: asyncio.Event | None = None

    async def find(self, *args: Any, **options: Any) -> Any:
        """Return the thread as it was when it was asked for."""
        found, late = await super().find(*args, **options), self.late
        self.late = None
        if late is not None:
            await late.wait()
        return found


def test_a_checkpoint_is_read_while_another_task_writes() -> None:
    """A thread that came late from the store is behind what other tasks have read of it."""
    store = LateStore()
    saver = FoldlineSaver(store)
    graph = graph_on(saver)

    async def read() -> tuple[Any, Any]:
        await graph.ainvoke({"words": ["a"]}, config("t"))
        store.late = late = asyncio.Event()
        reading = asyncio.create_task(saver.aget_tuple(config("t")))
        await asyncio.sleep(0)
        await graph.ainvoke({"words": ["b"]}, config("t"))
        newest = await saver.aget_tuple(config("t"))
        late.set()
        return await reading, newest

    found, newest = asyncio.run(read())

    assert found == newest


class HeldStorage(MemoryStorage):
    """Gives rows only when it is told to, for each of the first two readings on its own."""

    def __init__(self) -> None:
        super().__init__()
        self.told = [asyncio.Event(), asyncio.Event()]
        self.held: asyncio.Queue[asyncio.Event] = asyncio.Queue()

    async def rows(self, *args: Any, **kwargs: Any) -> list[StoredRow]:
        """Return rows, as they were when they were asked for."""
        found = await super().rows(*args, **kwargs)
        if self.told:
            self.held.put_nowait(told := self.told.pop())
            await told.wait()
        return found


def test_two_tasks_that_index_what_was_appended_find_the_newest() -> None:
    """The one that has read less comes first; what the other one has read beyond it is not dropped."""
    storage = HeldStorage()
    store = ThreadStore(storage)

    async def read() -> int | None:
        thread = await store.thread("t")
        index, held = RowIndex(thread), list[tuple[Any, asyncio.Event]]()
        for id in "ab":
            await append(thread, Row(call="put", ns="", id=id), "t")
            reading = asyncio.create_task(index.reach(await store.thread("t")))
            held.append((reading, await storage.held.get()))
        for reading, told in held:
            told.set()
            await reading
        return await index.find(thread, "", None)

    assert asyncio.run(read()) == 1


def refused(call: Callable[[], Any]) -> str:
    """Return what *call* is refused with."""
    with pytest.raises(FormatError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("size", [1, 40])
def test_a_thread_of_another_program_is_refused(size: int) -> None:
    """Its messages are no checkpoints, and none is written among them."""
    store = MemoryStore()
    thread = call_sync(store.thread, "support-42")
    call_sync(thread.add_messages, [Message.system("Be brief."), *[Message.user("Hi")] * size])
    saver = FoldlineSaver(store)

    said = {
        refused(lambda: graph_on(saver).invoke({"words": ["a"]}, config("support-42"))),
        refused(lambda: list(saver.list(config("support-42")))),
        refused(lambda: saver.prune(["support-42"])),
        refused(lambda: saver.put(config("support-42"), empty_checkpoint(), {}, {})),
    }

    assert said == {
        (
            "thread 'support-42' holds messages that are no checkpoints of LangGraph: "
            "give LangGraph another thread_id, or the FoldlineSaver another tenant"
        )
    }
    call_sync(thread.refresh)
    assert thread.count == size + 1


def test_a_message_among_checkpoints_is_refused() -> None:
    """Somebody has added it to the thread of a graph; to read on would take for ever."""
    store = MemoryStore()
    graph_on(FoldlineSaver(store)).invoke({"words": ["a"]}, config("t"))
    call_sync(call_sync(store.thread, "t").add_message, Message.user("Hi"))

    assert "thread 't' holds messages" in refused(
        lambda: FoldlineSaver(store).get_tuple(config("t"))
    )


class AgentState(TypedDict, total=False):
    """What `create_react_agent` keeps, with the reduction."""

    messages: Annotated[list[BaseMessage], add_messages]
    remaining_steps: int
    llm_input_messages: list[BaseMessage]
    foldline_reduction: str


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
def test_a_pre_model_hook_shows_the_view() -> None:
    """Inside the loop of `create_react_agent` each call gets the view; a restart folds nothing again."""
    (transcript, *_), saver, read = TRANSCRIPTS, FoldlineSaver(MemoryStore()), LangChainCodec().read
    asked: list[list[Message]] = []
    folds = 0
    for turn in transcript.turns:
        # Each turn has a reducer and an agent of its own, as in another process.
        summarizer = ScriptedSummarizer(repeat=SUMMARY)
        model = Scripted()
        model.answers = [as_langchain(one) for one in turn if one.role == "assistant"]

        @tool
        def look(room: int, side: int) -> str:
            """Look at a side of a room."""
            return answer_of(transcript.messages, {"room": room, "side": side})

        agent: Any = create_react_agent(
            model,
            [look],
            state_schema=AgentState,
            pre_model_hook=fold_messages(make_reducer(summarizer)),
            checkpointer=saver,
        )
        rules = [] if asked else [SystemMessage(RULES)]
        agent.invoke({"messages": [*rules, as_langchain(turn[0])]}, config("house"))
        asked += [[said for one in request for said in read(one)] for request in model.asked]
        folds += len(summarizer.requests)

    assert [*map(view_hash, asked)] == [*map(view_hash, own_views(transcript))]
    assert folds == len(
        {one.text for view in own_views(transcript) for one in view if one.is_summary}
    )


@pytest.mark.parametrize("is_async", [False, True])
def test_what_the_node_is_told_of_a_request_is_counted(is_async: bool) -> None:
    """It sees the messages alone: the prompt and the tools are of the node that asks."""
    heard = Heard()
    schema = {"name": "answer", "parameters": Room.model_json_schema()}
    reducer = HistoryReducer(counter=heard)
    node = fold_messages(reducer, instructions="Always be INSTRUCTED.", tools=[tool(peek), schema])
    state = {"messages": [HumanMessage("Hi")]}

    made = asyncio.run(node.ainvoke(state)) if is_async else node.invoke(state)

    assert made == {"llm_input_messages": state["messages"]}
    assert heard.parts == ["INSTRUCTED", "TOOLED", "FORMED"]


def test_a_path_is_no_store() -> None:
    """What is given in place of a store is refused at once, and not in the first run."""
    path: Any = "chat.db"
    with pytest.raises(ConfigError, match="store must be a ThreadStore, got str"):
        FoldlineSaver(path)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"instructions": 5}, "instructions must be a str, got int"),
        ({"tools": 5}, "tools must be an Iterable, got int"),
    ],
)
def test_what_a_node_cannot_count_is_refused_when_it_is_made(given: Any, said: str) -> None:
    """Instructions that are no text, and tools that are no list, are named in one line."""
    with pytest.raises(ConfigError, match=said):
        fold_messages(HistoryReducer(window=4_000), **given)
