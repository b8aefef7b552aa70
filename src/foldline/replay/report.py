"""Replays as one page of HTML that opens without a network: no script, no file beside it."""

from collections.abc import Iterator, Sequence

from foldline.replay.columns import COLUMNS, Row, describe, rows
from foldline.replay.markup import markup
from foldline.replay.picture import draw
from foldline.replay.record import CallRecord, FoldRecord, ReplayReport, SessionRecord
from foldline.replay.stylesheet import STYLESHEET


__all__ = ["MOST_SESSIONS", "html_page"]


MOST_SESSIONS = 12
"""How many sessions are drawn, the longest ones; the table at the top covers all."""

_MOST_FOLDS = 100
_MOST_VIOLATIONS = 20

_LEGEND = (
    ("history", "full history, in tokens"),
    ("view", "view that the model is sent"),
    ("fold", "fold: a new reduction"),
    ("hit", "cached reduction"),
    ("full", "full history sent"),
    ("failed", "fold in vain or not possible"),
    ("invalid", "invalid request"),
)


def html_page(sessions: Sequence[Sequence[ReplayReport]], *, title: str = "foldline replay") -> str:
    """Return a page about *sessions*, each of which comes as its reports, one per configuration."""
    drawn = sorted(sessions, key=lambda reports: -reports[0].session.messages)[:MOST_SESSIONS]
    body = "\n".join(
        (
            f"<header><h1>{markup(title)}</h1><p>{markup(_summary(sessions))}</p></header>",
            "<main>",
            *_totals(rows(sessions)),
            *_legend(),
            *_left_out(len(sessions) - len(drawn)),
            *(
                element
                for number, reports in enumerate(drawn, start=1)
                for element in _session(reports, number)
            ),
            "</main>",
        )
    )
    return _document(title, body)


def _document(title: str, body: str) -> str:
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{markup(title)}</title>
<style>
{STYLESHEET}</style>
</head>
<body>
{body}
</body>
</html>
"""


def _summary(sessions: Sequence[Sequence[ReplayReport]]) -> str:
    played = [reports[0].session for reports in sessions]
    messages = sum(session.messages for session in played)
    tokens = sum(session.tokens for session in played)
    calls = sum(reports[0].totals.calls for reports in sessions)
    what = "1 session" if len(played) == 1 else f"{len(played):,} sessions"
    return f"{what}, {messages:,} messages, {tokens:,} tokens, {calls:,} model calls"


def _totals(table: Sequence[Row]) -> Iterator[str]:
    yield '<section class="scroll"><table class="totals">'
    yield "<caption>What each configuration comes to</caption>"
    heads = "".join(
        f'<th scope="col" title="{markup(column.meaning)}">{markup(column.title)}</th>'
        for column in COLUMNS
    )
    yield f'<thead><tr><th scope="col">configuration</th>{heads}</tr></thead><tbody>'
    for row in table:
        kind = ' class="baseline"' if row.is_baseline else ""
        cells = "".join(f"<td>{markup(column.show(row.totals))}</td>" for column in COLUMNS)
        yield (
            f'<tr{kind}><th scope="row">{markup(row.name)}<small>{markup(row.description)}</small>'
            f"</th>{cells}</tr>"
        )
    yield "</tbody></table></section>"
    yield "<details><summary>What the columns mean</summary><dl>"
    for column in COLUMNS:
        yield f"<dt>{markup(column.title)}</dt><dd>{markup(column.meaning)}</dd>"
    yield "</dl></details>"


def _legend() -> Iterator[str]:
    yield '<ul class="legend" aria-label="Colours of the pictures">'
    for mark, meaning in _LEGEND:
        yield f'<li><span class="swatch {mark}"></span>{markup(meaning)}</li>'
    yield "</ul>"


def _left_out(count: int) -> Iterator[str]:
    if count > 0:
        yield f"<p>The {MOST_SESSIONS} longest sessions are drawn; {count:,} are not.</p>"


def _session(reports: Sequence[ReplayReport], number: int) -> Iterator[str]:
    session = reports[0].session
    ceiling = max((call.full_tokens for call in reports[0].calls), default=1)
    yield f"<section><h2>{markup(_heading(session))}</h2>"
    yield (
        f"<p>{markup(session.format)}, {session.messages:,} messages, {session.exchanges:,} "
        f"exchanges, {session.tokens:,} tokens</p>"
    )
    yield '<div class="panels">'
    for place, report in enumerate(reports, start=1):
        yield f"<article><h3>{markup(report.name)}</h3><p>{markup(describe(report))}</p>"
        yield draw(report, id=f"s{number}p{place}", ceiling=ceiling)
        yield from _violations(report)
        yield from _folds(report)
        yield "</article>"
    yield "</div></section>"


def _heading(session: SessionRecord) -> str:
    return " · ".join(part for part in (session.title, session.id) if part) or "session"


def _violations(report: ReplayReport) -> Iterator[str]:
    found = [(call.number, text) for call in report.calls for text in call.violations]
    if not found:
        return
    yield f"<details open><summary>{len(found):,} violations</summary><ul>"
    for number, text in found[:_MOST_VIOLATIONS]:
        yield f"<li>call {number:,}: {markup(text)}</li>"
    yield "</ul></details>"


def _folds(report: ReplayReport) -> Iterator[str]:
    folds = [(call, call.fold) for call in report.calls if call.fold is not None]
    if not folds or report.kind != "reducer":
        return
    shown = folds[:_MOST_FOLDS]
    more = f", the first {len(shown)} of them" if len(shown) < len(folds) else ""
    yield f'<details><summary>{len(folds):,} folds{more}</summary><div class="scroll"><table>'
    heads = ("call", "messages folded", "messages read", "tokens read", "view, tokens", "outcome")
    cells = "".join(f'<th scope="col">{head}</th>' for head in heads)
    yield f"<thead><tr>{cells}</tr></thead><tbody>"
    for call, fold in shown:
        yield _fold(call, fold)
    yield "</tbody></table></div></details>"


def _fold(call: CallRecord, fold: FoldRecord) -> str:
    read = ", ".join(f"{start:,}–{stop - 1:,}" for start, stop in fold.messages_read)
    cells = (
        f"{call.number:,}",
        f"{fold.cut:,}",
        read or "none",
        f"{fold.tokens_read:,}",
        f"{call.view_tokens:,}",
        call.reason if call.status == "failed" else (fold.summarizer or "dropped"),
    )
    return "<tr>" + "".join(f"<td>{markup(cell)}</td>" for cell in cells) + "</tr>"
