"""`foldline threads fold`: folding one stored thread now."""

from typing import Annotated, Any

from msgspec import structs

from foldline.agent.arguments import by_hand
from foldline.agent.reduced import ReducedHistory
from foldline.agent.reducer import HistoryReducer
from foldline.agent.stats import reduction_stats
from foldline.apps.cli.chat.options import agent_config, provider_of
from foldline.apps.cli.files import print_json
from foldline.apps.cli.options import PricesOption, option, takes
from foldline.apps.cli.prices import with_prices
from foldline.apps.cli.stores import (
    ThreadOptions,
    folded_in,
    found_thread,
    with_store,
)
from foldline.apps.cli.terminal import say
from foldline.history.messages import Message
from foldline.providers.model import ChatModel
from foldline.providers.summarizer import ModelSummarizer
from foldline.providers.vendors.opening import open_model
from foldline.providers.vendors.vendor_model import VendorModel
from foldline.reduction.budget import budget_of
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
            f"{size}, before it {event.original_tokens:,}{paid}"
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
