"""What may be committed: values that can be read again, and no others."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foldline.errors import CheckpointError, ConfigError, StoreError
from foldline.history.history import History
from foldline.history.messages import Message, Native, NativeFormat, Usage
from foldline.history.parts import (
    BlobPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.reduction.state import HistoryReductionState, SummaryLayer
from foldline.threads.checkpointer import ThreadCheckpointer
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread
from foldline.threads.tools import ToolRun


NOW = datetime(2026, 11, 21, tzinfo=UTC)
SAID = [Message.user("secret one"), Message.assistant("secret two")]
STATE = AgentLoopState(run_id="r", conversation_id="t", started_at=NOW)
REDUCTION = HistoryReductionState.create(
    SAID,
    "what was said",
    2,
    target_count=1,
    reduction_threshold=1,
    message_count_at_reduction=2,
    created_at=NOW,
)
Change = Callable[[], dict[str, Any]]


def state(**fields: Any) -> Change:
    return lambda: {"execution": msgspec.structs.replace(STATE, **fields)}


def tool(**fields: Any) -> Change:
    known: dict[str, Any] = {"call_id": "c", "name": "n"}
    return lambda: {"tools": [ToolRun(**{**known, **fields})]}


def reduction(**fields: Any) -> Change:
    return lambda: {"reduction": msgspec.structs.replace(REDUCTION, **fields)}


def message(**fields: Any) -> Change:
    known: dict[str, Any] = {"role": "user", "parts": (TextPart("x"),)}
    return lambda: {"messages": [Message(**{**known, **fields})]}


def part(one: object, role: str = "user") -> Change:
    return message(role=role, parts=(TextPart("x"), one))


CALL = ToolCallPart("c", "n", "{}")
ILL_TYPED: dict[str, tuple[str, Change]] = {
    "termination_reason": ("termination_reason", lambda: {"execution": STATE.terminated(5)}),  # type: ignore[arg-type]
    "metadata": ("metadata", state(metadata={"a": 1})),
    "metadata object": ("no place in JSON", state(metadata={"a": object()})),
    "context_window": ("context_window", state(context_window=1.5)),
    "context_window_model": ("context_window_model", state(context_window_model=None)),
    "service_thread_id": ("service_thread_id", state(service_thread_id=7)),
    "service_watermark": ("service_watermark", state(service_watermark=None)),
    "service_mark": ("service_mark", state(service_mark=b"x")),
    "last_assistant_message_id": (
        "last_assistant_message_id",
        state(last_assistant_message_id=3),
    ),
    "completed_functions": ("completed_functions", state(completed_functions=frozenset([1]))),
    "repeat_counts": ("repeat_counts", state(repeat_counts={"a": "b"})),
    "iteration": ("iteration", state(iteration=True)),
    "started_at": ("started_at", state(started_at="2026-11-21T00:00:00Z")),
    "is_terminated": ("is_terminated", state(is_terminated="no")),
    "current_messages": ("current_messages", state(current_messages=[SAID[0]])),
    "a newer state": ("format 9", state(format=9)),
    "a state that is a text": ("it is a str, not a AgentLoopState", lambda: {"execution": "x"}),
    "result": ("result", tool(result=(1,))),
    "result text": (r"result\[0\]\.content", tool(result=(TextPart(5),))),  # type: ignore[arg-type]
    "result call": (r"result\[0\]\.type", tool(result=(CALL,))),
    "policy": ("policy", tool(policy="whatever")),
    "policy of half a character": ("a text stands where", tool(policy="\ud800")),
    "is_error": ("is_error", tool(is_error="x")),
    "place": ("place", tool(place=None)),
    "a run that is a text": ("it is a str, not a ToolRun", lambda: {"tools": ["x"]}),
    "settled": ("settled call is a int", lambda: {"settled": [5]}),
    "source": ("allowed are root, input", lambda: {"execution": STATE, "source": "bad"}),
    "summary_tokens": ("summary_tokens", reduction(summary_tokens="x")),
    "summary_content": ("summary_content", reduction(summary_content=5)),
    "half a summary": ("half a character", reduction(summary_content="\ud800")),
    "layers": ("layers", reduction(layers=(1,))),
    "layer": (
        r"layers\[0\]\.end",
        reduction(layers=(SummaryLayer(summary="", start=0, end="x", message_hash=""),)),  # type: ignore[arg-type]
    ),
    "pinned_index": ("message -3 pinned", reduction(pinned_index=-3)),
    "counting_unit": ("counting_unit", reduction(counting_unit="bananas")),
    "cut": ("summarized_up_to_index", reduction(summarized_up_to_index="2")),
    "a newer reduction": ("format 9", reduction(format=9)),
    "a reduction that is a text": ("it is a str, not a", lambda: {"reduction": "x"}),
    "role": ("role", message(role="bot")),
    "parts": ("parts", message(parts=None)),
    "id": (r"`\$\.id`", message(id=5)),
    "name": (r"`\$\.name`", message(name=5)),
    "created_at": ("created_at", message(created_at="now")),
    "usage": ("usage", message(usage=Usage(input_tokens="5"))),  # type: ignore[arg-type]
    "usage dict": ("a dict - at `\\$.usage`", message(usage={})),
    "native": ("native", message(native=Native(format=NativeFormat.ANTHROPIC, item=b"{}"))),  # type: ignore[arg-type]
    "native dict": ("native", message(native={"format": "anthropic", "item": "{}"})),
    "message metadata": ("no place in JSON", message(metadata={"a": object()})),
    "a part that is a text": (r"parts\[1\]", part("secret")),
    "a part that is a dict": (r"parts\[1\]", part({"type": "text", "content": "secret"})),
    "text": (r"parts\[1\]\.content", part(TextPart(5))),  # type: ignore[arg-type]
    "arguments": (
        r"parts\[1\]\.arguments",
        part(ToolCallPart("c", "n", {"a": 1}), "assistant"),  # type: ignore[arg-type]
    ),
    "an answer in dicts": (
        r"parts\[1\]\.response",
        part(ToolCallResponsePart("c", ({"type": "text", "content": "secret"},)), "tool"),  # type: ignore[arg-type]
    ),
}


def told(story: Callable[[ConversationThread, MemoryStore], Awaitable[None]]) -> None:
    """Tell *story* of a thread that holds a conversation."""

    async def run() -> None:
        async with MemoryStore(checkpoints="full") as store:
            thread = await store.thread("t")
            await thread.add_messages(SAID)
            await story(thread, store)

    asyncio.run(run())


@pytest.mark.parametrize("name", ILL_TYPED)
def test_what_could_not_be_read_again_is_refused(name: str) -> None:
    """
    A field of a wrong kind is an error that names it and holds no value, and nothing is written.
    """
    text, change = ILL_TYPED[name]

    async def story(thread: ConversationThread, store: MemoryStore) -> None:
        with pytest.raises(ConfigError, match=text) as caught:
            await thread.commit(**change())
        assert "secret" not in str(caught.value)
        found = await store.find("t")
        assert found is not None
        assert (found.revision, await found.get_messages()) == (thread.revision, SAID)

    told(story)


@pytest.mark.parametrize(
    ("field", "number"),
    [
        ("iteration", -1),
        ("consecutive_failures", -1),
        ("turn_start", -1),
        ("turn_start", 4),
        ("service_watermark", -2),
    ],
)
def test_a_number_that_no_snapshot_may_hold_is_refused(field: str, number: int) -> None:
    """
    What `restore` refuses is not committed; a turn may begin behind all messages of its commit.

    A run that has ended is resumed by nobody, and hinders neither.
    """
    odd = msgspec.structs.replace(STATE, **{field: number})

    async def story(thread: ConversationThread, store: MemoryStore) -> None:
        with pytest.raises(CheckpointError, match=f"Checkpoint has invalid .*: {number}$"):
            await thread.commit(messages=[SAID[0]], execution=odd)
        found = await store.find("t")
        assert found is not None
        assert (found.revision, found.execution_state) == (thread.revision, None)
        whole = msgspec.structs.replace(STATE, turn_start=3)
        for name, state in (("u", whole), ("v", odd.terminated("done"))):
            await thread.commit(messages=[SAID[0]], execution=state)
            copy = await store.restore(await thread.to_snapshot(), thread_id=name)
            assert copy.count == thread.count

    told(story)


def test_a_message_that_is_added_alone_is_checked_too() -> None:
    """Adding, appending and editing refuse what committing refuses."""
    bad = Message(role="user", parts=("x",))  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]

    async def story(thread: ConversationThread, _: MemoryStore) -> None:
        for write in (thread.add_message(bad), thread.append([bad]), thread.edit(0, bad)):
            with pytest.raises(ConfigError, match=r"a message cannot be stored: .*parts\[0\]"):
                await write

    told(story)


@pytest.mark.parametrize("given", [SAID[0], "text", "", b"x", {}, {"a": 1}, None, 5])
def test_what_is_no_list_is_refused(given: Any) -> None:
    """
    A single value, a text and a mapping are an error that names the argument and what was given.
    """

    async def story(thread: ConversationThread, _: MemoryStore) -> None:
        writes = {
            "messages": (thread.add_messages, thread.append, lambda it: thread.commit(messages=it)),
            "tools": (lambda it: thread.commit(tools=it),),
            "settled": (lambda it: thread.commit(settled=it),),
        }
        for name, ways in writes.items():
            text = f"^{name} is a {type(given).__name__}: allowed is a list$"
            for write in ways:
                with pytest.raises(ConfigError, match=text):
                    await write(given)
        assert thread.count == 2

    told(story)


def test_whatever_can_be_gone_through_is_a_list() -> None:
    """
    Messages may come in a list, a tuple, a history, a set, a generator or the values of a dict.
    """

    async def story(thread: ConversationThread, _: MemoryStore) -> None:
        ways = (SAID, tuple(SAID), History(SAID), iter(SAID), dict(enumerate(SAID)).values())
        for given in ways:
            await thread.add_messages(given)
            await thread.append(one for one in SAID)
        assert await thread.get_messages() == SAID * (1 + 2 * len(ways))

    told(story)


@pytest.mark.parametrize("index", ["5", 1.0, True, False, None, b"1"])
def test_an_index_is_a_whole_number(index: Any) -> None:
    """A text, a fraction and a truth value are no index: it is named, and nothing is taken back."""

    async def story(thread: ConversationThread, _: MemoryStore) -> None:
        kind = type(index).__name__
        with pytest.raises(ConfigError, match=f"^at is a {kind}: allowed is a whole number$"):
            await thread.rewind(index)
        with pytest.raises(ConfigError, match=f"^index is a {kind}: allowed is a whole number$"):
            await thread.edit(index, SAID[0])
        assert await thread.get_messages() == SAID

    told(story)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({1: 2}, "metadata has a key that is a int: allowed are names (texts)"),
        ({b"a": 2}, "metadata has a key that is a bytes: allowed are names (texts)"),
        ({" ": 2}, "metadata has a blank key: allowed are names"),
        ([("a", 1)], "metadata is a list: allowed is a dict"),
        ([], "metadata is a list: allowed is a dict"),
        ("abc", "metadata is a str: allowed is a dict"),
        (5, "metadata is a int: allowed is a dict"),
    ],
)
def test_metadata_is_a_mapping_of_names(given: Any, text: str) -> None:
    """
    A key that is no text is told by its type, a blank one as such, and so is what is no mapping.
    """

    async def story(thread: ConversationThread, _: MemoryStore) -> None:
        with pytest.raises(ConfigError) as caught:
            await thread.set_metadata(given)
        assert str(caught.value) == text

    told(story)


@pytest.mark.parametrize("ttl", [timedelta.max, timedelta(days=365 * 8000), "1 day", timedelta(0)])
@pytest.mark.parametrize("thread_id", ["t", "new"])
def test_a_span_ends_within_the_calendar(ttl: Any, thread_id: str) -> None:
    """A life whose end has no date is refused as one that is no span is, and no thread is made."""

    async def story(_: ConversationThread, store: MemoryStore) -> None:
        with pytest.raises(ConfigError, match=r"^ttl=.*: allowed is "):
            await store.thread(thread_id, ttl=ttl)
        assert [one.id async for one in store.threads()] == ["t"]
        assert (await store.thread("long", ttl=timedelta(days=365 * 7000))).expires_at is not None

    told(story)


@pytest.mark.parametrize(
    "moment",
    [
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-5))),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=5))),
    ],
)
def test_a_moment_has_a_year_in_utc(moment: datetime) -> None:
    """A time that is beyond the calendar in UTC, in which it is stored, is refused by its name."""

    async def story(thread: ConversationThread, _: MemoryStore) -> None:
        with pytest.raises(ConfigError, match=r"^expires_at=.*: allowed are the years 1 to 9999"):
            await thread.set_expiry(moment)
        assert thread.expires_at is None

    told(story)


@pytest.mark.parametrize("path", [None, 5, b"a.db", [], ""])
def test_a_path_is_a_name(path: Any) -> None:
    """What names no file is refused as soon as a store is made of it, by its type."""
    with pytest.raises(ConfigError, match=r"^path") as caught:
        SQLiteStore(path)

    assert (type(path).__name__ if path != "" else "path is empty") in str(caught.value)


def test_a_folder_is_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A folder is refused by its name before anything is made beside it; a new name in it is not.
    """
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")

    for path in (".", tmp_path / "folder", "../folder/"):
        with pytest.raises(StoreError, match="is a folder: name the file of the store in it"):
            SQLiteStore(path)
    SQLiteStore("a.db")

    assert [one.name for one in tmp_path.rglob("*")] == ["folder"]


@pytest.mark.parametrize("seconds", ["5", None, True, 0, -1.0, float("nan")])
def test_a_timeout_is_a_number_of_seconds(tmp_path: Path, seconds: Any) -> None:
    """A time to wait that is no number above zero is refused."""
    with pytest.raises(ConfigError, match=r"^busy_timeout=.*: allowed is a number of seconds"):
        SQLiteStore(tmp_path / "a.db", busy_timeout=seconds)


def test_odd_values_of_the_right_kind_are_taken() -> None:
    """
    Half characters, large numbers, numbers for keys, times and deep metadata are committed and read.
    """
    rich = Message(
        role="tool",
        parts=(ToolCallResponsePart("\ud800", (TextPart("\udfff"), BlobPart("image", "", ""))),),
        id="\ud800",
        metadata={"a": [None, {"b": 2**80}], "when": NOW, "some": {1}},
        usage=Usage(input_tokens=2**70),
        native=Native(format=NativeFormat.ANTHROPIC, item="\ud800"),
        created_at=NOW,
    )
    odd = msgspec.structs.replace(
        STATE, metadata={"\ud800": "\0"}, iteration=2**70, termination_reason="\udfff"
    )
    run = ToolRun(call_id="c\ud800", name="n", result=(TextPart("\ud800"),))

    async def story(thread: ConversationThread, store: MemoryStore) -> None:
        await thread.commit(messages=[rich], execution=odd, tools=[run], settled=["\ud800"])
        found = await store.find("t")
        assert found is not None
        assert (await found.get_messages())[-1].parts == rich.parts
        assert found.execution_state == thread.execution_state
        assert found.pending_tools == (run,)

    told(story)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda thread: thread.fork("f", at=True), "at is a bool"),
        (lambda thread: thread.fork("f", at="1"), "at is a str"),
        (lambda thread: thread.get_messages(last="5"), "last is a str"),
        (lambda thread: thread.get_range("1"), "start is a str"),
        (lambda thread: thread.get_range(0, 1.0), "stop is a float"),
        (lambda thread: thread.commit(expected={}), "expected is a dict"),
        (lambda thread: thread.commit(expected="\ud800"), "expected is a str"),
    ],
)
def test_what_is_no_index_is_named(call: Callable[[Any], Awaitable[Any]], told: str) -> None:
    """Whatever takes an index says which argument is none, and what it is instead."""

    async def run() -> None:
        thread = await MemoryStore().thread("t")
        with pytest.raises(ConfigError, match=f"{told}: allowed is a whole number"):
            await call(thread)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("threshold", "allowed"),
    [
        (timedelta.max, "one that reaches back to a date"),
        (timedelta(days=-30), "a timedelta above zero"),
        (timedelta(0), "a timedelta above zero"),
        (NOW, "a timedelta above zero"),
        ("a day", "a timedelta above zero"),
        (None, "a timedelta above zero"),
    ],
    ids=str,
)
def test_a_span_that_does_not_lie_behind_deletes_nothing(threshold: Any, allowed: str) -> None:
    """
    A span of the wrong sign deletes no thread, nor does what is no span; either is told in one line.
    """

    async def run() -> None:
        store = MemoryStore()
        await (await store.thread("t")).add_message(Message.user("said this moment"))
        checkpointer = ThreadCheckpointer(store)
        for delete in (store.delete_inactive, checkpointer.delete_inactive):
            with pytest.raises(ConfigError, match=f"threshold=.*: allowed is {allowed}"):
                await delete(threshold)

        assert await store.find("t") is not None

    asyncio.run(run())
