"""What a thread has sent and cost."""

from collections.abc import Callable

from foldline.checks import expect, expect_whole
from foldline.history.history import History
from foldline.providers.price_list import prices_of_model
from foldline.reduction.budget import DEFAULT_WINDOW
from foldline.reduction.ledger import ReductionStats, stats_of
from foldline.reduction.prices import Prices
from foldline.threads.read_only import ReadOnlyThread


async def reduction_stats(
    thread: ReadOnlyThread,
    prices: Prices | None = None,
    *,
    summarizer: Prices | Callable[[str], Prices | None] = prices_of_model,
    window: int = DEFAULT_WINDOW,
) -> ReductionStats:
    """
    Return what the calls and folds of *thread* have sent and cost, and what its folds have saved.

    Args:
        thread: The thread; all its messages are read.
        prices: What its model costs; without them there are no amounts.
        summarizer: What the model that summarizes costs, or a function that says so by its name; by
            default its listed prices. If that gives None, *prices* count.
        window: The window of its model, in tokens: without folds some calls might not have fit.

    Raises:
        ConfigError: An argument is of another type, or *window* is less than 1.
        StoreCorruptError: A message is missing or damaged.
    """
    expect("prices", prices, Prices | None)
    expect("summarizer", summarizer, Prices | Callable)
    expect_whole("window", window, 1)
    messages = await thread.get_messages()
    reductions = await thread.reductions()
    return stats_of(
        History(messages), reductions[::-1], prices, summarizer=summarizer, window=window
    )
