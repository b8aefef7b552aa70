"""`foldline plan`: the verdict, without any call."""

from typing import Any

from rich.table import Table

from foldline.agent.reducer import HistoryReducer
from foldline.apps.cli.documents import json_document
from foldline.apps.cli.files import print_document
from foldline.apps.cli.options import JsonOption, RunOptions, takes
from foldline.apps.cli.runs import Run, begin, messages_shown
from foldline.apps.cli.terminal import output_console
from foldline.reduction.verdict import Verdict
from foldline.reduction.view import view_tokens


__all__ = ["PlanOptions", "plan"]


class PlanOptions(RunOptions, frozen=True, kw_only=True):
    """What to plan."""

    json: JsonOption = False
    """Whether to print JSON."""


@takes(PlanOptions)
def plan(options: PlanOptions) -> None:
    """
    Tell what reduce would do with a conversation: verdict, reason, cut and counts.

    No summarizer is asked and nothing is written. What stands in FILE but is no message is told on
    the standard error.
    """
    run = begin(options)
    reducer = HistoryReducer(run.config)
    verdict = reducer.plan(run.history, state=run.state, overrides=run.overrides)
    figures = _figures(run, verdict)
    if options.json:
        print_document(json_document(figures))
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    shown = {name: _shown(value) for name, value in figures.items()}
    shown["strategy"] = shown["strategy"].replace("_", "-")
    shown["messages"] = messages_shown(run.history)
    del shown["system_messages"]
    for name, text in shown.items():
        table.add_row(name.replace("_", " "), text)
    output_console().print(table)


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _figures(run: Run, verdict: Verdict) -> dict[str, Any]:
    history, limits = run.history, run.config.limits
    return {
        "verdict": verdict.kind,
        "reason": verdict.reason.value,
        "strategy": run.config.strategy,
        "counting_unit": run.config.counting_unit,
        "units": verdict.units,
        "target": limits.target,
        "threshold": limits.threshold,
        "cut": verdict.cut,
        "messages": verdict.messages,
        "system_messages": len(history.system),
        "history_tokens": history.system_tokens + history.tokens(),
        "view_tokens_before": view_tokens(history, verdict.state),
        "tokens_to_fold": history.tokens(_cut_in_force(verdict), verdict.cut),
    }


def _cut_in_force(verdict: Verdict) -> int:
    if not verdict.folds:
        return verdict.cut
    return 0 if verdict.state is None else verdict.state.summarized_up_to_index
