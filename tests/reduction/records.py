"""Records of reductions, made by hand."""

from datetime import UTC, datetime

from msgspec import structs

from foldline.history.history import History
from foldline.reduction.state import HistoryReductionState


__all__ = ["START", "record"]

START = datetime(2026, 11, 1, 12, tzinfo=UTC)
"""When every record is made."""


def record(
    history: History, cut: int, *, length: int, summary: str = "what happened", **fields: object
) -> HistoryReductionState:
    """Return a reduction up to *cut* that was made when there were *length* messages."""
    made = HistoryReductionState.create(
        history,
        summary,
        cut,
        target_count=2,
        reduction_threshold=0,
        message_count_at_reduction=length,
        created_at=START,
    )
    return structs.replace(made, history_length=length, **fields)
