"""Histories that are longer than a summarizer can read at once."""

import asyncio
from itertools import pairwise

import pytest
from msgspec import structs

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import (
    CompactionPart,
    FilePart,
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from foldline.history.prefix import Prefix
from foldline.history.tokens import TokenEstimator, count_message
from foldline.reduction.budget import budget_of
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig
from foldline.reduction.draft import MERGE_WIDTH, FoldOptions
from foldline.reduction.event import Reason
from foldline.reduction.fold import fold
from foldline.reduction.pieces import chunk_end, slices, split
from foldline.reduction.request import (
    DEFAULT_PROMPT,
    Reply,
    SummaryFailure,
    SummaryRequest,
    run_flow,
)
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.verdict import decide
from foldline.reduction.view import view_of, view_tokens
from tests.history.words import is_safe_cut
from tests.linearity import is_linear
from tests.reduction.test_fold import LAYERED, NOW, ROLLING, Asked, attempt, make


COUNTER = TokenEstimator()
KINDS = pytest.mark.parametrize("config", [ROLLING, LAYERED], ids=["rolling", "layers"])
LATE = SummaryFailure("not asked: no time was left for it", was_asked=False)


def marked(count: int, *, words: int = 30) -> History:
    """Make *count* messages that each begin with a word of their own."""
    return History(
        Message.user(f"mark-{n} " + "so it was said " * words)
        if n % 2 == 0
        else Message.assistant(f"mark-{n} " + "and so it was done " * words)
        for n in range(count)
    )


class Reader(Asked):
    """Writes a text for each request; from the request *stop* on only the last summarizer does."""

    def __init__(self, *, stop: int | None = None, words: int = 20) -> None:
        super().__init__(self.written)
        self.stop, self.words, self.count = stop, words, 0

    def written(self, request: SummaryRequest) -> Reply:
        if request.summarizer:
            return f"by code {self.count} " + "the rest " * self.words
        if self.stop is not None and self.count >= self.stop:
            return LATE
        self.count += 1
        return f"text {self.count} " + "of this " * self.words

    @property
    def marks(self) -> list[str]:
        """The marks of the messages that were given to the first summarizer, in order."""
        asked = [one for one in self.requests if not one.summarizer and not one.defects]
        texts = (message.text for one in asked for message in one.messages)
        return [text.split()[0] for text in texts if text.startswith("mark-")]

    def size(self, request: SummaryRequest) -> int:
        said = sum(count_message(one, COUNTER) for one in request.messages)
        return said + sum(map(COUNTER.count, (*request.earlier, request.prompt, request.focus)))


@pytest.mark.slow
@KINDS
def test_fifty_windows_take_at_most_twice_as_many_calls(config: HistoryReductionConfig) -> None:
    """Each message is read once, and no request is larger than the window."""
    history, asked = marked(1000), Reader()
    window = history.tokens() // 50
    state = make(history, config, asked, window=window, summarizers=2).state

    assert len(asked.requests) <= 2 * 50
    assert max(map(asked.size, asked.requests)) <= window
    assert asked.marks == [f"mark-{n}" for n in range(state.summarized_up_to_index)]
    assert sum(len(request.messages) > 0 for request in asked.requests) < 1.3 * 50


@KINDS
def test_every_request_fits_whatever_the_texts_are(config: HistoryReductionConfig) -> None:
    """Also where summaries are as long as they may be, and layers are merged two at a time."""
    history, asked = marked(400), Reader(words=65)
    window = history.tokens() // 50
    make(history, config, asked, window=window, summarizers=2)
    room = window - COUNTER.count(DEFAULT_PROMPT)

    assert len(asked.requests) <= 2 * 50
    assert max(map(asked.size, asked.requests)) <= window
    assert max(request.budget for request in asked.requests) <= room // 4
    assert asked.marks == list(dict.fromkeys(asked.marks))


@KINDS
def test_a_fold_ends_where_the_summarizers_stop(config: HistoryReductionConfig) -> None:
    """What was read is stored as a reduction of its own; the next call reads the rest alone."""
    history, asked = marked(60), Reader(stop=3)
    window = history.tokens() // 10
    first = make(history, config, asked, window=window, summarizers=2)
    asked.stop = None
    read = len(asked.marks)
    second = make(history, config, asked, first.state, window=window, summarizers=2)

    assert first.reason is Reason.READ_IN_PART
    assert not any(request.summarizer for request in asked.requests)
    assert 0 < first.state.summarized_up_to_index < second.state.summarized_up_to_index == 56
    assert view_of(history, first.state)[-1] is history[59]
    assert asked.marks[read:][0] == f"mark-{first.state.summarized_up_to_index}"
    # The reading at which they stopped was asked for, and not given.
    assert sorted(set(asked.marks)) == sorted(f"mark-{n}" for n in range(56))
    assert first.state.unread_from is None
    assert (first.writing.calls, first.writing.summarizer) == (3, 0)


@KINDS
def test_where_the_rest_does_not_fit_a_stopgap_stands_for_it(
    config: HistoryReductionConfig,
) -> None:
    """What was read stays as it is, and the next calls go on until everything is read."""
    history, asked = marked(1000), Reader(stop=10)
    window, state = history.tokens() // 50, None
    states: list[HistoryReductionState] = []
    while state is None or state.unread_from is not None:
        made = make(history, config, asked, state, window=window, summarizers=2)
        assert made.reason in {Reason.READ_IN_PART, Reason.CEILING_REACHED}
        state = made.state
        states.append(state)
        assert view_tokens(history, state) < budget_of(config).full
        asked.stop = asked.count + 10
    first, last = states[0], states[-1]
    given = [one for one in asked.requests if not one.summarizer]

    assert len(states) > 4
    assert first.layers[-1].is_stopgap
    assert first.layers[-1].summary.startswith("by code 10")
    assert {one.summarized_up_to_index for one in states} == {996}
    assert first.unread_from == first.layers[-1].start > 100
    assert len(given) <= 2 * 50
    assert set(asked.marks) == {f"mark-{n}" for n in range(996)}
    # Only the chunk at which the summarizers stopped was asked for again.
    assert len(asked.marks) - 996 <= (len(states) - 1) * 20
    assert "by code" not in last.summary_content
    assert decide(history, config, last, config_fingerprint="f").kind == "hit"


@KINDS
def test_a_stopgap_stays_while_summarizers_fail(config: HistoryReductionConfig) -> None:
    """A fold that is due writes another one for more; one that is not due changes nothing."""
    history, asked = marked(1000), Reader(stop=10)
    window = history.tokens() // 50
    first = make(history, config, asked, window=window, summarizers=2).state
    failed = attempt(history, config, asked, first, window=window, summarizers=2)
    history.extend(marked(8))
    second = make(history, config, asked, first, window=window, summarizers=2)

    assert (failed.state, failed.reason) == (None, Reason.SUMMARIZERS_FAILED)
    assert second.reason is Reason.FOLDED_BY_FALLBACK
    assert second.state.layers[:-1] == first.layers[:-1]
    assert second.state.layers[-1].start == first.layers[-1].start
    assert second.state.layers[-1].end == second.state.summarized_up_to_index == 1004
    assert sum(one.summarizer for one in asked.requests) == 2


def test_what_is_no_longer_in_memory_is_not_read_again() -> None:
    """A history that begins at the cut has a hit, and a fold that is due goes on from there."""
    history, asked = marked(1000), Reader(stop=10)
    state = make(history, ROLLING, asked, window=2_000, summarizers=2).state
    later = _after(history, state.summarized_up_to_index)
    asked.stop = None

    assert decide(later, ROLLING, state, config_fingerprint="f").reason is Reason.REDUCTION_VALID
    later.extend(marked(8))
    made = make(later, ROLLING, asked, state, window=2_000, summarizers=2).state
    assert asked.requests[-1].earlier == (state.summary_content,)
    assert made.unread_from is None


def _after(history: History, cut: int) -> History:
    """Return *history* as a process sees it that has loaded what follows *cut*."""
    prefix = Prefix(
        length=cut,
        digest=history.digest(cut),
        tokens=history.tokens(0, cut),
        users=history.exchanges() - history.exchanges(cut),
        last_user=cut - 2,
        user=history[cut - 2],
    )
    return History(history[cut:], prefix=prefix)


@KINDS
def test_dropping_for_one_run_leaves_the_stopgap(config: HistoryReductionConfig) -> None:
    """Only a run that summarizes goes on reading."""
    history, asked = marked(1000), Reader(stop=10)
    state = make(history, config, asked, window=2_000, summarizers=2).state
    run = AgentRunConfig(history_reduction_strategy_override="message_counting")
    verdict = decide(history, config, state, config_fingerprint="f", overrides=run)

    assert verdict.kind == "hit"
    assert decide(history, config, state, config_fingerprint="f").reason is Reason.READ_IN_PART


@KINDS
def test_a_batch_keeps_the_stopgap(config: HistoryReductionConfig) -> None:
    """A new pin asks no summarizer, and what it stands for is read afterwards."""
    history, asked = marked(1000), Reader(stop=10)
    state = make(history, config, asked, window=2_000, summarizers=2).state
    verdict = decide(history, config, state, config_fingerprint="f", pins=((0, history[0]),))
    pinned = structs.replace(verdict, reason=Reason.PINS_CHANGED)
    options = FoldOptions(
        created_at=NOW,
        config_fingerprint="f",
        summarizers=2,
        budget=budget_of(config),
        summary_budget=1500,
        pins=((0, history[0]),),
    )
    flow = fold(history, pinned, config, options, given=state)
    asked = Reader()
    made = asyncio.run(run_flow(flow, asked, asyncio.to_thread)).state

    assert (made is not None, asked.requests) == (True, [])
    assert made is not None
    assert made.layers == state.layers
    assert made.unread_from == state.unread_from


@KINDS
def test_summarizers_that_fail_at_once_leave_all_to_the_last_one(
    config: HistoryReductionConfig,
) -> None:
    """It reads everything at once, and nothing is unread then."""
    asked = Reader(stop=0)
    made = make(marked(1000), config, asked, window=2_000, summarizers=2)

    assert made.reason is Reason.FOLDED_BY_FALLBACK
    assert [one.summarizer for one in asked.requests] == [0, 1]
    assert len(asked.requests[1].messages) == 996
    assert made.state.unread_from is None


@KINDS
def test_without_a_last_resort_a_fold_ends_where_it_fits_or_fails(
    config: HistoryReductionConfig,
) -> None:
    """One summarizer alone has nobody to stand in for it."""
    short, long = marked(60), marked(1000)
    part = make(short, config, Reader(stop=3), window=1_000)
    none = attempt(long, config, Reader(stop=3), window=1_000)

    assert part.reason is Reason.READ_IN_PART
    assert none.reason is Reason.CEILING_REACHED
    assert none.state is not None
    assert none.state.summarized_up_to_index == 0


@KINDS
def test_a_last_resort_that_fails_too_is_no_summary(config: HistoryReductionConfig) -> None:
    """The request fits all the same, since messages are shortened."""
    asked = Reader(stop=3, words=4_000)
    result = attempt(marked(1000), config, asked, window=2_000, summarizers=2)

    assert result.state is not None
    assert result.state.summary_content == ""
    assert result.writing.summarizer is None


def test_a_message_longer_than_the_window_is_read_in_parts() -> None:
    """Each word of it is read once, and secrets are gone before it is divided."""
    words = [f"word{n}" for n in range(3_000)]
    talk = [Message.user(" ".join(words)), *marked(9)]
    for config in (ROLLING, LAYERED):
        asked = Reader()
        state = make(
            History(talk),
            config,
            asked,
            window=1_000,
            summarizers=2,
            clean=lambda text: text.replace("word7 ", "[secret] "),
        ).state
        parts = [one.text for request in asked.requests for one in request.messages]
        read = " ".join(parts).split()

        assert max(map(asked.size, asked.requests)) <= 1_000
        assert read[:3_000] == [word if word != "word7" else "[secret]" for word in words]
        assert all(layer.end > 0 for layer in state.layers)


def test_a_giant_group_of_calls_is_one_chunk() -> None:
    """It is read in several readings, and no layer ends inside of it."""
    calls = [ToolCallPart(f"c{n}", "look_up", "{}") for n in range(30)]
    group = [Message.assistant(tool_calls=calls)]
    group += [Message.tool(f"c{n}", "result " * 60) for n in range(30)]
    history = History([Message.user("go"), *group, *marked(12)])
    asked = Reader()
    state = make(history, LAYERED, asked, window=600, summarizers=2).state

    assert (state.layers[0].start, state.layers[0].end) == (0, 32)
    assert all(is_safe_cut(history, one.end) for one in state.layers)
    assert [request.earlier != () for request in asked.requests][:4] == [False, True, True, True]
    assert max(map(asked.size, asked.requests)) <= 600


@pytest.mark.parametrize("window", [1, 100, 200, 400])
@KINDS
def test_a_tiny_window_makes_progress(config: HistoryReductionConfig, window: int) -> None:
    """Prompt and summary leave no room, and the fold ends all the same."""
    history, asked = marked(30), Reader(words=1)
    state = make(history, config, asked, window=window, summarizers=2).state
    room = max(64, window - COUNTER.count(DEFAULT_PROMPT))

    assert state.summarized_up_to_index == 26
    assert max(map(asked.size, asked.requests)) <= room + COUNTER.count(DEFAULT_PROMPT)
    assert set(asked.marks) == {f"mark-{n}" for n in range(26)}


def test_an_earlier_summary_that_fills_the_window_is_shortened_first() -> None:
    """It is read in parts that fit, once, and the fold goes on from what was written of it."""
    history, asked = marked(40), Reader()
    first = make(history, ROLLING, Asked(lambda _: "kept " * 900)).state
    history.extend(marked(12))
    state = make(history, ROLLING, asked, first, window=800, summarizers=2).state
    shorter = [one for one in asked.requests if not one.messages]

    assert first.summary_tokens > 800
    assert 1 < len(shorter) < 5
    assert "".join(one.earlier[-1] for one in shorter) == first.summary_content
    assert max(map(asked.size, asked.requests)) <= 800
    assert state.summary_content.startswith("text ")


def test_an_earlier_summary_that_cannot_be_shortened_goes_to_the_last_one() -> None:
    """The last summarizer has no window."""
    history = marked(40)
    first = make(history, ROLLING, Asked(lambda _: "kept " * 900)).state
    history.extend(marked(12))
    asked = Reader(stop=0)
    made = make(history, ROLLING, asked, first, window=800, summarizers=2)

    assert made.reason is Reason.FOLDED_BY_FALLBACK
    assert asked.requests[-1].earlier == (first.summary_content,)


def test_code_merges_layers_only_where_there_is_no_room() -> None:
    """A merge that the summarizers fail at waits for the next fold."""

    def answer(request: SummaryRequest) -> Reply:
        if not request.messages and not request.summarizer:
            return LATE
        return f"layer {len(asked.requests)} of what was said"

    asked = Asked(answer)
    state = make(marked(40), LAYERED, asked, window=600, summarizers=2).state

    assert len(state.layers) > MERGE_WIDTH
    assert {one.level for one in state.layers} == {0}
    assert not any(request.summarizer for request in asked.requests)


def test_a_stopgap_gives_way_before_what_was_read() -> None:
    """Where the view does not fit, the last layer is clipped alone."""
    history, asked = marked(400), Reader(stop=4, words=40)
    config = structs.replace(LAYERED, ceiling=600, context_window_size=2_000)
    budget = budget_of(config)
    state = make(
        history, config, asked, window=1_000, summarizers=2, budget=budget, summary_budget=150
    ).state

    assert view_tokens(history, state) <= budget.fitted


PARTS: tuple[Part, ...] = (
    TextPart("said and done " * 300),
    ReasoningPart("thought of it " * 300),
    CompactionPart("summed up then " * 300),
    GenericPart("odd", "some data here " * 300),
    ToolCallPart("c", "look_up", "some argument here " * 300),
    ToolCallResponsePart("c", "some answer here " * 300),
)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)
def test_every_kind_of_text_is_divided(part: Part) -> None:
    """The parts fit, are of the same kind, and are the text again when they are joined."""
    message = Message(role="assistant", parts=(TextPart("before"), part, TextPart("after")))
    found = list(split(message, 200, COUNTER, str))
    fields = ("content", "data", "arguments", "response")

    def text(one: Part) -> str:
        return next(str(getattr(one, name)) for name in fields if hasattr(one, name))

    parts = [one for message in found for one in message.parts]
    assert all(count_message(one, COUNTER) <= 200 for one in found)
    assert len(found) > 3
    assert {type(one) for one in parts} == {TextPart, type(part)}
    assert "".join(map(text, parts)) == f"before{text(part)}after"


def test_media_and_answers_of_several_contents_stay_whole() -> None:
    """What is no text is given as it is, once; what is opaque is not given at all."""
    image, file = UriPart("image", "https://e.org/a.png"), FilePart("document", "f-1")
    answer = ToolCallResponsePart("c", (TextPart("long answer " * 400), image))
    message = Message(
        role="tool",
        parts=(answer, file, GenericPart("own", "x" * 9_000, opaque=True)),
        name="look_up",
    )
    found = list(split(message, 300, COUNTER, str))
    parts = [one for message in found for one in message.parts]
    answers = [one.response for one in parts if isinstance(one, ToolCallResponsePart)]

    assert all(one.name == "look_up" for one in found)
    assert "".join(one for one in answers if isinstance(one, str)) == "long answer " * 400
    assert (answers[-1], parts[-1]) == ((image,), file)


def test_media_in_a_part_of_a_vendor_are_not_divided() -> None:
    """Slices of a PDF would be read by a summarizer one after the other, as so much text."""
    fetched = GenericPart("web_fetch_tool_result", f'{{"data":"JVBERi0{"A" * 9_000}"}}')
    message = Message(role="assistant", parts=(TextPart("long answer " * 400), fetched))

    parts = [one for piece in split(message, 300, COUNTER, str) for one in piece.parts]

    assert [one for one in parts if not isinstance(one, TextPart)] == [fetched]


@pytest.mark.parametrize(
    "text", ["", "a", "x" * 5_000, "line\n" * 900, "word " * 900, "语言" * 900 + "plain " * 900]
)
def test_slices_are_the_text_again(text: str) -> None:
    """Each has at most so many tokens, and ends between words if there are any."""
    found = list(slices(text, 50, COUNTER))

    assert "".join(found) == text
    assert all(COUNTER.count(one) <= 50 for one in found)
    if "word" in text:
        assert all(one.endswith(" ") for one in found)


def test_a_slice_has_a_character_at_least() -> None:
    """A room of nothing ends too."""
    assert list(slices("语言", 0, COUNTER)) == ["语", "言"]


@pytest.mark.parametrize("unit", ["word ", "x", "语", "a语\n"])
def test_dividing_a_text_takes_linear_time(unit: str) -> None:
    """Whatever its characters are, each is counted a few times."""
    assert is_linear(lambda text: list(slices(text, 100, COUNTER)), "", unit)


def test_a_chunk_takes_a_short_rest_along() -> None:
    """A summary of next to nothing is not worth a call."""
    history = marked(9)
    room = history.tokens(0, 8)

    assert chunk_end(history, 0, 9, room) == 9
    assert chunk_end(history, 0, 9, history.tokens(0, 5)) == 5
    assert chunk_end(history, 5, 9, history.tokens()) == 9


def test_layers_of_a_long_history_lie_side_by_side() -> None:
    """Every message before the cut is in one of them, also with a stopgap."""
    for stop in (None, 10):
        history, asked = marked(1000), Reader(stop=stop)
        state = make(history, LAYERED, asked, window=2_000, summarizers=2).state
        spans = state.spans

        assert (spans[0].start, spans[-1].end) == (0, 996)
        assert all(one.end == other.start for one, other in pairwise(spans))
        assert {one.kind for one in spans} == {"summary"}
