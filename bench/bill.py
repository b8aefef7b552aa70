"""
What recorded sessions cost under several policies, at several prices of cached reads.

`python -m bench bill --data DIR` plays each session below DIR that has at least 20 model calls. All
keep the newest 20 messages; a summary has 800 tokens or the fewer that it may have, instructions and tools have 3,000 together.
LangChain's middleware runs through its own `before_model`, in the environment of the peers; every
request is priced by `foldline.replay.bill`, ours and theirs alike. A row is the bill of a policy as
a multiple of the least that can be paid in hindsight with the same window.
"""

import argparse
import asyncio
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from statistics import fmean
from typing import Any

from msgspec.structs import replace

from bench.fits import joined, sessions, steps
from bench.goals import Goal
from bench.peers.child import Child, peers
from bench.scenes import MODEL, break_even, chats, decisions, reported, shown
from foldline.agent.reducer import HistoryReducer
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.meter import PrefixMeter
from foldline.providers.model import ChatRequest, ChatResponse
from foldline.providers.price_list import PRICES_OF, prices_of_model
from foldline.providers.summarizer import FIRST_LINE, LAST_LINE, ModelSummarizer
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.prices import Prices
from foldline.replay.bill import Terms
from foldline.replay.optimum import optimal_bill
from foldline.replay.tape import Tape


LEAST_CALLS, FIXED, SUMMARY = 20, 3_000, 800
# What a cleared result of LangChain has, and the sentence that it puts in for a summary.
_NOTE, _FIXED = 10, 20
# The share of the input price that cached reads and writes cost.
CELLS: Mapping[str, tuple[float | None, float | None]] = {
    "0.05": (0.05, 1.25),
    "0.1": (0.1, 1.25),
    "0.25": (0.25, None),
    "0.5": (0.5, None),
    "none": (None, None),
}
KEPT = {"counting_unit": "messages", "target_count": 20}
WHOLE = {"quote_user_messages": 0, "clear_tool_results": False, "largest_message": None}
OURS: Mapping[str, Mapping[str, Any]] = {
    "balance": KEPT | WHOLE | {"trigger": "balance"},
    "balance, all else default": KEPT | {"trigger": "balance"},
    # It keeps more than 20 messages, so its bill may be above the least one or below it.
    "all default": {"ceiling": None, "context_window_size": None},
    "20 + 20 messages": KEPT | WHOLE | {"summarization_threshold": 20},
}
# Its documented example, and other triggers, the best of which nobody knows in advance.
TRIGGERS = (4_000, 8_000, 16_000, 24_000, 32_000, 48_000, 64_000, 100_000, 160_000)
# The names of two of its rows, where its bill is another one than without it, and where it is far off.
DOCUMENTED, BEST = "langchain, documented example", "langchain, best in hindsight"
_SAME, _FAR = 0.001, 1.25
SHORT = 60
_AT_MOST = re.compile(r"Use at most (\d+) tokens").findall
_WORD = re.compile(r"(?<!\S)[a-z]{4,9}(?!\S)").findall
_NO_TIME = datetime(2000, 1, 1, tzinfo=UTC)


def terms(cell: str) -> Terms:
    """Return what is charged in *cell*: an answer costs five times the input."""
    read, written = CELLS[cell]
    prices = Prices(input=1.0, output=5.0, cached_read=read, cache_write=written, minimum_prefix=0)
    return Terms(prices=prices, summarizer=prices, rides=read is not None, overhead=FIXED)


class Writer:
    """A model that writes a summary of 800 tokens, or of as many as it is asked for at most."""

    name = "bench:writer"

    def __init__(self) -> None:
        """Start with the first summary."""
        self._random = random.Random(7)

    async def respond(self, request: ChatRequest) -> ChatResponse:
        """Return it, whatever else was asked."""
        asked = "\n".join(message.text for message in request.messages)
        most = min(SUMMARY, int(_AT_MOST(asked)[-1]))
        # What a summary says is of the conversation.
        known = sorted({*_WORD(asked)}) or ["nothing"]
        words = iter(self._random.choices(known, k=most * 7 // 20))
        text = " ".join(
            f"They spoke about {one}, {next(words, one)} and {next(words, one)}." for one in words
        )
        return ChatResponse(messages=(Message.assistant(f"{FIRST_LINE}\n{text}\n{LAST_LINE}"),))


def ours(tape: Tape, charged: Terms, fields: Mapping[str, Any]) -> tuple[float, int]:
    """Return the bill of a configuration, and how often the prefix broke."""
    whole: dict[str, Any] = {"context_window_size": 1_000_000, "ceiling": 1.0}
    config = HistoryReductionConfig(prices=charged.prices, **whole | dict(fields))
    reducer = HistoryReducer(
        config, summarizer=ModelSummarizer(Writer()), summary_budget=SUMMARY, clock=lambda: _NO_TIME
    ).for_model(Writer.name, None)
    history, state = History(counter=tape.counter), None
    meter = PrefixMeter(tape.size)
    bill, breaks = 0.0, 0
    tools = [{"name": "tools", "description": "word " * FIXED}]
    for number, position in enumerate(tape.calls):
        tape.fill(history, position)
        made = asyncio.run(reducer.reduce(history, state=state, tools=tools))
        state, event, reading = made.state, made.event, meter.read(made.messages)
        breaks += reading.broke
        if event.summarizer_calls and state is not None:
            bill += charged.summary(
                read=event.summarizer_tokens, written=state.summary_tokens, prior=reading.prior
            )
        bill += charged.request(reading.tokens, kept=reading.kept, is_cold=number == 0)
    return bill, breaks


def theirs(tape: Tape, charged: Terms, found: Sequence[Any]) -> float:
    """Return the bill of the requests that the middleware made."""
    # Its summarizer gets a prompt of its own.
    alone = replace(charged, rides=False)
    # Where its trimming leaves nothing it asks no model, and puts in a fixed sentence.
    reads = [read for _, read in found if read]
    summaries = sum(alone.summary(read=read, written=SUMMARY, prior=0) for read in reads)
    return summaries + _sent(tape, charged, [ids for ids, _ in found], other=SUMMARY)[0]


def tools(peer: Child | None) -> Iterator[Goal]:
    """Compare 80 calls of a tool with 8.8 KB each with LangChain's clearing of results."""
    tape = Tape(joined([steps(80)]))
    found = None if peer is None else peer.ask("cleared", _described(tape), list(tape.calls))
    for cell in CELLS:
        charged, is_judged = terms(cell), cell == "0.1"
        bill, breaks = ours(tape, charged, {"ceiling": None, "context_window_size": 128_000})
        name = f"80 calls of a tool, {cell}"
        yield Goal(f"{name}: prefix breaks", breaks, 5 if is_judged else None)
        if found is not None:
            other, broken = _sent(tape, charged, found, other=_NOTE)
            what = f"{name}: of the bill of ClearToolUsesEdit, which has {broken} breaks"
            yield Goal(what, bill / other, 0.75 if is_judged else None)


def _sent(
    tape: Tape, charged: Terms, requests: Sequence[list[str]], *, other: int
) -> tuple[float, int]:
    """Return the bill of requests by the ids of their messages, and how often the prefix broke."""
    sizes = {str(place): tape.size(one) for place, one in enumerate(tape.messages)}
    bill, breaks, before = 0.0, 0, list[str]()
    for number, ids in enumerate(requests):
        pairs = zip(before, ids, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        counts = [_FIXED if one.startswith("fixed") else sizes.get(one, other) for one in ids]
        bill += charged.request(sum(counts), kept=sum(counts[:same]), is_cold=number == 0)
        breaks += same < len(before)
        before = ids
    return bill, breaks


def _described(tape: Tape) -> list[dict[str, Any]]:
    return [
        {
            "id": str(place),
            "role": one.role,
            "size": tape.size(one),
            "calls": [call.id for call in one.tool_calls],
            "answers": next((part.id for part in one.tool_call_responses), ""),
        }
        for place, one in enumerate(tape.messages)
    ]


def requests(tape: Tape, peer: Child | None) -> dict[str, Any]:
    """Return what LangChain's middleware sends with each trigger; nothing if it is not installed."""
    if peer is None:
        return {}
    given, rest = (_described(tape), list(tape.calls)), (["messages", 20], SUMMARY)
    return {
        f"langchain {trigger}": peer.ask("requests", *given, ["tokens", trigger], *rest)
        for trigger in TRIGGERS
    }


def dollars(tape: Tape, charged: Terms, sent: Mapping[str, Any]) -> dict[str, float]:
    """Return the bill of each policy."""
    bills = {name: ours(tape, charged, fields)[0] for name, fields in OURS.items()}
    found = {name: theirs(tape, charged, one) for name, one in sent.items()}
    if found:
        bills[DOCUMENTED] = found[f"langchain {TRIGGERS[0]}"]
        bills["langchain at 64,000 tokens"] = found["langchain 64000"]
        bills[BEST] = min(found.values())
    return bills


def multiples(tape: Tape, sent: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, float]]]:
    """Give each cell, and the multiple of the least bill that each policy pays there."""
    window = HistoryReductionConfig(**KEPT)  # type: ignore[arg-type]
    for cell in CELLS:
        charged = terms(cell)
        least = optimal_bill(tape, window, charged, summary_tokens=SUMMARY)
        bills = {"never": least.never} | dollars(tape, charged, sent)
        yield cell, {name: bill / least.cost for name, bill in bills.items()}


def own_bill(name: str, tape: Tape, sent: Mapping[str, Any]) -> Iterator[Goal]:
    """Compare with what the vendor reported, and price each policy like that, if it has reported."""
    goals = [*reported(name, tape)]
    if not goals:
        return
    yield from goals
    prices = prices_of_model(MODEL, PRICES_OF)
    charged = Terms(prices=prices or Prices(input=0, output=0), summarizer=prices, overhead=FIXED)
    answers = sum(map(tape.answer_tokens, range(len(tape.calls)))) * charged.prices.output / 1e6
    least = optimal_bill(tape, HistoryReductionConfig(**KEPT), charged, summary_tokens=SUMMARY)  # type: ignore[arg-type]
    bills = {"never": least.never, "least": least.cost} | dollars(tape, charged, sent)
    for policy, bill in bills.items():
        yield Goal(f"{name}: US dollars by estimated sizes, {policy}", bill + answers, None)


def judged(cell: str, bills: Mapping[str, float], calls: int) -> Iterator[Goal]:
    """
    Judge the bills of one recorded session in one cell, by policy.

    Where even the least bill is not so far below LangChain's, that is what can be reached. Its best
    trigger may pay less than the least, where it puts in a fixed sentence instead of a summary.
    """
    is_short, balance = calls < SHORT, bills["balance"]
    size, most = (f"below {SHORT} calls", 1.2) if is_short else (f"from {SHORT} calls on", 1.1)
    yield Goal(f"balance, of the least bill, {size}", balance, most)
    if DOCUMENTED not in bills:
        return
    documented, best = bills[DOCUMENTED], bills[BEST]
    cheapest = min(bills["never"], best)
    yield Goal(
        f"balance, of the cheapest of never and LangChain's, {size}", balance / cheapest, most
    )
    if cell in {"0.05", "0.1"} and abs(documented - bills["never"]) > _SAME:
        reached = balance / max(documented, 1 / 0.7)
        yield Goal("balance, of LangChain's documented example where it folds", reached, 0.7)
    if best >= _FAR:
        yield Goal(
            "balance, of LangChain's best trigger where that is far off", balance / best, 0.9
        )


def main(arguments: Sequence[str]) -> int:
    """Play all sessions and print a line for each, then each cell's worst and mean, and the goals."""
    parser = argparse.ArgumentParser(prog="python -m bench bill")
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args(arguments)
    peer = peers({"langchain": "bench.peers.langchain_bill"}).get("langchain")
    rows: dict[tuple[str, str], list[tuple[float, str]]] = {}
    goals: list[Goal] = []
    for name, session in sessions(options.data).items():
        tape = Tape(session)
        if len(tape.calls) < LEAST_CALLS:
            continue
        sent = requests(tape, peer)
        line: dict[str, Any] = {"session": name, "calls": len(tape.calls)}
        for cell, times in multiples(tape, sent):
            if session.format:
                goals += judged(cell, times, len(tape.calls))
            for policy, one in times.items():
                line.setdefault(policy, {})[cell] = round(one, 3)
                rows.setdefault((policy, cell), []).append((one, name))
        print(json.dumps(line), flush=True)
        goals += own_bill(name, tape, sent)
    for (policy, cell), found in rows.items():
        worst, where = max(found)
        mean = fmean(times for times, _ in found)
        print(f"{policy:32} {cell:5} mean {mean:6.3f} worst {worst:6.3f} {where}")
    goals += [*tools(peer), *chats(), *decisions(), *break_even()]
    if peer is None:
        print(
            "LangChain is not installed in the environment of the peers: nothing compared with it"
        )
    else:
        peer.close()
    return shown(goals)
