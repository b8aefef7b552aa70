"""`foldline threads due` and `refold`: the threads whose fold is due, and folding many of them."""

from contextlib import ExitStack
from typing import Annotated, Any, Final

import typer
from msgspec import structs

from foldline.agent.agent import Agent
from foldline.agent.pace import RateLimit
from foldline.agent.reducer import HistoryReducer
from foldline.agent.refold import FoldStep, Refolded, refold
from foldline.apps.cli.chat.options import agent_config, provider_of
from foldline.apps.cli.files import print_json
from foldline.apps.cli.options import takes
from foldline.apps.cli.prices import PricesOption, with_prices
from foldline.apps.cli.stores import DAMAGED, TenantOptions, with_store
from foldline.apps.cli.terminal import note, output_console, plain_table, progress, say
from foldline.errors import UsageError
from foldline.providers.book import parted
from foldline.reduction.budget import Budget
from foldline.replay.numbers import counted
from foldline.threads.store import DuePage, ThreadStore


__all__ = ["list_due", "refold_threads"]


_USUAL_LIMIT: Final = 20
_USUAL_AT_ONCE: Final = 4


class _DueOptions(TenantOptions, frozen=True, kw_only=True):
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many threads to list at most.")
    ] = _USUAL_LIMIT
    after: Annotated[
        str, typer.Option(metavar="NEXT", help="What the page before this one ended with.")
    ] = ""


@takes(_DueOptions)
def list_due(options: _DueOptions) -> None:
    """
    List the threads whose fold is due by their counts, the longest waiting first.

    No thread is read: each commit notes it. `foldline threads refold --due` folds them.
    """

    async def _list(store: ThreadStore) -> DuePage:
        return await store.folds_due(
            tenant=options.tenant, limit=options.limit, after=options.after
        )

    page = with_store(options, _list)
    if options.json:
        threads = [{"id": one.key.id, "since": one.since} for one in page.threads]
        print_json({"tenant": options.tenant, "threads": threads, "next": page.next})
        return
    console, table = output_console(), plain_table("id", "due since")
    for one in page.threads:
        table.add_row(one.key.id, one.since.astimezone().strftime("%Y-%m-%d %H:%M"))
    if page.threads:
        console.print(table)
    console.print(f"{counted(len(page.threads), 'fold')} due of tenant {options.tenant}")
    if page.next:
        console.print(f"more: --after {page.next}", soft_wrap=True)


class _RefoldOptions(TenantOptions, frozen=True, kw_only=True):
    config: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The agent that continues the threads, in JSON or TOML."),
    ] = None
    model: Annotated[
        str | None,
        typer.Option(
            metavar="VENDOR:MODEL",
            help="Its model, in place of that of --config; without one the offline digest writes.",
        ),
    ] = None
    prices: PricesOption = None
    due: Annotated[
        bool, typer.Option("--due", help="Only the threads that `foldline threads due` lists.")
    ] = False
    after: Annotated[
        str, typer.Option(metavar="CURSOR", help="Begin after this; an earlier run prints it.")
    ] = ""
    shard: Annotated[
        str,
        typer.Option(
            metavar="N/M", help="Only part N, from 0, of M, for several processes at once."
        ),
    ] = "0/1"
    at_once: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many threads are folded at the same time.")
    ] = _USUAL_AT_ONCE
    requests: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="The most requests to a vendor in a minute."),
    ] = None
    tokens: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="The most tokens to and from a vendor in a minute."),
    ] = None


@takes(_RefoldOptions)
def refold_threads(options: _RefoldOptions) -> None:
    """
    Fold the threads of a tenant for another configuration or model, each once.

    A thread is folded if the agent of --config would have to fold it in its next turn; then that turn
    does not wait. What is done is in the store: after a kill the same command goes on. If the model
    fails several times in a row it ends, and stores nothing of these threads. The exit code is 1 then,
    and if a thread cannot be read.
    """
    part, shards = _shard(options.shard)

    async def _refold(store: ThreadStore) -> Refolded:
        reducer, budget, agent = _means(options)
        limits: dict[str, RateLimit] = {}
        if options.requests is not None or options.tokens is not None:
            limit = RateLimit(requests=options.requests, tokens=options.tokens)
            asked = (getattr(one, "model_name", "") for one in reducer.summarizers)
            limits = {parted(name)[0]: limit for name in asked}
        with ExitStack() as shown:
            advance = shown.enter_context(progress("folding", None))

            def step(one: FoldStep) -> None:
                advance()
                if one.outcome == "failed":
                    note(f"{one.key.id}: {one.reason}")

            try:
                return await refold(
                    store,
                    reducer,
                    tenant=options.tenant,
                    due_only=options.due,
                    after=options.after,
                    budget=budget,
                    shard=(part, shards),
                    at_once=options.at_once,
                    limits=limits,
                    on_step=step,
                )
            finally:
                if agent is not None:
                    await agent.close()

    _tell(options, with_store(options, _refold))


def _shard(text: str) -> tuple[int, int]:
    part, _, shards = text.partition("/")
    if part.isdecimal() and shards.isdecimal() and int(part) < int(shards):
        return int(part), int(shards)
    message = f"--shard must be N/M with N from 0 to M-1, such as 0/4, got {text[:40]!r}"
    raise UsageError(message)


def _means(options: _RefoldOptions) -> tuple[HistoryReducer, Budget | None, Agent | None]:
    """Return what folds, what a request may hold, and the agent to close."""
    config = agent_config(options.config)
    reduction = structs.replace(with_prices(config.history_reduction, options.prices), enabled=True)
    if options.model is None and config.provider is None:
        return HistoryReducer(reduction), None, None
    provider = provider_of(config, options.model)
    agent = Agent.from_config(
        structs.replace(config, provider=provider, history_reduction=reduction)
    )
    return agent.reducer, agent.budget, agent


def _tell(options: _RefoldOptions, found: Refolded) -> None:
    counts: dict[str, Any] = {name: found.counts[name] for name in found.counts}
    if options.json:
        usage = structs.asdict(found.usage)
        facts = {"tenant": options.tenant, "shard": options.shard, "counts": counts}
        print_json({**facts, "usage": usage, "is_complete": found.is_complete, "next": found.next})
    else:
        shown = ", ".join(f"{name.replace('_', ' ')}: {counts[name]:,}" for name in sorted(counts))
        read, written = found.usage.input_tokens, found.usage.output_tokens
        spent = f"; {read:,} tokens read and {written:,} written" if read or written else ""
        say(f"{counted(sum(counts.values()), 'thread')}: {shown or 'none'}{spent}")
        if not found.is_complete:
            note("ended after several failures in a row: run it again to go on, or after them with")
            note(f"--after {found.next}")
    if counts.get("failed"):
        raise typer.Exit(DAMAGED)
