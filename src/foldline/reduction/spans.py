"""The spans of a history that a view shows something else for, and the summaries of some of them."""

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct


class SummaryLayer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    One of several summaries, with a span of messages of its own: from *start* up to *end*.

    The hash is the digest of the whole prefix up to *end*. The level says how often its contents
    were merged: 0 for a layer written from messages. A stopgap is written by code for the time until
    the summarizers have read its span; it is the last layer.
    """

    summary: str
    start: int
    end: int
    message_hash: str
    tokens: int = 0
    level: int = 0
    is_stopgap: bool = False


SpanKind: TypeAlias = Literal["summary", "dropped", "shortened"]
"""
What a view shows for a span.

`summary`: a summary. `dropped`: nothing. `shortened`: the message clipped, or cleared to a note.
"""


class Span(Struct, frozen=True, kw_only=True):
    """The messages from *start* up to *end*, which a view does not show as they are."""

    start: int
    end: int
    kind: SpanKind


def spans_of(
    cut: int, *, summary: str, layers: Sequence[SummaryLayer], shortened: Iterable[int]
) -> tuple[Span, ...]:
    """
    Return the spans of a view that is cut at *cut*, oldest first; no two of them overlap.

    Args:
        cut: The number of messages before the view's own.
        summary: The summary, if there is one.
        layers: Its layers, oldest first, if there are any.
        shortened: The indexes of the messages that are shown shortened.
    """
    found: list[Span] = []
    end = 0
    for start, stop in [(one.start, one.end) for one in layers] or [(0, cut)] * bool(summary):
        if start > end:
            found.append(Span(start=end, end=start, kind="dropped"))
        found.append(Span(start=start, end=stop, kind="summary"))
        end = stop
    if end < cut:
        found.append(Span(start=end, end=cut, kind="dropped"))
    found += [Span(start=at, end=at + 1, kind="shortened") for at in shortened if at >= cut]
    return tuple(found)


def join_layers(layers: Sequence[SummaryLayer]) -> str:
    """Return the texts of *layers* as one."""
    return "\n\n".join(layer.summary for layer in layers)
