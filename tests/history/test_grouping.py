"""Blocks of an item in groups: a result of a tool, or what is between results."""

import pytest

from foldline.history.grouping import grouped
from foldline.history.parts import Part, TextPart, ToolCallResponsePart


PARTS: dict[str, tuple[Part, ...]] = {
    "r": (ToolCallResponsePart("1", "seen"),),
    "t": (TextPart("hello"),),
    "-": (),
}


@pytest.mark.parametrize(
    ("blocks", "groups"),
    [
        ("", []),
        ("tt", ["tt"]),
        ("rr", ["r", "r"]),
        ("trt", ["t", "r", "t"]),
        ("rt-", ["r", "t-"]),
        ("r-r-", ["r-", "r-"]),
        ("r-t", ["r-", "t"]),
        ("--t", ["--t"]),
        ("-rt", ["-r", "t"]),
        ("--", []),
    ],
)
def test_groups(blocks: str, groups: list[str]) -> None:
    """A block that says nothing is with the one before it, or the first; alone it is no group."""
    found = grouped((block, iter(PARTS[block])) for block in blocks)

    assert ["".join(block for block, _ in group) for group in found] == groups
    assert all(said == PARTS[block] for group in found for block, said in group)
