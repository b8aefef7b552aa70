"""Asking for a summary on the request that the model has in the prompt cache."""

from msgspec import structs

from foldline.agent.reduced import ReducerCall
from foldline.providers.model import Summarizer
from foldline.providers.summarizer import ModelSummarizer, RidingSummarizer
from foldline.reduction.balance import INSTRUCTION_TOKENS, FoldCosts, summary_size
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.view import view_of, view_tokens


_FORCING = frozenset(
    {"tool_choice", "response_format", "output_config", "text", "stop", "stop_sequences"}
)
_LIMITS = ("max_tokens", "max_output_tokens", "max_completion_tokens")


def may_ride(config: HistoryReductionConfig, summarizer: Summarizer, model: str) -> bool:
    """Whether *summarizer* may be asked on top of what *model* was sent, which is not redacted."""
    if not config.use_single_summary or config.redact == "always":
        return False
    if not isinstance(summarizer, ModelSummarizer) or not summarizer.rides:
        return False
    return summarizer.model_name == model


def riding(call: ReducerCall, summarizer: Summarizer, costs: FoldCosts | None) -> Summarizer:
    """Return *summarizer*, on the request that is in the cache of its model if that is cheaper."""
    if costs is None or not costs.rides or not isinstance(summarizer, ModelSummarizer):
        return summarizer
    history, verdict, budget = call.items.history, call.verdict, call.budget
    front, active = None if call.front is None else call.front(), verdict.state
    if active is not None and active.unread_from is not None:
        # What has to be read is no longer in the view.
        return summarizer
    # These would keep the model from writing a summary, and without them the cache would miss.
    if front is None or not _FORCING.isdisjoint(front.settings) or not summarizer.rides:
        return summarizer
    limits = (front.settings.get(name) for name in _LIMITS)
    if any(isinstance(limit, int) and limit < 2 * budget.summary for limit in limits):
        return summarizer
    start = 0 if active is None else active.summarized_up_to_index
    view = view_tokens(history, active) + budget.instructions + budget.tools
    dropped = history.tokens(start, verdict.cut) + (0 if active is None else active.front_tokens)
    summary = summary_size(active, budget)
    is_cheaper = costs.rides_cheaper(prefix=view, dropped=dropped, summary=summary)
    asked = budget.counted(view_tokens(history, active) + INSTRUCTION_TOKENS + budget.summary)
    if not is_cheaper or asked > budget.window:
        return summarizer
    sent = structs.replace(front, messages=(*front.messages, *view_of(history, active)))
    span, kept = verdict.cut - start, history[verdict.cut]
    return RidingSummarizer(summarizer, sent, span=span, kept=kept)
