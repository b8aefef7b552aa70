"""A view for people: who speaks, how it begins, how large it is, and the summary in full."""

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import assert_never

from msgspec.structs import replace
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from foldline.apps.cli.terminal import clean, first_line
from foldline.history.messages import PIN_KEY, Message
from foldline.history.parts import (
    BlobPart,
    CompactionPart,
    FilePart,
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from foldline.history.tokens import TokenEstimator, count_message
from foldline.replay.numbers import short_number


_ESTIMATOR = TokenEstimator()
_MOST_MESSAGES = 40
_FIRST = 8
_SHORT_LINE = 140
_COLORS = {"system": "magenta", "user": "green", "assistant": "cyan", "tool": "yellow"}


def show_view(
    view: Sequence[Message], *, summary_lines: int | None = None, most: int = _MOST_MESSAGES
) -> RenderableType:
    """
    Return *view* as something to print: the first and the last of its messages, *most* in all.

    Of a summary *summary_lines* lines are shown, and these shortened; None shows it in full.
    """
    shown = len(view) if len(view) <= most else most - 1
    first = min(_FIRST, shown // 2)
    head, tail = view[:first], view[len(view) - (shown - first) :]
    left = view[first : len(view) - (shown - first)]
    tokens = short_number(sum(count_message(message, _ESTIMATOR) for message in left))
    more = f"  … {len(left):,} more messages, {tokens} tokens …"
    gap = [Text(more, style="dim")] if left else []
    return Group(*_lines(head, summary_lines), *gap, *_lines(tail, summary_lines))


def as_pinned(messages: Iterable[Message], pins: Container[int], start: int) -> list[Message]:
    """Return *messages*, the first at the index *start*, marked as those at *pins* are."""
    marked: list[Message] = []
    for message in messages:
        is_pinned = message.role != "system" and start in pins
        start += message.role != "system"
        marked.append(replace(message, metadata={PIN_KEY: True} if is_pinned else None))
    return marked


def _lines(messages: Sequence[Message], summary_lines: int | None) -> Iterator[RenderableType]:
    for message in messages:
        yield _line(message)
        if message.is_summary:
            yield Padding(Text(_summary(message.text, summary_lines)), (0, 0, 0, 4))


def _line(message: Message) -> RenderableType:
    who = "summary" if message.is_summary else message.role
    style = "bold red" if message.is_summary else _COLORS[message.role]
    said = "" if message.is_summary else _said(message)
    if message.is_pinned:
        said = f"(pinned) {said}"
    row = Table.grid(padding=(0, 1), expand=True)
    row.add_column(width=9, no_wrap=True)
    row.add_column(width=6, no_wrap=True, justify="right")
    row.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    size = short_number(count_message(message, _ESTIMATOR))
    row.add_row(Text(who, style=style), Text(size, style="dim"), Text(said))
    return row


def _summary(text: str, lines: int | None) -> str:
    if lines is None:
        return clean(text)
    shown = text.splitlines()
    begun = [first_line(line, most=_SHORT_LINE) for line in shown[:lines]]
    more = [f"… {len(shown) - lines} more lines …"] if len(shown) > lines else []
    return "\n".join((*begun, *more))


def _said(message: Message) -> str:
    return "  ".join(filter(None, map(_part, message.parts))) or "(nothing)"


def _part(part: Part) -> str:
    match part:
        case TextPart(content=content):
            mark, said = "", content
        case ReasoningPart(content=content):
            mark, said = "(thinks) ", content
        case CompactionPart(content=content):
            mark, said = "(compaction) ", content
        case ToolCallPart(name=name, arguments=arguments):
            mark, said = f"→ {first_line(name)} ", arguments
        case ToolCallResponsePart(response=response):
            mark = "← "
            said = response if isinstance(response, str) else f"({len(response)} parts)"
        case BlobPart(modality=kind) | UriPart(modality=kind) | FilePart(modality=kind):
            mark, said = "", f"({kind})"
        case GenericPart(kind=kind):
            mark, said = "", f"({kind})"
        case _:
            assert_never(part)
    return mark + first_line(said)
