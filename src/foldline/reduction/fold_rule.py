"""When a fold is due, as far as counts say that a store has without reading a message."""

from msgspec import Struct

from foldline.history.units import CountingUnit
from foldline.reduction.budget import Budget
from foldline.reduction.config import HistoryReductionConfig


class FoldRule(Struct, frozen=True, kw_only=True, gc=False):
    """When a fold of a thread is due, as far as its counts say."""

    unit: CountingUnit = "tokens"
    """What `most` counts."""

    most: int | None = None
    """The most after the cut; one more makes a fold due. None for no limit."""

    view: int | None = None
    """The most estimated tokens of a view with its system messages; None for no limit."""


def rule_of(config: HistoryReductionConfig, budget: Budget, *, by_price: bool = False) -> FoldRule:
    """
    Return the rule of *config* for requests of *budget*.

    Where it goes *by_price*, a fold is due as soon as it could drop something: what reads the
    thread finds out whether it pays.
    """
    if not config.enabled:
        return FoldRule()
    limits = config.limits
    if by_price and limits is None:
        return FoldRule(unit="tokens", most=budget.keep, view=budget.full)
    most = None
    if limits is not None and (by_price or config.trigger != "balance"):
        most = limits.target if by_price else limits.ceiling
    return FoldRule(unit=config.unit, most=most, view=budget.full)
