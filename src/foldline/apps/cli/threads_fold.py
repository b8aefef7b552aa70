"""`foldline threads fold`, `due` and `refold`: folding one stored thread now, or all that are due."""

from typing import Annotated, Any, Final

import typer
from msgspec import structs

from foldline.agent.agent import Agent
from foldline.agent.arguments import by_hand
from foldline.agent.pace import RateLimit
from foldline.agent.reduced import ReducedHistory
from foldline.agent.reducer import HistoryReducer
from foldline.agent.refold import FoldStep, Refolded, refold
from foldline.agent.stats import reduction_stats
from foldline.apps.cli.chat.options import agent_config, provider_of
from foldline.apps.cli.files import print_json
from foldline.apps.cli.options import PricesOption, flag, option, takes
from foldline.apps.cli.prices import with_prices
from foldline.apps.cli.stores import (
    DAMAGED,
    TenantOptions,
    ThreadOptions,
    folded_in,
    found_thread,
    with_store,
)
from foldline.apps.cli.terminal import note, output_console, plain_table, progress, say
from foldline.errors import UsageError
from foldline.history.messages import Message
from foldline.providers.book import parted
from foldline.providers.model import ChatModel
from foldline.providers.summarizer import ModelSummarizer
from foldline.providers.vendors.opening import open_model
from foldline.providers.vendors.vendor_model import VendorModel
from foldline.reduction.budget import Budget, budget_of
from foldline.reduction.config import AgentRunConfig, config_of_run
from foldline.reduction.state import HistoryReductionState
from foldline.replay.numbers import counted, shown_dollars
from foldline.threads.store import ThreadStore
from foldline.threads.thread import ConversationThread


class _FoldOptions(ThreadOptions, frozen=True, kw_only=True):
    focus: Annotated[
        str, option("TEXT", "What the summary keeps above all, such as 'the schema'.")
    ] = ""
    keep: Annotated[
        int | None,
        option(
            "N",
            "How many exchanges stay, or what --unit or the configuration counts; by default "
            "the target, or the last exchange if no more has gathered.",
            min=1,
        ),
    ] = None
    unit: Annotated[
        str | None, option("UNIT", "The unit of --keep: exchanges, messages or tokens.")
    ] = None
    strategy: Annotated[
        str | None,
        option(
            "NAME",
            "summarizing, clearing or message-counting; by default that of --config, else "
            "summarizing.",
        ),
    ] = None
    prompt: Annotated[
        str | None, option("TEXT", "The instruction for the model that summarizes.")
    ] = None
    model: Annotated[
        str | None,
        option(
            "VENDOR:MODEL",
            "What writes the summary; by default the model of --config, or the offline digest.",
        ),
    ] = None
    prices: PricesOption = None
    config: Annotated[str | None, option("FILE", "The agent of the thread, in JSON or TOML.")] = (
        None
    )


@takes(_FoldOptions)
def fold_thread(options: _FoldOptions) -> None:
    """
    Fold a thread now, whatever the counts; `foldline threads undo` takes it back.

    The fold counts as one of the agent that made the thread's newest reduction, so it stays active
    when that agent continues. The first fold of a thread is used by an agent with the same
    configuration: name its --config, or its --model. With --prices the place of the cut goes by them,
    and what the fold has cost is shown.
    """
    overrides = AgentRunConfig(
        history_reduction_unit_override=_named(options.unit),
        history_reduction_strategy_override=_named(options.strategy),
        custom_summarization_prompt_override=options.prompt,
    )

    async def _fold(store: ThreadStore) -> tuple[int, ReducedHistory[Message], float | None]:
        thread = await found_thread(store, options.id, options.tenant)
        before = thread.last_reduction
        reducer, model = _reducer(options, before)
        try:
            run = by_hand(overrides, reducer.config, focus=options.focus, keep=options.keep)
            reduced = await _folded(thread, reducer, run)
            cost, prices = None, reducer.config.prices
            if prices is not None and reduced.event.status == "performed":
                cost = (await reduction_stats(thread, prices)).entries[-1].price
            return folded_in(before), reduced, cost
        finally:
            if isinstance(model, VendorModel):
                await model.close()

    before, reduced, cost = with_store(options, _fold)
    event = reduced.event
    performed = event.status == "performed"
    now = folded_in(reduced.state) if performed else before
    if options.json:
        facts = {"id": options.id, "status": event.status, "reason": event.reason.value}
        sizes = {"tokens_before": event.original_tokens, "tokens_now": event.reduced_tokens}
        folded = {"folded_before": before, "folded_now": now}
        print_json({**facts, **folded, **sizes, "summarizer": event.summarizer, "cost": cost})
    elif performed:
        size = counted(event.reduced_tokens, "token")
        paid = "" if cost is None else f"; the fold cost {shown_dollars(cost)}"
        say(
            f"{options.id}: folded before: {counted(before, 'message')}; now: {now:,}, view: "
            f"{size}{paid}"
        )
    else:
        say(f"{options.id}: nothing was folded: {event.reason.value}")


async def _folded(
    thread: ConversationThread, reducer: HistoryReducer, overrides: AgentRunConfig
) -> ReducedHistory[Message]:
    window = await thread.window(
        config_fingerprint=reducer.config_fingerprint, counting_unit=reducer.config.unit
    )
    reduced = await reducer.reduce_within(
        budget_of(reducer.config, window=reducer.window),
        window.history,
        state=window.reduction,
        overrides=overrides,
        pins=window.pins,
    )
    if reduced.state is not None and reduced.event.status == "performed":
        await thread.save_reduction(reduced.state, archive=bool(thread.head.archived))
    return reduced


def _named(option: str | None) -> Any:
    return None if option is None else option.replace("-", "_").lower()


def _reducer(
    options: _FoldOptions, last: HistoryReductionState | None
) -> tuple[HistoryReducer, ChatModel | None]:
    """Return what folds a thread whose newest reduction is *last*, and the model that it asks."""
    agent = agent_config(options.config)
    config = structs.replace(with_prices(agent.history_reduction, options.prices), enabled=True)
    provider = config.summarizer_provider
    if options.model is not None or (provider is None and agent.provider is not None):
        provider = provider_of(agent, options.model)
    model = None if provider is None else open_model(provider)
    if last is not None:
        # As the thread was folded before, as far as the file does not say otherwise.
        target = None if options.config else last.target_count or None
        known = AgentRunConfig(
            history_reduction_unit_override=last.counting_unit,
            history_reduction_target_override=target,
        )
        config = config_of_run(config, known)
    reducer = HistoryReducer(config, summarizer=() if model is None else ModelSummarizer(model))
    if last is not None:
        reducer.config_fingerprint = last.config_fingerprint
    return reducer, model


_USUAL_LIMIT: Final = 20
_USUAL_AT_ONCE: Final = 4


class _DueOptions(TenantOptions, frozen=True, kw_only=True):
    limit: Annotated[int, option("N", "How many threads to list at most.", min=1)] = _USUAL_LIMIT
    after: Annotated[str, option("NEXT", "What the page before this one ended with.")] = ""


@takes(_DueOptions)
def list_due(options: _DueOptions) -> None:
    """
    List the threads whose fold is due by their counts, the longest waiting first.

    No thread is read: each commit notes it. `foldline threads refold --due` folds them.
    """
    page = with_store(
        options,
        lambda store: store.folds_due(
            tenant=options.tenant, limit=options.limit, after=options.after
        ),
    )
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
        str | None, option("FILE", "The agent that continues the threads, in JSON or TOML.")
    ] = None
    model: Annotated[
        str | None,
        option(
            "VENDOR:MODEL",
            "Its model, in place of that of --config; without one the offline digest writes.",
        ),
    ] = None
    prices: PricesOption = None
    due: Annotated[bool, flag("--due", "Only the threads that `foldline threads due` lists.")] = (
        False
    )
    after: Annotated[str, option("CURSOR", "Begin after this; an earlier run prints it.")] = ""
    shard: Annotated[
        str, option("N/M", "Only part N, from 0, of M, for several processes at once.")
    ] = "0/1"
    at_once: Annotated[int, option("N", "How many threads are folded at the same time.", min=1)] = (
        _USUAL_AT_ONCE
    )
    requests: Annotated[
        int | None, option("N", "The most requests to a vendor in a minute.", min=1)
    ] = None
    tokens: Annotated[
        int | None, option("N", "The most tokens to and from a vendor in a minute.", min=1)
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
        with progress("folding", None) as advance:

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
    counts = {str(name): count for name, count in found.counts.items()}
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
