"""
Whether every request fits, what is kept word for word, and what the default settings cost.

Recorded sessions are played call by call through a reducer, and each request is counted with an exact
vocabulary (`bench/vocabularies.py`), which is also what the reducer is given as usage. A request
counts everything: instructions, tool schemas and the view.

```
python -m bench fits --data ../shared/data [--windows 4000 8000] [--only fits words bill]
```

Goals: no request above the ceiling after the first usage report, and at most 2 % without any; the
first request word for word if it has at most 600 tokens; default settings at most 1.1 times the bill
of never folding at cached reads of 0.1, at most 0.6 on sessions of more than 900 messages, and at most
12 folds.
"""

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, product
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench import workload
from bench.goals import recordings
from bench.vocabularies import Vocabulary, vocabularies
from foldline import History, HistoryReducer, HistoryReductionConfig, Message
from foldline.errors import RequestTooLargeError
from foldline.history.meter import PrefixMeter
from foldline.history.parts import ToolCallPart, ToolCallResponsePart
from foldline.history.tokens import TokenEstimator
from foldline.logs.importer import Session
from foldline.providers.digest.summarizer import DigestSummarizer
from foldline.providers.model import Summarizer
from foldline.reduction.request import SummaryRequest
from foldline.replay.tape import model_calls


WINDOWS = (4_000, 8_000, 32_000, 128_000, 200_000)
UNITS: dict[str, dict[str, Any]] = {
    "tokens": {},
    "messages 20/5": {
        "counting_unit": "messages",
        "target_count": 20,
        "summarization_threshold": 5,
    },
    "messages 40/20": {
        "counting_unit": "messages",
        "target_count": 40,
        "summarization_threshold": 20,
    },
    "exchanges 20/5": {"target_count": 20, "summarization_threshold": 5},
}
INSTRUCTIONS = workload.words(random.Random(1), 800)
TOOLS = [
    {
        "name": name,
        "description": f"Do {name} in the workspace.",
        "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
    }
    for name in ("read", "write", "search")
]
# The prices of a read from the cache, of a write to it, and of an answer, in prices of a token read.
READ, WRITE, ANSWER = 0.1, 1.25, 5.0
OVERHEAD = 6_000
SUMMARY = 900
# What the user of the long session asked for in so many words.
RULES = (
    "i would only want e2e tests for AgentSession",
    "with - [ ] to keep track of state",
    "where each item would describe in detail what to change how",
    "this plan must be written in such a way",
    "create a branch refactor",
    "keep the old code around for reference",
    "those event lsiteners should still be there",
    "don't read the full file!",
    "so the old shit still works",
    "i actually want to move those files to their final location",
    "tools -> core/tools",
    "yes need to be fully clean",
    "if yes, do it, if not commit first",
    "tui-renderer.ts right? nothing else",
    "we want to put it in pendingMessageContainer",
)


class Full:
    """Writes a text of the whole budget, and no more than *most* tokens."""

    name = "full"
    _SENTENCE = "They went through the next part together, agreed on it and wrote down why. "

    def __init__(self, most: int = sys.maxsize) -> None:
        """Write as much as is asked for."""
        self.most = most
        self.read = 0
        self.written = 0

    async def summarize(self, request: SummaryRequest) -> str:
        """Return the text."""
        estimator = TokenEstimator()
        each = estimator.count(self._SENTENCE)
        text = self._SENTENCE * max(1, min(request.budget, self.most) // each)
        said = chain.from_iterable(message.parts for message in request.messages)
        source = (*request.earlier, *map(repr, said))
        self.read += sum(map(estimator.count, source))
        self.written += estimator.count(text)
        return text


class Request(Struct, frozen=True):
    """One request of a session that was played."""

    tokens: int
    kept: int
    """The tokens that it has in common with the request before it, counted as *tokens* are."""

    folded: bool
    broke: bool
    view: tuple[Message, ...]


class Impossible(Struct, frozen=True):
    """A request that cannot be made to fit, the last one of its session."""

    parts: str


def sessions(data: Path) -> dict[str, Session]:
    """Return the sessions below *data* by name, and one question with sixty large tool results."""
    found = {f"{at.parent.name}/{at.stem}/{one.id}": one for at, one in recordings(data)}
    return found | {"sixty": joined([steps(60)])}


def steps(count: int) -> tuple[Message, ...]:
    """Return one question and so many calls of a tool that answers with 8.8 KB each."""
    rng, said = random.Random(3), [Message.user("Find out why the build fails, and repair it.")]
    for number in range(count):
        call = ToolCallPart(f"call-{number}", "read", f'{{"path":"src/part_{number}.py"}}')
        answer = ToolCallResponsePart(call.id, workload.words(rng, 8_800)[:8_800])
        said += [
            Message(role="assistant", parts=(call,)),
            Message(role="tool", parts=(answer,)),
        ]
    return tuple(said)


def joined(parts: Iterable[Sequence[Message]], *, each: int | None = None) -> Session:
    """Return *parts* as one session: one after the other, or *each* messages of every one in turn."""
    if each is None:
        return Session(id="joined", format="", messages=tuple(chain.from_iterable(parts)))
    waiting, said = [list(part) for part in parts], []
    while any(waiting):
        for part in waiting:
            said += part[:each]
            del part[:each]
    return Session(id="mixed", format="", messages=tuple(said))


def played(
    session: Session,
    reducer: HistoryReducer,
    counter: Vocabulary,
    *,
    reports: bool = True,
    overhead: bool = True,
) -> Iterator[Request | Impossible]:
    """Yield each request of *session*, counted by *counter*; *reports* passes the count as usage."""
    fixed = counter.count(INSTRUCTIONS) + counter.count(json.dumps(TOOLS)) if overhead else 0
    given: dict[str, Any] = {"instructions": INSTRUCTIONS, "tools": TOOLS} if overhead else {}
    history, state, usage = History(), None, None
    meter = PrefixMeter(counter.message)
    for position in session.calls or model_calls(session.messages):
        for message in islice(session.messages, history.total, position):
            history.append(message)
        try:
            reduced = reducer.reduce_sync(history, state=state, usage=usage, **given)
        except RequestTooLargeError as error:
            # Without an answer the recording would not have continued.
            yield Impossible(f"{error}")
            return
        state = reduced.state
        reading = meter.read(tuple(reduced.messages))
        tokens = fixed + reading.tokens
        usage = tokens if reports else None
        folded = reduced.event.status == "performed"
        view = tuple(reduced.messages)
        yield Request(tokens, fixed + reading.kept, folded, reading.broke, view)


def ceiling_of(window: int) -> int:
    """Return the ceiling that the default settings promise."""
    return min(int(0.7 * window), 64_000)


def fits(
    found: dict[str, Session], counters: Sequence[Vocabulary], windows: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """Yield how many requests are above the ceiling, for every combination."""
    summarizers: dict[str, Summarizer] = {"full": Full(), "digest": DigestSummarizer()}
    ways = product(windows, ("rolling", "layers"), UNITS, summarizers, counters, (True, False))
    for window, layers, unit, name, counter, reports in ways:
        # Without reports the size of the summary is all that differs.
        if name == "digest" and not reports:
            continue
        rolling = layers == "rolling"
        config = HistoryReductionConfig(
            use_single_summary=rolling, context_window_size=window, **UNITS[unit]
        )
        reducer = HistoryReducer(config, summarizer=[summarizers[name]])
        way = f"{window} {layers}, {unit}, {name}, {counter.name}"
        yield {"way": way if reports else f"{way}, unreported"} | measured(
            found, reducer, counter, ceiling=ceiling_of(window), reports=reports
        )


def measured(
    found: dict[str, Session],
    reducer: HistoryReducer,
    counter: Vocabulary,
    *,
    ceiling: int,
    reports: bool,
) -> dict[str, Any]:
    """Return the requests, those above *ceiling*, folds and broken prefixes of all sessions."""
    counts = Counter(
        first=0, first_above=0, later=0, later_above=0, impossible=0, folds=0, breaks=0
    )
    largest = (0, "")
    for title, session in found.items():
        for number, one in enumerate(played(session, reducer, counter, reports=reports)):
            if isinstance(one, Impossible):
                counts["impossible"] += 1
                continue
            when = "later" if number and reports else "first"
            above = one.tokens > ceiling
            counts.update({when: 1, f"{when}_above": above})
            counts.update(folds=one.folded, breaks=one.broke)
            largest = max(largest, (one.tokens, f"{title} call {number + 1}"))
    return {"of_ceiling": round(largest[0] / ceiling, 3), "largest": largest, **counts}


def last_of(session: Session, reducer: HistoryReducer, counter: Vocabulary) -> tuple[int, str]:
    """Return how often *session* was folded, and the text of its last request."""
    requests = [one for one in played(session, reducer, counter) if isinstance(one, Request)]
    text = "\n".join(message.text for message in requests[-1].view)
    return sum(one.folded for one in requests), text


def first_requests(
    found: dict[str, Session], counter: Vocabulary, unit: str, window: int
) -> tuple[int, int]:
    """Return in how many of the folded sessions the first request is there, of those of its size."""
    folded, there = 0, 0
    config = HistoryReductionConfig(context_window_size=window, **UNITS[unit])
    for session in found.values():
        first = next((one for one in session.messages if one.role == "user"), None)
        if first is None or counter.message(first) > 600:
            continue
        folds, text = last_of(session, HistoryReducer(config), counter)
        folded += folds > 0
        there += folds > 0 and first.text.strip() in text
    return there, folded


def words(found: dict[str, Session], counter: Vocabulary) -> dict[str, Any]:
    """Return what of the first requests, and of the rules of the long session, is there verbatim."""
    figures: dict[str, Any] = {
        f"first request, {unit}, window {window}": first_requests(found, counter, unit, window)
        for unit, window in product(UNITS, (8_000, 128_000))
    }
    long = next(one for name, one in found.items() if "pi-coding" in name)
    for window in (8_000, 32_000, 128_000):
        config = HistoryReductionConfig(context_window_size=window)
        _, text = last_of(long, HistoryReducer(config), counter)
        missing = [rule for rule in RULES if rule not in text]
        figures[f"rules, window {window}"] = len(RULES) - len(missing), len(RULES), missing
    return figures


def bill(found: dict[str, Session], counter: Vocabulary) -> Iterator[dict[str, Any]]:
    """Yield the bill of default settings and of 40/20 messages beside that of never folding."""
    airline = [one.messages for name, one in found.items() if "tau-airline" in name]
    aider = [one.messages for name, one in found.items() if "aider" in name]
    played_ones = {
        "pi": next(one for name, one in found.items() if "pi-coding" in name),
        "airline 600": joined(airline[:20], each=4),
        # With the largest message of all.
        "aider": joined(aider[28:42]),
    }
    for title, session in played_ones.items():
        never = None
        for name, config in (
            ("never", HistoryReductionConfig(enabled=False)),
            ("default", HistoryReductionConfig()),
            ("messages 40/20", HistoryReductionConfig(**UNITS["messages 40/20"])),
        ):
            full = Full(SUMMARY)
            chain_of: list[Summarizer] = [full]
            reducer = HistoryReducer(config, summarizer=chain_of if config.enabled else ())
            requests = [
                one
                for one in played(session, reducer, counter, overhead=False)
                if isinstance(one, Request)
            ]
            cost = sum(
                (one.kept + OVERHEAD) * READ + (one.tokens - one.kept) * WRITE for one in requests
            )
            cost += full.read + full.written * ANSWER
            never = never or cost
            yield {
                "session": title,
                "messages": len(session.messages),
                "settings": name,
                "bill": round(cost),
                "times_never": round(cost / never, 3),
                "folds": sum(one.folded for one in requests),
                "breaks": sum(one.broke for one in requests),
                "largest": max(one.tokens for one in requests),
            }


def main(arguments: Sequence[str]) -> int:
    """Print the figures as lines of JSON; return 1 if a request is above its ceiling."""
    parser = argparse.ArgumentParser(prog="python -m bench fits", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of recordings")
    parser.add_argument("--windows", type=int, nargs="*", default=WINDOWS)
    parser.add_argument("--only", nargs="*", default=["fits", "words", "bill"])
    parsed = parser.parse_args(arguments)
    found, counters = sessions(parsed.data), vocabularies()
    above = 0
    if "words" in parsed.only:
        for key, value in words(found, counters[0]).items():
            print(f"{key:48} {value}", flush=True)
    if "bill" in parsed.only:
        for row in bill(found, counters[0]):
            print(json.dumps(row), flush=True)
    if "fits" in parsed.only:
        for row in fits(found, counters, parsed.windows):
            above += row["later_above"]
            print(json.dumps(row), flush=True)
    return int(above > 0)
