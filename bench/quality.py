"""
What the views of recorded conversations keep, beside the goals: `python -m bench quality --data DIR`.

No model is asked and nothing is fetched. Every figure is an upper bound: what stands in a view need
not be used. Old values are those whose last mention is folded away; conversations are interleaved in
blocks of four messages, which is a stress and not what happens. `--write FILE` writes a page of it.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench import prose, survival
from bench.goals import Goal, airline_sessions, coding_sessions, recordings
from bench.mixing import interleaved
from bench.quality_page import page
from foldline import HistoryReductionConfig
from foldline.replay.quality.identifiers import generic
from foldline.replay.quality.moments import moments, text_of_all
from foldline.replay.quality.report import FEW, QualityReport, quality_of
from foldline.replay.quality.trail import trail_of
from foldline.replay.quality.ways import DIGEST, LEDGER
from foldline.replay.tape import Tape


PARTS_OF_SESSION = (30, 50, 70, 90)
OLD = "old values"


def _in_tokens(target: int, threshold: int) -> HistoryReductionConfig:
    return HistoryReductionConfig(target_token_budget=target, token_budget_threshold=threshold)


def _in_messages(target: int, threshold: int) -> HistoryReductionConfig:
    return HistoryReductionConfig(
        counting_unit="messages", target_count=target, summarization_threshold=threshold
    )


def judged(
    name: str, report: QualityReport, least: float | None = None, *, compare: bool = True
) -> Iterator[Goal]:
    """Judge what a cell keeps of old values, beside a plain ledger, and that recall has the rest."""
    for cell in report.cells:
        if cell.name in {OLD, "all values"} or (cell.n and compare):
            asked = least if cell.name == OLD else None
            figure = 100 * (cell.shares[DIGEST].value or 0)
            title = f"{name}: {cell.name}"
            yield Goal(name=title, figure=figure, least=asked, n=cell.n, shares=cell.shares)
    yield from _above(name, report, is_judged=compare)
    yield from honest(name, report)


def _above(name: str, report: QualityReport, *, is_judged: bool) -> Iterator[Goal]:
    """Judge a cell against a plain ledger; one that knows the very pattern is an upper bound."""
    old = report.cell(OLD)
    ours, ledger = old.shares[DIGEST], old.shares[LEDGER]
    # Above is one value more, unless the ledger has them all.
    of_one = 100 / max(old.n, 1)
    yield Goal(
        name=f"{name}: points above a plain ledger",
        figure=of_one * (ours.kept - ledger.kept),
        least=of_one * (ledger.kept < old.n) if is_judged and old.n >= FEW else None,
        n=old.n,
    )
    if is_judged:
        below = [one for one in report.cells if one.n >= FEW and LEDGER in one.losing()]
        title = f"{name}: ages of {FEW} values and more below a plain ledger"
        yield Goal(name=title, figure=len(below), most=0)


def honest(name: str, report: QualityReport) -> Iterator[Goal]:
    """Judge that nothing is lost or made up."""
    recalled, sums = report.kept["recalled"], report.accounting
    if recalled.total:
        figure = 100 * recalled.kept / recalled.total
        title = f"{name}: what the view lacks, found by recall"
        yield Goal(name=title, figure=figure, least=100, n=recalled.total)
    loose = sums.dropped - sums.accounted
    yield Goal(
        name=f"{name}: dropped tokens not in exactly one covered span",
        figure=loose,
        most=0,
        n=sums.dropped,
    )
    sources = report.kept["provenance"]
    yield Goal(
        name=f"{name}: identifiers of summaries without a source",
        figure=len(report.invented),
        most=0,
        n=sources.total,
    )


def airline(data: Path) -> Iterator[Goal]:
    """Judge the interleaved conversations of an airline's agent."""
    found = airline_sessions(data)
    for size, config, asked in ((3, _in_tokens(2_000, 2_000), 95), (6, _in_messages(8, 8), 90)):
        tapes = list(map(Tape, interleaved(found, size)))
        for budget, least in ((600, None), (1_200, asked)):
            report = quality_of(tapes, config, budget=budget)
            yield from judged(f"airline x{size}, summary {budget:,}", report, least)
        report = quality_of(tapes, config, budget=2_000, pattern=generic)
        name = f"airline x{size}, generic pattern, summary 2,000"
        yield from judged(name, report, 90, compare=False)


def pi(data: Path) -> Iterator[Goal]:
    """Judge the long coding session."""
    tapes = list(map(Tape, coding_sessions(data)))
    for name, config, least in (
        ("tokens 4k/1k", _in_tokens(4_000, 1_000), None),
        ("tokens 8k/8k", _in_tokens(8_000, 8_000), 49),
        ("messages 40/20", _in_messages(40, 20), None),
    ):
        yield from judged(f"pi, {name}", quality_of(tapes, config), least)


def shared(data: Path) -> Iterator[Goal]:
    """Judge that nothing is lost or made up in any recording."""
    found: dict[str, list[Tape]] = {}
    for path, session in recordings(data):
        found.setdefault(path.parent.name, []).append(Tape(session))
    for name, tapes in found.items():
        for title, config in (
            ("tokens 2k/2k", _in_tokens(2_000, 2_000)),
            ("messages 8/8", _in_messages(8, 8)),
        ):
            report = quality_of(tapes, config)
            if report.folds:
                yield from honest(f"{name}, {title}", report)


def artefacts(data: Path) -> Iterator[Goal]:
    """Judge what the summary tells of files and commits when parts of the session are over."""
    tape = Tape(coding_sessions(data)[0])
    seen = list(moments(tape, _in_tokens(8_000, 8_000)))
    for part in PARTS_OF_SESSION:
        end = len(tape.messages) * part // 100
        moment = [one for one in seen if one.index <= end][-1]
        trail = trail_of(tape.messages[: moment.cut], text_of_all(moment.front), moment.summaries)
        for what, told, done in (
            ("edited files named", trail.named, trail.edited),
            ("marked as edited", trail.marked, trail.edited),
            ("commits named", trail.told, trail.commits),
        ):
            least = len(done) if part == PARTS_OF_SESSION[-1] else None
            name = f"pi at {part} %: {what}"
            yield Goal(name=name, figure=len(told), least=least, n=len(done))


PARTS: dict[str, Callable[[Path], Iterator[Goal]]] = {
    "airline": airline,
    "pi": pi,
    "artefacts": artefacts,
    "survival": survival.goals,
    "prose": prose.goals,
    "shared": shared,
}


def main(arguments: Sequence[str]) -> int:
    """Print each figure as soon as it is known; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench quality", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of recordings")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--write", type=Path, help="write the figures to this page as well")
    parsed = parser.parse_args(arguments)
    found: dict[str, list[Goal]] = {}
    for name in parsed.only:
        start = time.process_time()
        print(name, flush=True)
        for goal in PARTS[name](parsed.data):
            print(goal, flush=True)
            found.setdefault(name, []).append(goal)
        print(f"  {time.process_time() - start:.0f} seconds of processor time", flush=True)
    asked = [one for goals in found.values() for one in goals if one.is_asked]
    missed = [one for one in asked if not one.is_met]
    print(f"{len(asked) - len(missed)} of {len(asked)} goals are met; missed:", *missed, sep="\n")
    if parsed.write is not None:
        parsed.write.write_text(page(found), encoding="utf-8")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
