"""A store as its users see it, and whether it can be written to."""

import asyncio

from foldline.history.messages import Message
from foldline.threads.checkpointer import ThreadCheckpointer
from foldline.threads.store import ThreadStore
from foldline.threads.thread import ConversationThread
from tests.threads.crashes.sight import Parts, Sights, ThreadSight, sight_of


_PATIENCE = 60.0


async def face_of(store: ThreadStore) -> Sights:
    """Return what the open *store* shows."""
    sights: dict[str, ThreadSight] = {}
    broken: set[str] = set()
    async with asyncio.timeout(_PATIENCE):
        async for thread in store.threads():
            sights[thread.id], found = sight_of(await _parts(store, thread))
            broken |= found
    return Sights(sights, frozenset(broken))


async def writable(store: ThreadStore) -> bool:
    """Whether every thread of *store* and a new one take a message and show it."""
    async with asyncio.timeout(_PATIENCE):
        threads = [thread async for thread in store.threads()]
        for thread in [*threads, await store.thread("written-afterwards")]:
            count = thread.count
            await thread.add_message(Message.user("afterwards/0/1"))
            again = await store.thread(thread.id)
            last = await again.get_messages(last=1)
            if again.count != count + 1 or last[0].text != "afterwards/0/1":
                return False
    return True


async def _parts(store: ThreadStore, thread: ConversationThread) -> Parts:
    checkpointer = ThreadCheckpointer(store)
    return Parts(
        revision=thread.head.revision,
        count=thread.count,
        archived=thread.head.archived,
        messages=await thread.get_messages(),
        name=thread.display_name,
        execution=thread.execution_state,
        newest=thread.last_reduction,
        reductions=await thread.reductions(),
        tools=thread.pending_tools,
        checkpoints=await checkpointer.history(thread.id)
        if store.context.checkpoints == "full"
        else (),
    )
