"""A module whose annotations are texts until somebody reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from foldline.agent.tools.signature import ToolContext


class Line(TypedDict):
    """One line of an order."""

    item: str
    count: int


@dataclass(frozen=True)
class Order:
    """What is ordered."""

    lines: list[Line]
    note: str | None = None


def place(order: Order, call: ToolContext, *, urgent: bool = False) -> str:
    """Place an order."""
    return f"{call.call_id}: {order.lines[0]['item']} {order.note} {urgent}"
