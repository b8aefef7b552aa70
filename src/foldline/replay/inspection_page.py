"""A summary beside what it stands for, as a part of a page of HTML."""

from collections.abc import Iterable, Iterator
from html import escape

from foldline.replay.inspection import Inspection


__all__ = ["inspected", "plain_text"]


_MOST_LOST = 100
_LONGEST = 300
_MOST_LINES, _LONGEST_LINE = 300, 2_000


def plain_text(text: str, *, keeps_lines: bool = False) -> str:
    """Return *text*, which may hold anything, so that a page only shows it."""
    kept = "\n\t" if keeps_lines else ""
    return escape("".join(sign if sign.isprintable() or sign in kept else " " for sign in text))


def inspected(found: Inspection) -> Iterator[str]:
    """Yield the lines of a summary beside their messages, and what it lost."""
    yield '<div class="scroll"><table><thead><tr><th scope="col">line</th>'
    yield '<th scope="col">messages</th></tr></thead><tbody>'
    for line in found.lines[:_MOST_LINES]:
        where = ", ".join(f"{number:,}" for number in line.messages)
        mark = " =" if line.is_verbatim else ""
        yield f"<tr><td>{plain_text(line.text[:_LONGEST_LINE])}</td><td>{where}{mark}</td></tr>"
    yield "</tbody></table></div>"
    if len(found.lines) > _MOST_LINES:
        yield f"<p>and {len(found.lines) - _MOST_LINES:,} more lines</p>"
    yield "<details><summary>What was lost</summary>"
    lost = [f"{one.text} (message {one.message:,})" for one in found.identifiers]
    yield from _list(f"{len(lost):,} of {found.known:,} identifiers are lost", lost)
    for name, told in (("user messages", found.requests), ("rules", found.rules)):
        gone = [f"message {one.message:,}: {one.text}" for one in told if not one.is_kept]
        yield from _list(f"{len(gone):,} of {len(told):,} {name} are not there word for word", gone)
    yield "</details>"


def _list(title: str, items: Iterable[str]) -> Iterator[str]:
    items = list(items)
    yield f"<p>{title}{':' if items else ''}</p><ul>"
    for text in items[:_MOST_LOST]:
        yield f"<li>{plain_text(text[:_LONGEST])}{'…' if len(text) > _LONGEST else ''}</li>"
    if len(items) > _MOST_LOST:
        yield f"<li>and {len(items) - _MOST_LOST:,} more</li>"
    yield "</ul>"
