"""Threads that are shortened and replaced: from the end, over messages of any role."""

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from foldline.errors import ThreadConflictError
from foldline.history.messages import Message, Role
from foldline.history.parts import TextPart
from foldline.threads.change import Change
from foldline.threads.checkpointer import ThreadCheckpointer
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.thread import ConversationThread
from tests.threads.canaries import open_state, reduction_of
from tests.threads.sample import faults_of


TALK = [
    Message.system("rules"),
    Message.user("one", pin=True),
    Message.assistant("two"),
    Message.user("three"),
    Message.assistant("four"),
    Message.system("more"),
    Message.system("and more"),
]


async def begun(store: ThreadStore) -> ConversationThread:
    """Return a thread of `TALK` with two reductions, of two and of four messages."""
    thread = await store.thread("t")
    await thread.add_messages(TALK)
    for cut in (2, 4):
        await thread.save_reduction(reduction_of(TALK, cut, str(cut)))
    return thread


async def found(store: ThreadStore) -> tuple[list[Message], str | None, list[str]]:
    """Return what a second reader finds: the messages, the newest summary, and any damage."""
    thread = await store.thread("t")
    newest = thread.last_reduction
    summary = None if newest is None else newest.summary_content
    return await thread.get_messages(), summary, await faults_of(store, thread.key)


async def test_the_newest_messages_are_popped_one_by_one(any_store: ThreadStore) -> None:
    """In every store each of any role goes alone, with the reductions that covered it."""
    thread = await begun(any_store)
    for end, summary in ((6, "4"), (5, "4"), (4, "2"), (3, "2"), (2, None), (1, None)):
        assert await thread.pop() == TALK[end]
        assert await found(any_store) == (TALK[:end], summary, [])
    assert thread.pins == ()
    assert (await thread.pop(), await thread.pop()) == (TALK[0], None)
    assert thread.count == 0


async def test_a_rewind_counts_messages_of_any_role(any_store: ThreadStore) -> None:
    """In every store exactly as many messages go as are counted, system messages included."""
    thread = await begun(any_store)
    revision = thread.head.revision
    await thread.rewind(count=0)
    assert thread.head.revision == revision
    for count, left, summary in ((2, 5, "4"), (2, 3, "2"), (3, 0, None)):
        await thread.rewind(count=count)
        assert await found(any_store) == (TALK[:left], summary, [])
        assert thread.count == left


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "summary"),
    [
        (lambda said: said, "4"),
        (lambda said: [*said, Message.user("five")], "4"),
        (lambda said: said[:-1], "4"),
        (lambda said: [*said[:-2], Message.user("five")], "4"),
        (lambda said: [Message.user("one"), *said[2:]], None),
        (lambda said: [said[0], replace(said[1], id="x"), *said[2:]], None),
        (lambda said: [*said[:3], *said[4:], Message.assistant("five")], "2"),
        (lambda said: [*said[:3], Message.system("new"), *said[3:]], "2"),
        (lambda said: [], None),
    ],
    ids=["same", "longer", "shorter", "tail", "first", "an id", "later", "system", "none"],
)
async def test_a_thread_is_replaced(
    any_store: ThreadStore,
    change: Callable[[list[Message]], list[Message]],
    summary: str | None,
) -> None:
    """In every store exactly the given messages are left, and the reductions that they fit."""
    said = change(TALK)
    thread = await begun(any_store)
    await thread.replace(iter(said))

    assert await found(any_store) == (said, summary, [])
    assert await thread.get_messages() == said


async def test_a_replace_writes_what_is_new_alone() -> None:
    """The common beginning is not written again, an equal history not at all, an end is appended."""
    store = MemoryStore()
    storage, thread = store.context.storage, await begun(store)
    revision, epoch = thread.head.revision, thread.head.epoch
    await thread.replace(TALK)
    assert (thread.head.revision, thread.head.epoch) == (revision, epoch)
    await thread.replace([*TALK, Message.user("five")])
    assert (thread.head.revision, thread.head.epoch) == (revision + 1, epoch)
    kept = await storage.rows(thread.key, epoch, 0, 5)
    await thread.replace([*TALK[:5], Message.user("five")])

    assert (thread.head.revision, thread.head.epoch != epoch) == (revision + 2, True)
    assert await storage.rows(thread.key, thread.head.epoch, 0, 5) == kept


async def test_what_json_changes_is_the_same_message(store: ThreadStore) -> None:
    """A message that storage gives back with a list for a tuple is not replaced."""
    thread = await store.thread("t")
    said = [replace(TALK[1], metadata={"a": (1, 2)})]
    await thread.replace(said)
    revision = thread.head.revision
    await thread.replace(said)
    await thread.replace(await thread.get_messages())

    assert thread.head.revision == revision


async def test_a_longer_history_leaves_a_run_open(store: ThreadStore) -> None:
    """A replace that appends only is like an append; any other ends the run."""
    thread = await store.thread("t")
    await thread.commit(Change(messages=TALK, execution=open_state(thread, "note")))
    await thread.replace([*TALK, Message.user("five")])
    assert thread.execution_state is not None
    await thread.replace(TALK)
    assert thread.execution_state is None


async def test_others_are_not_overwritten(store: ThreadStore) -> None:
    """A thread that somebody else has written to is neither shortened nor replaced."""
    thread = await begun(store)
    other = await store.thread("t")
    await other.add_message(Message.user("five"))
    for attempt in (thread.pop(), thread.rewind(count=1), thread.replace(TALK[:2])):
        with pytest.raises(ThreadConflictError):
            await attempt

    assert (await found(store))[0] == [*TALK, Message.user("five")]


async def test_what_was_popped_can_be_read_at_its_moment() -> None:
    """What a pop and a replace take back stays in the moments before them, as with a rewind."""
    async with MemoryStore(checkpoints="full") as store:
        thread = await store.thread("t")
        await thread.commit(Change(messages=TALK, execution=open_state(thread, "note")))
        (moment, *_) = await ThreadCheckpointer(store).history("t")
        await thread.pop()
        await thread.replace([Message.user("new")])
        then = await ThreadCheckpointer(store).load_at("t", moment.id)

        assert then is not None
        assert await then.get_messages() == TALK
        assert await (await then.fork("f")).get_messages() == TALK


_ROLES: st.SearchStrategy[Role] = st.sampled_from(["system", "user", "assistant"])
_SAID = st.lists(
    st.builds(
        lambda role, text: Message(role=role, parts=(TextPart(text),)),
        _ROLES,
        st.sampled_from("ab"),
    ),
    max_size=8,
)


@given(st.lists(_SAID, min_size=1, max_size=6))
def test_any_histories_replace_each_other(histories: list[list[Message]]) -> None:
    """After any replaces a thread is what the last one gave, counted as if it were new."""

    async def _check() -> None:
        store = MemoryStore()
        thread, fresh = await store.thread("t"), await store.thread("fresh")
        for said in histories:
            await thread.replace(said)
            assert await thread.get_messages() == said
        await fresh.add_messages(histories[-1])
        assert await faults_of(store, thread.key) == []
        for name in ("count", "system", "users", "tokens", "system_tokens", "digest", "pins"):
            assert getattr(thread.head, name) == getattr(fresh.head, name)

    asyncio.run(_check())
