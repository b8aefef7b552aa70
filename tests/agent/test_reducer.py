"""The reducer as callers with a loop of their own see it."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from foldline.agent.cache import ReductionCache
from foldline.agent.portal import PORTAL
from foldline.agent.reducer import HistoryReducer
from foldline.errors import FormatError
from foldline.history.formats.renderings import SUMMARY_HEADER
from foldline.history.history import History
from foldline.history.messages import Message, NativeFormat
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig
from foldline.reduction.event import CIRCUIT_BREAKER_TERMINATION, Reason
from foldline.reduction.request import SummaryRequest
from foldline.testing.summarizer import ScriptedSummarizer


NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TEXT = "so many words were said about the weather in the north and the south " * 3
CONFIG = HistoryReductionConfig(counting_unit="messages", target_count=4, summarization_threshold=2)


def talk(count: int, mark: str = "") -> list[Message]:
    return [
        Message.user(f"{mark}u{n} {TEXT}") if n % 2 == 0 else Message.assistant(f"a{n} {TEXT}")
        for n in range(count)
    ]


def chat(count: int) -> list[dict[str, str]]:
    return [
        {"role": "user" if n % 2 == 0 else "assistant", "content": f"{n} {TEXT}"}
        for n in range(count)
    ]


def reducer(summarizer: ScriptedSummarizer | None = None, **options: object) -> HistoryReducer:
    scripted = summarizer or ScriptedSummarizer(repeat="what was said so far")
    fields = {"summarizer": scripted, "clock": lambda: NOW} | options
    return HistoryReducer(CONFIG, **fields)  # type: ignore[arg-type]


def test_printed_without_the_conversation() -> None:
    """What a call returns is printed in one line of counts, without a text of the conversation."""
    folded = reducer().reduce_sync(talk(7))

    assert folded.event.reduced_tokens
    assert repr(folded) == (
        f"<ReducedHistory messages={len(folded.messages)} tokens={folded.event.reduced_tokens} status=performed"
        f" reason={folded.event.reason}>"
    )
    state = folded.state
    assert state is not None
    assert repr(state) == (
        f"<HistoryReductionState messages={state.summarized_up_to_index} tokens={state.shown_tokens}"
        f" quotes={len(state.quotes)} number=1>"
    )


def test_a_fold_then_a_hit() -> None:
    """The second call makes no summarizer call and sends the same front."""
    with ScriptedSummarizer(["what was said so far"]) as scripted:
        one = reducer(scripted)
        first = one.reduce_sync(talk(7))
        second = one.reduce_sync(talk(8), state=first.state)

    assert (first.event.status, second.event.status) == ("performed", "cache_hit")
    assert second.messages[: len(first.messages)] == first.messages
    assert second.state is first.state
    assert first.messages[0].text.startswith("what was said so far\n")


def test_a_hit_leaves_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """At DEBUG it says how much became how much, and nothing of what was said."""
    one = reducer()
    state = one.reduce_sync(talk(7)).state
    with caplog.at_level(logging.DEBUG, logger="foldline"):
        one.reduce_sync(talk(8), state=state)

    assert caplog.messages == ["cache hit: 8 messages became 7"]


def test_a_fold_leaves_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """At INFO it says how much became how much, why and by whom, and nothing of what was said."""
    with caplog.at_level(logging.INFO, logger="foldline"):
        event = reducer().reduce_sync(talk(7)).event

    told = f"{event.original_tokens} tokens became 6 of {event.reduced_tokens}"
    why = f"(Count above target and threshold; by {event.summarizer})"
    assert caplog.messages == [f"fold performed: 7 messages of {told} {why}"]


def test_the_event_tells_counts_and_costs() -> None:
    """Counts before and after, tokens, who wrote, how often, and the summary."""
    reduced = reducer().reduce_sync([Message.system("rules"), *talk(9)])
    event = reduced.event

    assert (event.original_count, event.reduced_count, event.removed_count) == (10, 7, 4)
    assert event.reduced_tokens < event.original_tokens
    assert event.units == 9
    assert event.summary == "what was said so far"
    assert (event.summarizer, event.summarizer_calls) == ("scripted", 1)
    assert event.summarizer_tokens > 0
    assert event.duration >= 0
    assert event.cache_age is None


@pytest.mark.parametrize("made", [NOW, NOW.replace(tzinfo=None)], ids=["aware", "naive"])
def test_a_hit_tells_the_age_of_the_reduction(made: datetime) -> None:
    """The age is the time in seconds between the fold and now; without a zone it is UTC."""
    times = iter([made, NOW + timedelta(seconds=90)])
    one = reducer(clock=lambda: next(times))
    state = one.reduce_sync(talk(7)).state
    event = one.reduce_sync(talk(7), state=state).event

    assert event.cache_age == 90
    assert event.reason is Reason.REDUCTION_VALID


def test_disabled_gives_back_what_was_given() -> None:
    """No list is changed while reduction is disabled; of a history, the view is valid."""
    off = HistoryReducer(HistoryReductionConfig(enabled=False))
    messages = [Message.system("s"), Message.user("a"), Message.tool("x", "orphan")]
    reduced = off.reduce_sync(messages)

    assert reduced.messages == messages
    assert (reduced.event.status, reduced.event.reason) == ("skipped", Reason.DISABLED)
    assert reduced.state is None
    assert off.reduce_sync(History(messages)).messages == messages[:2]


def test_skipping_gives_the_full_history_and_keeps_the_state() -> None:
    """A skipped run says so and forgets nothing."""
    one = reducer()
    state = one.reduce_sync(talk(9)).state
    skipped = one.reduce_sync(
        talk(9), state=state, overrides=AgentRunConfig(skip_history_reduction=True)
    )

    assert skipped.messages == talk(9)
    assert skipped.state == state
    assert (skipped.event.status, skipped.event.reason) == ("skipped", Reason.SKIPPED_BY_RUN)


def test_the_circuit_breaker_folds_reports_and_stops_then_goes_on() -> None:
    """The fold is made and reported, the turn should end, and the next run is a plain hit."""
    config = msgspec.structs.replace(CONFIG, behavior="circuit_breaker")
    one = HistoryReducer(config, summarizer=ScriptedSummarizer(["what was said so far"]))
    first = one.reduce_sync(talk(7))
    second = one.reduce_sync(talk(8), state=first.state)

    assert first.termination_reason == CIRCUIT_BREAKER_TERMINATION
    assert first.termination_reason == ("History reduction performed - circuit breaker triggered")
    assert first.event.status == "performed"
    assert second.termination_reason is None
    assert second.verdict.kind == "hit"


def test_the_digest_has_no_time_limit() -> None:
    """The digest writes its summary however short the timeout of summarizers is."""
    event = HistoryReducer(CONFIG, timeout=1e-9).reduce_sync(talk(9)).event

    assert (event.status, event.summarizer) == ("performed", "digest")


def test_plan_makes_no_call() -> None:
    """The verdict and the cut are known without asking anybody."""
    with ScriptedSummarizer() as scripted:
        verdict = reducer(scripted).plan(talk(9))

    assert (verdict.kind, verdict.cut, verdict.units) == ("fold", 4, 9)


def test_await_and_blocking_give_the_same() -> None:
    """Both faces return equal views, states and events."""
    blocking = reducer().reduce_sync(talk(9))
    awaited = asyncio.run(reducer().reduce(talk(9)))

    assert awaited.messages == blocking.messages
    assert awaited.state == blocking.state


def test_dictionaries_come_back_as_the_same_objects() -> None:
    """What stays is the caller's own dictionary; only the summary is new."""
    items = chat(9)
    items[8] = {"role": "user", "content": "last", "x_custom": {"b": 1, "a": [None]}}  # type: ignore[dict-item]
    reduced = reducer().reduce_sync(items, format=NativeFormat.OPENAI_CHAT)

    note, summary, *rest = reduced.messages
    assert all(any(kept is item for item in items) for kept in rest)
    assert len(rest) == 5
    assert [note["role"], summary["role"]] == ["user", "assistant"]
    assert "what was said so far" in summary["content"]


def test_dictionaries_need_no_state_with_a_cache() -> None:
    """A caller who keeps nothing still gets hits, as long as the conversation grows."""
    with ScriptedSummarizer(["what was said so far"]) as scripted:
        one = reducer(scripted, cache=ReductionCache())
        first = one.reduce_sync(chat(7))
        second = one.reduce_sync(chat(8))

    assert (first.verdict.kind, second.verdict.kind) == ("fold", "hit")


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        (
            [Message.user("a"), {"role": "user", "content": "b"}],
            "messages\\[1\\] must be a Message like the first, got dict",
        ),
        (
            [{"role": "user", "content": "b"}, "text"],
            "messages\\[1\\] must be a dictionary or an object of an SDK, got str",
        ),
        ([{"role": "user"}, []], r"\[1\] must be .*, got list: extend the list by what it holds"),
        (["text"], "messages\\[0\\] must be a dictionary or an object of an SDK, got str"),
        (
            [{"role": "user", "parts": [{"type": "text", "text": "Hi."}]}],
            "messages with `parts` are in none of anth",
        ),
        (
            [{"role": "user", "parts": [{"text": "Hi."}]}],
            r"messages\[0\] is Gemini's: use foldline.integrations.google_genai.GeminiView",
        ),
        (
            [{"role": "user", "content": [{"text": "Hi."}]}],
            r"messages\[0\] is Bedrock's: use foldline.integrations.bedrock.ConverseView",
        ),
    ],
)
def test_mixed_kinds_are_refused(messages: list[object], said: str) -> None:
    """The error names the place and the kind."""
    with pytest.raises(FormatError, match=said):
        reducer().reduce_sync(messages)


def test_a_format_may_be_named() -> None:
    """The name of a format does as well as the member."""
    named = reducer().reduce_sync(chat(9), format="openai-chat")  # type: ignore[arg-type]

    assert SUMMARY_HEADER in named.messages[1]["content"]


@pytest.mark.parametrize("messages", ["text", b"bytes", {"role": "user"}, 7, None, iter([])])
def test_what_is_no_list_of_messages_is_refused(messages: object) -> None:
    """A text, one message alone or nothing at all is a mistake that is named."""
    with pytest.raises(FormatError, match="messages must be a list of messages, got"):
        reducer().reduce_sync(messages)  # type: ignore[arg-type]


def test_a_list_may_grow_while_a_summary_is_written() -> None:
    """The call is about the list as it was; nothing of the summary is lost."""
    items = chat(9)

    def write(request: SummaryRequest) -> str:
        items.append({"role": "user", "content": "meanwhile"})
        return "what was said so far"

    reduced = reducer(ScriptedSummarizer(repeat=write)).reduce_sync(items)

    assert reduced.verdict.kind == "fold"
    assert reduced.messages[-1] is items[8]


def test_system_items_come_back_with_anthropic_dictionaries() -> None:
    """A caller who keeps system items among the messages gets them back, in front."""
    items = [{"role": "system", "content": "rules"}, *chat(9)]
    reduced = reducer().reduce_sync(items, format=NativeFormat.ANTHROPIC)

    assert reduced.messages[0] is items[0]
    assert [item["role"] for item in reduced.messages[1:3]] == ["user", "assistant"]


def test_a_stale_state_does_not_hide_the_cache() -> None:
    """Where the state that was passed in does not fit, the cache is asked as well."""
    one = reducer(ScriptedSummarizer(repeat="what was said so far"), cache=ReductionCache())
    one.reduce_sync(talk(9))
    stale = reducer().reduce_sync([Message.user("other " + TEXT), *talk(9)]).state

    assert one.plan(talk(9), state=stale).kind == "hit"


class Pooled:
    """Keeps a worker in the loop in which it was first asked, as a client keeps its pool."""

    name = "pooled"

    def __init__(self) -> None:
        self._inbox: asyncio.Queue[asyncio.Future[str] | None] | None = None
        self.worker: asyncio.Task[None] | None = None

    async def _work(self, inbox: asyncio.Queue[asyncio.Future[str] | None]) -> None:
        while (reply := await inbox.get()) is not None:
            reply.set_result("from the pool")

    async def summarize(self, request: SummaryRequest) -> str:
        if self._inbox is None:
            self._inbox = asyncio.Queue()
            self.worker = asyncio.create_task(self._work(self._inbox))
        reply: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._inbox.put_nowait(reply)
        return await reply

    async def close(self) -> None:
        assert self._inbox is not None
        assert self.worker is not None
        self._inbox.put_nowait(None)
        await self.worker


class Slow:
    """Takes a moment, and counts how often it was asked and how often at once."""

    name = "slow"

    def __init__(self, write: Callable[[int], str] = lambda _: "what was said so far") -> None:
        self._write = write
        self.asked = 0
        self.begun = asyncio.Event()

    async def summarize(self, request: SummaryRequest) -> str:
        self.asked += 1
        self.begun.set()
        number = self.asked
        await asyncio.sleep(0.02)
        return self._write(number)


def test_a_summarizer_may_keep_what_belongs_to_a_loop() -> None:
    """Fold after fold, from several threads and two reducers, a blocking caller gets its text."""
    pooled = Pooled()
    one, two = (HistoryReducer(CONFIG, summarizer=pooled, timeout=5) for _ in range(2))
    with ThreadPoolExecutor(4) as pool:
        folded = list(
            pool.map(lambda n: (one, two)[n % 2].reduce_sync(talk(9, f"{n} ")).event, range(12))
        )
    PORTAL.run(pooled.close)

    assert {event.summarizer for event in folded} == {"pooled"}
    assert {event.summarizer_calls for event in folded} == {1}


def test_a_hit_needs_no_loop() -> None:
    """A cached turn is served in the thread of the caller, while the loop is busy or not."""
    one = HistoryReducer(CONFIG, summarizer=ScriptedSummarizer(["what was said so far"]))
    state = one.reduce_sync(talk(9)).state
    ends = one.reduce(talk(9), state=state)
    # Without a loop to wait in, a coroutine that never waits comes to its end at once.
    with pytest.raises(StopIteration) as end:
        ends.send(None)

    assert end.value.value.verdict.kind == "hit"


async def test_ten_calls_at_once_make_one_fold() -> None:
    """With a cache the same fold is made once: the others wait for it and are hits."""
    slow, cache = Slow(), ReductionCache()
    reducers = [HistoryReducer(CONFIG, summarizer=slow, cache=cache) for _ in range(2)]
    calls = [reducers[n % 2].reduce(talk(9)) for n in range(10)]

    assert (
        sorted([reduced.verdict.kind for reduced in await asyncio.gather(*calls)])
        == ["fold"] + ["hit"] * 9
    )
    assert slow.asked == 1
    assert len(cache.folds) == 0


def test_threads_make_one_fold_too() -> None:
    """Blocking calls share a loop, so that they wait for each other as well."""
    slow = Slow()
    one = HistoryReducer(CONFIG, summarizer=slow, cache=ReductionCache())
    with ThreadPoolExecutor(8) as pool:
        kinds = list(pool.map(lambda _: one.reduce_sync(talk(9)).verdict.kind, range(8)))

    assert sorted(kinds) == ["fold"] + ["hit"] * 7
    assert slow.asked == 1


async def test_calls_with_an_older_state_make_one_fold_too() -> None:
    """Where a fold is due the cache is asked, also where a state was passed in that fits."""
    slow = Slow()
    one = HistoryReducer(CONFIG, summarizer=slow, cache=ReductionCache())
    first = await one.reduce(talk(9))
    again = [one.reduce(talk(14), state=first.state) for _ in range(5)]

    assert [reduced.verdict.cut for reduced in await asyncio.gather(*again)] == [10] * 5
    assert slow.asked == 2


async def test_other_prefixes_tenants_and_endings_do_not_wait_in_vain() -> None:
    """Another scope folds for itself, and so does a history that has grown much further."""
    slow = Slow()
    one = HistoryReducer(CONFIG, summarizer=slow, cache=ReductionCache())
    calls = [
        one.reduce(talk(9)),
        one.reduce(talk(9), scope="other"),
        one.reduce(talk(30)),
        one.reduce([*talk(8), Message.user("another end")]),
    ]

    kinds = [reduced.verdict.kind for reduced in await asyncio.gather(*calls)]
    assert kinds == ["fold", "fold", "fold", "hit"]
    assert slow.asked == 3


async def test_where_the_first_is_cancelled_the_next_takes_over() -> None:
    """A fold that nobody finishes is made by one of those who waited."""
    slow, cache = Slow(), ReductionCache()
    one = HistoryReducer(CONFIG, summarizer=slow, cache=cache)
    first = asyncio.create_task(one.reduce(talk(9)))
    others = [asyncio.create_task(one.reduce(talk(9))) for _ in range(3)]
    await slow.begun.wait()
    first.cancel()

    kinds = [reduced.verdict.kind for reduced in await asyncio.gather(*others)]
    assert kinds == ["fold", "hit", "hit"]
    assert slow.asked == 2
    assert len(cache.folds) == 0


@pytest.mark.usefixtures("no_digest")
def test_a_failed_fold_never_shows_what_was_not_in_force() -> None:
    """Where the state passed in covers other messages, a failed fold sends the full history."""
    summarizer = ScriptedSummarizer(repeat="what was said")
    stale = HistoryReducer(CONFIG, summarizer=summarizer).reduce_sync(talk(9, "other ")).state
    assert stale is not None
    failing = HistoryReducer(CONFIG, summarizer=ScriptedSummarizer(repeat=""))
    reduced = failing.reduce_sync(talk(9), state=stale)

    assert reduced.messages == talk(9)
    assert (reduced.event.status, reduced.event.summary) == ("failed", None)
    assert reduced.state is stale


@pytest.mark.parametrize(
    ("replies", "says"),
    [
        ([""] * 2, "summarizer scripted failed (The text is empty): digest wrote the summary"),
        (
            ["", "what was said so far"],
            "summarizer scripted failed (The text is empty): scripted wrote the summary",
        ),
    ],
)
def test_the_log_says_who_failed_and_who_wrote(
    caplog: pytest.LogCaptureFixture, replies: list[str], says: str
) -> None:
    """One warning names the summarizer that failed, each reason once, and what wrote instead."""
    HistoryReducer(CONFIG, summarizer=ScriptedSummarizer(replies)).reduce_sync(talk(9))

    assert [one.getMessage() for one in caplog.records if one.name == "foldline"] == [says]


@pytest.mark.usefixtures("no_digest")
def test_the_log_says_that_nothing_was_written(caplog: pytest.LogCaptureFixture) -> None:
    """If all summarizers failed, the warning says that there is no summary."""
    failing = HistoryReducer(CONFIG, summarizer=ScriptedSummarizer(repeat=""))
    failing.reduce_sync(talk(9))

    assert caplog.messages[-1].endswith("(The text is empty): no summary was written")


def test_the_text_of_an_error_is_logged_for_debugging_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """At DEBUG the exception itself is in the log, and its message in no record's own text."""
    failing = ScriptedSummarizer(repeat=PermissionError("key sk-1"))
    with caplog.at_level(logging.DEBUG, logger="foldline"):
        HistoryReducer(CONFIG, summarizer=failing).reduce_sync(talk(9))
    told = [record for record in caplog.records if record.exc_info]

    assert {record.levelno for record in told} == {logging.DEBUG}
    assert [record.exc_info[0] for record in told if record.exc_info] == [PermissionError] * 2
    assert not any("sk-1" in record.getMessage() for record in caplog.records)


def test_the_digest_counts_as_the_history_does() -> None:
    """With a counter of the caller's own the digest keeps to the budget by that one."""

    class Letters:
        def count(self, text: str) -> int:
            return len(text)

    one = HistoryReducer(CONFIG, summary_budget=300)
    reduced = one.reduce_sync(History(talk(60), counter=Letters()))

    assert reduced.event.summarizer_calls == 1
    assert reduced.state is not None
    assert 0 < len(reduced.state.summary_content) <= 300
