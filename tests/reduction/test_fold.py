"""Making reductions: what is asked, in which order, and what happens after failures."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from itertools import cycle, pairwise
from typing import NamedTuple

import msgspec
import pytest

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.reduction.budget import LEAST_BUDGET, budget_for, budget_of
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig
from foldline.reduction.draft import MERGE_WIDTH, FoldOptions
from foldline.reduction.event import Reason
from foldline.reduction.fold import FoldResult, fold
from foldline.reduction.request import (
    DEFAULT_PROMPT,
    Reply,
    SummaryFailure,
    SummaryRequest,
    run_flow,
)
from foldline.reduction.sendable import cleaned
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.verdict import decide
from foldline.reduction.view import view_of, view_tokens
from foldline.reduction.writing import ATTEMPTS, Writing


NOW = datetime(2026, 11, 21, tzinfo=UTC)
TEXT = "so many words were said about the weather in the north and the south " * 4
ROLLING = HistoryReductionConfig(
    enabled=True,
    strategy="summarizing",
    counting_unit="messages",
    target_count=4,
    summarization_threshold=2,
)
LAYERED = msgspec.structs.replace(ROLLING, use_single_summary=False)
COUNTING = msgspec.structs.replace(ROLLING, strategy="message_counting")


class Asked:
    """Answers every request and remembers it."""

    def __init__(self, answer: Callable[[SummaryRequest], Reply] | None = None) -> None:
        self.requests: list[SummaryRequest] = []
        self._answer = answer

    async def __call__(self, request: SummaryRequest) -> Reply:
        self.requests.append(request)
        if self._answer is not None:
            return self._answer(request)
        return f"summary number {len(self.requests)} of the talk"


def pair(number: int) -> list[Message]:
    return [Message.user(f"u{number} {TEXT}"), Message.assistant(f"a{number} {TEXT}")]


def talk(pairs: int) -> History:
    return History(message for number in range(pairs) for message in pair(number))


class Made(NamedTuple):
    """A fold that was performed."""

    state: HistoryReductionState
    reason: Reason
    writing: Writing


def attempt(
    history: History,
    config: HistoryReductionConfig,
    ask: Asked,
    state: HistoryReductionState | None = None,
    *,
    force: bool = False,
    in_thread: Callable[[Callable[[], None]], Awaitable[None]] = asyncio.to_thread,
    **options: object,
) -> FoldResult:
    run = AgentRunConfig(trigger_history_reduction=force)
    verdict = decide(history, config, state, config_fingerprint="f", overrides=run)
    assert verdict.folds, verdict
    fields: dict[str, object] = {
        "created_at": NOW,
        "config_fingerprint": "f",
        "summarizers": 1,
        "budget": budget_of(config),
        "summary_budget": 1500,
    }
    given = FoldOptions(**(fields | options))  # type: ignore[arg-type]
    flow = fold(history, verdict, config, given, given=state)
    return asyncio.run(run_flow(flow, ask, in_thread))


def make(
    history: History,
    config: HistoryReductionConfig,
    ask: Asked,
    state: HistoryReductionState | None = None,
    *,
    force: bool = False,
    **options: object,
) -> Made:
    result = attempt(history, config, ask, state, force=force, **options)  # type: ignore[arg-type]
    assert result.state is not None
    return Made(result.state, result.reason, result.writing)


def test_a_text_is_reviewed_aside() -> None:
    """What reads a whole source, for quotes or to judge a text, is handed to a thread, once each."""
    handed = list[object]()

    async def in_thread(work: Callable[[], None]) -> None:
        handed.append(work)
        work()

    result = attempt(talk(4), ROLLING, Asked(), in_thread=in_thread)

    assert result.writing.calls == 1
    assert len(handed) == 2


def test_what_code_wrote_is_judged_at_once() -> None:
    """A text of which only the size is looked at needs no thread; only the quotes do."""
    handed = list[object]()

    async def in_thread(work: Callable[[], None]) -> None:
        handed.append(work)
        work()

    result = attempt(talk(4), ROLLING, Asked(), in_thread=in_thread, by_code=frozenset({0}))

    assert result.writing.calls == len(handed) == 1


def texts(messages: Iterable[Message]) -> list[str]:
    return [message.text.split()[0] for message in messages]


def test_a_rolling_summary_reads_the_one_before_and_what_is_new() -> None:
    """The second fold is given the first summary and only the newly aged messages."""
    history, asked = talk(4), Asked()
    first = make(history, ROLLING, asked).state
    history.extend(talk(2))
    second = make(history, ROLLING, asked, first).state

    assert texts(asked.requests[0].messages) == ["u0", "a0", "u1", "a1"]
    assert asked.requests[0].earlier == ()
    assert asked.requests[1].earlier == ("summary number 1 of the talk",)
    assert asked.requests[1].messages == tuple(history[4:8])
    assert [request.stands_for for request in asked.requests] == [4, 8]
    assert second.summary_content == "summary number 2 of the talk"
    assert second.previous is not None
    assert second.previous.summarized_up_to_index == 4


def test_a_layer_reads_the_new_messages_alone() -> None:
    """The layer before stays byte for byte, and each layer knows its own prefix."""
    history, asked = talk(4), Asked()
    first = make(history, LAYERED, asked).state
    history.extend(talk(2))
    second = make(history, LAYERED, asked, first).state

    assert [request.earlier for request in asked.requests] == [(), ()]
    assert [request.stands_for for request in asked.requests] == [4, 4]
    assert second.layers[0] == first.layers[0]
    assert [(layer.start, layer.end) for layer in second.layers] == [(0, 4), (4, 8)]
    assert second.layers[1].message_hash == second.message_hash
    assert [m.text for m in view_of(history, second)[:2]] == [
        "summary number 1 of the talk",
        "summary number 2 of the talk",
    ]


def test_full_levels_are_merged_into_the_next() -> None:
    """Six layers become one of the next level, and six of those one of the level above."""
    history, asked, state = talk(2), Asked(), None
    levels: list[list[int]] = []
    for _ in range(MERGE_WIDTH * MERGE_WIDTH):
        history.extend(talk(2))
        if len(history) - (state.summarized_up_to_index if state else 0) <= 6:
            continue
        state = make(history, LAYERED, asked, state).state
        levels.append([layer.level for layer in state.layers])
    merges = [request for request in asked.requests if not request.messages]

    assert [1] in levels
    assert max(map(max, levels)) == 1 or [2] in levels
    assert all(len(level) < 2 * MERGE_WIDTH for level in levels)
    assert all(len(merge.earlier) == MERGE_WIDTH for merge in merges)
    assert state is not None
    assert state.layers[0].start == 0
    assert all(one.end == other.start for one, other in pairwise(state.layers))


def test_layers_are_merged_when_their_share_is_full() -> None:
    """They never have more of the ceiling, and what was said first is seldom written again."""
    limits = {"ceiling": 8_000, "context_window_size": 20_000, "quote_user_messages": 0}
    config = msgspec.structs.replace(LAYERED, **limits)
    room, depth = budget_of(config).beside, {"": 0}

    def answer(request: SummaryRequest) -> Reply:
        text = f"layer {len(depth) // 10} {len(depth) % 10} " + "of words " * 80
        depth[cleaned(text)] = 1 + max([depth[one] for one in request.earlier], default=0)
        return text

    history, asked, state = talk(2), Asked(answer), None
    for _ in range(150):
        history.extend(talk(2))
        if decide(history, config, state, config_fingerprint="f").folds:
            state = make(history, config, asked, state).state
            assert sum(layer.tokens for layer in state.layers) <= room
    merges = [len(request.earlier) for request in asked.requests if not request.messages]

    assert state is not None
    assert len(state.layers) > 2
    assert all(one.end == other.start for one, other in pairwise(state.layers))
    assert max(merges) <= MERGE_WIDTH
    assert max(depth.values()) < 9


def test_a_failing_merge_leaves_the_layers() -> None:
    """When only the merge fails the fold still succeeds, with the layers as they are."""

    def answer(request: SummaryRequest) -> Reply:
        return "a layer about the weather" if request.messages else SummaryFailure("Timeout")

    history = talk(4)
    result = make(history, LAYERED, Asked(answer))
    for _ in range(MERGE_WIDTH - 1):
        history.extend(talk(2))
        result = make(history, LAYERED, Asked(answer), result.state)

    assert [layer.level for layer in result.state.layers] == [0] * MERGE_WIDTH
    assert result.writing.summarizer == 0


def test_message_counting_asks_nobody() -> None:
    """What is dropped leaves an empty summary that hashes, caches and applies like any other."""
    history, asked = talk(4), Asked()
    result = make(history, COUNTING, asked)

    assert asked.requests == []
    assert result.state.summary_content == ""
    assert result.state.validate_integrity(history)
    assert texts(view_of(history, result.state)) == ["u2", "a2", "u3", "a3"]


def test_the_last_user_message_is_pinned_when_the_cut_passes_it() -> None:
    """In a long tool turn the question stays behind the summary, word for word."""
    history = History([*pair(0), Message.user(f"question {TEXT}")])
    for number in range(6):
        call = ToolCallPart(f"c{number}", "look_up", "{}")
        history.extend(
            [Message.assistant(TEXT, tool_calls=[call]), Message.tool(f"c{number}", TEXT)]
        )
    result = make(history, ROLLING, Asked())
    view = view_of(history, result.state)

    assert result.state.pinned_index == 2
    assert [m.role for m in view] == ["assistant", "user", "assistant", "tool", "assistant", "tool"]
    assert view[1] is history[2]


def test_a_text_with_defects_is_asked_for_again_with_the_list() -> None:
    """The second request to a summarizer says what was wrong."""
    answers = iter(["", "a good summary"])
    asked = Asked(lambda _: next(answers))
    result = make(talk(4), ROLLING, asked)

    assert [request.defects for request in asked.requests] == [(), ("The text is empty.",)]
    assert result.state.summary_content == "a good summary"
    assert (result.writing.calls, result.writing.summarizer) == (2, 0)


def test_a_failure_may_say_what_to_do_better() -> None:
    """Its sentence is told with the second request, and stands for it in the event."""
    failure = SummaryFailure("SummarizerError", defect="Begin with the first line.")

    def answer(request: SummaryRequest) -> Reply:
        return "good" if request.defects else failure

    asked = Asked(answer)
    result = make(talk(4), ROLLING, asked)

    assert [request.defects for request in asked.requests] == [(), ("Begin with the first line.",)]
    assert result.writing.failures == ("Begin with the first line.",)
    assert result.state.summary_content == "good"


def test_a_failure_without_a_sentence_keeps_what_was_told() -> None:
    """A second request after a timeout is the same; the next summarizer starts without defects."""
    late = SummaryFailure("TimeoutError")
    replies: list[Reply] = [late, "", late, "good"]
    asked = Asked(lambda _: replies.pop(0))
    result = make(talk(4), ROLLING, asked, summarizers=2)

    assert [request.defects for request in asked.requests] == [(), (), (), ()]
    assert result.writing.failures == ("TimeoutError", "The text is empty.", "TimeoutError")


def test_the_next_summarizer_is_asked_after_two_failures() -> None:
    """Each summarizer of the chain gets its attempts, then the next one does."""

    def answer(request: SummaryRequest) -> Reply:
        return "from the third" if request.summarizer == 2 else SummaryFailure("TimeoutError")

    asked = Asked(answer)
    result = make(talk(4), ROLLING, asked, summarizers=3)

    assert [request.summarizer for request in asked.requests] == [0] * ATTEMPTS + [1] * ATTEMPTS + [
        2
    ]
    assert result.reason is Reason.FOLDED_BY_FALLBACK


def test_a_summarizer_that_is_not_asked_costs_no_attempt() -> None:
    """The next one is asked at once, and nothing is counted as read."""

    def answer(request: SummaryRequest) -> Reply:
        return SummaryFailure("resting", was_asked=False) if not request.summarizer else "good"

    asked = Asked(answer)
    result = make(talk(4), ROLLING, asked, summarizers=2)

    assert [request.summarizer for request in asked.requests] == [0, 1]
    assert (result.writing.calls, result.writing.failures) == (1, ("resting",))
    assert result.writing.tokens_read == make(talk(4), ROLLING, Asked()).writing.tokens_read


@pytest.mark.parametrize("config", [ROLLING, LAYERED])
def test_when_all_fail_there_is_no_reduction(config: HistoryReductionConfig) -> None:
    """The result says why, and how often a summarizer was asked."""
    history = talk(4)
    first = make(history, config, Asked()).state
    history.extend(talk(2))
    result = attempt(history, config, Asked(lambda _: SummaryFailure("ValueError")), first)

    assert result.state is None
    assert result.reason is Reason.SUMMARIZERS_FAILED
    assert result.writing.calls == ATTEMPTS


def test_a_summary_has_to_be_smaller_than_what_leaves_the_view() -> None:
    """The pinned question stays in the view, so that a summary may not be as long as it."""
    history = History([Message.user(TEXT * 5), Message.assistant("yes indeed " * 20)])
    history.extend(Message.assistant(f"{number}", name=f"{number}") for number in range(5))
    asked = Asked(lambda _: TEXT)
    result = attempt(history, ROLLING, asked)

    assert result.state is None
    assert result.reason is Reason.SUMMARIZERS_FAILED
    assert asked.requests[0].budget < history.tokens(1, 3)
    assert "has to be shorter than the" in asked.requests[1].defects[0]


@pytest.mark.parametrize("config", [ROLLING, LAYERED, COUNTING])
def test_every_fold_makes_the_view_smaller(config: HistoryReductionConfig) -> None:
    """Whatever a summarizer writes, the view after a fold has fewer tokens than the one before."""
    sizes = cycle([1, 3, 9, 40])
    asked, history, state, folds = Asked(lambda _: "word " * next(sizes)), talk(3), None, 0
    for number in range(60):
        history.extend(pair(number))
        verdict = decide(history, config, state, config_fingerprint="f")
        if not verdict.folds:
            continue
        before = view_tokens(history, verdict.state)
        made = attempt(history, config, asked, state).state
        state = made or state
        folds += made is not None
        assert made is None or view_tokens(history, made) < before

    assert folds > 20


def test_a_long_span_is_read_in_pieces_and_each_message_once() -> None:
    """Every piece fits the window and carries the summary of the pieces before it."""
    history, asked = talk(30), Asked()
    count = history.counter.count
    window = history.tokens(0, 5) + count(DEFAULT_PROMPT)
    result = make(history, ROLLING, asked, window=window)
    read = [message for request in asked.requests for message in request.messages]

    assert read == list(history[: result.state.summarized_up_to_index])
    assert all(
        History(request.messages).tokens()
        + sum(map(count, request.earlier))
        + count(request.prompt)
        <= window
        for request in asked.requests
    )
    assert [bool(request.earlier) for request in asked.requests] == [False] + [True] * (
        len(asked.requests) - 1
    )


def test_prompt_and_budget_reach_the_summarizer() -> None:
    """The built-in prompt is used unless there is one of the user's own."""
    custom = msgspec.structs.replace(ROLLING, custom_summarization_prompt="In verse, please.")
    empty = msgspec.structs.replace(ROLLING, custom_summarization_prompt="")
    asked = Asked()
    for config in (custom, empty, ROLLING):
        make(talk(4), config, asked, summary_budget=60)

    assert [request.prompt for request in asked.requests] == [
        "In verse, please.",
        DEFAULT_PROMPT,
        DEFAULT_PROMPT,
    ]
    assert {request.budget for request in asked.requests} == {60}


def test_what_is_quoted_leaves_less_room_for_a_summary() -> None:
    """Quotes and summary together are no longer than a summary alone might be."""
    asked, quoting = Asked(), msgspec.structs.replace(ROLLING, quote_user_messages=600)
    alone = make(talk(6), msgspec.structs.replace(ROLLING, quote_user_messages=0), asked).state
    beside = make(talk(6), quoting, asked).state
    more = sum(quote.tokens for quote in beside.quotes)
    first, second = (request.budget for request in asked.requests)

    assert (alone.quotes, more > 64) == ((), True)
    assert LEAST_BUDGET < second < first
    assert abs(first - second - more * 3 // 4) <= 1


@pytest.mark.parametrize(
    ("room", "before", "budget"),
    [
        (4000, 0, 1500),
        (1000, 0, 750),
        (80, 0, 64),
        (60, 0, 59),
        (1, 0, 1),
        (1000, 600, 900),
        (3000, 1500, 1500),
        (1400, 1390, 1397),
    ],
)
def test_a_budget_is_what_was_before_and_most_of_what_is_new(
    room: int, before: int, budget: int
) -> None:
    """A rolling summary may grow, up to the most, but is always less than what it replaces."""
    assert budget_for(room, 1500, before=before) == budget


def test_a_forced_fold_goes_on_from_the_one_before() -> None:
    """A forced fold reads only what is new since the last."""
    history, asked = talk(4), Asked()
    first = make(history, ROLLING, asked).state
    history.extend(talk(1))
    result = make(history, ROLLING, asked, first, force=True)

    assert texts(asked.requests[1].messages) == ["u2", "a2"]
    assert result.reason is Reason.FORCED


def test_a_fold_never_changes_the_history() -> None:
    """Digest and messages are the same before and after."""
    history = talk(6)
    before = (history.digest(), list(history))
    make(history, ROLLING, Asked())

    assert (history.digest(), list(history)) == before


def test_statements_that_are_dropped_are_told() -> None:
    """They cost no attempt, and the text without them is what the reduction has."""
    asked = Asked(lambda _: "The weather was spoken of. Call AB12CD34. The south was cold.")
    made = make(talk(4), ROLLING, asked)

    assert made.state.summary_content == "The weather was spoken of. The south was cold."
    assert made.state.summary_tokens == made.writing.tokens
    assert made.writing.calls == 1
    assert (made.writing.failures, made.writing.dropped) == ((), 1)


def test_what_code_wrote_is_taken_as_it_is() -> None:
    """The same text is whole if it comes from a summarizer that is code."""
    text = "The weather was spoken of. Call AB12CD34. The south was cold."
    made = make(talk(4), ROLLING, Asked(lambda _: text), by_code=frozenset({0}))

    assert (made.state.summary_content, made.writing.failures) == (text, ())
