"""
One message: from the user to the stored answer.

Theory of operation
-------------------

The user's message is stored first. Then the orchestrator lets an agent answer, in one of two ways.
A turn on the thread stores each of its steps itself, the fold before the answer. A response that the
orchestrator brings from elsewhere is stored here, in one commit with its reduction, which covers
messages before it. So at any instant either a run is open on the thread, and its agent resumes it;
or the last message waits for an answer, and the orchestrator is asked again; or the message is
answered.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from os import urandom
from time import perf_counter

from msgspec import UNSET, UnsetType, structs

from foldline.agent.admission import Admission, Entry, TurnPolicy
from foldline.agent.agent import Agent
from foldline.agent.hold import Hold
from foldline.agent.progress import Progress
from foldline.agent.result import answered_by, signed, stored_result
from foldline.agent.service import begun
from foldline.agent.unanswered import is_answer, is_waiting, last_said
from foldline.checks import expect
from foldline.conversation.orchestrated_agent import OrchestratedAgent, Stage
from foldline.conversation.orchestration import (
    ConversationEvent,
    OrchestrationOptions,
    OrchestrationResult,
    reduction_context,
)
from foldline.conversation.orchestrator import SINGLE_AGENT, Orchestrator, StreamingOrchestrator
from foldline.errors import ConfigError, IntegrityError, RunStartError
from foldline.history.digest import message_digest
from foldline.history.messages import Message, total_usage
from foldline.reduction.config import AgentRunConfig
from foldline.reduction.state import HistoryReductionState
from foldline.threads.change import Change
from foldline.threads.loop_state import COMPLETED
from foldline.threads.start import run_start
from foldline.threads.thread import ConversationThread
from foldline.threads.turns import TurnRecord


_LOG = logging.getLogger("foldline")


class Sending:
    """One message on one thread, or what waits there for an answer."""

    def __init__(
        self,
        agents: Mapping[str, Agent],
        orchestrator: Orchestrator | None,
        thread: ConversationThread,
        given: Sequence[Message],
        *,
        policy: TurnPolicy,
        config: AgentRunConfig | None = None,
        values: Mapping[str, object] | None = None,
        listen: Callable[[ConversationEvent], None] | None = None,
    ) -> None:
        self._stage = Stage(thread, config=config, listen=listen)
        self._agents = {
            name: OrchestratedAgent(agent, self._stage) for name, agent in agents.items()
        }
        self._orchestrator = orchestrator
        self._thread = thread
        self._given = tuple(given)
        self._policy = policy
        self._values = values or {}
        self._hold: Hold | None = None
        self._history: Sequence[Message] = ()
        self._answer_start = thread.count

    async def run(self) -> OrchestrationResult:
        """Answer, and return the result; errors are those of `Conversation.send`."""
        started = perf_counter()
        if self._orchestrator is None:
            result = await self._answered()
        else:
            result = await self._admitted(self._orchestrator)
        result = self._filled(result)
        return structs.replace(result, execution_time=perf_counter() - started)

    async def _admitted(self, orchestrator: Orchestrator) -> OrchestrationResult:
        """Let the orchestrator answer once nobody else is at work, unless the answer is there."""
        admission = Admission(self._thread, self._given, self._policy)

        async def attempt(entry: Entry, turn: TurnRecord | None) -> OrchestrationResult:
            await self._check_waiting(is_new=entry == "new")
            thread, state = self._thread, self._thread.execution_state
            turn_id = "" if turn is None else turn.id
            hold = Hold(thread, urandom(8).hex(), turn_id=turn_id, admits_turns=True)
            async with hold as self._hold:
                await self._begin(self._given if entry == "new" else (), turn)
                admission.began()
                if entry in {"resume", "settle"} and state is not None:
                    result = await self._resumed(state.agent_name)
                else:
                    result = await self._kept(await self._orchestrated(orchestrator), turn)
                end = await self._end_of(turn)
                if end is not None:
                    await self._commit((), turn=end)
                return result

        return await admission.run(attempt, self._stored)

    async def _check_waiting(self, *, is_new: bool) -> None:
        thread = self._thread
        if not is_new or self._given or thread.has_open_run:
            return
        run_start(thread.id, thread.execution_state, count=thread.count, has_input=False)
        if len(self._agents) == 1 and not await is_waiting(thread):
            message = f"nothing waits for an answer in thread {thread.id!r}: send a message"
            raise RunStartError(message)

    async def _begin(self, given: Sequence[Message], turn: TurnRecord | None) -> None:
        """Store the input, and take the thread."""
        thread = self._thread
        self._stage.begin()
        if turn is not None:
            if not turn.origin:
                head = thread.head
                turn = turn.begun(run_id=urandom(16).hex(), origin=head.epoch, start=head.count)
            turn = structs.replace(turn, goes_on=True)
        now = thread.now()
        await self._commit([signed(message, now) for message in given], turn=turn)
        self._answer_start = thread.count

    async def _end_of(self, turn: TurnRecord | None, news: int = 0) -> TurnRecord | None:
        """Return the record of the end of *turn* with *news* messages; None if it is stored."""
        known = None if turn is None else await self._thread.stored_turn(turn.id)
        if known is None or known.is_finished:
            return None
        state, calls = self._thread.execution_state, len(self._stage.turns)
        reason = None if news or state is None else state.termination_reason
        stop = self._thread.count + news
        ended = known.ended(stop=stop, reason=reason or COMPLETED, iterations=calls)
        return structs.replace(ended, goes_on=False)

    async def _stored(self, turn: TurnRecord) -> OrchestrationResult:
        found = await stored_result(self._thread, turn, self._stage.listen)
        said = (answered_by(one) for one in reversed(found.messages))
        name = next(filter(None, said), next(iter(self._agents)))
        return OrchestrationResult.of_turn(found, name, strategy_name="Stored")

    async def _resumed(self, name: str) -> OrchestrationResult:
        agents = self._agents
        agent = next(iter(agents.values())) if len(agents) == 1 else agents.get(name)
        if agent is None:
            raise ConfigError(
                f"thread {self._thread.id!r} has an open run of the agent {name!r}, and the "
                f"conversation has {', '.join(agents)}: `await thread.abandon_run()` ends it"
            )
        turn = await agent.resume()
        return OrchestrationResult.of_turn(turn, agent.name, strategy_name="Resume")

    async def _answered(self) -> OrchestrationResult:
        """Let the only agent answer; its turn stores the input in its first commit."""
        (agent,) = self._agents.values()
        is_open, lease = self._thread.has_open_run, self._thread.lease
        await self._check_waiting(is_new=lease is None and not self._policy.turn_id)
        turn = await agent.begin(self._given or None, self._policy)
        name = "Resume" if is_open and not self._given else SINGLE_AGENT
        return OrchestrationResult.of_turn(turn, agent.name, strategy_name=name)

    async def _orchestrated(self, orchestrator: Orchestrator) -> OrchestrationResult:
        thread, state = self._thread, self._thread.execution_state
        last = getattr(orchestrator, "history_limit", None)
        self._history = await thread.get_messages(last=last)
        options = OrchestrationOptions(
            config=self._stage.config,
            last_reduction=thread.last_reduction,
            last_agent=None if state is None else state.agent_name or None,
            turn_number=self._turn_number,
            replies_to=None if self._given else await _speaker(thread),
            values=self._values,
        )
        result = await self._asked(orchestrator, options)
        # A custom orchestrator may return anything, whatever its annotation says.
        if not isinstance(result, OrchestrationResult):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(
                f"{type(orchestrator).__name__} must return an OrchestrationResult, "
                f"got {type(result).__name__}"
            )
        return result

    async def _asked(
        self, orchestrator: Orchestrator, options: OrchestrationOptions
    ) -> OrchestrationResult | None:
        asked = self._history, self._agents, self._thread.id, options
        listen = self._stage.listen
        if listen is None or not isinstance(orchestrator, StreamingOrchestrator):
            return await orchestrator.orchestrate(*asked)
        result = None
        async with aclosing(orchestrator.orchestrate_stream(*asked)) as pieces:
            async for piece in pieces:
                if isinstance(piece, OrchestrationResult):
                    result = piece
                else:
                    listen(piece)
        return result

    @property
    def _turn_number(self) -> int:
        return max(1, self._thread.head.users)

    async def _kept(
        self, result: OrchestrationResult, turn: TurnRecord | None
    ) -> OrchestrationResult:
        expect("response", result.response, list | tuple)
        for place, one in enumerate(result.response):
            expect(f"response[{place}]", one, Message)
        stage, agent, now = self._stage, result.selected_agent, self._thread.now()
        stage.show(agent)
        response = tuple(
            signed(one, now, agent=agent if one.role == "assistant" else None)
            for one in _without_history(result.response, self._history)
        )
        # What turns have stored, including failed ones.
        new_rows = max(0, self._thread.count - self._answer_start)
        news = _without_stored(response, await self._thread.get_messages(last=new_rows))
        folds = [turn.reduction for _, turn in stage.turns if turn.reduction is not None]
        reduction = result.reduction or (folds[-1] if folds else None)
        is_stored = reduction is None or any(one is reduction for one in folds)
        new = UNSET if reduction is None or is_stored else reduction.state
        end = await self._end_of(turn, len(news)) if news else None
        try:
            if news or not is_stored:
                await self._commit(news, agent=agent, reduction=new, turn=end)
        except IntegrityError:
            _LOG.warning("a reduction does not match the messages of thread %r", self._thread.id)
            reduction = None
            if news:
                await self._commit(news, agent=agent, turn=end)
        return structs.replace(result, response=response, reduction=reduction)

    async def _commit(
        self,
        messages: Sequence[Message],
        *,
        agent: str | None = None,
        reduction: HistoryReductionState | UnsetType = UNSET,
        turn: TurnRecord | None = None,
    ) -> None:
        """Store *messages* and *turn*; with *agent* they are its answer and end the run."""
        thread, hold = self._thread, self._hold
        assert hold is not None
        self._stage.check()
        run = begun(thread, run_id=urandom(16).hex(), agent=agent or "")
        ended = run.terminated(COMPLETED)
        answers = agent is not None and bool(messages)
        bound = self._agents.get(agent or "")
        reduces = bound is not None and bound.agent.reducer.config.retention == "reduced"
        with thread.turn():
            change = Change(
                messages=messages,
                execution=ended if answers else UNSET,
                reduction=reduction,
                archive=reduces and reduction is not UNSET,
                settled=[run.call_id for run in thread.pending_tools] if answers else (),
                turn=turn,
                source="loop" if answers else "input",
            )
            # A step of the conversation is not a step of a turn: it has no event.
            await Progress(thread, ended, lambda _: None, hold=hold).commit(change)
        self._stage.look()

    def _filled(self, result: OrchestrationResult) -> OrchestrationResult:
        turns = self._stage.turns
        names = tuple(name for name, _ in turns)
        state, metadata = self._thread.execution_state, result.metadata
        context = {**reduction_context(result.reduction), **metadata.context}
        run_id = self._thread.id if state is None else state.run_id
        usage, usages = result.usage, self._stage.usages
        if usages and (usage is None or any(one is usage for one in usages)):
            # Of one of several turns it is not the total.
            usage = total_usage(usages)
        return structs.replace(
            result,
            metadata=structs.replace(metadata, context=context),
            run_id=result.run_id or run_id,
            activated_agents=result.activated_agents or tuple(dict.fromkeys(names)),
            execution_order=result.execution_order or names,
            execution_count=max(result.execution_count, len(names)),
            turn_number=result.turn_number or self._turn_number,
            usage=usage,
            checkpoint=result.checkpoint or state,
        )


async def _speaker(thread: ConversationThread) -> str | None:
    """Return the agent whose answer is the last message of *thread*; None if there is none such."""
    last = await last_said(thread)
    return answered_by(last) if last is not None and is_answer(last) else None


def _without_history(
    response: Sequence[Message], history: Sequence[Message]
) -> tuple[Message, ...]:
    """Return *response* without *history*, if it begins with all of it."""
    size = len(history)
    begins = len(response) >= size and all(
        one is other or message_digest(one) == message_digest(other)
        for one, other in zip(response, history, strict=False)
    )
    return tuple(response[size:] if begins else response)


def _without_stored(response: Iterable[Message], stored: Iterable[Message]) -> list[Message]:
    """Return those of *response* that are not in *stored*; each stored message counts once."""
    left = Counter(map(message_digest, stored))
    news: list[Message] = []
    for message in response:
        digest = message_digest(message)
        if left[digest]:
            left[digest] -= 1
        else:
            news.append(message)
    return news
