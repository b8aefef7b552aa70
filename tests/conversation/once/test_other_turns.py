"""What another message on the thread means for a message of a conversation of several agents."""

import pytest

from foldline import Agent, Conversation, RoundRobin
from foldline.errors import ModelError
from foldline.testing.model import ModelStep, ScriptedModel
from foldline.threads.store import ThreadStore
from tests.agent.once.gated import ON_EVERY_STORE


async def conversation(store: ThreadStore, *steps: ModelStep) -> Conversation:
    model = ScriptedModel(steps)
    agents = [Agent(model, name=name) for name in "ab"]
    return Conversation(agents, orchestrator=RoundRobin(), thread=await store.thread("t"))


async def said(store: ThreadStore) -> list[str]:
    return [one.text for one in await (await store.thread("t")).get_messages()]


@ON_EVERY_STORE
async def test_a_message_is_stored_after_the_one_that_is_finished_first(store: ThreadStore) -> None:
    """With `resume` the earlier message is answered, and then this one, each under its own id."""
    async with store:
        with pytest.raises(ModelError):
            await (await conversation(store, ModelError("down"))).send("one?", turn_id="one")
        talk = await conversation(store, "one.", "two.")
        second = await talk.send("two?", turn_id="two", on_open="resume")
        first = await talk.send("one?", turn_id="one")
        texts = await said(store)

    assert (first.text, second.text) == ("one.", "two.")
    assert texts == ["one?", "one.", "two?", "two."]
