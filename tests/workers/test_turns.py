"""The coroutines that work with any queue: posting, answering and giving up a turn."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Literal

import pytest

from foldline.agent.agent import Agent
from foldline.errors import (
    ConfigError,
    ModelError,
    RunStartError,
    ThreadNotFoundError,
    TurnFailedError,
    TurnIdError,
    TurnPendingError,
)
from foldline.history.messages import Message
from foldline.providers.model import ChatRequest
from foldline.testing.model import ScriptedModel
from foldline.threads.key import ThreadKey
from foldline.threads.row import StoredRow
from foldline.threads.storage import StoredThread
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage, MemoryStore
from foldline.workers.handle import PostedTurn
from foldline.workers.post import POSTS, Post
from foldline.workers.turns import answer_turn, fold_thread, give_up_turn, post_turn
from tests.workers.scenes import agent_of, said


KEY = ThreadKey("default", "t")


def handle(store: MemoryStore, turn_id: str) -> PostedTurn:
    """Return the handle of a turn of the thread."""
    return PostedTurn(store, KEY, turn_id, looks=0.01)


async def test_a_posted_turn_is_answered() -> None:
    """The answer is in the history and in the handle, and nothing is left of the post."""
    store, (agent, _) = MemoryStore(), agent_of("hello")
    turn = await post_turn(store, "t", "hi")
    result = await answer_turn(agent, store, "t", turn)

    assert result.text == "hello"
    assert (await handle(store, turn).result(1)).text == "hello"
    assert await said(store, "t") == [("user", "hi"), ("assistant", "hello")]
    assert [one async for one in store.threads(tenant=POSTS)] == []


async def test_a_turn_is_answered_once() -> None:
    """A job that runs again, and a message that is posted again, ask the model no more."""
    store, (agent, model) = MemoryStore(), agent_of("hello")
    for _ in range(3):
        assert await post_turn(store, "t", "hi", turn_id="one") == "one"
        assert (await answer_turn(agent, store, "t", "one")).text == "hello"

    assert len(model.requests) == 1
    assert [one async for one in store.threads(tenant=POSTS)] == []


@pytest.mark.parametrize(("failures", "text"), [(2, "late"), (1, "two.")])
async def test_a_turn_that_was_left_is_not_answered_with_nothing(failures: int, text: str) -> None:
    """A job that is retried after the next message came answers, or fails once that is answered."""
    fails = [ModelError("down") for _ in range(failures)]
    store, agent = MemoryStore(), Agent(ScriptedModel([*fails, text]))
    await post_turn(store, "t", "one?", turn_id="one")
    with pytest.raises(ModelError):
        await answer_turn(agent, store, "t", "one")
    thread = await store.thread("t")
    if failures > 1:
        with pytest.raises(ModelError):
            await agent.run("two?", thread=thread)
        assert (await answer_turn(agent, store, "t", "one")).text == text
    else:
        await agent.run("two?", thread=thread)
        with pytest.raises(RunStartError, match="was left"):
            await answer_turn(agent, store, "t", "one")


async def test_a_turn_that_was_left_can_be_posted_again() -> None:
    """Who waits for the new post is not told why the old one was given up."""
    fails = [ModelError("down") for _ in range(2)]
    store, agent = MemoryStore(), Agent(ScriptedModel([*fails, "late"]))
    await post_turn(store, "t", "one?", turn_id="one")
    with pytest.raises(ModelError) as caught:
        await answer_turn(agent, store, "t", "one")
    await give_up_turn(store, "t", "one", caught.value)
    with pytest.raises(ModelError):
        await agent.run("two?", thread=await store.thread("t"))

    await post_turn(store, "t", "one?", turn_id="one")
    with pytest.raises(TurnPendingError):
        await handle(store, "one").result(0.05)
    await answer_turn(agent, store, "t", "one")

    assert (await handle(store, "one").result(1)).text == "late"


async def test_the_same_id_with_another_message_is_refused() -> None:
    """The id of a turn stands for one message."""
    store = MemoryStore()
    await post_turn(store, "t", "hi", turn_id="one")
    await post_turn(store, "t", "hi", turn_id="one")

    with pytest.raises(TurnIdError):
        await post_turn(store, "t", "bye", turn_id="one")


async def test_the_id_of_a_message_is_that_of_its_turn() -> None:
    """A message that has an id needs no other."""
    store = MemoryStore()

    assert await post_turn(store, "t", Message(role="user", id="mine")) == "mine"


@pytest.mark.parametrize("message", [None, []], ids=["none", "no messages"])
async def test_a_post_needs_a_message(message: list[Message] | None) -> None:
    """There is nothing to store without one."""
    with pytest.raises(ConfigError, match="must say something"):
        await post_turn(MemoryStore(), "t", message)


async def test_what_was_never_posted_is_not_answered() -> None:
    """A turn needs its thread and its message, and the handle says so too."""
    store, (agent, _) = MemoryStore(), agent_of()
    with pytest.raises(ThreadNotFoundError):
        await answer_turn(agent, store, "t", "one")
    await store.thread("t")
    with pytest.raises(RunStartError):
        await answer_turn(agent, store, "t", "one")
    with pytest.raises(RunStartError):
        await handle(store, "one").result()


async def test_a_turn_that_was_given_up_can_be_tried_again() -> None:
    """Who waits gets a typed error; a new post forgets it."""
    store, (agent, _) = MemoryStore(), agent_of(ModelError("overloaded", status=400), "hello")
    turn = await post_turn(store, "t", "hi")
    with pytest.raises(ModelError) as caught:
        await answer_turn(agent, store, "t", turn)
    await give_up_turn(store, "t", turn, caught.value)
    with pytest.raises(TurnFailedError, match="model"):
        await handle(store, turn).result()

    await post_turn(store, "t", "hi", turn_id=turn)
    with pytest.raises(TurnPendingError):
        await handle(store, turn).result(0.05)
    await answer_turn(agent, store, "t", turn)

    assert await said(store, "t") == [("user", "hi"), ("assistant", "hello")]


async def test_a_foreign_error_is_told_by_its_class_alone() -> None:
    """Its text may quote a conversation."""
    store = MemoryStore()
    turn = await post_turn(store, "t", "hi")
    await give_up_turn(store, "t", turn, KeyError("secret"))

    with pytest.raises(TurnFailedError, match="KeyError") as caught:
        await handle(store, turn).result()
    assert "secret" not in str(caught.value)


async def test_the_text_can_be_read_while_it_is_written() -> None:
    """A reader gets the text so far, and the whole of it at the end."""
    store, reads = MemoryStore(), asyncio.Event()
    agent = Agent(ScriptedModel(["one two three four"], delay=0.01))
    turn = await post_turn(store, "t", "hi")
    work = asyncio.create_task(
        answer_turn(agent, store, "t", turn, show_every=0.001, shown=reads.set)
    )
    texts = [text async for text in handle(store, turn).stream()]
    await work

    assert reads.is_set()
    assert texts[-1] == "one two three four"
    assert all(texts[-1].startswith(text) for text in texts)
    assert len(texts) > 1


async def test_a_reader_may_leave() -> None:
    """The turn of a worker runs on when nobody reads any more."""
    store, asked, may_answer = MemoryStore(), asyncio.Event(), asyncio.Event()

    async def slowly(_: ChatRequest) -> str:
        asked.set()
        await may_answer.wait()
        return "hello"

    agent, _ = agent_of(slowly)
    turn = await post_turn(store, "t", "hi")
    work = asyncio.create_task(answer_turn(agent, store, "t", turn, show_every=0.001))
    reader = asyncio.create_task(anext(handle(store, turn).stream()))
    await asked.wait()
    reader.cancel()
    may_answer.set()

    assert (await work).text == "hello"


class Heard(asyncio.Event):
    """News of which somebody waits."""

    def __init__(self) -> None:
        super().__init__()
        self.is_awaited = asyncio.Event()

    async def wait(self) -> Literal[True]:
        self.is_awaited.set()
        return await super().wait()


async def test_a_reader_may_leave_while_there_is_news() -> None:
    """A reader that goes at the moment in which it is woken does not wait for the end of the turn."""
    store, news = MemoryStore(), Heard()
    turn = await post_turn(store, "t", "hi")

    def wakes(key: ThreadKey, turn_id: str) -> AbstractContextManager[asyncio.Event]:
        del key, turn_id
        return nullcontext(news)

    watched = PostedTurn(store, KEY, turn, wakes=wakes)
    reader = asyncio.create_task(anext(watched.stream()))
    await news.is_awaited.wait()
    news.set()
    reader.cancel()
    done, _ = await asyncio.wait([reader], timeout=30)

    assert done == {reader}


async def test_a_worker_that_stops_leaves_no_half_answer() -> None:
    """What it has shown of an answer does not end the turn: the next worker says all of it."""
    store, shown = MemoryStore(), asyncio.Event()
    agent = Agent(ScriptedModel(repeat="one two three four", delay=0.01))
    turn = await post_turn(store, "t", "hi")
    work = asyncio.create_task(
        answer_turn(agent, store, "t", turn, show_every=0.001, shown=shown.set)
    )
    await shown.wait()
    work.cancel()
    await asyncio.wait([work])
    half = await said(store, "t")
    await answer_turn(agent, store, "t", turn)

    assert half == [("user", "hi")]
    assert await said(store, "t") == [("user", "hi"), ("assistant", "one two three four")]


async def test_what_an_attempt_has_shown_goes_with_it() -> None:
    """A new post begins without the text of the attempt that failed."""
    store = MemoryStore()
    turn = await post_turn(store, "t", "hi")
    post = await Post.find(store, KEY, turn)
    assert post is not None
    await post.show("half of it")
    await give_up_turn(store, "t", turn, ModelError("gone"))
    await post_turn(store, "t", "hi", turn_id=turn)
    again = await Post.find(store, KEY, turn)

    assert again is not None
    assert (again.text, again.failure) == ("", None)


async def test_a_thread_is_folded() -> None:
    """A fold by hand, as a job, says what it did; a thread that is not there is named."""
    store, (agent, _) = MemoryStore(), agent_of()
    thread = await store.thread("t")
    for number in range(6):
        await thread.add_messages(
            [Message.user(f"question {number} " * 40), Message.assistant("yes " * 40)]
        )

    assert (await fold_thread(agent, store, "t")).status == "performed"
    with pytest.raises(ThreadNotFoundError):
        await fold_thread(agent, store, "other")


async def test_what_waits_goes_with_its_thread() -> None:
    """The message of a turn whose thread was deleted is not kept for a month."""
    agent, model = agent_of()
    async with MemoryStore() as store:
        turn = await post_turn(store, "t", "hi")
        await store.delete("t")
        with pytest.raises(ThreadNotFoundError):
            await answer_turn(agent, store, "t", turn)
        left = [one async for one in store.threads(tenant=POSTS)]

    assert left == []
    assert model.requests == []


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
@pytest.mark.parametrize("is_message", [True, False])
async def test_an_id_that_no_queue_takes_is_refused(name: str, *, is_message: bool) -> None:
    """Nothing is stored for it, whether it is the id of the turn or of the message."""
    async with MemoryStore() as store:
        with pytest.raises(ConfigError, match="NUL"):
            await post_turn(
                store,
                "t",
                Message.user("hi", id=name if is_message else None),
                turn_id=None if is_message else name,
            )

        assert await store.tenants() == []


async def test_what_is_shown_does_not_hide_a_failure() -> None:
    """A turn is given up while its text so far is being stored, and who waits is told."""
    async with MemoryStore() as store:
        turn = await post_turn(store, "t", "hi")
        key = ThreadKey("default", "t")
        one, other = await Post.find(store, key, turn), await Post.find(store, key, turn)
        assert one is not None
        assert other is not None
        await one.show("half of it")
        await other.give_up("model", "no such model")

        with pytest.raises(TurnFailedError, match="no such model"):
            await PostedTurn(store, key, turn).result(timeout=1)


class Late(MemoryStorage):
    """Reads a post, or its messages, after something else has happened."""

    before: Callable[[], Awaitable[object]] | None = None
    first: Callable[[], Awaitable[object]] | None = None

    async def load(self, key: ThreadKey) -> StoredThread | None:
        """Let the first thing happen, once."""
        first, self.first = (None, self.first) if key.tenant != POSTS else (self.first, None)
        if first is not None:
            await first()
        return await super().load(key)

    async def rows(
        self, key: ThreadKey, epoch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        """Let that happen, once."""
        before, self.before = self.before, None
        if before is not None and key.tenant == POSTS:
            await before()
        return await super().rows(key, epoch, start, stop, system=system)


async def test_a_turn_may_end_before_its_post_is_read() -> None:
    """A second worker whose thread and post are read as the first one ends has its answer."""
    storage, (agent, model) = Late(), agent_of("hello")
    async with ThreadStore(storage) as store:
        turn = await post_turn(store, "t", "hi", turn_id="one")
        storage.first = partial(answer_turn, agent, store, "t", turn)
        result = await answer_turn(agent, store, "t", turn)

    assert (result.text, len(model.requests)) == ("hello", 1)


@pytest.mark.parametrize("is_post", [True, False])
async def test_a_turn_may_end_while_its_post_is_read(*, is_post: bool) -> None:
    """A second click, or a second worker, at the moment in which the answer is stored finds that."""
    storage, (agent, model) = Late(), agent_of("hello")
    async with ThreadStore(storage) as store:
        turn = await post_turn(store, "t", "hi", turn_id="one")
        storage.before = partial(answer_turn, agent, store, "t", turn)
        if is_post:
            await post_turn(store, "t", "hi", turn_id=turn)
        else:
            await answer_turn(agent, store, "t", turn)
        result = await PostedTurn(store, KEY, turn).result(timeout=1)

    assert result.text == "hello"
    assert len(model.requests) == 1


async def test_a_turn_may_be_tried_again_with_a_double_click() -> None:
    """Both posts of a turn that was given up are taken."""
    async with MemoryStore() as store:
        turn = await post_turn(store, "t", "hi")
        await give_up_turn(store, "t", turn, ModelError("away"))
        posts = [await Post.find(store, KEY, turn) for _ in range(2)]
        for one in posts:
            assert one is not None
            await one.reopen()
        found = await Post.find(store, KEY, turn)

    assert found is not None
    assert found.failure is None
