"""What a comparison comes to: the cheapest configuration, or that nothing has to be folded."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.prices import Prices
from foldline.replay.advice import lines_of
from foldline.replay.columns import Row, rows
from foldline.replay.comparison import NO_REDUCTION
from foldline.replay.numbers import shown_dollars
from foldline.replay.record import ReplayReport


__all__ = ["Conclusion", "conclude"]


_NEGLIGIBLE = 1.02
_NO_CONFIGS: Mapping[str, HistoryReductionConfig] = MappingProxyType({})


class Conclusion(Struct, frozen=True, kw_only=True):
    """What to do, in a sentence, and what to paste."""

    text: str

    lines: tuple[str, ...] = ()
    """The configuration as lines of TOML; none if it is the default or nothing is recommended."""


def conclude(
    sessions: Sequence[Sequence[ReplayReport]],
    *,
    configs: Mapping[str, HistoryReductionConfig] = _NO_CONFIGS,
    prices: Prices | None = None,
) -> Conclusion:
    """
    Return what the reports of *sessions* come to.

    Args:
        sessions: The reports of each session, one per configuration.
        configs: The configurations by name, for what to paste.
        prices: Prices that no list knows, which belong to what is pasted.
    """
    table = rows(sessions)
    them, need = ("this session", "needs") if len(sessions) == 1 else ("these sessions", "need")
    played = [row for row in table if not row.is_baseline]
    if played and not any(row.totals.folds or row.totals.failed_folds for row in played):
        text = f"{them} {need} no folding: everything fits under every configuration."
        return Conclusion(text=_begun(text))
    bills = {row.name: row.totals.cost for row in table if row.totals.cost is not None}
    never = _never(table)
    ours = {row.name: bills[row.name] for row in played if row.name in bills}
    if never is None or not ours:
        text = f"Which configuration is the cheapest for {them} cannot be said without prices."
        return Conclusion(text=text)
    kept = {name: cost for name, cost in ours.items() if not _drops(configs.get(name))} or ours
    name = min(kept, key=kept.__getitem__)
    if never <= ours[name] * _NEGLIGIBLE:
        text = f"{them} {need} no folding: sending all of it is the cheapest within 2 %."
        return Conclusion(text=_begun(text))
    saved = (1 - ours[name] / never) * 100
    what = next(row.description for row in table if row.name == name)
    text = (
        f"Cheapest of the {len(ours)} compared for {them}: {name} ({what}), "
        f"{shown_dollars(ours[name])} instead of {shown_dollars(never)} for sending all of it "
        f"({saved:.0f} % less)"
    )
    if min(ours.values()) < ours[name]:
        text += ", not counting what drops messages without a summary"
    if name not in configs:
        return Conclusion(text=f"{text}.")
    lines = lines_of(configs[name], prices)
    end = ": paste this." if lines else "; it is the default, so there is nothing to paste."
    return Conclusion(text=f"{text}{end} `foldline advise` tries more.", lines=lines)


def _drops(config: HistoryReductionConfig | None) -> bool:
    return config is not None and config.strategy == "message_counting"


def _never(table: Sequence[Row]) -> float | None:
    """Return the bill for sending everything; None without prices."""
    return next((row.totals.cost for row in table if row.name == NO_REDUCTION), None)


def _begun(text: str) -> str:
    return text[0].upper() + text[1:]
