"""
What the model calls of a replay cost, in US dollars.

A prompt cache serves what a request begins with as the one before did, if it has not expired by the
times of the recording; without times it is taken as warm. The rest of a request is written to it.
What wrote a summary is paid beside that: either a request of its own, or one more question on the
prefix that the cache has (a ride), whichever is cheaper. Answers are the same under every
configuration; one that the vendor did not report has the estimated size of what was said. What a
vendor reported is charged by its own counts alone: cached reads, cache writes, and the rest as plain
input.
"""

from msgspec import Struct
from msgspec.structs import replace

from foldline.history.messages import Usage
from foldline.reduction.balance import INSTRUCTION_TOKENS
from foldline.reduction.ledger import billed
from foldline.reduction.prices import MILLION, Prices
from foldline.replay.record import CallRecord, ReplayReport


class Terms(Struct, frozen=True, kw_only=True):
    """What is charged for a session."""

    # Those of the model that is asked.
    prices: Prices
    # Those of the model that writes summaries; None if they cost nothing, as the digest does.
    summarizer: Prices | None = None
    # Whether that is the model that is asked, so that its cache serves a summary request too.
    rides: bool = True
    # The tokens of instructions and tools before every view.
    overhead: int = 0

    def request(self, view: int, *, kept: int, is_cold: bool = False) -> float:
        """Return what a call costs without its answer; the cache has *kept* of *view*, cold nothing."""
        cached = 0 if is_cold else self.overhead + kept
        return self.prices.request(self.overhead + view, cached=cached)

    def summary(self, *, read: int, written: int, prior: int, calls: int = 1) -> float:
        """Return what a summary costs, *prior* the tokens of a request that the cache still has."""
        writer = self.summarizer
        if writer is None or not calls:
            return 0.0
        asked = writer.at(read // calls + INSTRUCTION_TOKENS)
        # Nobody reads a separate prompt again, so it is not written to a cache.
        own = (read + calls * INSTRUCTION_TOKENS) * asked.input + written * asked.output
        if self.rides and prior and calls == 1:
            whole = prior + self.overhead
            same = self.prices.at(whole + INSTRUCTION_TOKENS)
            cached = whole if whole >= same.minimum_prefix else 0
            fresh = whole - cached + INSTRUCTION_TOKENS
            ride = cached * same.read + (fresh * same.input + written * same.output) / MILLION
            return min(own / MILLION, ride)
        return own / MILLION

    def answer(self, call: CallRecord) -> float:
        """Return what the answer to *call* costs."""
        return (
            call.answer_tokens * self.prices.at(self.overhead + call.view_tokens).output / MILLION
        )

    def is_cold(self, number: int, idle: float | None) -> bool:
        """Whether nothing is in the cache at call *number*, made *idle* seconds after an answer."""
        return number == 1 or (idle is not None and idle > self.prices.lifetime)


def priced(report: ReplayReport, terms: Terms) -> ReplayReport:
    """Return *report* with what its calls cost."""
    charge = _reported if report.kind == "recorded" else _priced
    calls = tuple(charge(call, terms) for call in report.calls)
    cost = sum(call.cost or 0.0 for call in calls)
    return replace(report, calls=calls, totals=replace(report.totals, cost=cost))


def _reported(call: CallRecord, terms: Terms) -> CallRecord:
    usage = Usage(
        input_tokens=call.view_tokens,
        output_tokens=call.answer_tokens,
        cache_read_tokens=call.kept_tokens,
        cache_write_tokens=call.written_tokens,
    )
    return replace(call, cost=billed(usage, terms.prices))


def _priced(call: CallRecord, terms: Terms) -> CallRecord:
    is_cold = terms.is_cold(call.number, call.idle)
    cost = terms.request(call.view_tokens, kept=call.kept_tokens, is_cold=is_cold)
    cost += terms.answer(call)
    fold = call.fold
    if fold is not None:
        spent = terms.summary(
            read=fold.tokens_read,
            written=fold.tokens_written,
            prior=0 if is_cold else call.prior_tokens,
            calls=fold.summarizer_calls,
        )
        fold, cost = replace(fold, cost=spent), cost + spent
    return replace(call, cost=cost, fold=fold)
