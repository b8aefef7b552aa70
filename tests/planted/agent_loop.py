"""Bugs of the loop of the agent."""

from tests.planted.bug import Bug


__all__ = ["BUGS"]

_CANCELLED = "agent/test_cancellation.py::test_a_cancelled_turn_is_resumed"
_KILLS = "agent/crashes/test_kills.py::test_an_end_breaks_no_promise"
_LEFT = "agent/test_cancellation.py::test_a_stream_is_left"
_RACES = "agent/crashes/test_handles.py::test_two_do_not_go_on_with_one_run"

BUGS = (
    Bug(
        "a response is stored without its intents",
        "agent/turn.py",
        "await self._at.commit(Change(messages=said, execution=state, tools=batch.intents()))",
        "batch.intents()\n        await self._at.commit(Change(messages=said, execution=state))",
        _KILLS,
    ),
    Bug(
        "the intent of a later tool is stored with its result",
        "agent/tool_batch.py",
        "intents = [] if following.is_stored else [following.run]",
        "intents = []",
        _KILLS,
    ),
    Bug(
        "results of parallel tools are stored in the end",
        "agent/tool_batch.py",
        "        if self._waiting:\n",
        "        if False:\n",
        _KILLS,
    ),
    Bug(
        "an interrupted tool runs again",
        "agent/tool_batch.py",
        'if job.is_stored and job.run.policy == "at_most_once":',
        'if job.is_stored and job.run.policy == "never":',
        _KILLS,
    ),
    Bug(
        "an interrupted tool runs again without a decision",
        "agent/tool_batch.py",
        'if job.is_stored and job.run.policy == "manual" and job.run.result is None',
        "if False",
        _KILLS,
    ),
    Bug(
        "a stored result is not used",
        "agent/tool_batch.py",
        "        if job.run.result is not None:\n",
        "        if job.run.result is not None and job.run.is_error:\n",
        _KILLS,
    ),
    Bug(
        "a tool that runs again gets another key",
        "agent/tool_batch.py",
        "idempotency_key=job.run.key,",
        'idempotency_key=f"{job.run.key}{job.attempt}",',
        _KILLS,
    ),
    Bug(
        "the key does not name the iteration",
        "agent/tool_batch.py",
        'run_id = f"{state.run_id}:{state.iteration}"',
        "run_id = state.run_id",
        "agent/crashes/test_kills.py::test_the_same_call_has_another_key_in_each_iteration",
    ),
    Bug(
        "answers are stored before their state",
        "agent/turn.py",
        "            await self._at.commit(change)\n",
        "            await self._at.commit(Change(messages=change.messages))\n"
        "            await self._at.commit(Change(execution=change.execution))\n",
        _KILLS,
    ),
    Bug(
        "a turn goes on without what it has said",
        "agent/turn.py",
        "at.messages = await thread.get_messages(last=thread.count - resumed.turn_start)",
        "at.messages = []",
        _KILLS,
    ),
    Bug(
        "an earlier answer is taken for a later one",
        "agent/turn.py",
        "        elif calls or message.role",
        "        elif message.role",
        _KILLS,
    ),
    Bug(
        "a fold is stored behind the call of the model",
        "agent/asking.py",
        """\
            if fold is not None:
                await self._keep(fold, reduced.termination_reason)
                if not self._progress.state.is_open:
                    return
            elif refusal is not None:
                raise refusal
            # A background fold may have loaded messages of another writer.
            self._progress.check()
            # If a fold was tried for the same reason and failed, the vendor is asked anyway.
            if left and not (harder and fold is None) and self._is_too_long(event):
                harder = True
                continue
            try:
                await self._ask(window.history, reduced)
""",
        """\
            if fold is not None and reduced.termination_reason is not None:
                await self._keep(fold, reduced.termination_reason)
                return
            try:
                await self._ask(window.history, reduced)
                if fold is not None:
                    await self._keep(fold, None)
""",
        _KILLS,
    ),
    Bug(
        "a conflict is tried again blindly",
        "agent/progress.py",
        "            self.check()\n            return",
        "            return",
        _RACES,
    ),
    Bug(
        "a model is asked where its turn has lost the thread",
        "agent/asking.py",
        "            self._progress.check()\n",
        "",
        "agent/crashes/test_handles.py::test_a_fold_in_the_background_hides_nobody",
    ),
    Bug(
        "every conflict ends the turn",
        "agent/progress.py",
        "await self.thread.retry(_decide)",
        "await self.thread.commit(_decide(self.thread))",
        "agent/crashes/test_handles.py::test_a_turn_goes_on_where_somebody_notes_something",
    ),
    Bug(
        "a stream that is left does not wait for its turn",
        "agent/event_stream.py",
        "            await ended([work])\n",
        "            work.cancel()\n",
        _LEFT,
    ),
    Bug(
        "a stream is closed behind its reader",
        "agent/event_stream.py",
        "        if self._work is not None:\n            await ended([self._work])\n",
        "",
        "agent/test_cancellation.py::test_a_stream_is_closed_while_somebody_reads_it",
    ),
    Bug(
        "tools are not waited for when a turn is cancelled",
        "agent/tool_batch.py",
        "            await ended([*tasks])\n",
        "            [task.cancel() for task in tasks]\n",
        _CANCELLED,
    ),
    Bug(
        "a second cancellation leaves tools behind",
        "agent/event_stream.py",
        "    while not all(one.done() for one in work):\n        try:",
        "    if not all(one.done() for one in work):\n        try:",
        _CANCELLED,
    ),
    Bug(
        "a cancelled turn leaves its tool behind",
        "agent/bounded.py",
        "    except asyncio.CancelledError:\n        task.cancel()\n",
        "    except asyncio.CancelledError:\n",
        _CANCELLED,
    ),
    Bug(
        "a cancelled turn keeps its thread",
        "threads/thread.py",
        "        finally:\n            self._in_turn = False",
        "        except Exception:\n            self._in_turn = False\n            raise\n"
        "        else:\n            self._in_turn = False",
        _CANCELLED,
    ),
    Bug(
        "what tools have done is lost where somebody speaks",
        "agent/turn.py",
        "                await batch.keep()\n",
        "                pass\n",
        "agent/test_interrupted_tools.py",
    ),
    Bug(
        "a handle that has lost writes to a run that goes on",
        "agent/tool_batch.py",
        "if state is None or len(state.current_messages) == thread.count or not runs:",
        "if state is None or not runs:",
        "agent/crashes/test_handles.py",
    ),
    Bug(
        "a result that nobody waits for is stored all the same",
        "agent/tool_batch.py",
        "if state is None or len(state.current_messages) == thread.count or not runs:",
        "if state is None or len(state.current_messages) == thread.count:",
        "agent/test_interrupted_tools.py",
    ),
)
