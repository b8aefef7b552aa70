"""A turn that has an id runs once."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext

import pytest

from foldline import Agent, Message
from foldline.errors import ConfigError, ModelError, RunStartError, TurnIdError
from foldline.events import TextDeltaEvent, TurnStartedEvent
from foldline.testing.model import ModelStep, ScriptedModel, calls
from foldline.threads.change import Document
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage
from foldline.threads.thread import ConversationThread
from foldline.threads.verify import verify_thread
from tests.agent.once.gated import ON_EVERY_STORE


def agent_of(*steps: ModelStep) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(steps)
    return Agent(model, tools=[look]), model


def look(at: int) -> str:
    return f"saw {at}"


async def texts(thread: ConversationThread) -> Sequence[str]:
    await thread.refresh()
    return [one.text for one in await thread.get_messages()]


@ON_EVERY_STORE
async def test_a_known_turn_is_not_run_again(store: ThreadStore) -> None:
    """The same id and message give the stored result, from another object, and no model is asked."""
    agent, model = agent_of(calls(("look", {"at": 1})), "fine")
    async with store:
        first = await agent.run("hello", thread=await store.thread("t"), turn_id="one")
        again = await agent.run("hello", thread=await store.thread("t"), turn_id="one")

    assert len(model.requests) == 2
    assert again.messages == first.messages
    assert (again.text, again.iterations, again.usage) == ("fine", 2, first.usage)
    assert (again.termination_reason, again.is_complete) == (first.termination_reason, True)


async def test_a_known_turn_is_found_behind_others(store: ThreadStore) -> None:
    """The result of an earlier turn is its own messages, whatever was said after it."""
    agent, _ = agent_of("one", "two", "three")
    async with store:
        thread = await store.thread("t")
        for name in ("a", "b", "c"):
            await agent.run(f"question {name}", thread=thread, turn_id=name)
        again = await agent.run("question b", thread=thread, turn_id="b")

    assert [one.text for one in again.messages] == ["question b", "two"]


async def test_a_stored_answer_is_streamed(store: ThreadStore) -> None:
    """A stream of a known turn has the stored answer as text, between its start and its end."""
    agent, _ = agent_of("fine")
    async with store:
        thread = await store.thread("t")
        await agent.run("hello", thread=thread, turn_id="one")
        events = [one async for one in agent.run_stream("hello", thread=thread, turn_id="one")]

    assert isinstance(events[0], TurnStartedEvent)
    assert events[0].start == "stored"
    assert [one.text for one in events if isinstance(one, TextDeltaEvent)] == ["fine"]


async def test_the_id_of_the_message_serves(store: ThreadStore) -> None:
    """Without a turn id it is that of the message."""
    agent, model = agent_of("fine")
    async with store:
        for _ in range(2):
            message = Message.user("hello", id="m1")
            result = await agent.run(message, thread=await store.thread("t"))
            assert result.text == "fine"

    assert len(model.requests) == 1


async def test_a_text_has_no_id(store: ThreadStore) -> None:
    """The same text twice is two turns."""
    agent, _ = agent_of("one", "two")
    async with store:
        thread = await store.thread("t")
        answers = [(await agent.run("hello", thread=thread)).text for _ in range(2)]

    assert answers == ["one", "two"]


async def test_another_message_has_another_id(store: ThreadStore) -> None:
    """The id of another message is refused, and nothing is stored."""
    agent, model = agent_of("fine")
    async with store:
        thread = await store.thread("t")
        await agent.run("hello", thread=thread, turn_id="one")
        with pytest.raises(TurnIdError, match="'one'"):
            await agent.run("goodbye", thread=thread, turn_id="one")
        assert await texts(thread) == ["hello", "fine"]

    assert len(model.requests) == 1


async def rewind(thread: ConversationThread) -> None:
    await thread.rewind(2)


async def edit(thread: ConversationThread) -> None:
    await thread.edit(2, Message.user("hello"))


async def clear(thread: ConversationThread) -> None:
    await thread.clear()


async def take_back_the_answer(thread: ConversationThread) -> None:
    await thread.rewind(3)


@ON_EVERY_STORE
@pytest.mark.parametrize("act", [rewind, edit, clear, take_back_the_answer])
async def test_what_is_taken_back_frees_its_id(
    store: ThreadStore, act: Callable[[ConversationThread], Awaitable[None]]
) -> None:
    """After a rewind, an edit or a clear the id of a turn that it took back is free."""
    agent, _ = agent_of("zero", "one", "two")
    async with store:
        thread = await store.thread("t")
        await agent.run("before", thread=thread, turn_id="zero")
        await agent.run("hello", thread=thread, turn_id="one")
        await act(thread)
        result = await agent.run("goodbye", thread=await store.thread("t"), turn_id="one")
        assert result.text == "two"
        if act is rewind:
            again = await agent.run("before", thread=thread, turn_id="zero")
            assert again.text == "zero"


@ON_EVERY_STORE
async def test_a_known_turn_that_is_open_is_resumed(store: ThreadStore) -> None:
    """After a failure of the model the same call goes on, and its message is stored once."""
    agent, model = agent_of(calls(("look", {"at": 1})), ModelError("down"), "fine")
    async with store:
        with pytest.raises(ModelError):
            await agent.run("hello", thread=await store.thread("t"), turn_id="one")
        thread = await store.thread("t")
        result = await agent.run("hello", thread=thread, turn_id="one")
        again = await agent.run("hello", thread=thread, turn_id="one")

    assert [one.role for one in result.messages] == ["user", "assistant", "tool", "assistant"]
    assert again.messages == result.messages
    assert len(model.requests) == 3


async def test_an_id_alone_answers_what_is_stored(store: ThreadStore) -> None:
    """A job that holds an id only answers the stored message once."""
    agent, model = agent_of("fine")
    async with store:
        thread = await store.thread("t")
        await thread.add_message(Message.user("hello"))
        first = await agent.run(thread=thread, turn_id="job")
        again = await agent.run(thread=await store.thread("t"), turn_id="job")

    assert (first.text, again.text, len(model.requests)) == ("fine", "fine", 1)


@ON_EVERY_STORE
async def test_one_answer_serves_two_ids(store: ThreadStore) -> None:
    """Jobs with the ids of two stored messages: the first answers both, the second finds that."""
    agent, model = agent_of("fine", "more")
    async with store:
        thread = await store.thread("t")
        await thread.add_messages([Message.user(f"{name}?", id=name) for name in ("one", "two")])
        await agent.run(thread=await store.thread("t"), turn_id="one")
        second = await agent.run(thread=await store.thread("t"), turn_id="two")
        await agent.run("more?", thread=await store.thread("t"))
        later = await agent.run(thread=await store.thread("t"), turn_id="two")
        assert await texts(thread) == ["one?", "two?", "fine", "more?", "more"]

    assert [one.text for one in second.messages] == ["two?", "fine"]
    assert (later.messages, later.is_complete, later.iterations) == (second.messages, True, 1)
    assert len(model.requests) == 2


@ON_EVERY_STORE
async def test_an_id_alone_needs_a_message(store: ThreadStore) -> None:
    """An unknown id without a message, where nothing waits, is an error, and no model is asked."""
    agent, model = agent_of("fine")
    async with store:
        thread = await store.thread("t")
        await agent.run("hello", thread=thread)
        with pytest.raises(RunStartError, match="nothing waits for an answer"):
            await agent.run(thread=await store.thread("t"), turn_id="job")

    assert len(model.requests) == 1


async def test_an_open_run_is_left_for_the_next_message(store: ThreadStore) -> None:
    """By default a run that nobody runs any more ends where it is, and the message is answered."""
    agent, model = agent_of(ModelError("down"), "fine")
    async with store:
        with pytest.raises(ModelError):
            await agent.run("hello", thread=await store.thread("t"), turn_id="one")
        thread = await store.thread("t")
        await agent.run("are you there?", thread=thread, turn_id="two")
        assert await texts(thread) == ["hello", "are you there?", "fine"]
        with pytest.raises(RunStartError, match="was left for the next message"):
            await agent.run("hello", thread=thread, turn_id="one")

    assert len(model.requests) == 2


async def test_a_left_turn_answers_no_later_question(store: ThreadStore) -> None:
    """If something was answered since, it is refused, though a later message waits for an answer."""
    agent, model = agent_of(ModelError("down"), "fine", ModelError("down"), "for three")
    async with store:
        thread = await store.thread("t")
        for name in ("one", "two", "three"):
            with nullcontext() if name == "two" else pytest.raises(ModelError):
                await agent.run(f"{name}?", thread=thread, turn_id=name)
        with pytest.raises(RunStartError, match="was left for the next message"):
            await agent.run("one?", thread=thread, turn_id="one")
        assert len(model.requests) == 3
        result = await agent.run("three?", thread=thread, turn_id="three")
        assert await texts(thread) == ["one?", "two?", "fine", "three?", "for three"]

    assert result.text == "for three"


@ON_EVERY_STORE
async def test_a_turn_that_was_left_is_run_again(store: ThreadStore) -> None:
    """If nothing was answered since, its message is answered where it is, and is not stored again."""
    agent, model = agent_of(ModelError("down"), ModelError("down"), "fine")
    async with store:
        for name in ("one", "two"):
            with pytest.raises(ModelError):
                await agent.run(f"{name}?", thread=await store.thread("t"), turn_id=name)
        thread = await store.thread("t")
        result = await agent.run("one?", thread=thread, turn_id="one")
        again = await agent.run("one?", thread=await store.thread("t"), turn_id="one")
        with pytest.raises(RunStartError):
            await agent.run("two?", thread=await store.thread("t"), turn_id="two")
        assert await texts(thread) == ["one?", "two?", "fine"]

    assert (result.text, again.text, again.is_complete) == ("fine", "fine", True)
    assert len(model.requests) == 3


async def test_an_open_run_without_an_id_is_finished_first(store: ThreadStore) -> None:
    """With `resume` it is answered before the next message, whose answer is another one."""
    agent, _ = agent_of(ModelError("down"), "late", "fine")
    async with store:
        thread = await store.thread("t")
        with pytest.raises(ModelError):
            await agent.run("hello", thread=thread)
        result = await agent.run("and now?", thread=thread, turn_id="id", on_open="resume")
        assert await texts(thread) == ["hello", "late", "and now?", "fine"]

    assert result.text == "fine"


async def test_an_open_run_is_an_error(store: ThreadStore) -> None:
    """With `error` the message is refused, and the run stays open."""
    agent, _ = agent_of(ModelError("down"), "late")
    async with store:
        thread = await store.thread("t")
        with pytest.raises(ModelError):
            await agent.run("hello", thread=thread)
        with pytest.raises(RunStartError, match="abandon_run"):
            await agent.run("are you there?", thread=thread, on_open="error")
        assert (await agent.run(thread=thread)).text == "late"


async def test_a_damaged_turn_is_named() -> None:
    """Verifying a thread names the stored turn that somebody has changed."""
    storage = MemoryStorage()
    agent, _ = agent_of("fine")
    async with ThreadStore(storage) as store:
        thread = await store.thread("t")
        await agent.run("hello", thread=thread, turn_id="one")
        (turn,) = await storage.documents(thread.key, "turn")
        damaged = Document("turn", turn.name, turn.data[:-1] + b"?")
        before = await verify_thread(store.context, thread.key)
        storage._threads[thread.key].documents["turn", turn.name] = damaged  # pyright: ignore[reportPrivateUsage] # as somebody else does
        found = await verify_thread(store.context, thread.key)

    assert before is not None
    assert found is not None
    assert (before.faults, len(found.faults)) == ((), 1)
    assert found.faults[0].startswith(f"turn {turn.name}: ")


@pytest.mark.parametrize(
    "options",
    [
        {"turn_id": " "},
        {"turn_id": "x" * 257},
        {"turn_id": 1},
        {"on_conflict": "?"},
        {"on_open": None},
    ],
)
async def test_wrong_options_are_refused(options: dict[str, object]) -> None:
    """An option of another type or value is named."""
    agent, _ = agent_of("fine")

    with pytest.raises(ConfigError, match=next(iter(options))):
        await agent.run("hello", **options)  # type: ignore[arg-type]
