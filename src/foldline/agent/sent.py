"""
What a request sends again that one before it has sent, and why.

The meter in memory belongs to the thread object; what it needs after a restart is in the execution
state. Without either, as for the first request of a fork, nothing is compared.
"""

from collections.abc import Sequence
from copy import copy
from functools import partial

from msgspec import Struct, structs

from foldline.agent.events import RequestSentEvent, ResentBecause
from foldline.agent.progress import Progress, TurnSetup
from foldline.agent.service import Basis
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.meter import PrefixMeter
from foldline.history.tokens import count_message
from foldline.providers.model import ChatResponse
from foldline.threads.loop_state import SentRequest


# OpenAI caches in steps of so many tokens, and no other vendor in larger ones.
_BLOCK = 128
_LIFETIME = 300.0
_SHORT = 8
_NONE_SENT = SentRequest()


class Comparison(Struct, frozen=True, kw_only=True):
    """One request beside the one before it."""

    event: RequestSentEvent
    before: SentRequest
    sent: SentRequest
    meter: PrefixMeter

    def answered(self, setup: TurnSetup, progress: Progress, response: ChatResponse) -> int:
        """Keep this request as the last one; return what a cache should have served and did not."""
        state, prices, counted = progress.state, setup.prices, self.before.counted
        usage = response.usage
        is_held = state.service_thread_id is not None
        read = 0 if usage is None else usage.input_tokens
        sent = structs.replace(self.sent, counted=read, is_held=is_held, response_id=response.id)
        progress.state = structs.replace(state, last_request=sent)
        setup.meters[progress.thread] = self.meter, sent
        if usage is None or prices is None or prices.cached_read is None:
            return 0
        if self.event.resent_because is not None or counted < prices.minimum_prefix:
            return 0
        missed = min(counted, read) - usage.cache_read_tokens
        return missed if missed >= _BLOCK else 0


def compared(
    setup: TurnSetup,
    progress: Progress,
    basis: Basis,
    view: Sequence[Message],
    event: RequestSentEvent,
) -> Comparison:
    """Return *event* with what the whole *view*, of which it may send the end, sends again."""
    thread, stored = progress.thread, progress.state.last_request
    known, before = setup.meters.get(thread, (None, _NONE_SENT))
    if known is None:
        meter = PrefixMeter(partial(count_message, counter=basis.history.counter))
        reading = None
    else:
        meter = copy(known)
        reading = meter.read(view)
    if reading is None or (reading.broke and stored is not None and stored.digest != before.digest):
        # Another process, or another agent, has sent the last request.
        before = stored or _NONE_SENT
        meter.follow(before, view)
        reading = meter.read(view)
    made = basis.reduction
    sent = SentRequest(
        **structs.asdict(meter.mark),
        model=basis.model,
        tools=setup.fixed.digest,
        cut=0 if made is None else made.summarized_up_to_index,
        reduction="" if made is None else made.summary_hash,
        length=len(basis.history),
        said=basis.history.digest()[:_SHORT],
        at=thread.now(),
    )
    if before.count and not event.is_delta:
        tools = setup.fixed.tools
        total, kept = tools + reading.tokens, tools + reading.kept
        because = _lost(before, sent, setup)
        resent = reading.resent if reading.broke else 0
        if because is not None or (before.is_held and not reading.broke):
            resent, kept = min(tools + reading.prior, total), 0
        if resent and because is None:
            because = _changed(before, sent, basis.history, is_ours=setup.own_reducer is None)
        share = event.tokens / max(total, 1)
        event = structs.replace(
            event,
            kept_tokens=int(kept * share),
            resent_tokens=int(resent * share),
            resent_because=because,
        )
    event = structs.replace(event, fresh_tokens=event.tokens - event.kept_tokens)
    return Comparison(event=event, before=before, sent=sent, meter=meter)


def _lost(before: SentRequest, sent: SentRequest, setup: TurnSetup) -> ResentBecause | None:
    """Return why a cache serves nothing of the request *before*; None if it may serve all of it."""
    if before.model != sent.model:
        return "model"
    if before.tools != sent.tools:
        return "tools"
    lifetime = _LIFETIME if setup.prices is None else setup.prices.lifetime
    if before.at is None or sent.at is None or (sent.at - before.at).total_seconds() <= lifetime:
        return None
    return "expired"


def _changed(
    before: SentRequest, sent: SentRequest, history: History, *, is_ours: bool
) -> ResentBecause:
    """Return why *sent* does not begin with the request *before*."""
    at = before.length
    if at > len(history) or (at >= history.start and history.digest(at)[:_SHORT] != before.said):
        return "edit"
    if before.reduction != sent.reduction:
        if not sent.reduction:
            return "unfolded"
        return "batch" if before.cut == sent.cut else "fold"
    if before.system != sent.system:
        return "instructions"
    if not is_ours:
        return "own_reducer"
    return "vendor_history" if before.is_held else "unexplained"
