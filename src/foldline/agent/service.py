"""
A history that the vendor holds: what it has, and what it still has to be sent.

The vendor names the conversation it holds; the watermark says how many messages of the full history
are in it, the vendor's own answers included. The mark is a digest of all that it holds: the model,
the system messages, the reduction and every message up to the watermark. Where the mark of what
should be there differs, for a fold, an edit, a rewind, another model or another instruction, the
conversation is left and a new one begins with the whole view.
"""

from collections.abc import Sequence
from hashlib import sha256
from itertools import takewhile

from msgspec import Struct, structs

from foldline.history.digest import chain_digest
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.repair import repair
from foldline.reduction.state import HistoryReductionState
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.thread import ConversationThread


__all__ = ["Held", "begun", "held_by", "state_behind"]


class Held(Struct, frozen=True, kw_only=True):
    """What the vendor holds and lacks."""

    service_thread_id: str | None
    """The conversation that goes on; None where a new one begins."""

    messages: tuple[Message, ...]
    """What it lacks: the newest messages, or the whole view."""


def held_by(
    state: AgentLoopState,
    history: History,
    view: Sequence[Message],
    *,
    model: str,
    reduction: HistoryReductionState | None,
    instructions: str,
) -> Held:
    """
    Return what to send so that the vendor has all of *view*.

    Args:
        state: What the vendor held after the last call.
        history: The full history, or its part behind the cut.
        view: The view of it.
        model: The name of the model that is asked.
        reduction: The reduction in force.
        instructions: The instructions of the agent.
    """
    at = state.service_watermark
    whole = Held(service_thread_id=None, messages=tuple(view))
    if state.service_thread_id is None or not history.start <= at <= len(history):
        return whole
    mark = _mark(model, history.system, reduction, instructions, history.digest(at))
    if mark != state.service_mark:
        return whole
    news = history[at:]
    if not news or not _waiting(history, at) <= _answered(news):
        return whole
    return Held(service_thread_id=state.service_thread_id, messages=tuple(_mended(news)))


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


def _mended(news: Sequence[Message]) -> list[Message]:
    """Return *news* as a valid continuation: their answers belong to calls that the vendor has."""
    first = next((at for at, one in enumerate(news) if one.role != "tool"), len(news))
    return [*news[:first], *repair(news[first:])]


def state_behind(
    state: AgentLoopState,
    history: History,
    said: Sequence[Message],
    *,
    service_thread_id: str | None,
    model: str,
    reduction: HistoryReductionState | None,
    instructions: str,
) -> AgentLoopState:
    """
    Return *state* with what the vendor holds once it has said *said* behind *history*.

    Where it names no conversation it holds nothing, and the next call sends everything.
    """
    if service_thread_id is None:
        return state.with_service(None)
    digest = history.digest()
    for message in said:
        digest = chain_digest(digest, message)
    mark = _mark(model, history.system, reduction, instructions, digest)
    return state.with_service(service_thread_id, len(history) + len(said), mark=mark)


def begun(thread: ConversationThread, *, run_id: str, agent: str) -> AgentLoopState:
    """
    Return the state of a run that *agent* begins on *thread*.

    In it is what outlives a run: what the vendor holds, and what its refusals taught.
    """
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
    # Of an open run the vendor may hold an answer that nobody has stored: it gets everything again.
    held = None if before.is_open else before.service_thread_id
    return structs.replace(
        state.with_service(held, before.service_watermark, mark=before.service_mark),
        context_window=before.context_window,
        context_window_model=before.context_window_model,
    )


def _mark(
    model: str,
    system: Sequence[Message],
    reduction: HistoryReductionState | None,
    instructions: str,
    digest: bytes,
) -> str:
    cut = "" if reduction is None else reduction.message_hash
    texts = tuple(message.text for message in system)
    summary = "" if reduction is None else reduction.summary_content
    held = repr((model, texts, instructions, cut, summary, digest.hex()))
    return sha256(held.encode("utf-8", "surrogatepass")).hexdigest()[:32]
