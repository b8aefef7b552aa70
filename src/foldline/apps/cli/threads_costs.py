"""`foldline threads costs`: what a stored thread has sent and cost."""

from msgspec import structs
from rich.console import Console
from rich.text import Text

from foldline.apps.cli.files import print_json
from foldline.apps.cli.options import takes
from foldline.apps.cli.prices import PricesOption, named_prices, shown_dollars, source_of
from foldline.apps.cli.stores import ThreadOptions, found_thread, with_store
from foldline.apps.cli.terminal import counted, output_console, plain_table
from foldline.reduction.ledger import FoldEntry, ReductionStats
from foldline.threads.stats import reduction_stats
from foldline.threads.store import ThreadStore


__all__ = ["show_costs"]

_COLUMNS = ("fold", "messages", "summary by", "calls", "tokens sent", "without it")
_AMOUNTS = ("fold cost", "saved since", "paid off at call")


class _CostsOptions(ThreadOptions, frozen=True, kw_only=True):
    prices: PricesOption = None


@takes(_CostsOptions)
def show_costs(options: _CostsOptions) -> None:
    """
    Show what a thread has sent and cost, what each of its folds cost, and what it has saved since.

    Tokens are estimates without instructions and tools. With --prices amounts are shown too: what a
    vendor has reported counts, and the rest is estimated. The saving of one fold is against the view
    before it, that of the thread against no folds at all.
    """
    prices = named_prices(options.prices)

    async def _read(store: ThreadStore) -> ReductionStats:
        return await reduction_stats(await found_thread(store, options), prices)

    stats = with_store(options, _read)
    if options.json:
        ratio = {"compression_ratio": round(stats.compression_ratio, 4)}
        entries = [structs.asdict(one) for one in stats.entries]
        print_json({"id": options.id, **structs.asdict(stats), "entries": entries, **ratio})
    else:
        _print(output_console(), stats, options)


def _print(console: Console, stats: ReductionStats, options: _CostsOptions) -> None:
    console.print(
        f"{options.id}: {counted(stats.original_count, 'message')}, "
        f"{counted(stats.original_tokens, 'token')}; the view has {stats.reduced_count:,} with "
        f"{stats.reduced_tokens:,} ({stats.compression_ratio:.0%})"
    )
    console.print(
        f"{counted(stats.calls, 'model call')} sent {stats.sent_tokens:,} tokens of it, without "
        f"folds {stats.full_tokens:,}; {counted(stats.folds, 'reduction')}"
    )
    if stats.cost is not None and stats.savings is not None:
        kind = "more" if stats.savings < 0 else "less"
        console.print(
            f"cost {shown_dollars(stats.cost)}, {shown_dollars(abs(stats.savings))} {kind} than "
            f"without folds, by {source_of(options.prices)}; "
            f"{stats.reported_calls:,} of {counted(stats.calls, 'call')} as the vendor reported"
        )
    if stats.entries:
        columns = (*_COLUMNS, *(_AMOUNTS if stats.cost is not None else ()))
        table = plain_table(*columns, numbers=frozenset(columns) - {"summary by"})
        for entry in stats.entries:
            table.add_row(*map(Text, _cells(entry)))
        console.print(table)


def _cells(entry: FoldEntry) -> list[str]:
    cells = [
        str(entry.number),
        f"{entry.messages:,}",
        entry.summarizer or "-",
        f"{entry.calls:,}",
        f"{entry.tokens:,}",
        f"{entry.tokens_before:,}",
    ]
    if entry.price is not None and entry.saved is not None:
        paid_off = "-" if entry.broke_even is None else f"{entry.broke_even:,}"
        cells += [shown_dollars(entry.price), shown_dollars(entry.saved), paid_off]
    return cells
