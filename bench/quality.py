"""
What the views of recorded conversations keep, beside the goals: `python -m bench quality --data DIR`.

No model is asked and nothing is fetched. Every figure is an upper bound: what stands in a view need
not be used. Old values are those whose last mention is folded away; conversations are interleaved in
blocks of four messages, which is a stress and not what happens.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench import prose, survival
from bench.goals import Goal, airline_sessions, coding_sessions
from foldline import HistoryReductionConfig
from foldline.logs.importer import Session
from foldline.replay.quality.identifiers import Pattern, generic, identifiers
from foldline.replay.quality.mixing import interleaved
from foldline.replay.quality.moments import moments, text_of_all
from foldline.replay.quality.needed import Need, needed_later
from foldline.replay.quality.report import FEW
from foldline.replay.quality.trail import trail_of
from foldline.replay.quality.ways import DIGEST, LEDGER, WAYS
from foldline.replay.tape import Tape


PARTS_OF_SESSION = (30, 50, 70, 90)


def _in_tokens(target: int, threshold: int) -> HistoryReductionConfig:
    return HistoryReductionConfig(target_token_budget=target, token_budget_threshold=threshold)


def _in_messages(target: int, threshold: int) -> HistoryReductionConfig:
    return HistoryReductionConfig(
        counting_unit="messages", target_count=target, summarization_threshold=threshold
    )


def needs_of(
    sessions: Sequence[Session],
    config: HistoryReductionConfig,
    *,
    budget: int | None = None,
    pattern: Pattern = identifiers,
) -> list[Need]:
    """Return what the calls of *sessions* needed, chance being the summary of the one before."""
    found: list[Need] = []
    other = ""
    for session in sessions:
        tape = Tape(session)
        seen = list(moments(tape, config, budget=budget))
        found += needed_later(tape, seen, pattern=pattern, other=other)
        other = text_of_all(seen[-1].front) or other
    return found


def share_of(needs: Sequence[Need], way: str) -> float:
    """Return the percentage of *needs* that *way* keeps."""
    return 100 * sum(way in one.kept for one in needs) / max(1, len(needs))


def judged(
    name: str, needs: Sequence[Need], least: float | None = None, *, compare: bool = True
) -> Iterator[Goal]:
    """Judge the old values that a cell keeps, and that a plain ledger of the same size keeps fewer."""
    old = [one for one in needs if one.is_old]
    ours, ledger = share_of(old, DIGEST), share_of(old, LEDGER)
    beside = ", ".join(f"{way} {share_of(old, way):.1f}" for way in WAYS if way != DIGEST)
    beside += f"; of all values {share_of(needs, DIGEST):.1f}"
    yield Goal(name=f"{name}: old values", figure=ours, least=least, n=len(old), beside=beside)
    # A ledger that knows the very pattern that is asked for is an upper bound.
    above = 0.0 if compare and len(old) >= FEW else None
    yield Goal(name=f"{name}: points above a plain ledger", figure=ours - ledger, least=above)


def airline(data: Path) -> Iterator[Goal]:
    """Judge the interleaved conversations of an airline's agent."""
    found = airline_sessions(data)
    for size, config, asked in ((3, _in_tokens(2_000, 2_000), 95), (6, _in_messages(8, 8), 90)):
        sessions = interleaved(found, size)
        for budget, least in ((600, None), (1_200, asked)):
            name = f"airline x{size}, summary {budget:,}"
            yield from judged(name, needs_of(sessions, config, budget=budget), least)
        needs = needs_of(sessions, config, budget=2_000, pattern=generic)
        yield from judged(
            f"airline x{size}, generic pattern, summary 2,000", needs, 90, compare=False
        )


def pi(data: Path) -> Iterator[Goal]:
    """Judge the long coding session."""
    found = coding_sessions(data)
    for name, config, least in (
        ("tokens 4k/1k", _in_tokens(4_000, 1_000), None),
        ("tokens 8k/8k", _in_tokens(8_000, 8_000), 49),
        ("messages 40/20", _in_messages(40, 20), None),
    ):
        yield from judged(f"pi, {name}", needs_of(found, config), least)


def artefacts(data: Path) -> Iterator[Goal]:
    """Judge what the summary tells of files and commits when parts of the session are over."""
    tape = Tape(coding_sessions(data)[0])
    seen = list(moments(tape, _in_tokens(8_000, 8_000)))
    for part in PARTS_OF_SESSION:
        end = len(tape.messages) * part // 100
        moment = [one for one in seen if one.index <= end][-1]
        trail = trail_of(tape.messages[: moment.cut], text_of_all(moment.front))
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
}


def main(arguments: Sequence[str]) -> int:
    """Print each figure as soon as it is known; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench quality", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of recordings")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS))
    parsed = parser.parse_args(arguments)
    goals: list[Goal] = []
    for name in parsed.only:
        start = time.process_time()
        print(name, flush=True)
        for goal in PARTS[name](parsed.data):
            print(goal, flush=True)
            goals.append(goal)
        print(f"  {time.process_time() - start:.0f} seconds of processor time", flush=True)
    asked = [one for one in goals if one.least is not None]
    missed = [one for one in asked if not one.is_met]
    print(f"{len(asked) - len(missed)} of {len(asked)} goals are met; missed:", *missed, sep="\n")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
