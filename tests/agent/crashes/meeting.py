"""What somebody else does with the thread of a running turn."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from msgspec import Struct, structs

from foldline.errors import FoldlineError, ThreadConflictError
from foldline.history.messages import Message
from foldline.reduction.state import HistoryReductionState
from foldline.threads.thread import ConversationThread
from tests.agent.crashes.book import Book
from tests.agent.crashes.case import Ground
from tests.agent.crashes.life import Life, MortalStorage
from tests.agent.crashes.play import NAME, NOW, play, store_on
from tests.agent.crashes.scene import Scene, agent_of, old_messages


class Met(Struct):
    """A turn that is met by somebody else."""

    scene: Scene  # What the turn is part of
    ground: Ground  # Where the thread is kept
    book: Book  # What the world remembers
    one: str | None = None  # How the turn fared: `ended`, or the name of its error
    other: str | None = None  # How the other one fared; None where there was nothing for him to do
    left: Sequence[Message] = ()  # What he has left of the history


Act: TypeAlias = Callable[[Met, ConversationThread], Awaitable[bool]]
"""What the other one does with his own object of the thread; whether there was something to do."""

STRANGE = Message.user("strange")
"""What he says."""

_ATTEMPTS = 20


async def resume(met: Met, thread: ConversationThread) -> bool:
    """Go on with the run, as if its process had crashed."""
    state = thread.execution_state
    if state is None or not state.is_open:
        return False
    scene = structs.replace(met.scene, slowness=0, thinking=0)
    await play(scene, store_on(scene, met.ground()), Life(), met.book)
    return True


async def say(met: Met, thread: ConversationThread) -> bool:
    await thread.append([STRANGE])
    return True


async def ask(met: Met, thread: ConversationThread) -> bool:
    """Begin another turn."""
    await agent_of(met.scene, Life(), met.book).run(
        "q9", thread=thread, on_conflict="error", on_open="error"
    )
    return True


async def name(met: Met, thread: ConversationThread) -> bool:
    for _ in range(_ATTEMPTS):
        try:
            await thread.set_metadata({"colour": "blue"})
        except ThreadConflictError:
            await thread.refresh()
        else:
            break
    return True


async def fold(met: Met, thread: ConversationThread) -> bool:
    window = await thread.window(whole=True)
    reduction = HistoryReductionState.create(
        window.history,
        "Somebody else has said this.",
        2,
        target_count=2,
        reduction_threshold=0,
        message_count_at_reduction=thread.head.length,
        created_at=NOW,
    )
    await thread.save_reduction(reduction)
    return True


async def rewind(met: Met, thread: ConversationThread) -> bool:
    """Take back everything but the first two messages."""
    await thread.rewind(2)
    met.left = await thread.get_messages()
    return True


async def edit(met: Met, thread: ConversationThread) -> bool:
    """Say something else in the place of the first message."""
    await thread.edit(0, STRANGE)
    met.left = await thread.get_messages()
    return True


async def remove(met: Met, thread: ConversationThread) -> bool:
    async with store_on(met.scene, met.ground()) as store:
        return await store.delete(thread.id)


async def begun(scene: Scene, ground: Ground) -> None:
    """Make the thread, with what was said before."""
    async with store_on(scene, ground()) as store:
        thread = await store.thread(NAME)
        await thread.add_messages(old_messages(scene))


async def met_at(met: Met, act: Act, at: int) -> bool:
    """Play the scene and let another act at moment *at*; return whether there was one."""
    others: list[asyncio.Task[None]] = []

    async def meet(number: int, _: str) -> None:
        if number == at:
            # In a task of its own, which is not cancelled together with the turn.
            others.append(asyncio.create_task(_act(met, act)))
            await asyncio.wait(others)

    life = Life(meet=meet)
    store = store_on(met.scene, MortalStorage(met.ground(), life))
    try:
        await play(met.scene, store, life, met.book)
    except FoldlineError as error:
        met.one = type(error).__name__
    else:
        met.one = "ended"
    await asyncio.gather(*others)
    return life.count >= at


async def _act(met: Met, act: Act) -> None:
    try:
        async with store_on(met.scene, met.ground()) as store:
            if await act(met, await store.thread(NAME)):
                met.other = "ended"
    except FoldlineError as error:
        met.other = type(error).__name__
