"""Replays as a table and as a picture of signs."""

from collections.abc import Sequence
from itertools import pairwise

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from foldline.apps.cli.terminal import clean
from foldline.replay.columns import COLUMNS, Column, Row, short_number
from foldline.replay.record import ReplayReport


__all__ = ["picture", "replay_table"]


_PICTURE_WIDTH = 64
_PICTURE_HEIGHT = 8
_LABEL_WIDTH = 7
_FIGURE_WIDTH = 5
_LEAST_NAME = 12


def replay_table(table: Sequence[Row], *, width: int) -> Group:
    """
    Return *table* with one line per configuration, in *width* signs.

    Where the columns do not fit beside each other, the rest of them follow below. Figures are never
    cut, so on a terminal narrower than one of them lines break.
    """
    names = max((len(clean(row.name)) for row in table), default=0)
    names = min(names, max(_LEAST_NAME, width // 3))
    stretches: list[list[Column]] = [[]]
    left = width - names
    for column in COLUMNS:
        wide = 1 + _width(column, table)
        if wide > left and stretches[-1]:
            stretches.append([])
            left = width - names
        stretches[-1].append(column)
        left -= wide
    return Group(*(_table(table, columns, names) for columns in stretches))


def _width(column: Column, table: Sequence[Row]) -> int:
    figures = (len(column.show(row.totals, short=True)) for row in table)
    return max(_FIGURE_WIDTH, *map(len, column.title.split()), *figures)


def _table(table: Sequence[Row], columns: Sequence[Column], names: int) -> Table:
    shown = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=0)
    shown.add_column("", no_wrap=True, overflow="ellipsis", width=names)
    for column in columns:
        shown.add_column(
            column.title,
            justify="right",
            vertical="bottom",
            overflow="fold",
            min_width=_width(column, table),
            max_width=_width(column, table),
        )
    for row in table:
        cells = [column.show(row.totals, short=True) for column in columns]
        style = "dim" if row.is_baseline else ""
        shown.add_row(Text(clean(row.name)), *cells, style=style)
    return shown


def picture(report: ReplayReport, *, console: Console) -> Text:
    """Return history against view over the calls of *report*, with a mark under each fold."""
    history_sign, view_sign, fold_sign = ".#^" if _is_ascii(console) else "░█▴"
    stretches = _stretches(len(report.calls), min(_PICTURE_WIDTH, console.width - 10))
    full = [max(report.calls[at].full_tokens for at in one) for one in stretches]
    view = [max(report.calls[at].view_tokens for at in one) for one in stretches]
    top = max(full, default=0) or 1
    lines: list[Text] = []
    for row in range(_PICTURE_HEIGHT, 0, -1):
        line = Text(_label(row, top), style="dim")
        floor = (row - 0.5) / _PICTURE_HEIGHT * top
        for one, other in zip(full, view, strict=True):
            if other >= floor or (row == 1 and other):
                line.append(view_sign, style="not dim cyan")
            else:
                line.append(history_sign if one >= floor else " ", style="dim")
        lines.append(line)
    folds = "".join(
        fold_sign if any(report.calls[at].status == "performed" for at in one) else " "
        for one in stretches
    )
    lines.append(Text(" " * (_LABEL_WIDTH + 1)).append(folds, style="yellow"))
    legend = f"{view_sign} view  {history_sign} history  {fold_sign} fold"
    lines.append(Text(" " * (_LABEL_WIDTH + 1) + legend, style="dim"))
    return Text("\n").join(lines)


def _is_ascii(console: Console) -> bool:
    return not console.encoding.lower().startswith("utf")


def _label(row: int, top: int) -> str:
    shown = short_number(top * row / _PICTURE_HEIGHT) if row % 4 == 0 else ""
    return f"{shown:>{_LABEL_WIDTH}} "


def _stretches(count: int, width: int) -> list[range]:
    width = max(1, min(width, count))
    edges = [count * at // width for at in range(width + 1)]
    return [range(start, stop) for start, stop in pairwise(edges)]
