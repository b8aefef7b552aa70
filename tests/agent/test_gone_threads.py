"""Runs on threads that somebody deletes and makes again under their ids."""

import asyncio

from foldline import Agent, ConversationThread, Message
from foldline.errors import FoldlineError, ThreadNotFoundError
from foldline.testing.model import ScriptedModel, calls
from foldline.threads.store import ThreadStore
from tests.threads.clock import DAY, Clock
from tests.threads.watched import Watched


SAID = [Message.user("is it private?"), Message.assistant("It is.")]


def agent() -> Agent:
    def look(place: str) -> str:
        return f"nothing in {place}"

    model = ScriptedModel([calls(("look", {"place": "Porto"})), "Nothing there."])
    return Agent(model, tools=[look])


async def made_again(store: ThreadStore, clock: Clock) -> None:
    """Delete the thread and make another one of as many messages, in fewer commits."""
    clock.now += DAY
    assert await store.delete("t")
    again = await store.thread("t")
    await again.add_messages(SAID)


async def old_thread(store: ThreadStore) -> ConversationThread:
    """Return a thread of two messages on which nothing has run."""
    thread = await store.thread("t")
    for message in ("the old", "thread"):
        await thread.add_message(Message.user(message))
    return thread


async def ended(store: ThreadStore, thread: ConversationThread) -> FoldlineError | None:
    """Run a turn on *thread*; return how it failed, where nothing of it is in the new one."""
    try:
        await agent().run("look in Porto", thread=thread)
    except FoldlineError as error:
        found = await store.find("t")
        assert found is not None
        assert await found.get_messages() == SAID
        assert found.execution_state is None
        return error
    return None


def test_a_run_ends_where_its_thread_is_made_again() -> None:
    """A thread deleted and made again after any commit of a run gets nothing of it."""

    async def fared(commits: int) -> FoldlineError | None:
        clock, storage = Clock(), Watched()
        store = ThreadStore(storage, clock=clock)
        thread = await old_thread(store)
        storage.commits, storage.act = commits, lambda: made_again(store, clock)
        return await ended(store, thread)

    errors = [asyncio.run(fared(commits)) for commits in range(1, 5)]

    # After the fourth commit the run has ended.
    assert [type(error) for error in errors] == [*[ThreadNotFoundError] * 3, type(None)]


async def test_a_run_does_not_continue_in_a_thread_made_again_meanwhile() -> None:
    """If the thread goes between a conflict and the reload, the run does not continue."""
    clock, storage = Clock(), Watched()
    store = ThreadStore(storage, clock=clock)
    thread = await old_thread(store)
    other = await store.find("t")
    assert other is not None
    await other.set_metadata({"note": "a commit that a run continues after"})
    # The first read finds the conflict, the second one what to continue after.
    storage.loads, storage.act = 2, lambda: made_again(store, clock)

    assert isinstance(await ended(store, thread), ThreadNotFoundError)
