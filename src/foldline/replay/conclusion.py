"""What a comparison comes to: the cheapest configuration, or that nothing has to be folded."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType

from msgspec import Struct

from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.prices import Prices
from foldline.replay.advice import bills_alone, lines_of
from foldline.replay.columns import rows, too_large
from foldline.replay.comparison import NO_REDUCTION, RECORDED
from foldline.replay.numbers import shown_dollars
from foldline.replay.record import ReplayReport, Totals


_NEGLIGIBLE = 1.02
_PRICES = (
    "without prices: add --prices with a model such as openai:gpt-5, or "
    "input=3,output=15,cached_read=0.3"
)
_NO_PRICE = "of a model of your own, whose tokens have no price"
_NO_CONFIGS: Mapping[str, HistoryReductionConfig] = MappingProxyType({})


class Conclusion(Struct, frozen=True, kw_only=True):
    """What to do, in a sentence, and what to paste."""

    text: str
    # The configuration as TOML; none if it is the default or nothing is recommended.
    lines: tuple[str, ...] = ()


def conclude(
    sessions: Sequence[Sequence[ReplayReport]],
    *,
    configs: Mapping[str, HistoryReductionConfig] = _NO_CONFIGS,
    prices: Prices | None = None,
    is_own: bool = False,
) -> Conclusion:
    """Return what *sessions* come to, with *configs* and unlisted *prices* for what to paste."""
    table = rows(sessions)
    them, need = ("this session", "needs") if len(sessions) == 1 else ("these sessions", "need")
    played = [row for row in table if not row.is_baseline]
    drops = {name for name, one in configs.items() if one.strategy == "message_counting"}
    never = next((row.totals for row in table if row.name == NO_REDUCTION), Totals())
    better = _better(never, [row.totals for row in played if row.name not in drops])
    if better is None and played and not any(_folds(row.totals) for row in played):
        text = f"{them} {need} no folding: everything fits under every configuration."
        return Conclusion(text=_begun(text))
    bills = {row.name: row.totals.cost for row in played if row.totals.cost is not None}
    if never.cost is None or not bills:
        return _unbilled(them, is_own=is_own)
    sent = {
        row.name: bills[row.name]
        for row in played
        if row.name in bills and not row.totals.too_large
    }
    kept = {name: cost for name, cost in sent.items() if name not in drops}
    name, cost = min((kept or sent or bills).items(), key=itemgetter(1))
    aside = ""
    if min(sent.values(), default=cost) < cost:
        aside = ", not counting what drops messages without a summary"
    if not never.too_large and never.cost <= cost * _NEGLIGIBLE:
        text = f"{them} {need} no folding: sending all of it is the cheapest within 2 %{aside}."
        if better is not None:
            text = _hindsight(them, never.cost, better, aside)
        return Conclusion(text=_begun(text))
    what = next(row.description for row in table if row.name == name)
    of = f"Cheapest of the {len(bills)} compared for {them}: " if len(bills) > 1 else ""
    which = f"{of}{name} ({what})"
    large = too_large(never)
    if large:
        bill = shown_dollars(never.cost or 0)
        large = f" Sending all of it would cost {bill} if it could be sent: {large}."
    text = f"{_cheapest(which, cost, never, _recorded(sessions))}{aside}.{large}"
    if name not in configs:
        return Conclusion(text=text)
    lines = lines_of(configs[name], prices)
    end = "Paste this" if lines else "It is the default, so there is nothing to paste"
    return Conclusion(
        text=f"{text} {bills_alone(lines)} {end}; `foldline advise` tries more.", lines=lines
    )


def _unbilled(them: str, *, is_own: bool) -> Conclusion:
    """Return what to say of *them* without prices, which a model on a server of one's own has not."""
    why = _NO_PRICE if is_own else _PRICES
    return Conclusion(text=f"Which configuration is the cheapest for {them} cannot be said {why}.")


def _folds(totals: Totals) -> bool:
    return bool(totals.folds or totals.failed_folds or totals.too_large)


def _better(never: Totals, played: Sequence[Totals]) -> float | None:
    """Return the least best bill of *played*; None if it is not 2 % below sending all of it."""
    best = min((one.optimum for one in played if one.optimum is not None), default=None)
    if best is None or never.cost is None or never.cost <= best * _NEGLIGIBLE:
        return None
    return best


def _hindsight(them: str, cost: float, better: float, aside: str) -> str:
    """Return that nothing compared saves 2 % of *cost*, and how much less could be paid."""
    return (
        f"nothing compared is 2 % cheaper for {them} than sending all of it, "
        f"{shown_dollars(cost)}{aside}. Folds at the best times, chosen in hindsight, could cost "
        f"{shown_dollars(better)} ({(1 - better / cost) * 100:.0f} % less): `foldline advise FILE` "
        "tries more."
    )


def _cheapest(which: str, cost: float, never: Totals, recorded: float | None) -> str:
    """Return *which* costs the least, and that the recording was cheaper if it was."""
    text = f"{which}, {shown_dollars(cost)}"
    if recorded is not None and recorded < cost:
        text = f"What was recorded was cheaper than all: {shown_dollars(recorded)}. {text}"
        recorded = None
    return text + _instead(cost, never, recorded)


def _recorded(sessions: Sequence[Sequence[ReplayReport]]) -> float | None:
    """Return the bill of what the vendor reported; None unless it did for every session."""
    found = [one.totals.cost for reports in sessions for one in reports if one.name == RECORDED]
    costs = [cost for cost in found if cost]
    return sum(costs) if len(costs) == len(sessions) else None


def _instead(cost: float, never: Totals, recorded: float | None) -> str:
    """Return how *cost* compares with what could have been sent in its place."""
    other, what = (
        (recorded, "as recorded with instructions and tools")
        if never.too_large
        else (never.cost, "for sending all of it")
    )
    if not other:
        return ""
    less = (1 - cost / other) * 100
    share = f"{abs(less):.0f} % {'less' if less >= 0 else 'more'}"
    return f" instead of {shown_dollars(other)} {what} ({share})"


def _begun(text: str) -> str:
    return text[0].upper() + text[1:]
