"""What a job does, as plain coroutines: they work with any queue, or with none."""

import asyncio
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from os import urandom

from foldline.agent.admission import check_turn_id
from foldline.agent.agent import Agent
from foldline.agent.events import AgentEvent, RequestSentEvent, TextDeltaEvent
from foldline.agent.pace import NO_LIMITS, RateLimit
from foldline.agent.refold import Refolded
from foldline.agent.result import TurnResult, stored_result
from foldline.agent.turn_input import TurnInput, checked_input
from foldline.agent.unanswered import was_left
from foldline.errors import (
    ConfigError,
    FoldlineError,
    RunStartError,
    StoreError,
    SummarizerError,
    ThreadConflictError,
    ThreadNotFoundError,
    TurnIdError,
)
from foldline.history.messages import Message
from foldline.reduction.event import HistoryReductionEvent
from foldline.threads.key import DEFAULT_TENANT, ThreadKey, key_of
from foldline.threads.store import ThreadStore
from foldline.threads.thread import ConversationThread
from foldline.threads.turns import digest_of_input
from foldline.workers.post import Post, nothing_posted


_UNSENDABLE = re.compile(r"[\0\ud800-\udfff]")


async def post_turn(
    store: ThreadStore,
    thread_id: str | ThreadKey,
    message: TurnInput,
    *,
    turn_id: str | None = None,
    tenant: str = DEFAULT_TENANT,
) -> str:
    """
    Store *message* for a worker that answers it later, and return the id of its turn.

    The thread is made if there is none. A turn that is posted again changes nothing, and one that
    was given up may be tried again.

    Args:
        turn_id: The id of the turn, which is answered once however often it is posted; by default
            that of the message, and for plain text a new one.

    Raises:
        ConfigError: There is no message, or *turn_id* cannot be an id.
        TurnIdError: The turn was posted with another message.
        StoreError: The store failed; post again with the same *turn_id*.
    """
    name, _ = await put_turn(store, key_of(thread_id, tenant), message, turn_id)
    return name


async def put_turn(
    store: ThreadStore, key: ThreadKey, message: TurnInput, turn_id: str | None
) -> tuple[str, bool]:
    """Do what `post_turn` does, and say also whether the turn had been given up."""
    messages = checked_input(message)
    if not messages:
        raise ConfigError("message must say something: a turn that is posted begins with it")
    name = turn_id or messages[-1].id or urandom(16).hex()
    check_turn_id(name)
    if _UNSENDABLE.search(name):
        message = "turn_id must have no NUL and no lone surrogate, which queues do not take"
        raise ConfigError(message)
    thread = await store.thread(key)
    turn = await thread.stored_turn(name)
    if turn is not None and turn.given not in {b"", digest_of_input(messages)}:
        raise TurnIdError(thread_id=key.id, turn_id=name)
    if turn is not None and turn.is_finished and not await was_left(thread, turn):
        return name, False
    try:
        post = await Post.put(store, key, name, messages)
        had_failed = post.failure is not None
        if had_failed:
            await post.reopen()
    except ThreadNotFoundError:
        # A worker has ended it at this very moment.
        return await put_turn(store, key, messages, name)
    return name, had_failed


async def answer_turn(
    agent: Agent,
    store: ThreadStore,
    thread_id: str | ThreadKey,
    turn_id: str,
    *,
    tenant: str = DEFAULT_TENANT,
    show_every: float | None = None,
    shown: Callable[[], None] | None = None,
) -> TurnResult:
    """
    Answer a turn that was posted, and return what came of it; one that has ended is not run again.

    A worker that is killed leaves an open turn, which the next call continues.

    Args:
        show_every: How many seconds pass between two moments at which the text so far is stored, for
            those who read along; None to store the whole answer only.
        shown: Called after each of these, so that readers can be woken.

    Raises:
        ThreadNotFoundError: Somebody has deleted the thread.
        RunStartError: Nothing was posted under that id.
        FoldlineError: What `Agent.run` raises.
    """
    key = key_of(thread_id, tenant)
    # The post first: it goes after the turn has ended, so that its end is in what is read then.
    post, thread = await Post.find(store, key, turn_id), await store.find(key)
    done = None if thread is None else await ended_turn(thread, turn_id)
    if post is not None and (done is not None or thread is None):
        await post.drop(store)
    if thread is None:
        raise ThreadNotFoundError(thread_id=key.id)
    if done is not None:
        return done
    if post is None:
        raise RunStartError(nothing_posted(key, turn_id))
    given = await _given(post)
    if given is None:
        return await answer_turn(agent, store, key, turn_id, show_every=show_every, shown=shown)
    async with _Shown(post, show_every, shown) as listen:
        result = await agent.work(given, thread=thread, turn_id=turn_id, listen=listen)
    await post.drop(store)
    return result


async def _given(post: Post) -> list[Message] | None:
    """Return the input of a turn; None if another worker has ended it at this very moment."""
    try:
        if post.failure is not None:
            await post.reopen()
        return await post.messages()
    except ThreadNotFoundError:
        return None


async def ended_turn(thread: ConversationThread, turn_id: str) -> TurnResult | None:
    """Return what came of the turn *turn_id* of *thread*; None if it has not ended."""
    turn = await thread.stored_turn(turn_id)
    if turn is None or not turn.is_finished or await was_left(thread, turn):
        return None
    return await stored_result(thread, turn, None)


async def give_up_turn(
    store: ThreadStore,
    thread_id: str | ThreadKey,
    turn_id: str,
    error: BaseException,
    *,
    tenant: str = DEFAULT_TENANT,
) -> None:
    """
    Note that no worker tries a turn again because of *error*, so that waiting for it ends.

    Of an error that is not foldline's only the class is kept, since its text may quote anything.
    """
    post = await Post.find(store, key_of(thread_id, tenant), turn_id)
    if post is None:
        return
    code, reason = type(error).__name__, "see the log of the worker"
    if isinstance(error, FoldlineError):
        code, reason = error.code, str(error)
    # Another worker may end it at the same time.
    with suppress(ThreadNotFoundError):
        await post.give_up(code, reason)


async def fold_thread(
    agent: Agent, store: ThreadStore, thread_id: str | ThreadKey, *, tenant: str = DEFAULT_TENANT
) -> HistoryReductionEvent:
    """
    Fold a thread now, as *agent* would, and return what was done; see `Agent.fold`.

    Raises:
        ThreadNotFoundError: There is no such thread.
    """
    key = key_of(thread_id, tenant)
    thread = await store.find(key)
    if thread is None:
        raise ThreadNotFoundError(thread_id=key.id)
    return (await agent.fold(thread)).event


async def refold_tenant(
    agent: Agent,
    store: ThreadStore,
    tenant: str = DEFAULT_TENANT,
    *,
    shard: tuple[int, int] = (0, 1),
    due_only: bool = False,
    limits: Mapping[str, RateLimit] = NO_LIMITS,
) -> Refolded:
    """
    Fold the threads of *tenant* as *agent* would at the next turn of each; see `Agent.refold`.

    Called again, it continues where it was stopped.

    Raises:
        SummarizerError: Too many folds failed in a row; a later call may do better.
    """
    done = await agent.refold(store, tenant=tenant, shard=shard, due_only=due_only, limits=limits)
    if not done.is_complete:
        raise SummarizerError(f"too many folds of tenant {tenant!r} failed in a row")
    return done


class _Shown:
    """Stores what the answer of a turn looks like so far, every now and then."""

    def __init__(self, post: Post, every: float | None, shown: Callable[[], None] | None) -> None:
        self._post, self._every, self._shown = post, every, shown
        # By the number of the model call: a call that is made again begins again.
        self._said: dict[int, list[str]] = {}
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def heard(self, event: AgentEvent) -> None:
        """Note what an event says."""
        if isinstance(event, RequestSentEvent):
            self._said[event.iteration] = []
        elif isinstance(event, TextDeltaEvent):
            self._said.setdefault(event.iteration, []).append(event.text)
            self._news.set()

    async def __aenter__(self) -> Callable[[AgentEvent], None] | None:
        if self._every is None:
            return None
        self._task = asyncio.create_task(self._write(self._every))
        return self.heard

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _write(self, every: float) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            text = "".join(piece for said in self._said.values() for piece in said)
            # Nothing depends on it: what cannot be stored now is stored with the next piece.
            with suppress(StoreError, ThreadConflictError, ThreadNotFoundError):
                await self._post.show(text)
                if self._shown is not None:
                    self._shown()
            await asyncio.sleep(every)
