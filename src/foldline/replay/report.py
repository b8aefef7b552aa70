"""Replays as one page of HTML that opens without a network: no script, no file beside it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from string import Template
from types import MappingProxyType

from foldline.replay.columns import Column, Row, describe, rows, shown_columns
from foldline.replay.comparison import NEEDS_NO_FOLDING, needs_no_folding
from foldline.replay.inspection import Inspection
from foldline.replay.inspection_page import inspected, plain_text
from foldline.replay.picture import MOST_CURVES, draw, overlay
from foldline.replay.record import CallRecord, FoldRecord, ReplayReport


__all__ = ["MOST_SESSIONS", "html_page"]


MOST_SESSIONS = 12
"""How many sessions are drawn, the longest ones; the table at the top covers all."""

_MOST_FOLDS = 100
_MOST_VIOLATIONS = 20
_NO_SUMMARY: Mapping[str, Inspection] = MappingProxyType({})
_FOLD_HEADS = (
    "call", "messages folded", "messages read", "tokens read", "view, tokens", "outcome",
)  # fmt: skip


def html_page(
    sessions: Sequence[Sequence[ReplayReport]],
    *,
    title: str = "foldline replay",
    summaries: Sequence[Mapping[str, Inspection]] = (),
) -> str:
    """
    Return a page about *sessions*, each given as its reports, one per configuration.

    Args:
        sessions: The reports.
        title: The title of the page.
        summaries: The last summary of each session by the name of its configuration. With them the
            page holds text of the conversations, without them none.
    """
    shown = summaries or [_NO_SUMMARY] * len(sessions)
    pairs = zip(sessions, shown, strict=True)
    drawn = sorted(pairs, key=lambda pair: -pair[0][0].session.messages)[:MOST_SESSIONS]
    pieces = [
        piece
        for number, (reports, found) in enumerate(drawn)
        for piece in _session(reports, f"s{number}", found)
    ]
    if len(drawn) < len(sessions):
        left_out = len(sessions) - len(drawn)
        note = f"<p>The {MOST_SESSIONS} longest sessions are drawn; {left_out:,} are not.</p>"
        pieces.insert(0, note)
    table = rows(sessions)
    columns = shown_columns(table)
    page = Template((files("foldline.replay") / "page.html").read_text("utf-8"))
    return page.substitute(
        title=plain_text(title),
        summary=_summary(sessions),
        totals=_totals(table, columns),
        meanings="\n".join(
            f"<dt>{plain_text(column.title)}</dt><dd>{plain_text(column.meaning)}</dd>"
            for column in columns
        ),
        sessions="\n".join(pieces),
    )


def _summary(sessions: Sequence[Sequence[ReplayReport]]) -> str:
    played = [reports[0].session for reports in sessions]
    messages = sum(session.messages for session in played)
    tokens = sum(session.tokens for session in played)
    calls = sum(reports[0].totals.calls for reports in sessions)
    what = "1 session" if len(played) == 1 else f"{len(played):,} sessions"
    return f"{what}, {messages:,} messages, {tokens:,} tokens, {calls:,} model calls"


def _totals(table: Iterable[Row], columns: Sequence[Column]) -> str:
    lines = [_head("configuration", *(column.title for column in columns))]
    for row in table:
        kind = ' class="baseline"' if row.is_baseline else ""
        name = f'<th scope="row">{plain_text(row.name)}<small>{plain_text(row.description)}</small></th>'
        lines.append(f"<tr{kind}>{name}{_cells(*(one.show(row.totals) for one in columns))}</tr>")
    return "\n".join((*lines, "</tbody>"))


def _head(*titles: str) -> str:
    heads = "".join(f'<th scope="col">{plain_text(title)}</th>' for title in titles)
    return f"<thead><tr>{heads}</tr></thead><tbody>"


def _cells(*texts: str) -> str:
    return "".join(f"<td>{plain_text(text)}</td>" for text in texts)


def _session(
    reports: Sequence[ReplayReport], id: str, summaries: Mapping[str, Inspection]
) -> Iterator[str]:
    session = reports[0].session
    ceiling = max((call.full_tokens for call in reports[0].calls), default=1)
    heading = " · ".join(part for part in (session.title, session.id) if part) or "session"
    yield f"<section><h2>{plain_text(heading)}</h2>"
    yield (
        f"<p>{plain_text(session.format)}, {session.messages:,} messages, {session.exchanges:,} "
        f"exchanges, {session.tokens:,} tokens</p>"
    )
    if needs_no_folding(reports):
        yield f"<p>{NEEDS_NO_FOLDING}</p>"
    yield '<div class="panels">'
    yield from _together(reports, id, ceiling)
    for place, report in enumerate(reports):
        name, description = plain_text(report.name), plain_text(describe(report))
        yield f"<article><h3>{name}</h3><p>{description}</p>"
        label = f"{name}: history against view"
        yield draw(report, id=f"{id}p{place}", label=label, description=description, top=ceiling)
        yield from _violations(report)
        yield from _folds(report)
        if report.kind == "reducer" and report.name in summaries:
            yield from inspected(summaries[report.name])
        yield "</article>"
    yield "</div></section>"


def _together(reports: Sequence[ReplayReport], id: str, top: int) -> Iterator[str]:
    """Yield the views of all configurations in one picture."""
    drawn = reports[:MOST_CURVES]
    label = "The views of all configurations, in tokens"
    yield f"<article><h3>{label}</h3>"
    yield overlay(drawn, id=f"{id}all", label=label, top=top)
    yield '<ul class="legend">'
    for number, report in enumerate(drawn, start=1):
        yield f'<li><span class="swatch curve-{number}"></span>{plain_text(_billed(report))}</li>'
    yield "</ul></article>"


def _billed(report: ReplayReport) -> str:
    cost = report.totals.cost
    return report.name if cost is None else f"{report.name}: ${cost:,.2f}"


def _violations(report: ReplayReport) -> Iterator[str]:
    found = [(call.number, text) for call in report.calls for text in call.violations]
    if found:
        yield f"<details open><summary>{len(found):,} violations</summary><ul>"
        for number, text in found[:_MOST_VIOLATIONS]:
            yield f"<li>call {number:,}: {plain_text(text)}</li>"
        yield "</ul></details>"


def _folds(report: ReplayReport) -> Iterator[str]:
    folds = [(call, call.fold) for call in report.calls if call.fold is not None]
    if not folds or report.kind != "reducer":
        return
    shown = folds[:_MOST_FOLDS]
    more = f", the first {len(shown)} of them" if len(shown) < len(folds) else ""
    yield f'<details><summary>{len(folds):,} folds{more}</summary><div class="scroll"><table>'
    yield _head(*_FOLD_HEADS)
    for call, fold in shown:
        yield f"<tr>{_cells(*_figures(call, fold))}</tr>"
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
