"""`foldline reduce` and `plan`: the view to send to a model, and the verdict without any call."""

from pathlib import Path, PurePath
from typing import Annotated, Any

from msgspec import structs
from rich.table import Table
from rich.text import Text

from foldline.agent.reduced import ReducedHistory
from foldline.agent.reducer import HistoryReducer
from foldline.apps.cli.files import check_targets, print_document, print_json, write_files
from foldline.apps.cli.formats import TARGETS, left_out_note, target_format
from foldline.apps.cli.options import RunOptions, option, takes
from foldline.apps.cli.prices import config_for
from foldline.apps.cli.sources import note_sessions, one_session, read_state
from foldline.apps.cli.streaming import Folded, large_log
from foldline.apps.cli.terminal import error_console, note, output_console, progress
from foldline.apps.cli.viewing import show_view
from foldline.errors import UsageError
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.budget import Budget, budget_of
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig
from foldline.reduction.verdict import Verdict
from foldline.reduction.view import view_tokens
from foldline.replay.numbers import counted


class _Run(Folded, frozen=True, kw_only=True):
    config: HistoryReductionConfig
    overrides: AgentRunConfig

    @property
    def messages(self) -> str:
        return f"{len(self.history):,} messages + {len(self.history.system):,} system"


def _begin(options: RunOptions, *, streams: bool = False) -> _Run:
    """Read everything that *options* name; with *streams* a large log is folded meanwhile."""
    if options.force and options.skip:
        raise UsageError("--force and --skip exclude each other: leave one out")
    names = options.config or []
    if len(names) > 1:
        raise UsageError(
            "--config was given more than once: give one here; `foldline replay` takes several"
        )
    file = names[0] if names else None
    config = config_for(options, file, prices=options.prices, model=options.model)
    if not config.enabled:
        note(f"{file} disables reduction: the full history is sent")
    state = None
    if options.state is not None and Path(options.state).exists():
        state = read_state(options.state)
    with progress(f"reading {PurePath(options.file).name}", None) as advance:
        read = large_log(options, config, state, advance) if streams else None
    if read is None:
        session = one_session(options)
        read = Folded(session=session, history=History(session.messages), state=state)
    note_sessions([read.session])
    return _Run(
        **structs.asdict(read),
        config=config,
        overrides=AgentRunConfig(
            skip_history_reduction=options.skip, trigger_history_reduction=options.force
        ),
    )


class _ReduceOptions(RunOptions, frozen=True, kw_only=True):
    to: Annotated[
        str | None,
        option(
            "NAME",
            "With --json or --output: openai-chat, openai-responses, anthropic or foldline; "
            "by default the format of FILE if it is one of these, else openai-chat.",
        ),
    ] = None
    output: Annotated[str | None, option("FILE", "Write the view to this file as JSON.")] = None


@takes(_ReduceOptions)
def reduce(options: _ReduceOptions) -> None:
    """
    Print the view of a conversation to send to a model.

    The offline digest writes the summary; no model, key or network is needed. With --state the
    reduction is kept, so that the next call reuses it. A FILE of 16 MB or more with one message a
    line is folded while it is read, so that it may be larger than the memory.

    With --json the view is printed, and --output writes the same: for openai-chat a list of
    messages, for openai-responses a list of input items, for anthropic an object with "messages"
    and, if there are instructions, "system", for foldline an object with "format" and "messages".
    One line says what happened, with --json on the standard error: the verdict, its reason, and
    the counts. Notes on the standard error say what in FILE is not a message, and how many
    messages the format has no place for.

    A circuit breaker is not a failure: if it ends the turn, the verdict is halt, the exit code 0,
    the view and the state are written as usual, and the line ends with "the turn ends here".
    """
    targets = {"--output": options.output, "--state": options.state}
    check_targets(targets, reads=(options.file, *(options.config or ())))
    has_document = options.json or options.output is not None
    if options.to is not None and not has_document:
        message = "--to has no effect on what is shown for people: add --json or --output FILE"
        raise UsageError(message)
    run = _begin(options, streams=True)
    target = target_format(options.to, source=run.session.format)
    with progress("folding", None):
        reduced = HistoryReducer(run.config).reduce_sync(
            run.history, state=run.state, overrides=run.overrides
        )
    document = TARGETS[target](reduced.messages) if has_document else b""
    files: dict[str, bytes] = {}
    if options.output is not None:
        files[options.output] = document + b"\n"
    if options.state is not None and reduced.state is not None:
        files[options.state] = reduced.state.to_json() + b"\n"
    write_files(files)
    if options.json:
        print_document(document)
    elif options.output is None:
        output_console().print(show_view(reduced.messages))
    left, text = left_out_note(reduced.messages, target) if has_document else (0, "")
    if left:
        note(text)
    console = error_console() if options.json else output_console()
    console.print(Text(_what_happened(run, reduced), style="bold"), soft_wrap=True)


def _what_happened(run: _Run, reduced: ReducedHistory[Message]) -> str:
    event, verdict = reduced.event, reduced.verdict
    strategy = f"strategy {run.config.strategy.replace('_', '-')}"
    facts = [
        f"{verdict.kind} ({event.status.replace('_', ' ')}): {event.reason.value}",
        f"{event.original_tokens:,} tokens before, {event.reduced_tokens:,} after",
        f"{run.messages}, {event.removed_count:,} folded",
        strategy,
        f"ceiling {event.ceiling:,}",
    ]
    if run.folds:
        facts.append(f"{counted(run.folds, 'fold')} while it was read")
    facts += [f"{one.summarizer} read {one.tokens:,} tokens" for one in event.readings]
    if reduced.termination_reason is not None:
        facts.append(f"the turn ends here: {reduced.termination_reason}")
    return "; ".join(facts)


@takes(RunOptions)
def plan(options: RunOptions) -> None:
    """
    Show what reduce would do with a conversation: verdict, reason, cut and counts.

    No summarizer is called and nothing is written. Notes on the standard error say what in FILE is
    not a message.
    """
    run = _begin(options)
    reducer = HistoryReducer(run.config)
    verdict = reducer.plan(run.history, state=run.state, overrides=run.overrides)
    figures = _figures(run, verdict, budget_of(run.config))
    if options.json:
        print_json(figures)
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    shown = {name: _shown(value) for name, value in figures.items() if value is not None}
    shown["strategy"] = shown["strategy"].replace("_", "-")
    shown["messages"] = run.messages
    del shown["system_messages"]
    for name, text in shown.items():
        table.add_row(name.replace("_", " "), text)
    output_console().print(table)


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _figures(run: _Run, verdict: Verdict, budget: Budget) -> dict[str, Any]:
    history, limits = run.history, run.config.limits
    threshold = limits.threshold if limits and run.config.trigger != "balance" else None
    folded = 0 if verdict.state is None else verdict.state.summarized_up_to_index
    return {
        "verdict": verdict.kind,
        "reason": verdict.reason.value,
        "strategy": run.config.strategy,
        "window": budget.window,
        "ceiling": budget.ceiling,
        "counting_unit": run.config.unit,
        "units": verdict.units,
        "target": None if limits is None else limits.target,
        "threshold": threshold,
        "cut": verdict.cut,
        "messages": verdict.messages,
        "system_messages": len(history.system),
        "history_tokens": history.system_tokens + history.tokens(),
        "view_tokens_before": view_tokens(history, verdict.state),
        "tokens_to_fold": history.tokens(folded, verdict.cut) if verdict.folds else 0,
    }
