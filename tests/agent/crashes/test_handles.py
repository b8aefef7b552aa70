"""Somebody else acts on the thread of a running turn, at every moment of it."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec import structs

from foldline.errors import CheckpointStaleError, ThreadConflictError
from foldline.threads.stores.sqlite.store import SQLiteStorage
from tests.agent.crashes.book import Book
from tests.agent.crashes.case import Grounds, in_file, in_memory
from tests.agent.crashes.judge import (
    Model,
    Sight,
    broken_between,
    broken_in_the_end,
    model_of,
    sight_of,
)
from tests.agent.crashes.life import Life
from tests.agent.crashes.meeting import (
    STRANGE,
    Act,
    Met,
    ask,
    begun,
    edit,
    fold,
    met_at,
    name,
    remove,
    resume,
    rewind,
    say,
)
from tests.agent.crashes.play import NAME, live, play, store_on
from tests.agent.crashes.scene import Scene, agent_of
from tests.agent.crashes.scenes import (
    AHEAD,
    AT_ONCE,
    FAR_AHEAD,
    FAR_BEHIND,
    ONE_BY_ONE,
    SIGNED,
    WITH_FOLD,
    mostly_slow,
)
from tests.faults.fork import Teller, fork
from tests.faults.scratch import scratch
from tests.threads.clock import hasty


_MOST = 200
_LOSERS = {"ThreadConflictError", "RunStartError", "CheckpointStaleError"}
_BOTH = pytest.mark.parametrize(
    "grounds", [in_memory, pytest.param(in_file, marks=pytest.mark.slow)]
)
# What differs between stores is whether two commits can meet, which the first two tests show.
_GROUNDS = pytest.mark.parametrize(
    "grounds", [in_memory, pytest.param(in_file, marks=pytest.mark.long)]
)
_SCENES = pytest.mark.parametrize(
    "scene", mostly_slow([ONE_BY_ONE, AT_ONCE, WITH_FOLD, AHEAD, SIGNED], AT_ONCE), ids=str
)


def _meetings(
    scene: Scene, grounds: Grounds, act: Act, *, dies_at: int | None = None, first: int = 1
) -> Iterator[tuple[Met, Sight]]:
    """
    Let somebody else act at each moment; give how both fared and what is stored then.

    With *dies_at* an earlier life has ended at that moment and has left an open run; *first* is the
    first moment at which there is somebody.
    """
    for at in range(first, _MOST):
        with grounds() as ground:
            met = Met(scene, ground, Book())
            asyncio.run(begun(scene, ground))
            if dies_at is not None:
                asyncio.run(live(scene, ground(), Life(end=dies_at), met.book))
            if not asyncio.run(met_at(met, act, at)):
                return
            yield met, asyncio.run(sight_of(scene, ground()))


def _raced(
    scene: Scene, grounds: Grounds, *, dies_at: int | None = None
) -> tuple[int, Counter[str]]:
    """Let another continue the run at each moment; return how often, and what broke."""
    model, broken, races = model_of(scene), Counter[str](), 0
    for met, _ in _meetings(scene, grounds, resume, dies_at=dies_at):
        if met.other is None:
            # The run was not open at that moment.
            continue
        races += 1
        broken.update(_finished(met, model))
        fared = {met.one, met.other}
        broken["both ended"] += fared == {"ended"}
        broken["nobody ended"] += "ended" not in fared
        broken[f"lost with {fared - {'ended'}}"] += not fared <= {"ended", *_LOSERS}
    return races, +broken


def _finished(met: Met, model: Model) -> set[str]:
    """Go on to the end of the scene, and return what is broken then."""
    has_ended = asyncio.run(live(met.scene, met.ground(), Life(), met.book))
    sight = asyncio.run(sight_of(met.scene, met.ground()))
    broken = broken_in_the_end(met.scene, model, sight, met.book)
    # Two may make the same summary at once before one of them has lost, and a call that was found
    # waiting may be answered by the one who was at it.
    may_be = {"summarized twice", "other reductions", "not asked"}
    return broken - may_be | ({"stuck"} - {"stuck" * has_ended})


@_BOTH
@_SCENES
def test_two_do_not_go_on_with_one_run(scene: Scene, grounds: Grounds) -> None:
    """If two continue one run, one comes to the end, and no tool runs twice."""
    races, broken = _raced(scene, grounds)

    assert broken == {}
    assert races >= 10


@pytest.mark.slow
@pytest.mark.parametrize("scene", [FAR_AHEAD, FAR_BEHIND], ids=str)
def test_a_fold_in_the_background_hides_nobody(scene: Scene) -> None:
    """The same where a fold of the turn is stored behind all that somebody else has done."""
    races, broken = _raced(scene, in_memory)

    assert broken == {}
    assert races >= 10


@_BOTH
@_SCENES
def test_a_turn_ends_where_somebody_speaks(scene: Scene, grounds: Grounds) -> None:
    """If another appends, the message is there, and nothing of the turn comes after it."""
    model, broken = model_of(scene), Counter[str]()
    for met, sight in _meetings(scene, grounds, say):
        if met.other is None:
            continue
        *said, last = sight.messages
        broken["not last"] += last.text != STRANGE.text
        broken.update(
            broken_between(model, structs.replace(sight, messages=said)) - {"stale state"}
        )
        whole = len(said) == len(model.messages)
        broken[f"wrong end: {met.one}"] += met.one != ("ended" if whole else "ThreadConflictError")

    assert +broken == {}


@_GROUNDS
@pytest.mark.parametrize("act", [rewind, edit, remove])
@_SCENES
def test_a_turn_ends_where_its_history_changes(scene: Scene, act: Act, grounds: Grounds) -> None:
    """If another takes back, edits or deletes what was said, the turn adds nothing to it."""
    scene = structs.replace(scene, old=max(2, scene.old))
    broken, count, ended = Counter[str](), 0, 0
    # At the first moment the turn has not begun yet: it begins behind the change.
    for met, sight in _meetings(scene, grounds, act, first=2):
        if met.other != "ended":
            # He may lose to a commit that is under way at that moment.
            broken[f"other: {met.other}"] += met.other not in {None, "ThreadConflictError"}
            continue
        count += 1
        broken["written on"] += list(sight.messages) != list(met.left)
        broken[f"turn: {met.one}"] += met.one not in {"ended", "ThreadNotFoundError", *_LOSERS}
        ended += met.one == "ended"

    assert +broken == {}
    assert count >= 10
    # Behind its last commit at most.
    assert ended <= 1


@_SCENES
def test_a_spoiled_run_is_abandoned(scene: Scene) -> None:
    """A run behind which somebody has spoken is refused and can be abandoned for a new one."""
    fared = Counter[str]()
    for met, _ in _meetings(scene, in_memory, say):
        fared[asyncio.run(_abandoned(met))] += 1

    assert set(fared) <= {"was over", "was abandoned"}
    assert fared["was abandoned"] >= 5


async def _abandoned(met: Met) -> str:
    """Abandon the open run, and begin another one; return what is wrong."""
    scene = structs.replace(met.scene, folds_ahead=False)
    async with store_on(scene, met.ground()) as store:
        thread = await store.thread(NAME)
        agent = agent_of(scene, Life(), met.book)
        state = thread.execution_state
        if state is None or not state.is_open:
            return "was over"
        with pytest.raises(CheckpointStaleError):
            await agent.run(thread=thread)
        await thread.abandon_run()
        before = await thread.get_messages()
        result = await agent.run("q9", thread=thread)
        after = [one.text for one in await thread.get_messages()]
    wrong = {entry.what for entry in met.book.of_kind("refused")} - {"made_up_answer"}
    told = [*(one.text for one in before), "q9", "q9.answer is there"]
    if wrong or after != told or not result.is_complete or thread.pending_tools:
        return f"went wrong: {wrong}"
    return "was abandoned"


@_GROUNDS
@_SCENES
def test_a_new_turn_waits_for_the_open_one(scene: Scene, grounds: Grounds) -> None:
    """Where somebody else begins a turn while a run is open he is refused, and the run goes on."""
    model, refused, broken = model_of(scene), 0, Counter[str]()
    for met, sight in _meetings(scene, grounds, ask):
        if met.other is None:
            continue
        if met.other == "ended":
            # Between two turns he comes first, and the next turn of the other one loses.
            broken["lost silently"] += met.one != "ThreadConflictError" and sight.ended is False
            continue
        refused += 1
        broken.update(broken_between(model, sight))
        broken[f"refused with {met.other}"] += met.other not in _LOSERS
        broken[f"ended with {met.one}"] += met.one != "ended"

    assert +broken == {}
    assert refused >= 10


@_GROUNDS
@pytest.mark.parametrize("act", [name, fold])
@_SCENES
def test_a_turn_goes_on_where_somebody_notes_something(
    scene: Scene, act: Act, grounds: Grounds
) -> None:
    """Where somebody else stores a reduction or metadata, the turn goes on and both are there."""
    scene = structs.replace(scene, old=max(2, scene.old))
    model, broken, count = model_of(scene), Counter[str](), 0
    for met, sight in _meetings(scene, grounds, act):
        if met.other is None:
            continue
        count += 1
        # Of two reductions that are stored at once one may be refused.
        may_lose = act is fold and scene.folds_ahead and met.other == "ThreadConflictError"
        broken[f"turn: {met.one}"] += met.one != "ended"
        broken[f"other: {met.other}"] += met.other != "ended" and not may_lose
        broken.update(broken_between(model, sight))
        broken["cut short"] += len(sight.messages) != len(model.messages)
        broken["not noted"] += act is name and sight.metadata != {"colour": "blue"}
        broken["not folded"] += act is fold and not sight.reductions

    assert +broken == {}
    assert count >= 10


def _resuming(scene: Scene, folder: Path) -> Callable[[Teller], None]:
    def work(teller: Teller) -> None:
        store = store_on(
            scene, SQLiteStorage(folder / "talk.db", durability="relaxed", clock=hasty)
        )
        try:
            asyncio.run(play(scene, store, Life(), Book(folder / "book")))
        except ThreadConflictError:
            teller.ack("lost")
        else:
            teller.ack("ended")

    return work


@pytest.mark.slow
@pytest.mark.parametrize("scene", [ONE_BY_ONE, AT_ONCE], ids=str)
def test_two_processes_do_not_resume_one_run(scene: Scene) -> None:
    """Two processes that resume one run at once end it once, and no tool runs twice."""
    model, broken = model_of(scene), Counter[str]()
    for dies_at in range(3, 20):
        with scratch() as folder:
            book = Book(folder / "book")
            storage = SQLiteStorage(folder / "talk.db", durability="relaxed", clock=hasty)
            asyncio.run(live(scene, storage, Life(end=dies_at), book))
            children = [fork(_resuming(scene, folder)) for _ in range(2)]
            told = [child.wait().acks for child in children]
            broken[f"told {told}"] += ("ended",) not in told
            again = SQLiteStorage(folder / "talk.db", durability="relaxed", clock=hasty)
            sight = asyncio.run(sight_of(scene, again))
            broken.update(broken_in_the_end(scene, model, sight, book))

    assert +broken == {}
