"""What may be committed: values that can be read again, and no others."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from foldline.errors import CheckpointError, ConfigError, ThreadIdError
from foldline.history.history import History
from foldline.history.messages import Message, Native, NativeFormat, Usage
from foldline.history.parts import BlobPart, TextPart, ToolCallPart, ToolCallResponsePart
from foldline.reduction.spans import SummaryLayer
from foldline.threads.change import Change, Epoch
from foldline.threads.checkpointer import ThreadCheckpointer
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.thread import ConversationThread
from foldline.threads.tools import ToolRun
from tests.threads.canaries import NOW, reduction_of


SAID = [Message.user("secret one"), Message.assistant("secret two")]
STATE = AgentLoopState(run_id="r", conversation_id="t", started_at=NOW)
REDUCTION = reduction_of(SAID, 2, "what was said")
Fields = Callable[[], dict[str, Any]]


def state(**fields: Any) -> Fields:
    return lambda: {"execution": msgspec.structs.replace(STATE, **fields)}


def tool(**fields: Any) -> Fields:
    known: dict[str, Any] = {"call_id": "c", "name": "n"}
    return lambda: {"tools": [ToolRun(**{**known, **fields})]}


def reduction(**fields: Any) -> Fields:
    return lambda: {"reduction": msgspec.structs.replace(REDUCTION, **fields)}


def message(**fields: Any) -> Fields:
    known: dict[str, Any] = {"role": "user", "parts": (TextPart("x"),)}
    return lambda: {"messages": [Message(**{**known, **fields})]}


def part(one: object, role: str = "user") -> Fields:
    return message(role=role, parts=(TextPart("x"), one))


class Words(str):
    """What a framework gives where a str is wanted."""

    __slots__ = ()


CALL = ToolCallPart("c", "n", "{}")
ILL_TYPED: dict[str, tuple[str, Fields]] = {
    "termination_reason": ("termination_reason", lambda: {"execution": STATE.terminated(5)}),  # type: ignore[arg-type]
    "metadata": ("metadata", state(metadata={"a": 1})),
    "metadata object": ("cannot be written as JSON", state(metadata={"a": object()})),
    "service_watermark": ("service_watermark", state(service_watermark=1.5)),
    "learned": ("learned", state(learned={"m": 1.5})),
    "service_thread_id": ("service_thread_id", state(service_thread_id=7)),
    "repeat_counts": ("repeat_counts", state(repeat_counts={"a": "b"})),
    "iteration": ("iteration", state(iteration=True)),
    "started_at": ("started_at", state(started_at="2026-11-21T00:00:00Z")),
    "current_messages": ("current_messages", state(current_messages=[SAID[0]])),
    "a newer state": ("format 1, got 9", state(format=9)),
    "a state that is a string": (
        "execution must be an AgentLoopState, got str",
        lambda: {"execution": "x"},
    ),
    "result": ("result", tool(result=(1,))),
    "result call": (r"result\[0\]\.type", tool(result=(CALL,))),
    "policy": ("policy", tool(policy="whatever")),
    "policy of half a character": (
        "cannot be written as JSON: UnicodeEncodeError",
        tool(policy="\ud800"),
    ),
    "a run that is a string": (r"tools\[0\] must be a ToolRun, got str", lambda: {"tools": ["x"]}),
    "settled": (r"settled\[0\] must be a str, got int", lambda: {"settled": [5]}),
    "source": ("source must be 'root' or 'input'", lambda: {"execution": STATE, "source": "bad"}),
    "summary_tokens": ("summary_tokens", reduction(summary_tokens="x")),
    "half a summary": ("lone surrogate", reduction(summary_content="\ud800")),
    "layers": ("layers", reduction(layers=(1,))),
    "layer": (
        r"layers\[0\]\.end",
        reduction(layers=(SummaryLayer(summary="", start=0, end="x", message_hash=""),)),  # type: ignore[arg-type]
    ),
    "a time that is a string": ("created_at", reduction(created_at="2026-11-21T00:00:00Z")),
    "a summary of bytes": ("summary_content", reduction(summary_content=b"secret")),
    "a summary of a framework": ("summary_content", reduction(summary_content=Words("secret"))),
    "pinned_index": ("message -3 pinned", reduction(pinned_index=-3)),
    "counting_unit": ("counting_unit", reduction(counting_unit="bananas")),
    "cut": ("summarized_up_to_index", reduction(summarized_up_to_index="2")),
    "a newer reduction": ("format 9", reduction(format=9)),
    "a reduction that is a string": (
        "reduction must be a HistoryReductionState, got str",
        lambda: {"reduction": "x"},
    ),
    "role": ("role", message(role="bot")),
    "parts": ("parts", message(parts=None)),
    "id": (r"\]\.id cannot", message(id=5)),
    "name": (r"\]\.name cannot", message(name=5)),
    "created_at": ("created_at", message(created_at="now")),
    "usage": ("usage", message(usage=Usage(input_tokens="5"))),  # type: ignore[arg-type]
    "usage dict": ("usage must be an? Usage or None, got dict", message(usage={})),
    "native": ("native", message(native=Native(format=NativeFormat.ANTHROPIC, item=b"{}"))),  # type: ignore[arg-type]
    "native dict": ("native", message(native={"format": "anthropic", "item": "{}"})),
    "message metadata": (
        r"\]\.metadata cannot be stored: a value cannot be written as JSON",
        message(metadata={"a": object()}),
    ),
    "a role of a framework": (r"\]\.role cannot be stored", message(role=Words("user"))),
    "a part that is a string": (r"parts\[1\]", part("secret")),
    "a part that is a dict": (r"parts\[1\]", part({"type": "text", "content": "secret"})),
}


@pytest.fixture
def store() -> ThreadStore:
    """Return a store in memory."""
    return MemoryStore(checkpoints="full")


async def begun(store: ThreadStore) -> ConversationThread:
    """Return a thread that holds a conversation."""
    thread = await store.thread("t")
    await thread.add_messages(SAID)
    return thread


@pytest.mark.parametrize("name", ILL_TYPED)
async def test_what_could_not_be_read_again_is_refused(store: ThreadStore, name: str) -> None:
    """
    A field of a wrong kind is an error that names it and holds no value, and nothing is written.
    """
    text, change = ILL_TYPED[name]
    thread = await begun(store)
    with pytest.raises(ConfigError, match=text) as caught:
        await thread.commit(Change(**change()))
    assert "secret" not in str(caught.value)
    found = await store.thread("t")
    assert (found.head.revision, await found.get_messages()) == (thread.head.revision, SAID)


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
async def test_a_number_that_no_snapshot_may_hold_is_refused(
    store: ThreadStore, field: str, number: int
) -> None:
    """
    What `restore` refuses is not committed; a turn may begin behind all messages of its commit.

    A run that has ended is resumed by nobody, and hinders neither.
    """
    odd = msgspec.structs.replace(STATE, **{field: number})
    thread = await begun(store)
    with pytest.raises(CheckpointError, match=f"Checkpoint has invalid .*: {number}$"):
        await thread.commit(Change(messages=[SAID[0]], execution=odd))
    found = await store.thread("t")
    assert (found.head.revision, found.execution_state) == (thread.head.revision, None)
    whole = msgspec.structs.replace(STATE, turn_start=3)
    for name, state in (("u", whole), ("v", odd.terminated("done"))):
        await thread.commit(Change(messages=[SAID[0]], execution=state))
        copy = await store.restore(await thread.to_snapshot(), thread_id=name)
        assert copy.count == thread.count


async def test_a_message_that_is_added_alone_is_checked_too(store: ThreadStore) -> None:
    """Adding, appending and editing refuse what committing refuses."""
    bad = Message(role="user", parts=("x",))  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    thread = await begun(store)
    for write in (thread.add_message(bad), thread.append([bad]), thread.edit(0, bad)):
        with pytest.raises(ConfigError, match=r"^messages\[0\]\.parts\[0\] cannot be stored: "):
            await write


@pytest.mark.parametrize("given", [SAID[0], "text", "", b"x", {"a": 1}, None, 5])
async def test_what_is_no_list_is_refused(store: ThreadStore, given: Any) -> None:
    """A single value, a string and a mapping are no list of messages, tools or ids."""
    thread = await begun(store)
    for write in (thread.add_messages, thread.append):
        with pytest.raises(ConfigError, match=r"^messages must be a"):
            await write(given)
    for name in ("messages", "tools", "settled"):
        with pytest.raises(ConfigError, match=f"^{name} must be a list or tuple, got"):
            await thread.commit(Change(**{name: given}))
    assert thread.count == 2


async def test_messages_may_come_in_anything_that_can_be_iterated(store: ThreadStore) -> None:
    """Messages may be a list, a tuple, a history, a generator or the values of a dict."""
    thread = await begun(store)
    ways = (SAID, tuple(SAID), History(SAID), iter(SAID), dict(enumerate(SAID)).values())
    for given in ways:
        await thread.add_messages(given)
        await thread.append(one for one in SAID)
    assert await thread.get_messages() == SAID * (1 + 2 * len(ways))


WRONG: dict[str, tuple[str, Callable[[Any], Awaitable[Any]]]] = {
    "rewind": ("^at must be a whole number", lambda thread: thread.rewind(True)),
    "rewind far": (
        "^at must be a whole number from 0 to 2, got 3",
        lambda thread: thread.rewind(3),
    ),
    "rewind count": (
        "^count must be a whole number from 0 to 2, got 3",
        lambda thread: thread.rewind(count=3),
    ),
    "rewind both": ("^rewind takes an index or count=…, got both", lambda t: t.rewind(1, count=1)),
    "rewind neither": ("^rewind takes an index .*, got neither$", lambda thread: thread.rewind()),
    "replace": (r"^messages\[0\] must be a Message", lambda thread: thread.replace(["a"])),
    "append": ("got dict: convert a .* `from_openai_chat`", lambda t: t.append([{"role": "user"}])),
    "edit by": ("got dict: convert a .* `from_openai_chat`", lambda t: t.edit(0, {"role": "user"})),
    "replace one": ("^messages must be a list", lambda thread: thread.replace("a")),
    "edit": ("^index must be a whole number", lambda thread: thread.edit("5", SAID[0])),
    "fork": ("^at must be a whole number", lambda thread: thread.fork("f", at="1")),
    "last": ("^last must be a whole number", lambda thread: thread.get_messages(last="5")),
    "search limit": ("^limit must be .* of at least 1", lambda t: t.search("a", limit=1.5)),
    "start": ("^start must be a whole number", lambda thread: thread.get_range("1")),
    "stop": ("^stop must be an int or None", lambda thread: thread.get_range(0, 1.0)),
    "expected": ("^expected must be a", lambda thread: thread.commit(Change(expected={}))),  # type: ignore[arg-type]
    "commit id": ("^commit_id must be 8 b", lambda thread: thread.append(SAID, commit_id=b"x")),
    "a kwarg": ("^change must be a Change", lambda thread: thread.commit({"messages": SAID})),
    "epoch": ("no epochs", lambda thread: thread.commit(Change(opens=Epoch(bytes(16), 0)))),
    "key": ("^a key of metadata must be a str", lambda thread: thread.set_metadata({1: 2})),
    "blank": ("^a key of metadata must not be", lambda thread: thread.set_metadata({" ": 2})),
    "metadata": ("^metadata must be a Mapping", lambda thread: thread.set_metadata([("a", 1)])),
    "name": ("^display_name must be", lambda thread: thread.set_metadata(display_name=5)),
    "expiry": ("^expires_at must be a datetime", lambda thread: thread.set_expiry("now")),
    "zone": (
        "^expires_at must have a time zone",
        lambda thread: thread.set_expiry(NOW.replace(tzinfo=None)),
    ),
    "answer": ("^text must be a str", lambda thread: thread.answer_tool("c", 5)),
    "checkpoint": (
        "^checkpoint_id must be a str",
        lambda thread: _checkpointer(thread).load_at("t", 5),
    ),
    "limit": (
        "^limit must be a whole",
        lambda thread: _checkpointer(thread).history("t", limit=-1),
    ),
    "keep": (
        "^keep_latest must be",
        lambda thread: _checkpointer(thread).prune("t", keep_latest="a"),
    ),
    "cutoff": (
        "^cutoff must be a dat",
        lambda thread: _checkpointer(thread).delete_older_than("a"),
    ),
    "thread": ("^thread must be a Conv", lambda thread: _checkpointer(thread).save("t", STATE)),
}


def _checkpointer(thread: ConversationThread) -> Any:
    return ThreadCheckpointer(ThreadStore(thread.context.storage, checkpoints="full"))


@pytest.mark.parametrize("name", WRONG)
async def test_what_is_wrong_is_named(store: ThreadStore, name: str) -> None:
    """A wrong argument is an error that names it and what was expected, and writes nothing."""
    text, call = WRONG[name]
    thread = await begun(store)
    with pytest.raises(ConfigError, match=text):
        await call(thread)
    found = await store.thread("t")
    assert found.head == thread.head


def test_a_checkpointer_needs_a_store() -> None:
    """What is no store is refused when the checkpointer is made."""
    with pytest.raises(ConfigError, match=r"^store must be a ThreadStore, got str$"):
        ThreadCheckpointer("chat.db")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("tenant", [None, 5, "a b", "\ud800", ""])
async def test_a_tenant_that_cannot_be_has_no_threads_to_list(
    store: ThreadStore, tenant: Any
) -> None:
    """Listing the threads of an owner that no thread can have is an error."""
    await begun(store)
    with pytest.raises((ThreadIdError, ConfigError), match=r"^tenant (of|must)"):
        [one async for one in store.threads(tenant=tenant)]
    with pytest.raises((ThreadIdError, ConfigError), match=r"^tenant (of|must)"):
        await store.delete_inactive(timedelta(days=1), tenant=tenant)


async def test_a_clock_returns_a_datetime() -> None:
    """A clock that returns something else is an error that names it."""
    store = MemoryStore(clock=lambda: None)  # type: ignore[arg-type,return-value] # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match=r"^the time of clock must be a datetime, got None"):
        await store.thread("t")


@pytest.mark.parametrize("span", [timedelta.max, timedelta(-30), timedelta(0), NOW, "a day"])
async def test_a_span_is_above_zero_and_within_the_calendar(store: ThreadStore, span: Any) -> None:
    """With any other span no thread is made, found to be old or deleted."""
    await begun(store)
    text = "not lead out of the years" if span == timedelta.max else "be a timedelta above zero"
    for call in (
        store.thread("t", ttl=span),
        store.thread("new", ttl=span),
        store.delete_inactive(span),
    ):
        with pytest.raises(ConfigError, match=f"^(ttl|threshold) must {text}"):
            await call

    assert [one.id async for one in store.threads()] == ["t"]


@pytest.mark.parametrize(
    "moment",
    [
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-5))),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=5))),
    ],
)
async def test_a_moment_has_a_year_in_utc(store: ThreadStore, moment: datetime) -> None:
    """A time that is beyond the calendar in UTC, in which it is stored, is refused by its name."""
    thread = await begun(store)
    with pytest.raises(ConfigError, match=r"^expires_at must be between year 1 and 9999"):
        await thread.set_expiry(moment)
    assert thread.head.expires_at is None


async def test_odd_values_of_the_right_kind_are_taken(store: ThreadStore) -> None:
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
    thread = await begun(store)
    await thread.commit(Change(messages=[rich], execution=odd, tools=[run], settled=["\ud800"]))
    found = await store.thread("t")
    assert (await found.get_messages())[-1].parts == rich.parts
    assert found.execution_state == thread.execution_state
    assert found.pending_tools == (run,)
