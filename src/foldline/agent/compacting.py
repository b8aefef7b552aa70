"""What a fold does with the items of a vendor that only the vendor can read."""

from msgspec import structs

from foldline.agent.fold_calls import FoldCalls
from foldline.agent.reduced import ReducerCall
from foldline.providers.digest.summarizer import DigestSummarizer
from foldline.providers.model import Summarizer
from foldline.providers.vendors.compaction import VendorCompaction
from foldline.reduction.fold import FoldResult
from foldline.reduction.sealing import with_sealed
from foldline.reduction.state import HistoryReductionState


__all__ = ["after", "with_item"]


def after(
    summarizer: Summarizer, active: HistoryReductionState | None, digest: DigestSummarizer
) -> Summarizer:
    """Return *summarizer* for a fold after *active*, whose sealed item its vendor reads again."""
    if isinstance(summarizer, VendorCompaction):
        return summarizer.after(None if active is None else active.sealed_item, digest)
    return summarizer


def with_item(call: ReducerCall, result: FoldResult, calls: FoldCalls) -> FoldResult:
    """Return *result* with the item of the vendor that wrote it, if that stands for all it covers."""
    base, made = call.verdict.state, result.state
    start = 0 if base is None else base.summarized_up_to_index
    sealed = calls.sealed_for(call.verdict.cut - start)
    if sealed is None or made is None or made.layers or result.writing.text is None:
        return result
    history, budget = call.items.history, call.budget
    state = with_sealed(history, made, sealed, base=base, budget=budget)
    return structs.replace(result, state=state)
