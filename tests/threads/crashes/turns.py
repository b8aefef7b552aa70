"""Scripts of what a running agent commits."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from foldline.reduction.state import HistoryReductionState
from foldline.threads.change import Change
from foldline.threads.checkpointer import ThreadCheckpointer
from foldline.threads.loop_state import COMPLETED, AgentLoopState
from foldline.threads.start import run_start
from foldline.threads.thread import ConversationThread
from foldline.threads.tools import ToolPolicy, ToolRun
from tests.threads.crashes.batch import MARK, answers, asked, called, said
from tests.threads.crashes.script import ONCE, Act, Script, Stage


_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_UNKNOWN = "outcome-unknown"
_WORDS = 1_150_000


async def save(stage: Stage, name: str, batch: str, size: int) -> None:
    """Append a batch to a thread, which is made if need be, and acknowledge each commit."""
    thread = await _thread(stage, name)
    await thread.add_messages(said(batch, size))
    stage.ack(name)


async def _thread(stage: Stage, name: str) -> ConversationThread:
    found = await stage.store.find(name)
    if found is not None:
        return found
    made = await stage.store.thread(name)
    stage.ack(name)
    return made


async def fold(stage: Stage, thread: ConversationThread, cut: int, *, archive: bool) -> None:
    """Commit a reduction of the first *cut* messages."""
    window = await thread.window()
    reduction = HistoryReductionState.create(
        window.history,
        f"summary-{cut} {MARK}",
        cut,
        target_count=4,
        reduction_threshold=2,
        message_count_at_reduction=thread.head.length,
        created_at=_NOW,
    )
    await thread.commit(Change(reduction=reduction, archive=archive))
    stage.ack(thread.id)


def _state(thread: ConversationThread, run: str) -> AgentLoopState:
    return AgentLoopState(
        run_id=run, conversation_id=thread.id, started_at=_NOW, turn_start=thread.count
    )


def appending(*batches: tuple[str, int]) -> Act:
    """Return the act that appends *batches* to one thread."""

    async def act(stage: Stage) -> None:
        for batch, size in batches:
            await save(stage, "talk", batch, size)

    return act


def _turn(run: str, cut: int) -> Act:
    async def act(stage: Stage) -> None:
        thread = await _thread(stage, "talk")
        state = _state(thread, run)
        await thread.commit(
            Change(messages=[asked(f"{run}-question")], execution=state, source="input")
        )
        stage.ack("talk")
        await fold(stage, thread, cut, archive=False)
        await thread.commit(
            Change(
                messages=[asked(f"{run}-answer", "assistant")],
                execution=state.terminated(COMPLETED) if run == "first" else None,
            )
        )
        stage.ack("talk")

    return act


def _tool(call: str, place: int, result: str | None = None) -> ToolRun:
    policy: ToolPolicy = "at_most_once" if call.startswith(ONCE) else "idempotent"
    return ToolRun(call_id=call, name="probe", policy=policy, place=place, result=result)


async def _one_tool(
    stage: Stage, thread: ConversationThread, call: str, place: int, *, early: bool = True
) -> tuple[str, str]:
    if early:
        await thread.commit(Change(tools=[_tool(call, place)]))
        stage.ack("talk")
    return await _result(stage, thread, call, place)


async def _result(
    stage: Stage, thread: ConversationThread, call: str, place: int
) -> tuple[str, str]:
    result = stage.run_tool(call)
    await thread.commit(Change(tools=[_tool(call, place, result)]))
    stage.ack("talk")
    return call, result


async def _sequentially(
    stage: Stage, thread: ConversationThread, calls: Sequence[str]
) -> list[tuple[str, str]]:
    return [await _one_tool(stage, thread, call, place) for place, call in enumerate(calls)]


async def _late(
    stage: Stage, thread: ConversationThread, calls: Sequence[str]
) -> list[tuple[str, str]]:
    return [
        await _one_tool(stage, thread, call, place, early=False) for place, call in enumerate(calls)
    ]


async def _in_parallel(
    stage: Stage, thread: ConversationThread, calls: Sequence[str]
) -> list[tuple[str, str]]:
    await thread.commit(Change(tools=[_tool(call, place) for place, call in enumerate(calls)]))
    stage.ack("talk")
    running = [_run(stage, call, place) for place, call in enumerate(calls)]
    results: list[tuple[str, str]] = []
    for finished in asyncio.as_completed(running):
        place, call, result = await finished
        await thread.commit(Change(tools=[_tool(call, place, result)]))
        stage.ack("talk")
        results.append((call, result))
    return results


async def _run(stage: Stage, call: str, place: int) -> tuple[int, str, str]:
    result = stage.run_tool(call)
    # The first one to begin is the last one to end.
    for _ in range(20 - 5 * place):
        await asyncio.sleep(0)
    return place, call, result


async def _finish(
    stage: Stage,
    thread: ConversationThread,
    state: AgentLoopState,
    results: Sequence[tuple[str, str]],
) -> None:
    calls = [call for call, _ in results]
    batch = f"{state.run_id}-tools"
    await thread.commit(
        Change(
            messages=[called(batch, calls), *answers(batch, results)],
            execution=state.next_iteration().with_completed(["probe"]),
        )
    )
    stage.ack("talk")
    await thread.commit(
        Change(messages=[asked(f"{state.run_id}-answer", "assistant")], execution=None)
    )
    stage.ack("talk")


def _with_tools(kind: str, number: int) -> Act:
    ways = {"one by one": _sequentially, "at once": _in_parallel, "late": _late}
    calls = [f"once-{place}" for place in range(number)]

    async def act(stage: Stage) -> None:
        thread = await _thread(stage, "talk")
        state = _state(thread, "run")
        await thread.commit(
            Change(messages=[asked("run-question")], execution=state, source="input")
        )
        stage.ack("talk")
        results = await ways[kind](stage, thread, calls)
        await _finish(stage, thread, state, results)

    return act


async def _interrupted(stage: Stage) -> None:
    thread = await _thread(stage, "talk")
    state = _state(thread, "run").with_reduction(thread.last_reduction)
    await thread.commit(Change(messages=[asked("run-question")], execution=state, source="input"))
    calls = ["once-0", "once-1", "once-2", "again-3", "again-4"]
    await thread.commit(Change(tools=[_tool(call, place) for place, call in enumerate(calls)]))
    await thread.commit(Change(tools=[_tool("once-0", 0, stage.run_tool("once-0"))]))
    stage.run_tool("once-1")
    stage.run_tool("again-3")


async def resume(stage: Stage) -> None:
    """Go on with the open run of the thread, if there is one."""
    thread = await stage.store.find("talk")
    state = None if thread is None else thread.execution_state
    if thread is None or state is None:
        return
    assert run_start("talk", state, count=thread.count, has_input=False) == "resume"
    results = [await _resumed(stage, thread, run) for run in thread.pending_tools]
    if results:
        await _finish(stage, thread, state, results)
    else:
        await thread.abandon_run()
        stage.ack("talk")


async def _resumed(stage: Stage, thread: ConversationThread, run: ToolRun) -> tuple[str, str]:
    if run.result is not None:
        return run.call_id, str(run.result)
    if run.policy == "idempotent":
        return await _result(stage, thread, run.call_id, run.place)
    await thread.commit(Change(tools=[_tool(run.call_id, run.place, _UNKNOWN)]))
    stage.ack("talk")
    return run.call_id, _UNKNOWN


async def _folds(stage: Stage) -> None:
    thread = await _thread(stage, "talk")
    await thread.add_messages([asked("rules", "system")])
    stage.ack("talk")
    for cut in (4, 8, 12):
        await fold(stage, thread, cut, archive=True)
        await thread.add_messages(said(f"behind-{cut}", 2))
        stage.ack("talk")


async def _checkpoints(stage: Stage) -> None:
    thread = await _thread(stage, "talk")
    state = _state(thread, "run")
    for _ in range(4):
        state = state.next_iteration()
        batch = said(f"step-{state.iteration}", 2)
        await thread.commit(Change(messages=batch, execution=state))
        stage.ack("talk")
    await ThreadCheckpointer(stage.store).prune("talk", keep_latest=2)
    stage.ack("talk")
    await thread.refresh()
    await thread.commit(Change(execution=state.terminated(COMPLETED)))
    stage.ack("talk")


async def _large(stage: Stage) -> None:
    thread = await _thread(stage, "talk")
    await thread.add_messages(said("large", 2, padding=" oak" * _WORDS))
    stage.ack("talk")
    await save(stage, "talk", "small", 2)


async def _side_by_side(stage: Stage) -> None:
    async def talk(name: str) -> None:
        for batch in ("a", "b", "c"):
            await save(stage, name, batch, 3)

    try:
        async with asyncio.TaskGroup() as group:
            for name in ("one", "two", "three"):
                group.create_task(talk(name))
    except ExceptionGroup as errors:
        # One flush failed for all.
        raise errors.exceptions[0] from None


_OLD = (
    appending(
        ("old", 14),
    ),
)
_FOLDED = (*_OLD, _turn("first", 6))

APPEND = Script(
    name="append",
    fewest=115,
    acts=(appending(("a", 1), ("b", 3), ("c", 5)), appending(("d", 30), ("e", 2))),
)

PLAIN = Script(
    name="plain turn", fewest=50, before=_OLD, acts=(_turn("first", 6), _turn("second", 9))
)

SEQUENTIAL = Script(
    name="sequential tools", fewest=60, before=_OLD, acts=(_with_tools("one by one", 3),)
)

PARALLEL = Script(name="parallel tools", fewest=52, before=_OLD, acts=(_with_tools("at once", 4),))

LATE_INTENT = Script(name="late intent", before=_OLD, acts=(_with_tools("late", 3),))

RESUME = Script(name="resume", fewest=50, before=(*_FOLDED, _interrupted), acts=(resume,))

FOLD = Script(name="fold and archive", fewest=50, before=_OLD, acts=(_folds,))

CHECKPOINTS = Script(
    name="all checkpoints", fewest=62, before=_OLD, acts=(_checkpoints,), checkpoints="full"
)

SHARED = Script(name="side by side", fewest=80, acts=(_side_by_side,))

LARGE = Script(name="large", before=_OLD, acts=(_large,))
