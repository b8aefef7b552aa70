"""Snapshots: a whole thread as one JSON document, of any age, in any store."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from foldline.errors import (
    FormatError,
    ThreadExistsError,
)
from foldline.history.digest import EMPTY_DIGEST, hash_text
from foldline.history.messages import Message, Native, NativeFormat, Usage
from foldline.history.parts import GenericPart, ToolCallPart
from foldline.threads.change import Change
from foldline.threads.cipher import AesCipher
from foldline.threads.snapshot import SNAPSHOT_FORMAT, decode_snapshot
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread
from foldline.threads.tools import ToolRun
from tests.threads.canaries import NOW, hide, open_state, reduction_of, secrets_at, told


WAYS = [("memory", "memory"), ("memory", "sqlite"), ("sqlite", "memory"), ("sqlite", "sqlite")]


def later() -> datetime:
    return NOW + timedelta(days=400)


def store_of(kind: str, path: Path) -> ThreadStore:
    if kind == "memory":
        return MemoryStore(clock=later)
    return SQLiteStore(path / "chat.db", clock=later)


async def facts(thread: ConversationThread) -> dict[str, Any]:
    """Return everything about a thread that a snapshot carries."""
    return {
        "id": thread.id,
        "display_name": thread.display_name,
        "metadata": dict(thread.metadata),
        "messages": await thread.get_messages(),
        "created_at": thread.created_at,
        "last_activity": thread.last_activity,
        "archived": thread.head.archived,
        "execution": thread.execution_state,
        "reduction": thread.last_reduction,
        "tools": thread.pending_tools,
        "tokens": thread.head.tokens,
    }


async def restored(data: bytes | str) -> dict[str, Any]:
    """Return what the thread in *data* says, as a fresh store reads it back."""
    async with MemoryStore(clock=later) as store:
        made = await store.restore(data)
        found = await store.thread(made.id)

        assert await facts(found) == await facts(made)

        return await facts(found)


def document(**fields: Any) -> str:
    """Return a small snapshot, with other *fields*; one that is None is left out."""
    known: dict[str, Any] = {
        "Format": SNAPSHOT_FORMAT,
        "Id": "chat",
        "MessageStoreSnapshot": {"Messages": [plain("user", "hello"), plain("assistant", "yes")]},
    }
    return json.dumps(
        {name: value for name, value in (known | fields).items() if value is not None}
    )


def plain(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ThreadStore:
    """Return a store of each kind, to which it is later."""
    return store_of(request.param, tmp_path)


async def test_the_documented_keys() -> None:
    """A snapshot is one JSON object with these keys, in this order."""
    async with MemoryStore(clock=lambda: NOW) as store:
        written = dict(json.loads(await (await hide(store)).to_snapshot()))

    assert list(written) == [
        "Id",
        "DisplayName",
        "MessageStoreSnapshot",
        "Metadata",
        "CreatedAt",
        "LastActivity",
        "ArchivedCount",
        "ExecutionStateJson",
        "LastReduction",
        "PendingTools",
        "Pins",
        "Format",
    ]
    assert written["Id"] == "hidden"
    assert written["DisplayName"] == secrets_at("display_name")
    assert list(written["MessageStoreSnapshot"]) == ["Messages"]
    assert len(written["MessageStoreSnapshot"]["Messages"]) == 9
    assert written["CreatedAt"] == "2026-11-21T12:00:00Z"
    assert written["Format"] == SNAPSHOT_FORMAT == 1
    assert written["LastReduction"]["summary_content"] == secrets_at("summary")


async def test_the_execution_state_is_a_json_string() -> None:
    """It is text that holds JSON, with iteration and agent; null where nothing runs."""
    async with MemoryStore(clock=lambda: NOW) as store:
        thread = await store.thread("chat")
        idle = json.loads(await thread.to_snapshot())
        await thread.commit(Change(execution=open_state(thread, "note", iteration=7)))
        running = json.loads(await thread.to_snapshot())
    state = json.loads(running["ExecutionStateJson"])

    assert idle["ExecutionStateJson"] is None
    assert idle["LastReduction"] is None
    assert isinstance(running["ExecutionStateJson"], str)
    assert (state["iteration"], state["agent_name"], state["run_id"]) == (7, "clerk", "run")


@pytest.mark.parametrize(("source", "target"), WAYS)
async def test_everything_moves_between_stores(tmp_path: Path, source: str, target: str) -> None:
    """Messages, names, times, state, reduction, archive and pending results are the same there."""
    for name in ("source", "target"):
        (tmp_path / name).mkdir()
    async with store_of(source, tmp_path / "source") as store:
        thread = await hide(store)
        await thread.save_reduction(
            reduction_of(await thread.get_messages(), 5, "archived"), archive=True
        )
        found = await store.thread("hidden")

        data, before = await found.to_snapshot(), await facts(found)
    async with store_of(target, tmp_path / "target") as store:
        made = await store.restore(data)
        found = await store.thread("hidden")

        assert await facts(made) == await facts(found) == before
        assert await found.to_snapshot() == data

    assert before["archived"] == 5
    assert [run.result for run in before["tools"]] == [secrets_at("pending")]


async def test_a_moved_thread_goes_on(store: ThreadStore) -> None:
    """The state passes for its history, the reduction is served, and its archive can be undone."""
    thread = await hide(store)
    await thread.save_reduction(reduction_of(told(), 5, "archived"), archive=True)
    moved = await store.restore(await thread.to_snapshot(), thread_id="moved")
    state, window = moved.execution_state, await moved.window()

    assert state is not None
    state.validate_consistency(moved.count)
    assert state.active_reduction == moved.last_reduction == window.reduction
    assert len(await moved.working_messages()) == 3
    assert await moved.undo_reduction() is None
    assert await moved.working_messages() == told()

    await moved.add_message(Message.user("on it goes"))
    found = await store.thread("moved")

    assert found.count == 10


async def test_a_snapshot_crosses_ciphers(tmp_path: Path) -> None:
    """A thread moves from a store with one key to stores with another and with none."""
    first = SQLiteStore(tmp_path / "a.db", cipher=AesCipher(bytes(16)))
    second = SQLiteStore(tmp_path / "b.db", cipher=AesCipher(bytes(32)))
    async with first, second, MemoryStore() as third:
        thread = await hide(first)
        data = await thread.to_snapshot()
        for store in (second, third):
            assert await facts(await store.restore(data)) == await facts(thread)


async def test_both_times_survive() -> None:
    """A thread that is moved is as old, and as inactive, as before."""
    found = await restored(
        document(CreatedAt="2020-02-03T04:05:06.000789Z", LastActivity="2021-01-01T00:00:00+02:00")
    )

    assert found["created_at"] == datetime(2020, 2, 3, 4, 5, 6, 789, tzinfo=UTC)
    assert found["last_activity"] == datetime(2020, 12, 31, 22, tzinfo=UTC)


async def test_a_time_without_zone_is_utc() -> None:
    """What an older writer left without a zone is read as UTC, and the thread can be written."""
    async with MemoryStore(clock=later) as store:
        thread = await store.restore(
            document(CreatedAt="2020-02-03T04:05:06", LastActivity="2020-02-03T04:05:07")
        )
        await thread.add_message(Message.user("on it goes"))

        assert thread.created_at == datetime(2020, 2, 3, 4, 5, 6, tzinfo=UTC)
        assert thread.last_activity == later()


async def test_missing_times_are_now() -> None:
    """Without times the thread is as old as its restoring."""
    found = await restored(document())

    assert found["created_at"] == found["last_activity"] == later()


async def test_activity_is_never_before_the_making() -> None:
    """A snapshot that says otherwise is read with the later time for both."""
    found = await restored(
        document(CreatedAt="2020-01-02T00:00:00Z", LastActivity="2019-01-01T00:00:00Z")
    )

    assert found["last_activity"] == datetime(2020, 1, 2, tzinfo=UTC)


async def test_odd_values_survive(store: ThreadStore) -> None:
    """NaN, infinities, half characters, NUL, large numbers and vendors' items come back."""
    message = Message(
        role="assistant",
        parts=(GenericPart("odd", '{"x": NaN}'), ToolCallPart("c\0", "look_up", "not json \ud83d")),
        id="m1",
        name="clerk \udc00",
        created_at=NOW,
        metadata={"nothing": None, "nan": float("-inf"), "half": "\ud83d", "large": 2**80},
        usage=Usage(input_tokens=3),
        native=Native(format=NativeFormat.OPENAI_CHAT, item='{"role":"assistant"}'),
    )
    values = {"half": "\ud83d", "nul": "\0", "inf": float("inf"), "deep": [[[{"a": None}]]]}
    thread = await store.thread("odd")
    await thread.add_message(message)
    await thread.set_metadata(values, display_name="half \udc00 name")
    moved = await store.restore(await thread.to_snapshot(), thread_id="moved")
    again = await moved.to_snapshot()

    assert await moved.get_messages() == [message]
    assert dict(moved.metadata) == values
    assert moved.display_name == "half \udc00 name"
    assert again == (await thread.to_snapshot()).replace(b'"Id":"odd"', b'"Id":"moved"')


async def test_results_that_wait_are_not_lost() -> None:
    """A call that has run is known to have run where the thread is restored; answered ones go."""
    call = ToolCallPart("call_1", "pay", "{}")

    async with MemoryStore(clock=later) as store:
        thread = await store.thread("chat")
        await thread.commit(
            Change(
                messages=[Message.user("pay"), Message.assistant("", tool_calls=[call])],
                execution=open_state(thread, "note"),
                tools=[ToolRun(call_id="call_1", name="pay", key="once", result="paid")],
            )
        )
        moved = await store.restore(await thread.to_snapshot(), thread_id="moved")

        assert moved.pending_tools == thread.pending_tools
        assert moved.pending_tools[0].is_finished

        await moved.add_message(Message.tool("call_1", "paid"))

        assert moved.pending_tools == ()


async def test_notes_of_failed_folds_survive() -> None:
    """A record that only counts failures is kept, and is not in force."""
    notes = reduction_of(told(), 0, "")

    async with MemoryStore(clock=later) as store:
        thread = await store.thread("chat")
        await thread.add_messages(told())
        await thread.commit(Change(reduction=notes, execution=open_state(thread, "note")))
        moved = await store.restore(await thread.to_snapshot(), thread_id="moved")

        assert notes.message_hash == hash_text(EMPTY_DIGEST)
        assert moved.last_reduction == notes
        assert moved.execution_state is not None
        assert moved.execution_state.active_reduction is None


@pytest.mark.parametrize(
    "change",
    [
        {"message_hash": "sha256-2:" + "0" * 64},
        {"summarized_up_to_index": 3},
        {"summarized_up_to_index": 99},
        {"summarized_up_to_index": 2**62},
        {"layers": [{"summary": "x", "start": -9, "end": -5, "message_hash": "x"}]},
        {"layers": [{"summary": "x", "start": 0, "end": 7, "message_hash": "x"}]},
    ],
)
async def test_a_reduction_for_other_messages_is_left_out(change: dict[str, Any]) -> None:
    """A reduction that does not stand for the first messages is a miss, and archives nothing."""
    messages = [Message.user("one"), Message.assistant("two"), Message.user("three")]
    reduction = json.loads(reduction_of(messages, 2, "summary").to_json()) | change
    said = [plain("user", "one"), plain("assistant", "two"), plain("user", "three")]
    found = await restored(
        document(MessageStoreSnapshot={"Messages": said}, LastReduction=reduction, ArchivedCount=2)
    )

    assert found["reduction"] is None
    assert found["archived"] == 0
    assert len(found["messages"]) == 3


@pytest.mark.parametrize(("written", "archived"), [(0, 0), (1, 1), (2, 1)])
async def test_no_more_is_archived_than_a_reduction_stands_for(written: int, archived: int) -> None:
    """A count of archived messages above it is brought back to what the reduction covers."""
    messages = [Message.user("hello"), Message.assistant("yes")]
    reduction = json.loads(reduction_of(messages, 1, "summary").to_json())
    found = await restored(document(LastReduction=reduction, ArchivedCount=written))

    assert (found["archived"], found["reduction"].summarized_up_to_index) == (archived, 1)


@pytest.mark.parametrize("form", ["text", "NaN", "half a character"])
async def test_messages_are_not_left_out(form: str) -> None:
    """A snapshot of today without its messages is refused, by the key, and is no empty thread."""
    odd = {"text": "x", "NaN": float("nan"), "half a character": "\ud800"}[form]
    data = document(MessageStoreSnapshot=None, Metadata={"odd": odd})

    with pytest.raises(FormatError, match="missing required field `MessageStoreSnapshot`"):
        await restored(data)


@pytest.mark.parametrize("field", ["messages", "Messages"])
async def test_both_spellings_of_the_older_form(field: str) -> None:
    """Without format number the messages lie in `MessageStoreState`, under either name."""
    data = document(
        Format=None,
        MessageStoreSnapshot=None,
        MessageStoreState={field: [plain("user", "old")]},
        MessageStoreType="InMemory",
        ServiceThreadId=None,
    )

    assert [one.text for one in (await restored(data))["messages"]] == ["old"]


@pytest.mark.parametrize("store", [None, {}])
async def test_an_older_snapshot_without_messages_is_empty(store: object) -> None:
    """A missing or empty store state is an empty thread."""
    data = json.dumps({"Id": "chat", "MessageStoreState": store, "LastReductionState": None})

    assert (await restored(data))["messages"] == []


async def test_a_restored_id_must_be_free(store: ThreadStore) -> None:
    """An existing thread is not written over; another id and another tenant are free."""
    thread = await store.restore(document())
    with pytest.raises(ThreadExistsError):
        await store.restore(document(MessageStoreSnapshot={"Messages": []}))

    assert len(await thread.get_messages()) == 2

    await store.restore(document(), thread_id="other")
    await store.restore(document(), tenant="acme")

    assert [one.id async for one in store.threads()] == ["chat", "other"]


async def test_unknown_keys_are_passed_over() -> None:
    """Keys that this version does not know change nothing."""
    assert await restored(document(Colour="blue", Nested={"a": [1]})) == await restored(document())


def test_a_snapshot_of_another_kind_of_value_is_refused() -> None:
    """What is neither bytes nor text is refused by its type."""
    with pytest.raises(FormatError, match="got dict, not bytes or str"):
        decode_snapshot({"Id": "chat"})  # type: ignore[arg-type]
