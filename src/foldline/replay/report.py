"""
Replays as one page of HTML that opens without a network: no file beside it, and one script of its own.

The script moves the slider over the model calls; without it everything is there to read. The page
names the digest of that script as the only one that may run.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from importlib.resources import files
from itertools import repeat
from string import Template

from foldline.replay.columns import Column, Row, describe, rows, shown_columns
from foldline.replay.conclusion import Conclusion, conclude
from foldline.replay.numbers import counted, plain_text, shown_dollars
from foldline.replay.picture import MOST_CURVES, marks_of, overlay, stepper
from foldline.replay.record import CallRecord, FoldRecord, ReplayReport
from foldline.replay.telling import MOST_TEXT, Spoken, telling


MOST_SESSIONS = 12
"""How many sessions are drawn, the longest ones; the table at the top covers all."""

_MOST_FOLDS = 100
_MOST_VIOLATIONS = 20
_FOLD_HEADS = (
    "call", "messages folded", "messages read", "tokens read", "view, tokens", "outcome",
)  # fmt: skip


def html_page(
    sessions: Sequence[Sequence[ReplayReport]],
    *,
    title: str = "foldline replay",
    conclusion: Conclusion | None = None,
    bill: str = "",
    spoken: Sequence[Spoken] = (),
) -> str:
    """
    Return a page about *sessions*, each as its reports.

    Args:
        conclusion: What the sessions come to.
        bill: What the bills rest on, in a sentence.
        spoken: With these it holds what was said.
    """
    table = rows(sessions)
    columns = shown_columns(table)
    found = conclusion or conclude(sessions)
    pasted = "\n".join(map(plain_text, found.lines))
    here = files("foldline.replay")
    page, script = ((here / name).read_text("utf-8") for name in ("page.html", "page.js"))
    return Template(page).substitute(
        title=plain_text(title),
        summary=overview(sessions),
        conclusion=f"<p>{plain_text(found.text)}</p>\n{f'<pre>{pasted}</pre>' * bool(pasted)}",
        bill=f"<p>{plain_text(bill)}</p>" * bool(bill),
        totals=_totals(table, columns),
        meanings="\n".join(
            f"<dt>{plain_text(column.title)}</dt><dd>{plain_text(column.meaning)}</dd>"
            for column in columns
        ),
        sessions="\n".join(_drawn(sessions, spoken)),
        script=script,
        digest=b64encode(sha256(script.encode()).digest()).decode(),
    )


def _drawn(sessions: Sequence[Sequence[ReplayReport]], spoken: Sequence[Spoken]) -> Iterator[str]:
    """Yield the longest of *sessions*."""
    pairs: Iterable[tuple[Sequence[ReplayReport], Spoken | None]] = zip(
        sessions, spoken or repeat(None, len(sessions)), strict=True
    )
    drawn = sorted(pairs, key=lambda pair: -pair[0][0].session.messages)[:MOST_SESSIONS]
    if len(drawn) < len(sessions):
        left_out = len(sessions) - len(drawn)
        yield f"<p>The {MOST_SESSIONS} longest sessions are drawn; {left_out:,} are not.</p>"
    is_only, room = len(sessions) == 1, MOST_TEXT // max(1, len(drawn))
    for number, (reports, text) in enumerate(drawn):
        yield from _session(reports, f"s{number}", text, room, is_only=is_only)


def overview(sessions: Sequence[Sequence[ReplayReport]]) -> str:
    """Return how much was played, in numbers."""
    played = [reports[0].session for reports in sessions]
    messages = sum(session.messages for session in played)
    tokens = sum(session.tokens for session in played)
    calls = sum(reports[0].totals.calls for reports in sessions)
    what = counted(len(played), "session")
    return f"{what}, {messages:,} messages, {tokens:,} tokens, {counted(calls, 'model call')}"


def _totals(table: Iterable[Row], columns: Sequence[Column]) -> str:
    lines = [_head("configuration", *(column.title for column in columns))]
    for row in table:
        kind = ' class="baseline"' if row.is_baseline else ""
        name = f'<th scope="row">{plain_text(row.name)}<small>{plain_text(row.description)}</small></th>'
        cells = "".join(
            f'<td data-label="{plain_text(one.title)}">{plain_text(one.show(row.totals))}</td>'
            for one in columns
        )
        lines.append(f"<tr{kind}>{name}{cells}</tr>")
    return "\n".join((*lines, "</tbody>"))


def _head(*titles: str) -> str:
    heads = "".join(f'<th scope="col">{plain_text(title)}</th>' for title in titles)
    return f"<thead><tr>{heads}</tr></thead><tbody>"


def _session(
    reports: Sequence[ReplayReport], id: str, text: Spoken | None, room: int, *, is_only: bool
) -> Iterator[str]:
    session = reports[0].session
    heading = " · ".join(part for part in (session.title, session.id) if part) or "session"
    yield f'<section class="session"><h2>{plain_text(heading)}</h2>'
    yield (
        f"<p>{plain_text(session.format)}, {counted(session.messages, 'message')}, "
        f"{counted(session.exchanges, 'exchange')}, {counted(session.tokens, 'token')}</p>"
    )
    if not is_only:
        yield f"<p>{plain_text(conclude([reports]).text)}</p>"
    yield from _together(reports, id)
    yield from stepper(reports)
    if text is not None:
        yield from telling(text, room=room)
    for report in reports:
        yield from _folds(report)
    yield "</section>"


def _together(reports: Sequence[ReplayReport], id: str) -> Iterator[str]:
    """Yield the views of all configurations in one picture, and what each of them did."""
    top = max((call.full_tokens for call in reports[0].calls), default=1)
    label = "What the model is sent at each call, in tokens"
    yield f'<article><h3>{label}</h3><div class="picture">'
    yield overlay(reports, id=f"{id}all", label=label, top=top)
    yield '<ul class="curves">'
    for number, report in enumerate(reports, start=1):
        swatch = f'<span class="swatch curve-{number}"></span>' if number <= MOST_CURVES else ""
        yield f"<li>{swatch}{plain_text(_billed(report))}<small>{plain_text(describe(report))}</small>"
        if report.kind == "reducer":
            name = f"{plain_text(report.name)}: what was done at each call"
            yield marks_of(report, id=f"{id}m{number}", label=name)
        yield "</li>"
    yield "</ul></div></article>"


def _billed(report: ReplayReport) -> str:
    cost = report.totals.cost
    return report.name if cost is None else f"{report.name}: {shown_dollars(cost)}"


def _folds(report: ReplayReport) -> Iterator[str]:
    found = [(call.number, text) for call in report.calls for text in call.violations]
    if found:
        yield f"<details open><summary>{plain_text(report.name)}: {counted(len(found), 'violation')}</summary><ul>"
        for number, text in found[:_MOST_VIOLATIONS]:
            yield f"<li>call {number:,}: {plain_text(text)}</li>"
        yield "</ul></details>"
    folds = [(call, call.fold) for call in report.calls if call.fold is not None]
    if not folds or report.kind != "reducer":
        return
    shown = folds[:_MOST_FOLDS]
    more = f", the first {len(shown)} of them" if len(shown) < len(folds) else ""
    title = f"{plain_text(report.name)}: {counted(len(folds), 'fold')}{more}"
    yield f'<details><summary>{title}</summary><div class="scroll"><table>'
    yield _head(*_FOLD_HEADS)
    for call, fold in shown:
        cells = "".join(f"<td>{plain_text(text)}</td>" for text in _figures(call, fold))
        yield f"<tr>{cells}</tr>"
    yield "</tbody></table></div></details>"


def _figures(call: CallRecord, fold: FoldRecord) -> tuple[str, ...]:
    read = ", ".join(f"{start:,}–{stop - 1:,}" for start, stop in fold.messages_read)
    return (
        f"{call.number:,}",
        f"{fold.cut:,}",
        read or "none",
        f"{fold.tokens_read:,}",
        f"{call.view_tokens:,}",
        call.reason if call.status == "failed" else (fold.summarizer or "dropped"),
    )
