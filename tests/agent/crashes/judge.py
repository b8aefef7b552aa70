"""What is wrong with a thread, its effects and its requests after the lives of a scene."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from foldline.history.digest import prefix_digest
from foldline.history.messages import Message
from foldline.history.parts import ToolCallResponsePart
from foldline.reduction.state import HistoryReductionState, hash_of
from foldline.threads.checkpointer import ThreadCheckpointer
from foldline.threads.loop_state import COMPLETED
from foldline.threads.storage import ThreadStorage
from foldline.threads.stores.memory import MemoryStorage
from foldline.threads.tools import INTERRUPTED
from tests.agent.crashes.book import Book, Entry
from tests.agent.crashes.life import Life
from tests.agent.crashes.play import DECIDED, NAME, live, store_on
from tests.agent.crashes.scene import POLICIES, Scene, what_of
from tests.threads.clock import hasty


class Sight(Struct, frozen=True, kw_only=True):
    """What a store shows of the thread of a scene."""

    messages: Sequence[Message]  # What was said
    broken: frozenset[str]  # What in it does not agree with the rest
    reductions: Sequence[tuple[int, str]]  # Cut and summary of each reduction, the newest first
    ended: bool  # Whether the last run came to its end, with nothing that waits
    metadata: Mapping[str, object]  # The owner's values


class Model(Struct, frozen=True, kw_only=True):
    """A scene as it is where nothing goes wrong."""

    messages: Sequence[Message]  # What is said
    reductions: Sequence[tuple[int, str]]  # Cut and summary of each reduction, the newest first


_NOTHING = Sight(messages=(), broken=frozenset(), reductions=(), ended=False, metadata={})


async def sight_of(scene: Scene, storage: ThreadStorage) -> Sight:
    async with store_on(scene, storage) as store:
        thread = await store.find(NAME)
        if thread is None:
            return _NOTHING
        messages = await thread.get_messages()
        reductions = await thread.reductions()
        state, plain = thread.execution_state, [one for one in messages if one.role != "system"]
        current = None if state is None else state.current_messages
        kept = (
            await ThreadCheckpointer(store).history(NAME, limit=1)
            if scene.checkpoints == "full"
            else []
        )
        seen = (thread.count, prefix_digest(plain))
        broken = {
            "miscounted": thread.count != len(messages),
            "stale state": current is not None and (len(current), current.digest) != seen,
            "stale checkpoint": any(one.message_index > thread.count for one in kept),
            "foreign reduction": not all(_fits(one, plain) for one in reductions),
            "forgotten reduction": bool(reductions) != (thread.last_reduction is not None),
        }
        return Sight(
            messages=messages,
            broken=frozenset(name for name, is_broken in broken.items() if is_broken),
            reductions=[(one.summarized_up_to_index, one.summary_content) for one in reductions],
            ended=state is not None
            and state.termination_reason == COMPLETED
            and not thread.pending_tools,
            metadata=thread.metadata,
        )


def _fits(reduction: HistoryReductionState, plain: Sequence[Message]) -> bool:
    index = reduction.summarized_up_to_index
    return index <= len(plain) and hash_of(plain, index) == reduction.message_hash


def model_of(scene: Scene) -> Model:
    """Return *scene* as it is where nothing goes wrong."""
    return asyncio.run(_model(scene))


async def _model(scene: Scene) -> Model:
    storage, book = MemoryStorage(clock=hasty), Book()
    has_ended = await live(scene, storage, Life(), book)
    sight = await sight_of(scene, storage)

    assert has_ended
    assert sight.ended
    assert sight.broken == frozenset()
    assert book.of_kind("refused") == []

    return Model(messages=sight.messages, reductions=sight.reductions)


def broken_between(model: Model, sight: Sight, *, acknowledged: int = 0) -> set[str]:
    """Return what is wrong after a life, of which *acknowledged* messages are known."""
    said = _unless_interrupted(sight.messages)
    found = {
        "lost": len(sight.messages) < acknowledged,
        "other history": said != _like(model.messages, sight.messages)[: len(said)],
    }
    return {name for name, is_broken in found.items() if is_broken} | sight.broken


def broken_in_the_end(scene: Scene, model: Model, sight: Sight, book: Book) -> set[str]:
    """Return what is wrong once *scene* has come to its end."""
    found = {
        "not ended": not sight.ended,
        "cut short": len(sight.messages) != len(model.messages),
        "other reductions": not scene.folds_ahead and sight.reductions != model.reductions,
    }
    return (
        {name for name, is_broken in found.items() if is_broken}
        | broken_between(model, sight)
        | {f"refused: {entry.what}" for entry in book.of_kind("refused")}
        | _broken_effects(sight.messages, book.entries)
        | _broken_summaries(scene, book.entries)
    )


def _answers(messages: Sequence[Message]) -> list[tuple[str, str, str]]:
    """Return the tool, the task and the answer of each call that is answered."""
    calls: dict[str, tuple[str, str]] = {}
    found: list[tuple[str, str, str]] = []
    for message in messages:
        calls.update({call.id: (call.name, what_of(call)) for call in message.tool_calls})
        for answer in message.tool_call_responses:
            name, what = calls[answer.id]
            found.append((name, what, str(answer.response)))
    return found


_STANDING_IN = (INTERRUPTED, DECIDED)


def _unless_interrupted(messages: Sequence[Message]) -> list[Message]:
    """Return *messages* with one text for all answers that stand in for a real one."""
    return [_without(one) if _is_stand_in(one) else one for one in messages]


def _like(model: Sequence[Message], seen: Sequence[Message]) -> list[Message]:
    """Return *model* with the answers that may differ in *seen* made equal."""
    differing = {at for at, one in enumerate(seen) if _is_stand_in(one)}
    return [_without(one) if at in differing else one for at, one in enumerate(model)]


def _is_stand_in(message: Message) -> bool:
    return any(answer.response in _STANDING_IN for answer in message.tool_call_responses)


def _without(message: Message) -> Message:
    parts = tuple(ToolCallResponsePart(one.id, "") for one in message.tool_call_responses)
    return structs.replace(message, parts=parts)


def _broken_effects(messages: Sequence[Message], entries: Sequence[Entry]) -> set[str]:
    effects = Counter(entry.what for entry in entries if entry.kind == "effect")
    keys: dict[str, set[str]] = {}
    for entry in entries:
        if entry.kind == "effect":
            keys.setdefault(entry.what, set()).add(entry.more)
    waiting = {entry.what for entry in entries if entry.kind == "open"}
    found: set[str] = set()
    for name, what, answer in _answers(messages):
        policy, is_open = POLICIES[name], what in waiting
        wrong = {
            "done twice": policy != "idempotent" and effects[what] > 1,
            "done again without a crash": effects[what] > 1 and not is_open,
            "another key": len(keys.get(what, ())) > 1,
            # The time of one that hangs may be over before it has begun.
            "said and not done": answer not in _STANDING_IN
            and not effects[what]
            and name != "hang",
            "interrupted without cause": answer == INTERRUPTED
            and not (is_open and policy == "at_most_once"),
            "decided without cause": answer == DECIDED and not (is_open and policy == "manual"),
            "not asked": policy == "manual" and is_open and answer != DECIDED,
        }
        found |= {one for one, is_broken in wrong.items() if is_broken}
    if len({frozenset(one) for one in keys.values()}) != len(keys):
        found.add("shared key")
    return found | _broken_order(entries)


def _broken_order(entries: Sequence[Entry]) -> set[str]:
    """Return what is wrong with effects behind a stored result."""
    finished: set[str] = set()
    for entry in entries:
        if entry.kind == "finished":
            finished.add(entry.what)
        elif entry.kind == "effect" and entry.what in finished:
            return {"done again behind its result"}
    return set()


_SOON = 3
"""So many moments a result may take to be stored: another call's, and one before the commit."""


def stored_late(book: Book) -> set[str]:
    """Return whether a result was lost long before the life ended, in a store without waits."""
    returned: dict[str, int] = {}
    ended = 0
    for entry in book.entries:
        if entry.kind == "returned":
            returned[entry.what] = int(entry.more)
        elif entry.kind == "end":
            ended = int(entry.more)
        elif entry.kind == "open" and ended - returned.get(entry.what, ended) > _SOON:
            return {"stored late"}
        elif entry.kind == "open":
            returned.pop(entry.what, None)
    return set()


_UNSTORED = {"behind_a_summary", "before_a_commit", "killed"}


def _broken_summaries(scene: Scene, entries: Sequence[Entry]) -> set[str]:
    """Return what is wrong with summaries: one is made again only if it could not be stored."""
    known: set[str] = set()
    may_be_lost = ""
    for entry in entries:
        if entry.kind == "found":
            known.add(entry.what)
        elif entry.kind == "summary":
            if entry.what in known:
                return {"summarized twice"}
            known.add(entry.what)
            may_be_lost = entry.what
        elif entry.kind == "end" and (scene.folds_ahead or entry.what in _UNSTORED):
            known.discard(may_be_lost)
    return set()
