"""
Which configuration is the cheapest for the sessions of somebody.

Every session is played under the same fixed configurations, and the one whose bills are the least in
sum is recommended. They are tuned to no session. What is as cheap within 3 % is decided by
its place: the defaults come first. What outgrows the window is not recommended, nor what leaves out
messages without a summary: it saves what summaries cost, and the model knows nothing of them.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import asdict, replace

from foldline.reduction.budget import DEFAULT_WINDOW
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.prices import Prices
from foldline.replay.bill import Terms, priced
from foldline.replay.comparison import no_reduction
from foldline.replay.player import play
from foldline.replay.record import SessionRecord, Totals
from foldline.replay.tape import Tape


_NEGLIGIBLE, _NOTABLE = 1.03, 0.01
_BALANCE = HistoryReductionConfig(trigger="balance")


def _counted(target: int, threshold: int, **fields: object) -> HistoryReductionConfig:
    return HistoryReductionConfig(
        counting_unit="messages",
        target_count=target,
        summarization_threshold=threshold,
        **fields,  # type: ignore[arg-type]
    )


CANDIDATES: Mapping[str, HistoryReductionConfig] = MappingProxyType(
    {
        "default": _BALANCE,
        "ceiling alone": HistoryReductionConfig(trigger="count"),
        "balance, 4,000 tokens": replace(_BALANCE, target_token_budget=4_000),
        "balance, 8,000 tokens": replace(_BALANCE, target_token_budget=8_000),
        "balance, 24,000 tokens": replace(_BALANCE, target_token_budget=24_000),
        "balance, 10 messages": replace(_BALANCE, counting_unit="messages", target_count=10),
        "balance, 20 messages": replace(_BALANCE, counting_unit="messages", target_count=20),
        "balance, 40 messages": replace(_BALANCE, counting_unit="messages", target_count=40),
        # Where users come back after the cache has expired, all that stays is paid in full.
        "balance, 20 messages, no quotes": replace(
            _BALANCE, counting_unit="messages", target_count=20, quote_user_messages=0
        ),
        "balance, loss $0.02": replace(_BALANCE, loss_cost=0.02),
        "balance, loss $0.10": replace(_BALANCE, loss_cost=0.10),
        "balance, clearing": replace(_BALANCE, strategy="clearing", clear_tool_results=True),
        "balance, layers": replace(_BALANCE, use_single_summary=False),
        "20 + 5 messages": _counted(20, 5),
        "20 + 30 messages": _counted(20, 30),
        "40 + 20 messages": _counted(40, 20),
        "20 + 5 exchanges": HistoryReductionConfig(target_count=20, summarization_threshold=5),
        "8,000 + 8,000 tokens": HistoryReductionConfig(
            target_token_budget=8_000, token_budget_threshold=8_000
        ),
        "never": HistoryReductionConfig(enabled=False),
        "balance, dropping": replace(
            _BALANCE, strategy="message_counting", quote_user_messages=0, clear_tool_results=False
        ),
    }
)
"""What is compared, by name; each is a configuration that can be pasted."""


class SessionBill(Struct, frozen=True, kw_only=True):
    """What one session costs under every candidate, in US dollars."""

    session: SessionRecord
    calls: int
    bills: Mapping[str, float]
    # How many calls of a candidate do not fit the window; what has none is left out.
    too_large: Mapping[str, int]
    # The candidates that left out messages without a summary.
    drops: tuple[str, ...] = ()

    @property
    def best(self) -> str:
        """The cheapest candidate of this session that can be sent and drops nothing; the first of several."""
        return min(self.bills, key=self._rank)

    def _rank(self, name: str) -> tuple[bool, bool, float]:
        return name in self.too_large, name in self.drops, self.bills[name]

    def loss(self, name: str) -> float:
        """Return by how much *name* is dearer here than the cheapest, as a share of that."""
        least = self.bills[self.best]
        return self.bills[name] / least - 1 if least else 0.0


class Advice(Struct, frozen=True, kw_only=True):
    """What is recommended, the candidate whose bills are the least in sum, and what every one costs."""

    recommended: str
    # As cheap as *recommended* within 3 %.
    cheapest: str
    # What would be cheaper, but leaves out messages without a summary; None if nothing is.
    dropping: str | None = None
    sums: Mapping[str, float]
    sessions: tuple[SessionBill, ...]
    window: int = DEFAULT_WINDOW

    def too_large(self, name: str) -> int:
        """Return how many calls of *name* do not fit the window: what it costs is only what they would."""
        return sum(one.too_large.get(name, 0) for one in self.sessions)

    @property
    def losing(self) -> tuple[SessionBill, ...]:
        """The sessions on which another candidate saves at least 1 %, the worst first."""
        lost = [one for one in self.sessions if one.loss(self.recommended) > _NOTABLE]
        return tuple(sorted(lost, key=lambda one: -one.loss(self.recommended)))


def advice_on(
    tapes: Sequence[Tape],
    terms: Terms,
    *,
    candidates: Mapping[str, HistoryReductionConfig] = CANDIDATES,
    window: int = DEFAULT_WINDOW,
    on_call: Callable[[], None] | None = None,
) -> Advice:
    """Play all *tapes* under all *candidates*, and recommend one for all of them."""
    sessions = tuple(_session_bill(tape, terms, candidates, window, on_call) for tape in tapes)
    sums = {name: sum(one.bills[name] for one in sessions) for name in candidates}
    refused = {name for one in sessions for name in one.too_large}
    sendable = [name for name in candidates if name not in refused] or list(candidates)
    drops = {name for one in sessions for name in one.drops}
    whole = [name for name in sendable if name not in drops] or sendable
    least, cheapest = (min(names, key=sums.__getitem__) for names in (sendable, whole))
    most = sums[cheapest] * _NEGLIGIBLE
    recommended = next(name for name in whole if sums[name] <= most)
    return Advice(
        recommended=recommended,
        cheapest=cheapest,
        dropping=least if least in drops and sums[least] < sums[recommended] else None,
        sums=sums,
        sessions=sessions,
        window=window,
    )


def _session_bill(
    tape: Tape,
    terms: Terms,
    candidates: Mapping[str, HistoryReductionConfig],
    window: int,
    on_call: Callable[[], None] | None,
) -> SessionBill:
    found: dict[str, Totals] = {}
    drops: list[str] = []
    for name, given in candidates.items():
        if given.enabled:
            config = replace(given, prices=terms.prices, context_window_size=window)
            replay = play(tape, config, name=name, check=False, on_call=on_call)
            report, state = replay.report, replay.state
            if given.strategy != "summarizing" and state and state.summarized_up_to_index:
                drops.append(name)
        else:
            report = no_reduction(tape, window=window)
        found[name] = priced(report, terms).totals
    return SessionBill(
        session=tape.session,
        calls=len(tape.calls),
        bills={name: one.cost or 0.0 for name, one in found.items()},
        too_large={name: one.too_large for name, one in found.items() if one.too_large},
        drops=tuple(drops),
    )


def changes_of(config: HistoryReductionConfig) -> dict[str, object]:
    """Return the fields of *config* that differ from the defaults."""
    usual = asdict(HistoryReductionConfig())
    return {name: value for name, value in asdict(config).items() if value != usual[name]}


def lines_of(config: HistoryReductionConfig, prices: Prices | None) -> tuple[str, ...]:
    """Return what of *config* differs from the defaults as lines of TOML, with *prices* that no list knows."""
    return tuple(_lines(changes_of(replace(config, prices=prices))))


def bills_alone(lines: Sequence[str]) -> str:
    """Return what else to look at before *lines* are pasted."""
    command, where = "foldline quality FILE", ""
    if lines:
        command, where = f"{command} --config CONFIG", ", with these lines in CONFIG,"
    if not any(line.startswith("prices = ") for line in lines):
        command += " --prices MODEL"
    return f"Only bills are compared: `{command}`{where} shows what the views lose."


def _lines(fields: Mapping[str, object]) -> Iterator[str]:
    for name, value in fields.items():
        if isinstance(value, Prices):
            pairs = asdict(value).items()
            given = (
                f"{key} = {json.dumps(one)}" for key, one in pairs if isinstance(one, float | int)
            )
            yield f"{name} = {{ {', '.join(given)} }}"
        # Of a provider a key may be written down, and what is no value has no form in TOML.
        elif isinstance(value, str | bool | float | int):
            yield f"{name} = {json.dumps(value)}"
