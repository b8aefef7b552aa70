"""
A history that the vendor stores: what it has, and what it still has to be sent.

The vendor names the conversation it stores. The watermark says how many messages of the full history
are in it, including the vendor's own answers. The mark is a digest of everything in it: the model,
the system messages, the reduction and every message up to the watermark. If the mark differs from
what should be there, because of a fold, an edit, a rewind, another model or another system prompt,
the conversation is left and a new one begins with the whole view.
"""

from collections.abc import Sequence
from hashlib import sha256
from itertools import takewhile

from msgspec import Struct, structs

from foldline.history.digest import chain_digest
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.repair import repair
from foldline.providers.model import ChatResponse
from foldline.reduction.state import HistoryReductionState
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.thread import ConversationThread


class Basis(Struct, frozen=True, kw_only=True):
    """What a model call is based on."""

    model: str
    instructions: str
    # All of it, or its part after the cut.
    history: History
    reduction: HistoryReductionState | None

    def missing(self, state: AgentLoopState) -> tuple[Message, ...]:
        """Return what the vendor of *state* lacks; nothing if it has to be sent the whole view."""
        history, at = self.history, state.service_watermark
        is_held = history.start <= at <= len(history)
        if not is_held or self._mark(history.digest(at)) != state.service_mark:
            return ()
        news = history[at:]
        if not news or not _waiting(history, at) <= _answered(news):
            return ()
        # Its results belong to calls that the vendor has.
        first = next((at for at, one in enumerate(news) if one.role != "tool"), len(news))
        return (*news[:first], *repair(news[first:]))

    def state_after(self, state: AgentLoopState, response: ChatResponse) -> AgentLoopState:
        """Return *state* with what the vendor has after *response*."""
        if response.service_thread_id is None:
            return state.with_service(None)
        digest = self.history.digest()
        for message in response.messages:
            digest = chain_digest(digest, message)
        watermark = len(self.history) + len(response.messages)
        return state.with_service(response.service_thread_id, watermark, mark=self._mark(digest))

    def _mark(self, digest: bytes) -> str:
        made = self.reduction
        cut, shown = ("", "") if made is None else (made.message_hash, made.summary_content)
        if made is not None and (made.quotes or made.shortened or made.sealed_item):
            # A batch changes it. Without these the mark is that of earlier versions, which is stored.
            shown = made.summary_hash
        texts = tuple(message.text for message in self.history.system)
        held = repr((self.model, texts, self.instructions, cut, shown, digest.hex()))
        return sha256(held.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _waiting(history: History, at: int) -> set[str]:
    """Return the calls that the vendor made last before *at*."""
    calls: set[str] = set()
    while at > history.start and history[at - 1].role == "assistant":
        at -= 1
        calls.update(call.id for call in history[at].tool_calls)
    return calls


def _answered(news: Sequence[Message]) -> set[str]:
    answers: set[str] = set()
    for message in takewhile(lambda one: one.role == "tool", news):
        answers.update(answer.id for answer in message.tool_call_responses)
    return answers


def begun(thread: ConversationThread, *, run_id: str, agent: str) -> AgentLoopState:
    """Return the state of a run that *agent* begins, with what outlives a run."""
    state = AgentLoopState(
        run_id=run_id,
        conversation_id=thread.id,
        started_at=thread.now(),
        agent_name=agent,
        turn_start=thread.count,
    )
    before = thread.execution_state
    if before is None:
        return state
    # The vendor of an open run may have an answer that was never stored: it gets everything again.
    service = None if before.is_open else before.service_thread_id
    return structs.replace(
        state.with_service(service, before.service_watermark, mark=before.service_mark),
        learned=before.learned,
        last_request=before.last_request,
    )
