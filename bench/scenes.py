"""What `bench bill` plays beside the recordings, and the recording that has a bill of its own."""

import random
from collections.abc import Iterator, Sequence
from itertools import product
from time import perf_counter

from bench.goals import Goal
from foldline.agent.reducer import HistoryReducer
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.meter import PrefixMeter
from foldline.history.parts import ToolCallPart
from foldline.history.tokens import TokenEstimator, count_message
from foldline.logs.importer import Session
from foldline.providers.price_list import PRICES_OF, prices_of_model
from foldline.reduction.balance import FoldCosts
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.request import SummaryRequest
from foldline.reduction.verdict import decide
from foldline.reduction.view import view_of
from foldline.replay.bill import Terms, priced
from foldline.replay.comparison import as_recorded
from foldline.replay.optimum import optimal_bill
from foldline.replay.tape import Tape


TURNS = 1_000
COMMON = ("gpt-5", "claude-sonnet-4-6", "gpt-4.1", "gpt-4o", "mistral-large-latest")
MODEL = "claude-opus-4-5"
"""Which model the session was recorded with."""

# A step of the cost model that is further off than this is counted, in US dollars.
_FAR = 0.02
_WORDS = (
    "parcel",
    "order",
    "flight",
    "booking",
    "code",
    "change",
    "build",
    "test",
    "file",
    "value",
)


class _Writer:
    """Writes six tenths of what it may, and remembers which questions it has read."""

    name = "writer"

    def __init__(self) -> None:
        self._random = random.Random(1)
        self.seen: set[str] = set()
        self.calls = 0

    async def summarize(self, request: SummaryRequest) -> str:
        self.calls += 1
        self.seen |= {one.text.split(":")[0] for one in request.messages}
        words = self._random.choices(_WORDS, k=min(600, request.budget * 6 // 10))
        return f"Summary: {' '.join(words)}"


def chats() -> Iterator[Goal]:
    """Play short messages, and long ones that a small window cannot hold many of."""
    for window in (None, 8_000):
        yield from _chat(window, 30, calls=82, read=1.2)
        yield from _chat(window, 150, calls=None, read=None)


def _chat(
    window: int | None, size: int, *, calls: float | None, read: float | None
) -> Iterator[Goal]:
    """Play 1,000 turns of two messages of *size* words under the default settings."""
    rng, writer = random.Random(1), _Writer()
    prices = prices_of_model("claude-sonnet-4-6", PRICES_OF)
    config = HistoryReductionConfig(context_window_size=window, prices=prices)
    reducer = HistoryReducer(config, summarizer=writer)
    counter = TokenEstimator()
    history, state = History(counter=counter), None
    meter = PrefixMeter(lambda message: count_message(message, counter))
    tokens = folds = breaks = 0
    for turn in range(TURNS):
        history.append(Message.user(f"question {turn}: {' '.join(rng.choices(_WORDS, k=size))}"))
        made = reducer.reduce_sync(history, state=state)
        state = made.state
        tokens += made.event.summarizer_tokens
        folds += made.event.status == "performed"
        breaks += meter.read(made.messages).broke
        history.append(Message.assistant(f"answer {turn}: {' '.join(rng.choices(_WORDS, k=size))}"))
    cut = 0 if state is None else state.summarized_up_to_index
    unseen = {one.text.split(":")[0] for one in history[:cut]} - writer.seen
    name = f"{TURNS:,} turns of 2 x {size} words, window {window or 'default'}"
    yield Goal(f"{name}: summarizer calls", writer.calls, calls)
    yield Goal(f"{name}: read, of the conversation", tokens / history.tokens(), read)
    yield Goal(f"{name}: dropped messages that no summarizer read", len(unseen), 0)
    yield Goal(f"{name}: prefix breaks beside folds", breaks - folds, 0)


def reported(name: str, tape: Tape) -> Iterator[Goal]:
    """
    Compare the cost model with what the vendor reported, call by call, if the recording has that.

    The model knows only the sizes of the requests and their times: what the request before had is in
    the cache for five minutes, unless the next one is less than half as large.
    """
    report = as_recorded(tape)
    prices = prices_of_model(MODEL, PRICES_OF)
    if report is None or prices is None or not any(call.kept_tokens for call in report.calls):
        return
    bill = priced(report, Terms(prices=prices, summarizer=prices)).totals.cost or 0.0
    before, whole, far, errors = 0, 0.0, 0, [0.0, 0.0]
    for call in report.calls:
        size = call.view_tokens
        is_warm = call.number > 1 and (call.idle is None or call.idle <= prices.lifetime)
        cached = before if is_warm and 2 * size >= before else 0
        actual = prices.request(size, cached=call.kept_tokens)
        error = abs(prices.request(size, cached=min(cached, size)) - actual)
        errors[error > _FAR] += error
        whole, far, before = whole + actual, far + (error > _FAR), size
    yield Goal(f"{name}: US dollars as the vendor reported it, at {MODEL}", bill, None)
    yield Goal(f"{name}: calls of {len(report.calls)} that its cache missed unforeseen", far, None)
    yield Goal(f"{name}: what they cost more, of all input", errors[True] / whole, None)
    yield Goal(f"{name}: sum of the model's errors in all other calls", errors[False] / whole, 0.02)


def decisions() -> Iterator[Goal]:
    """Decide on 1,000 messages after the last fold, and make their view; the best of some tries."""
    prices = prices_of_model("claude-sonnet-4-6", PRICES_OF)
    assert prices is not None
    config, costs = HistoryReductionConfig(prices=prices), FoldCosts(prices=prices)
    words = " ".join(_WORDS * 3)
    call = [ToolCallPart(f"c{number}", "look", "{}") for number in range(500)]
    chats = [one for _ in call for one in (Message.user(words), Message.assistant(words))]
    tools = [
        m for c in call for m in (Message.assistant(tool_calls=[c]), Message.tool(c.id, words))
    ]
    for name, said in (("a chat", chats[1:]), ("tools", [Message.user(words), *tools])):
        history, taken = History(said), list[float]()
        for _ in range(30):
            started = perf_counter()
            found = decide(history, config, config_fingerprint="", costs=costs)
            view_of(history, found.state)
            taken.append(perf_counter() - started)
        yield Goal(f"decision and view at 1,000 messages, {name}: ms", min(taken) * 1e3, 1)


class _Words:
    """Counts words, so that a conversation grows by as many tokens as is wanted."""

    def count(self, text: str) -> int:
        return len(text.split())


def break_even() -> Iterator[Goal]:
    """From which number of model calls on folds can save 1 % of the bill, if the best are made."""
    window = HistoryReductionConfig(counting_unit="messages", target_count=20)
    for model, growth in product(COMMON, (300, 1_000, 3_000)):
        prices = prices_of_model(model, PRICES_OF)
        assert prices is not None
        charged = Terms(prices=prices, summarizer=prices, overhead=3_000)
        for calls in range(10, 100):
            turn = (Message.user("w " * (growth // 3)), Message.assistant("w " * (growth * 2 // 3)))
            session = Session(id="even", format="even", messages=turn * (calls - 1) + turn[:1])
            bill = optimal_bill(
                Tape(session, counter=_Words()), window, charged, summary_tokens=800
            )
            if bill.cost < 0.99 * bill.never:
                yield Goal(
                    f"{model}, {growth:,} tokens a call: folds can pay from call", calls, None
                )
                break


def shown(goals: Sequence[Goal]) -> int:
    """Print the worst of each goal; return 1 if one is missed, else 0."""
    worst: dict[tuple[str, float | None], float] = {}
    for one in goals:
        key = one.name, one.most
        worst[key] = max(one.figure, worst.get(key, one.figure))
    for (what, most), figure in worst.items():
        if most is None:
            print(f"         {what}: {figure:,.4g}")
        else:
            met = "met   " if figure <= most else "MISSED"
            print(f"  {met} {what}: {figure:,.4g} (at most {most:,.4g})")
    return int(any(most is not None and figure > most for (_, most), figure in worst.items()))
