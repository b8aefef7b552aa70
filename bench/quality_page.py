"""The page of the figures of `python -m bench quality`."""

from collections.abc import Iterator, Mapping, Sequence

from bench.goals import Goal
from foldline.replay.quality.figures import Share
from foldline.replay.quality.report import FEW
from foldline.replay.quality.ways import DIGEST, WAYS


FRONT = """\
<!-- Made by `python -m bench quality --data ../shared/data --write docs/quality.md`. -->

# What summaries keep

Recorded conversations are played call by call; before each call foldline prepares the view, and the
offline digest writes the summaries. No model is asked and nothing is fetched. `foldline quality FILE…`
measures your own recordings in the same way, and so does the library:

<!--- invisible-code-block: python
import gzip
from importlib.resources import files
from pathlib import Path

packed = files("foldline.apps.cli").joinpath("data/session.jsonl.gz").read_bytes()
_ = Path("session.jsonl").write_bytes(gzip.decompress(packed))
-->
```python
from pathlib import Path
from foldline import HistoryReductionConfig
from foldline.logs import read_sessions
from foldline.replay.quality import quality_of

sessions = read_sessions(Path("session.jsonl").read_bytes())
report = quality_of(sessions, HistoryReductionConfig(ceiling=8_000))
old = report.cell("old values")
print(f"{old.n} old values, of which a view has {old.shares['foldline'].value:.0%}")
better = ", ".join(old.losing()) or "none"
print("better ways:", better, "- edited files:", report.kept["edited marked"].value)
```

Every figure is an **upper bound**: what stands in a view need not be used, and no model was asked
whether it would have been. A value is *needed* if it is an identifier in the arguments of a call and
stands in an earlier message; it is *old* if its last mention is folded away. All ways have the tokens
of foldline's view of the same call:

- *ledger*: the same newest messages, then every token with a digit, `@`, `_`, `/` or `#`, the newest first
- *random*, *first*: the same newest messages, then lines of the folded ones, by chance or from the front
- *mask*: more messages, tool results older than the newest six cut to 25 tokens
- *recency*: more of the newest text and nothing else
- *none*: the same newest messages alone; *chance*: with the summary of another conversation

*x3* and *x6* interleave conversations in blocks of four messages: a stress, not what happens. A figure
with `*` is above foldline's; cells of fewer than 40 values are in brackets, since they say little.
Intervals are those of 95 of 100 bootstrap samples of the calls, with a fixed seed. Who tuned the digest
saw these recordings.
"""

TITLES = {
    "airline": "Conversations of an airline's agent",
    "pi": "A long coding session",
    "artefacts": "Files and commits",
    "survival": "After further folds",
    "prose": "Prose: meetings",
    "shared": "Nothing lost, nothing made up",
}
NOTES = {
    "airline": "50 conversations of τ-bench with tool calls. *x3* folds above 4,000 tokens down to "
    "2,000, *x6* above 16 messages down to 8. Where values are of the ledger's own generic pattern, the "
    "ledger is an upper bound.",
    "pi": "990 messages of one session, 454 tool calls, under three settings.",
    "artefacts": "What the summary of that session tells when a part of it is over, folded above "
    "16,000 tokens down to 8,000. A file is marked if the record lists it as created or edited, or as "
    "deleted since; a commit is named by its hash or its subject.",
    "survival": "The identifiers of one fold, in the summary alone, after further folds of one or three "
    "conversations each. The model is a stand-in that writes no identifier: what is left is kept by code. "
    "One conversation a fold is judged: there a plain ledger keeps what it does in the study of the goal "
    "(100, 100 and 81 % after 0, 3 and 9 further folds); three a fold are a stress.",
    "prose": "Content words of human answers about 14 meetings of QMSum, in percent. One speaker is "
    "the user, as an importer would have it.",
    "shared": "All recordings, under two settings.",
}
_HEAD = ("", "n", DIGEST, "95 %", *WAYS[1:])


def page(found: Mapping[str, Sequence[Goal]]) -> str:
    """Return the page of the goals *found*, by part."""
    asked = [one for goals in found.values() for one in goals if one.is_asked]
    missed = [one for one in asked if not one.is_met]
    lines = [FRONT, f"{len(asked) - len(missed)} of {len(asked)} goals are met.", ""]
    if missed:
        lines += ["Missed:", "", *(f"- {_line(one)}" for one in missed), ""]
    for part, goals in found.items():
        lines += [f"## {TITLES[part]}", "", NOTES[part], ""]
        lines += [*_compared(goals), *_judged(goals)]
    return "\n".join(lines).rstrip() + "\n"


def _line(goal: Goal) -> str:
    return f"{goal.name}: {goal.figure:,.1f}, {goal.wanted}"


def _compared(goals: Sequence[Goal]) -> Iterator[str]:
    rows = [one for one in goals if one.shares and one.n]
    if not rows:
        return
    yield _row(_HEAD)
    yield _row(["---", *["---:"] * (len(_HEAD) - 1)])
    for one in rows:
        ours = one.shares[DIGEST]
        others = [_percent(one.shares[way], ours) for way in WAYS[1:]]
        cells = [f"{one.n:,}", f"**{_percent(ours, ours)}**", _between(ours), *others]
        is_few = one.n is not None and one.n < FEW
        yield _row([one.name, *(f"({cell})" if is_few else cell for cell in cells)])
    yield ""


def _judged(goals: Sequence[Goal]) -> Iterator[str]:
    rows = [one for one in goals if one.is_asked or not one.shares]
    yield _row(("", "figure", "n", "goal", ""))
    yield _row(("---", "---:", "---:", "---", "---"))
    for one in rows:
        state = "" if not one.is_asked else "met" if one.is_met else "**missed**"
        count = "" if one.n is None else f"{one.n:,}"
        yield _row((one.name, f"{one.figure:,.1f}", count, one.wanted, state))
    yield ""


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _percent(share: Share, ours: Share) -> str:
    return f"{100 * (share.value or 0):.1f}{'*' * (share.kept > ours.kept)}"


def _between(share: Share) -> str:
    low, high = share.interval or (0.0, 0.0)
    return f"{100 * low:.1f}-{100 * high:.1f}"
