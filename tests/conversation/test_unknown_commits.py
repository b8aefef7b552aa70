"""A conversation that does not know whether a step was stored, and what its error says to do."""

import asyncio

import pytest

from foldline.conversation.conversation import Conversation
from foldline.conversation.orchestrator import Orchestrator
from foldline.errors import CommitUnknownError
from foldline.threads.store import ThreadStore
from tests.agent.cut import ADVICE, Cut
from tests.conversation.orchestrators import ON_EVERY_ORCHESTRATOR
from tests.conversation.stories import agent_named, texts


async def follow(conversation: Conversation, text: str) -> None:
    """Do what the error says, behind a refresh."""
    assert conversation.thread is not None
    await conversation.thread.refresh()
    said = await conversation.messages()
    if not any(one.text == text for one in said):
        await conversation.send(text)
    elif said[-1].role != "assistant":
        await conversation.resume()


@ON_EVERY_ORCHESTRATOR
@pytest.mark.parametrize("makes", [False, True], ids=["not made", "made"])
def test_the_advice_brings_a_message_to_its_answer(
    orchestrator: Orchestrator | None, *, makes: bool
) -> None:
    """Whichever step is unknown, in the end the message was said and answered once."""

    async def talk(at: int) -> bool:
        # The thread is made before.
        storage = Cut(at + 1, makes=makes)
        agents = [agent_named("a")] if orchestrator is None else [agent_named(one) for one in "ab"]
        thread = await ThreadStore(storage).thread("t")
        conversation = Conversation(agents, orchestrator=orchestrator, thread=thread)
        error = None
        try:
            await conversation.send("hi")
        except CommitUnknownError as caught:
            error = caught
        if error is not None:
            assert (error.commit_id, str(error)[-len(ADVICE) :]) == (None, ADVICE)
            storage.is_away = False
            await follow(conversation, "hi")
        assert texts(await conversation.messages()) == ["hi", "a here"]
        return storage.has_broken

    steps = 1
    while asyncio.run(talk(steps)):
        steps += 1

    assert steps > 2
