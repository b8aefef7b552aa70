"""`foldline threads costs`: what stored threads have sent and cost."""

from collections.abc import Collection
from typing import Annotated, Any

import typer
from msgspec import structs
from rich.console import Console
from rich.text import Text

from foldline.agent.stats import reduction_stats
from foldline.apps.cli.files import print_json
from foldline.apps.cli.options import PricesOption, WindowOption, argument, flag, takes
from foldline.apps.cli.prices import named_prices, source_of, window_for
from foldline.apps.cli.stores import DAMAGED, TenantOptions, as_id, found_thread, with_store
from foldline.apps.cli.terminal import note, output_console, plain_table
from foldline.errors import StoreCorruptError
from foldline.reduction.ledger import FoldEntry, ReductionStats, TurnEntry
from foldline.replay.numbers import counted, shown_dollars
from foldline.threads.store import ThreadStore
from foldline.threads.verify import list_keys


_FAR_MORE = 1.5
_THREADS = ("thread", "calls", "vendor counted", "tokens sent", "without folds", "folds")
_FOLDS = ("fold", "messages", "summary by", "calls", "tokens sent", "without it")
_AMOUNTS = ("fold cost", "saved since", "paid off at call")
_TURNS = ("turn", "message", "calls", "tokens sent", "without folds", "reported")
_NAMES = frozenset({"thread", "summary by"})


class _CostsOptions(TenantOptions, frozen=True, kw_only=True):
    id: Annotated[
        str | None, argument("ID", "The id of one thread; all by default.", callback=as_id)
    ] = None
    prices: PricesOption = None
    window: WindowOption = None
    turns: Annotated[bool, flag("--turns", "With ID: show each turn of the thread too.")] = False


@takes(_CostsOptions)
def show_costs(options: _CostsOptions) -> None:
    """
    Show what threads have sent and cost; of one thread also what each fold cost and saved since.

    Tokens sent are estimates without instructions and tools; what vendors counted has both, for the
    calls that were reported. With --prices amounts are shown too: what a vendor has reported
    counts, and the rest is estimated. The saving of one fold is against the view before it, that of
    a thread against no folds at all. With ID and --json each turn is listed too.

    The exit code is 1 if one of several threads is damaged; the others are listed all the same.
    """
    window = window_for(options.window, options.prices)
    if options.id is None:
        _show_all(options, window)
        return
    id, prices = options.id, named_prices(options.prices)

    async def _read(store: ThreadStore) -> ReductionStats:
        thread = await found_thread(store, id, options.tenant)
        return await reduction_stats(thread, prices, window=window)

    stats = with_store(options, _read)
    if options.json:
        print_json({**_figures(id, stats), "entries": stats.entries, "turns": stats.turns})
        return
    console = output_console()
    print_costs(console, id, stats, source_of(options.prices))
    if options.turns:
        _print_table(console, _TURNS, ("cost",), [_turn_cells(one) for one in stats.turns])


def _show_all(options: _CostsOptions, window: int) -> None:
    prices = named_prices(options.prices)
    found: dict[str, ReductionStats] = {}
    damaged: list[str] = []

    async def _read(store: ThreadStore) -> None:
        for key in await list_keys(store, tenant=options.tenant):
            try:
                thread = await store.find(key.id, tenant=key.tenant)
                if thread is not None:
                    found[key.id] = await reduction_stats(thread, prices, window=window)
            except StoreCorruptError:
                damaged.append(key.id)

    with_store(options, _read)
    if options.json:
        figures = [_figures(id, stats) for id, stats in found.items()]
        print_json({"tenant": options.tenant, "threads": figures})
    else:
        rows = [_thread_cells(id, stats) for id, stats in found.items()]
        console = output_console()
        _print_table(console, _THREADS, ("cost", "saved"), rows)
        large = _too_large(found.values()).removeprefix("; ")
        if large and prices is not None:
            console.print(f"saved is an estimate: {large}")
        unpriced = sum(stats.unpriced_folds for stats in found.values())
        if unpriced and prices is not None:
            console.print(
                f"{counted(unpriced, 'fold')} kept no more: cost and saved leave their prices out"
            )
    if damaged:
        note(
            f"{counted(len(damaged), 'thread')} cannot be read, the first is {damaged[0]!r}: "
            "`foldline verify` shows what is damaged"
        )
        raise typer.Exit(DAMAGED)


def _figures(id: str, stats: ReductionStats) -> dict[str, Any]:
    figures = {k: v for k, v in structs.asdict(stats).items() if k not in {"entries", "turns"}}
    derived = {"compression_ratio": round(stats.compression_ratio, 4)}
    return {"id": id, **figures, **derived, "unpriced_folds": stats.unpriced_folds}


def print_costs(console: Console, id: str, stats: ReductionStats, source: str) -> None:
    """Print the figures of the thread *id* and of its folds; the prices come from *source*."""
    size = f"{counted(stats.original_count, 'message')}, {counted(stats.original_tokens, 'token')}"
    view = "nothing is folded"
    if stats.folds:
        view = (
            f"the view has {stats.reduced_count:,} with {stats.reduced_tokens:,} "
            f"({stats.compression_ratio:.0%}), after {counted(stats.folds, 'reduction')}"
        )
    console.print(f"{id}: {size}; {view}")
    without = f", without folds {stats.full_tokens:,}" if stats.folds else ""
    console.print(
        f"{counted(stats.calls, 'model call')} sent {stats.sent_tokens:,} tokens of it by "
        f"estimate{without}"
    )
    if stats.reported_calls:
        console.print(_reported(stats))
    if stats.cost is not None and stats.savings is not None:
        console.print(_amounts(stats, stats.cost, stats.savings, source))
    if stats.unpriced_folds:
        console.print(
            f"{len(stats.entries):,} of {counted(stats.folds, 'reduction')} are kept: calls through "
            "another are taken to have used the kept one before it, and its price is left out"
        )
    if stats.entries:
        _print_table(console, _FOLDS, _AMOUNTS, [_fold_cells(one) for one in stats.entries])


def _reported(stats: ReductionStats) -> str:
    """Return what vendors counted, beside the estimate for the same calls."""
    which = f"{stats.reported_calls:,} of them" if stats.reported_calls < stats.calls else "them"
    text = (
        f"the vendor counted {stats.reported_tokens:,} for {which}, instructions and tools included; "
        f"the estimate is {stats.estimated_tokens:,}"
    )
    if stats.estimated_tokens > _FAR_MORE * stats.reported_tokens:
        text += ": something else shortened them, as the agent of an imported recording does"
    return text


def _amounts(stats: ReductionStats, cost: float, savings: float, source: str) -> str:
    left = stats.calls - stats.reported_calls
    text = (
        f"cost {shown_dollars(cost)} by {source}: {counted(stats.reported_calls, 'call')} as the "
        f"vendor reported, {left:,} by estimate"
    )
    if stats.folds:
        kind = "more" if savings < 0 else "less"
        text += f"; {shown_dollars(abs(savings))} {kind} than without folds, by estimate"
    return text + _too_large([stats])


def _too_large(threads: Collection[ReductionStats]) -> str:
    """Say how many calls without folds, with which savings reckon, could not have been made."""
    number = sum(one.too_large for one in threads if one.folds)
    if not number:
        return ""
    window = max(one.window for one in threads)
    return (
        f"; {counted(number, 'call')} without folds would not fit a window of {window:,} tokens, "
        "priced as if sent"
    )


def _print_table(
    console: Console, names: tuple[str, ...], amounts: tuple[str, ...], rows: list[list[str]]
) -> None:
    """Print *rows*, with the columns *amounts* if their cells are there."""
    columns = (*names, *amounts)[: len(rows[0]) if rows else len(names)]
    table = plain_table(*columns, numbers=frozenset(columns) - _NAMES)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


def _thread_cells(id: str, stats: ReductionStats) -> list[str]:
    tokens = (stats.reported_tokens, stats.sent_tokens, stats.full_tokens)
    sizes = (stats.calls, *tokens, stats.folds)
    amounts = [one for one in (stats.cost, stats.savings) if one is not None]
    return [id, *(f"{size:,}" for size in sizes), *map(shown_dollars, amounts)]


def _turn_cells(entry: TurnEntry) -> list[str]:
    sizes = (entry.number, entry.message, entry.calls, entry.tokens, entry.full_tokens)
    cost = [] if entry.cost is None else [shown_dollars(entry.cost)]
    return [*(f"{size:,}" for size in sizes), f"{entry.reported_calls:,}", *cost]


def _fold_cells(entry: FoldEntry) -> list[str]:
    others = [one.summarizer for one in entry.readings if one.summarizer != entry.summarizer]
    after = f" after {', '.join(others)}" if others else ""
    cells = [
        str(entry.number),
        f"{entry.messages:,}",
        (entry.summarizer or "-") + after,
        f"{entry.calls:,}",
        f"{entry.tokens:,}",
        f"{entry.tokens_before:,}",
    ]
    if entry.price is not None and entry.saved is not None:
        paid_off = "-" if entry.broke_even is None else f"{entry.broke_even:,}"
        cells += [shown_dollars(entry.price), shown_dollars(entry.saved), paid_off]
    return cells
