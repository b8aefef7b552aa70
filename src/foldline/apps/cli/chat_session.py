"""A chat: one thread, who answers on it, and what shows it."""

from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Protocol

from msgspec import structs

from foldline.agent.events import AgentEvent, DecisionEvent, TurnFinishedEvent
from foldline.agent.result import TurnResult
from foldline.agent.streaming import StreamingTurnResult
from foldline.apps.cli.chat_interrupts import stoppable
from foldline.apps.cli.chat_recording import ENDED
from foldline.apps.cli.chat_speaker import Speaker
from foldline.apps.cli.terminal import first_line
from foldline.errors import FoldlineError, UsageError
from foldline.threads.thread import ConversationThread


__all__ = ["Chat", "Display"]


_LEFT_FOR_NEW = "Left for a new message"
_BOUND = "Maximum iterations "


class Display(Protocol):
    """Whatever shows a turn."""

    def hear(self, event: AgentEvent) -> None:
        """Show *event*."""
        ...

    def end(self, result: TurnResult) -> None:
        """Show what came of the turn."""
        ...

    def note(self, text: str, *, style: str = "dim") -> None:
        """Show *text* beside the answer."""
        ...

    def close(self) -> None:
        """End what is being written."""
        ...


class Chat:
    """A conversation with a model, one turn after the other."""

    def __init__(self, thread: ConversationThread, speaker: Speaker, display: Display) -> None:
        """Talk with *speaker* on *thread*."""
        self.thread = thread
        """The thread, which a fork may change."""
        self.speaker = speaker
        """Who answers."""
        self.display = display
        """What shows it."""

    @property
    def has_open_run(self) -> bool:
        """Whether a run was interrupted, and can be resumed."""
        state = self.thread.execution_state
        return state is not None and state.is_open

    async def say(self, text: str) -> bool:
        """
        Say *text*; a run that was interrupted is left for it. False where Ctrl-C stopped the turn.

        Raises:
            FoldlineError: The turn failed; what was stored stays.
        """
        return await self._guarded(lambda: self._say(text))

    async def go_on(self) -> bool:
        """
        Go on with what is open or has no answer yet, else with what was said next in a recording.

        Returns:
            False where Ctrl-C stopped the turn.

        Raises:
            UsageError: There is nothing to go on with.
            FoldlineError: The turn failed; what was stored stays.
        """
        return await self._guarded(self._go_on)

    async def do(self, work: Callable[[], Coroutine[object, object, None]]) -> bool:
        """
        Do *work* on the thread; False where Ctrl-C stopped it.

        Raises:
            FoldlineError: It failed.
        """
        return await self._guarded(work)

    async def _guarded(self, work: Callable[[], Coroutine[object, object, None]]) -> bool:
        finished = False

        async def _fresh() -> None:
            # Others may have gone on with the thread since we last looked.
            await self.thread.refresh()
            await work()

        try:
            finished = await stoppable(_fresh())
        finally:
            self.display.close()
            if not finished:
                # A commit may have been made that nobody waited for any more.
                with suppress(FoldlineError):
                    await self.thread.refresh()
        return finished

    async def _say(self, text: str) -> None:
        if self.has_open_run:
            await self.thread.abandon_run(_LEFT_FOR_NEW)
            self.display.note("the interrupted run is left; what it had stored stays")
        await self._turn(text)

    async def _go_on(self) -> None:
        if self.has_open_run or await self._is_unanswered():
            await self._turn(None)
            return
        text = await self.speaker.request(self.thread)
        if not text:
            message = "there is nothing to go on with: type something"
            raise UsageError(message)
        self.display.note(f"> {first_line(text)}")
        await self._turn(text)

    async def _is_unanswered(self) -> bool:
        """Whether the last message waits for an answer, as after a circuit breaker or a rewind."""
        messages = await self.thread.get_messages(last=1)
        return any(one.role != "assistant" or one.tool_calls for one in messages)

    async def _turn(self, text: str | None) -> None:
        agent = await self.speaker.agent(self.thread)
        stream = agent.run_stream(text, thread=self.thread)
        await self._watch(stream)
        result = await stream.final_result
        reason = await self._worded(result.termination_reason)
        self.display.end(structs.replace(result, termination_reason=reason))
        if await self.speaker.left(self.thread) == 0:
            self.display.note("that was the last answer of the recording")

    async def _watch(self, stream: StreamingTurnResult) -> None:
        async with stream:
            async for event in stream:
                self.display.hear(await self._told(event))

    async def _told(self, event: AgentEvent) -> AgentEvent:
        match event:
            case TurnFinishedEvent(termination_reason=reason):
                return structs.replace(event, termination_reason=await self._worded(reason))
            case DecisionEvent(reason=str(reason)):
                return structs.replace(event, reason=await self._worded(reason))
            case _:
                return event

    async def _worded(self, reason: str) -> str:
        """
        Return *reason*, why a turn ends; the end of a recording is no limit that somebody has set.
        """
        if not reason.startswith(_BOUND):
            return reason
        return ENDED if await self.speaker.left(self.thread) == 0 else reason
