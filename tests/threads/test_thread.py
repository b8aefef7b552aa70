"""A thread as its owner uses it."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from foldline.errors import (
    ConfigError,
    FormatError,
    IntegrityError,
    ThreadConflictError,
    ThreadExistsError,
)
from foldline.history.digest import chain_digest_with_nulls
from foldline.history.messages import Message
from foldline.history.parts import GenericPart, ToolCallPart
from foldline.reduction.state import HistoryReductionState
from foldline.threads.change import Change
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.store import MessageStore, ThreadStore
from foldline.threads.tools import INTERRUPTED, ToolRun
from foldline.threads.verify import verify_thread
from tests.threads.canaries import NOW, reduction_of
from tests.threads.clock import Clock


START = NOW
TALK = [
    Message.system("rules"),
    Message.user("one"),
    Message.assistant("two"),
    Message.system("more"),
    Message.user("three"),
    Message.assistant("four"),
]


def _reduction(messages: list[Message], cut: int) -> HistoryReductionState:
    return reduction_of(messages, cut, "summary")


async def test_messages_are_readable_after_adding(store: ThreadStore) -> None:
    """The count grows, the order stays, an empty list is fine, and what is returned is a copy."""
    thread = await store.thread("a")
    await thread.add_messages([])
    assert (thread.count, thread.head.revision) == (0, 1)
    await thread.add_messages(TALK[:2])
    await thread.add_message(TALK[2])
    await thread.append(TALK[3:])
    (await thread.get_messages()).clear()
    assert await thread.get_messages() == TALK
    assert (thread.count, thread.head.length) == (6, 4)
    assert await thread.get_messages(last=2) == TALK[-2:]
    assert await thread.get_messages(last=0) == []
    assert isinstance(thread, MessageStore)


async def test_activity_grows_with_what_is_written(store: ThreadStore, clock: Clock) -> None:
    """Adding, metadata and clearing move the last activity; reading does not."""
    thread = await store.thread("a")
    seen = [thread.last_activity]
    writes: list[Callable[[], Awaitable[None]]] = [
        lambda: thread.add_message(TALK[1]),
        lambda: thread.set_metadata({"k": 1}),
        thread.clear,
    ]
    for write in writes:
        clock.now += timedelta(hours=1)
        await thread.get_messages()
        assert thread.last_activity == seen[-1]
        await write()
        seen.append(thread.last_activity)
    assert seen == sorted(set(seen))
    assert thread.created_at == START


async def test_a_title_is_the_name_or_the_first_user_message(store: ThreadStore) -> None:
    """Without a name it is the first words of the user, 30 characters at most, or a default."""
    thread = await store.thread("a")
    titles = [await thread.title()]
    await thread.add_messages([Message.system("s"), Message.user(" "), Message.user("x" * 30)])
    titles.append(await thread.title())
    await thread.rewind(0)
    await thread.add_message(Message.user("y" * 31))
    titles.append(await thread.title())
    await thread.set_metadata(display_name="named")
    titles.append(await thread.title())
    assert titles == ["New Conversation", "x" * 30, "y" * 27 + "...", "named"]


async def test_metadata_is_what_json_has(store: ThreadStore) -> None:
    """
    Values come back as they will be read, apart from the caller's own; NaN and odd texts survive.
    """
    thread = await store.thread("a")
    given: dict[str, object] = {"a": (1, [2**70]), "b": "\ud800\0", "c": float("nan")}
    await thread.set_metadata(given)
    given["a"] = "changed"
    found = await store.thread("a")
    for one in (thread, found):
        assert (one.metadata["a"], one.metadata["b"]) == ([1, [2**70]], "\ud800\0")
        assert str(one.metadata["c"]) == "nan"


async def test_metadata_that_cannot_be_kept_is_refused(store: ThreadStore) -> None:
    """Blank keys and values without a place in JSON are errors, and the old values stay."""
    thread = await store.thread("a")
    await thread.set_metadata({"k": 1})
    for key in ("", " ", "\n"):
        with pytest.raises(ConfigError, match="must not be blank"):
            await thread.set_metadata({key: 1})
    with pytest.raises(FormatError, match=r"^metadata\['.*'\] cannot be stored"):
        await thread.set_metadata({"k": object()})
    assert thread.metadata == {"k": 1}


async def test_ranges_part_the_history(store: ThreadStore) -> None:
    """Two ranges that meet are all messages; the first has the system messages in front."""
    thread = await store.thread("a")
    await thread.add_messages(TALK)
    for at in range(1, 5):
        assert await thread.get_range(0, at) + await thread.get_range(at) == TALK
    assert await thread.working_messages() == TALK
    for start, stop in ((-1, 2), (3, 2), (5, None)):
        with pytest.raises(ConfigError):
            await thread.get_range(start, stop)
    with pytest.raises(ConfigError, match="last must be"):
        await thread.get_messages(last=-1)


async def test_a_reduction_of_other_messages_is_refused(store: ThreadStore) -> None:
    """What does not stand for the beginning of this thread is not stored."""
    thread = await store.thread("a")
    await thread.add_messages(TALK)
    other = [Message.user("other"), *TALK[2:]]
    for foreign in (_reduction(other, 2), _reduction([*TALK, *TALK], 7)):
        with pytest.raises(IntegrityError):
            await thread.save_reduction(foreign)
    assert thread.last_reduction is None


async def test_a_list_of_rows_of_an_earlier_version_can_be_reduced(
    store: ThreadStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read as a list has digests of now; its reduction is that of the rows all the same."""
    found = Message(role="assistant", parts=(GenericPart("web", '{"found":1,"page":null}'),))
    with monkeypatch.context() as earlier:
        earlier.setattr("foldline.threads.head.chain_digest", chain_digest_with_nulls)
        await (await store.thread("a")).add_messages([*TALK[:2], found, *TALK[3:]])
    thread = await store.thread("a")
    made = _reduction(await thread.get_messages(), 3)
    await thread.save_reduction(made)
    kept = thread.last_reduction
    verified = await verify_thread(store.context, thread.key)

    assert kept is not None
    assert kept.message_hash != made.message_hash
    assert (await thread.window()).reduction == kept
    assert verified is not None
    assert verified.faults == ()


@pytest.mark.parametrize("way", ["rewind", "edit", "clear"])
async def test_a_reduction_of_an_earlier_epoch_is_refused(store: ThreadStore, way: str) -> None:
    """
    A fold that began before a rewind, an edit or a clear never lands after it, whatever it covers.
    """
    thread = await store.thread("a")
    await thread.add_messages(TALK)
    began = thread.head.epoch
    other = await store.thread(thread.id)
    if way == "rewind":
        await other.rewind(3)
    elif way == "edit":
        await other.edit(3, Message.assistant("another"))
    else:
        await other.clear()
        await other.add_messages(TALK)
    for target in (thread, other):
        with pytest.raises(ThreadConflictError):
            await target.save_reduction(_reduction(TALK, 2), epoch=began)
    await thread.refresh()
    assert thread.last_reduction is None
    await thread.save_reduction(_reduction(TALK, 2))


@pytest.mark.parametrize("is_name_used_again", [False, True])
async def test_a_reduction_decided_before_another_is_refused(
    store: ThreadStore, *, is_name_used_again: bool
) -> None:
    """A fold never replaces a reduction that it did not know, even if it covers more messages."""
    thread = await store.thread("a")
    await thread.add_messages(TALK)
    if is_name_used_again:
        await thread.save_reduction(_reduction(TALK, 2))
    other = await store.thread("a")
    await other.undo_reduction()
    await other.save_reduction(_reduction(TALK, 1))
    with pytest.raises(ThreadConflictError, match="was rewound, or another reduction was stored: "):
        await thread.save_reduction(_reduction(TALK, 3))
    assert thread.last_reduction == other.last_reduction == _reduction(TALK, 1)


async def test_undoing_gives_the_archived_messages_back(store: ThreadStore) -> None:
    """
    Archived messages leave the working history, stay in the full one, and come back unchanged.
    """
    thread = await store.thread("a")
    await thread.add_messages(TALK)
    await thread.save_reduction(_reduction(TALK, 2), archive=True)
    assert (thread.head.archived, await thread.working_messages()) == (2, TALK[4:])
    assert await thread.get_messages() == TALK
    assert await thread.undo_reduction() is None
    assert (thread.head.archived, await thread.working_messages()) == (0, TALK)
    assert await thread.undo_reduction() is None


async def test_a_state_goes_with_the_newest_reduction(store: ThreadStore) -> None:
    """The reduction in force in the execution state is the newest one, after undoing it as well."""
    thread = await store.thread("a")
    await thread.add_messages(TALK)
    state = AgentLoopState(run_id="r", conversation_id="a", started_at=START)
    first, second = _reduction(TALK, 1), _reduction(TALK, 2)
    await thread.commit(Change(execution=state, reduction=first))
    await thread.commit(Change(reduction=second))
    for wanted in (second, first):
        found = await store.find("a")
        for one in (thread, found):
            assert one is not None
            assert one.execution_state is not None
            assert one.execution_state.active_reduction == wanted
        await thread.undo_reduction()


async def test_tool_runs_are_kept_in_order_until_they_are_answered(store: ThreadStore) -> None:
    """Intents and results come back in the order of the calls, and go with their answers."""
    thread = await store.thread("a")
    calls = [ToolCallPart(one, "t", "{}") for one in "ba"]
    runs = [ToolRun(call_id=one, name="t", place=at) for at, one in enumerate("ba")]
    await thread.commit(
        Change(messages=[Message.assistant("", tool_calls=calls)], tools=list(reversed(runs)))
    )
    assert list(thread.pending_tools) == runs
    done = ToolRun(call_id="a", name="t", place=1, result="odd \ud800")
    await thread.commit(Change(tools=[done]))
    found = await store.thread("a")
    assert list(found.pending_tools) == list(thread.pending_tools) == [runs[0], done]
    await thread.commit(Change(messages=[Message.tool("b", "x"), Message.tool("a", "y")]))
    found = await store.thread("a")
    assert list(found.pending_tools) == list(thread.pending_tools) == []


async def test_a_commit_is_made_once(store: ThreadStore) -> None:
    """A commit that is sent again under its id does nothing."""
    thread = await store.thread("a")
    for _attempt in range(3):
        await thread.commit(Change(messages=[TALK[1]], commit_id=b"12345678"))
    assert (thread.count, thread.head.revision) == (1, 2)


async def test_the_loser_of_a_race_is_told(store: ThreadStore) -> None:
    """Who writes behind another's back gets a conflict with both revisions; `append` goes on."""
    thread = await store.thread("a")
    other = await store.thread("a")
    await other.add_message(TALK[1])
    with pytest.raises(ThreadConflictError, match="at revision 2, not 1") as caught:
        await thread.add_message(TALK[2])
    assert (caught.value.expected, caught.value.actual) == (1, 2)
    await thread.append([TALK[2]])
    assert await thread.get_messages() == TALK[1:3]
    with pytest.raises(ThreadConflictError):
        await other.clear()


async def test_a_fork_needs_a_free_name_and_a_place(store: ThreadStore) -> None:
    """A fork under a name that is taken, or behind the end, is refused."""
    thread = await store.thread("a")
    await thread.add_messages(TALK)
    with pytest.raises(ThreadExistsError, match="'a' is there already"):
        await thread.fork("a")
    for at in (-1, 5):
        with pytest.raises(ConfigError, match=r"from 0 to 4|at least 0"):
            await thread.fork("b", at=at)
        with pytest.raises(ConfigError, match=r"from 0 to 4|at least 0"):
            await thread.rewind(at)
    for index in (-1, 4):
        with pytest.raises(ConfigError, match=r"from 0 to 3|at least 0"):
            await thread.edit(index, TALK[1])
    with pytest.raises(ConfigError, match="system message has no index"):
        await thread.edit(0, TALK[0])


async def test_an_abandoned_run_lets_a_new_one_start(store: ThreadStore) -> None:
    """The open run ends with its reason, and the tools that had begun are answered."""
    thread = await store.thread("a")
    await thread.abandon_run()
    assert thread.head.revision == 1
    state = AgentLoopState(run_id="r", conversation_id="a", started_at=START)
    tools = [
        ToolRun(call_id="c", name="t", place=0),
        ToolRun(call_id="d", name="t", place=1, result="done"),
    ]
    await thread.commit(Change(execution=state, tools=tools))
    await thread.abandon_run("why")
    ended = thread.execution_state
    assert ended is not None
    assert (ended.is_open, ended.termination_reason) == (False, "why")
    assert len(thread.pending_tools) == 0
    answers = [one.tool_call_responses[0] for one in await thread.get_messages()]
    assert [(one.id, one.response) for one in answers] == [("c", INTERRUPTED), ("d", "done")]


async def test_reductions_that_were_undone_displace_none(store: ThreadStore) -> None:
    """However often a fold is made and undone, the one before it is active again."""
    thread = await store.thread("t")
    said = [Message.user(f"question {number}") for number in range(20)]
    await thread.add_messages(said)
    first = _reduction(said, 10)
    await thread.save_reduction(first)
    for _ in range(40):
        await thread.save_reduction(_reduction(said, 12))
        await thread.undo_reduction()

    assert thread.last_reduction == first
    assert await thread.reductions() == [first]
