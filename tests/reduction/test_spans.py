"""The spans of a history that a view shows something else for."""

from foldline.reduction.spans import SummaryLayer, spans_of


def test_spans_lie_side_by_side() -> None:
    """Dropped messages, layers and shortened messages after the cut are spans of their own."""
    layers = (
        SummaryLayer(summary="a", start=2, end=4, message_hash=""),
        SummaryLayer(summary="b", start=4, end=6, message_hash=""),
    )
    found = spans_of(8, summary="a\n\nb", layers=layers, shortened=(1, 9))

    assert [(one.start, one.end, one.kind) for one in found] == [
        (0, 2, "dropped"),
        (2, 4, "summary"),
        (4, 6, "summary"),
        (6, 8, "dropped"),
        (9, 10, "shortened"),
    ]
    assert [one.kind for one in spans_of(3, summary="", layers=(), shortened=())] == ["dropped"]
    assert spans_of(0, summary="", layers=(), shortened=()) == ()
