"""What a thread has sent and cost."""

from foldline.checks import expect
from foldline.history.history import History
from foldline.reduction.ledger import ReductionStats, stats_of
from foldline.reduction.prices import Prices
from foldline.threads.read_only import ReadOnlyThread


__all__ = ["reduction_stats"]


async def reduction_stats(
    thread: ReadOnlyThread, prices: Prices | None = None, *, summarizer: Prices | None = None
) -> ReductionStats:
    """
    Return what the calls and folds of *thread* have sent and cost, and what its folds have saved.

    Args:
        thread: The thread; all its messages are read.
        prices: What its model costs; without them there are no amounts.
        summarizer: What the model that summarizes costs; by default the same.

    Raises:
        StoreCorruptError: A message is missing or damaged.
    """
    expect("prices", prices, Prices | None)
    expect("summarizer", summarizer, Prices | None)
    messages = await thread.get_messages()
    reductions = await thread.reductions()
    return stats_of(History(messages), reductions[::-1], prices, summarizer=summarizer)
