"""
`foldline plan`: the verdict, without any call.
"""

from typing import Any

from rich.table import Table

from foldline.agent.reducer import HistoryReducer
from foldline.apps.cli.documents import json_document
from foldline.apps.cli.files import print_document
from foldline.apps.cli.options import JsonOption, RunOptions, takes
from foldline.apps.cli.runs import Run, begin
from foldline.apps.cli.terminal import output_console
from foldline.reduction.verdict import Verdict
from foldline.reduction.view import view_tokens


__all__ = ["PlanOptions", "plan"]


class PlanOptions(RunOptions, frozen=True, kw_only=True):
    """
    What to plan.
    """

    json: JsonOption = False
    """Whether to print JSON."""


@takes(PlanOptions)
def plan(options: PlanOptions) -> None:
    """
    Tell what reduce would do with a conversation: verdict, reason, cut and counts.

    No summarizer is asked and nothing is written.
    """
    run = begin(options)
    reducer = HistoryReducer(run.config)
    verdict = reducer.plan(run.history, state=run.state, overrides=run.overrides)
    figures = _figures(run, verdict)
    if options.json:
        print_document(json_document(figures))
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, value in figures.items():
        shown = f"{value:,}" if isinstance(value, int) else str(value)
        table.add_row(name.replace("_", " "), shown)
    output_console().print(table)


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
