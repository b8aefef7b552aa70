"""What a fold keeps word for word, and that its view fits whatever happens."""

import threading

import msgspec
import pytest

from foldline.history.formats.openai_responses import message_from_openai_responses
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.reduction.budget import budget_of
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.event import Reason
from foldline.reduction.fold import FoldResult
from foldline.reduction.request import SummaryFailure
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.verdict import decide
from foldline.reduction.view import view_of, view_tokens
from tests.reduction.test_fold import (
    LAYERED,
    ROLLING,
    TEXT,
    Asked,
    attempt,
    make,
    pair,
    talk,
)


SMALL = HistoryReductionConfig(
    counting_unit="messages",
    target_count=4,
    summarization_threshold=2,
    context_window_size=4_000,
)


def grown(
    config: HistoryReductionConfig, pairs: int, ask: Asked | None = None
) -> tuple[History, list[FoldResult]]:
    """Return a history that has grown pair by pair, and its folds."""
    history, state, made = History(), None, list[FoldResult]()
    for number in range(pairs):
        history.extend(pair(number))
        if decide(history, config, state, config_fingerprint="f").folds:
            made.append(attempt(history, config, ask or Asked(), state))
            state = made[-1].state
    return history, made


def state_after(made: list[FoldResult]) -> HistoryReductionState:
    assert made[-1].state is not None
    return made[-1].state


@pytest.mark.parametrize("layers", [False, True])
def test_quotes_are_carried_over(*, layers: bool) -> None:
    """The first request is in the view after any number of folds, and the newest of the others."""
    config = msgspec.structs.replace(SMALL, use_single_summary=not layers)
    history, made = grown(config, 60)
    state = state_after(made)
    view = view_of(history, state)
    quoted = {one.index for one in state.quotes if one.text}
    newest = state.summarized_up_to_index - 2

    assert len(made) > 20
    assert {0, newest, newest - 2} <= quoted
    assert len(quoted) < 30
    assert f"[0] user: {history[0].text.strip()}\n" in "".join(m.text for m in view)
    assert all(one.role == "user" for one in state.quotes)


def test_what_no_longer_fits_is_named_once() -> None:
    """Quotes have an eighth of the ceiling; the event names each that leaves, the record none."""
    _, made = grown(SMALL, 60)
    named = [name for result in made for name in result.left_out]
    state = state_after(made)

    assert named[:2] == ["message 2 (user)", "message 4 (user)"]
    assert len(named) == len(set(named))
    assert all(one.text for one in state.quotes)
    assert sum(one.tokens for one in state.quotes if one.kind == "user") <= 2_800 // 8


def test_a_question_in_front_that_is_clipped_is_named() -> None:
    """The last user message is named if it is too long, also where the cut has passed it."""
    config = HistoryReductionConfig(context_window_size=2_000)
    history = talk(4)
    history.append(Message.user(TEXT * 80))
    history.append(Message.assistant("", tool_calls=[ToolCallPart("c1", "tool_a", "{}")]))
    history.append(Message.tool("c1", "ok"))
    result = attempt(history, config, Asked())

    assert result.state is not None
    assert result.state.pinned_index == 8
    assert "message 8 (user)" in result.left_out


def test_a_question_that_was_in_front_is_quoted_later() -> None:
    """The last user message of a fold stays whole, and is quoted once another one is there."""
    config = HistoryReductionConfig(context_window_size=2_000, clear_tool_results=False)
    history, asked = History([*pair(0), Message.user(f"question {TEXT}")]), Asked()
    for number in range(30):
        history.append(Message.assistant(TEXT, name=f"{number}"))
    first = make(history, config, asked).state
    history.append(Message.user("next"))
    history.extend(Message.assistant(TEXT, name=f"{number}") for number in range(30))
    second = make(history, config, asked, first).state

    assert (first.pinned_index, [one.index for one in first.quotes]) == (2, [0])
    assert [one.index for one in second.quotes] == [0, 2]
    assert second.quotes[1].text == history[2].text


def test_a_summarizer_is_given_what_the_view_shows_anyway() -> None:
    """A request names the quoted texts and the user message in front, so that none is repeated."""
    config = HistoryReductionConfig(context_window_size=2_000, clear_tool_results=False)
    history, asked = History([*pair(0), Message.user(f"question {TEXT}")]), Asked()
    for number in range(30):
        history.append(Message.assistant(TEXT, name=f"{number}"))
    state = make(history, config, asked).state

    assert asked.requests[0].shown == (state.quotes[0].text, history[2].text)


def test_what_gives_way_is_read() -> None:
    """Messages that are too short to be quoted are for the summarizer, not left out of both."""
    history, asked = History(), Asked()
    for number in range(9):
        history.extend([Message.user(f"My id is A-{number}."), Message.assistant("And the other?")])
    state = make(history, SMALL, asked).state

    quoted = tuple(one.text for one in state.quotes if one.text)
    assert 0 < len(quoted) < 7
    assert asked.requests[0].shown == quoted
    assert view_tokens(history, state) < view_tokens(history)


def test_short_requests_before_tool_calls_stay_quoted() -> None:
    """Where results make room for them, the requests of folds of a few short messages are quoted."""
    history, state = History(), None
    for number in range(9):
        history.append(Message.user(f"What is in room {number} of the house?"))
        call = ToolCallPart(
            id=f"call {number}", name="look", arguments=f'{{"room": {number}, "side": "left"}}'
        )
        history.append(Message.assistant(tool_calls=[call]))
        history.append(Message.tool(call.id, f"room {number}: table 1 and chair 2"))
        history.append(Message.assistant(f"Room {number} has a table and a chair."))
        if decide(history, SMALL, state, config_fingerprint="f").folds:
            state = make(history, SMALL, Asked(), state).state

    assert state is not None
    requests = range(0, state.summarized_up_to_index, 4)
    assert [one.index for one in state.quotes] == [*requests]


def test_a_sealed_item_stays_in_front() -> None:
    """What a vendor compacted is not summarized away: the newest of it is the floor of each view."""
    items = [sealed_item(number) for number in range(2)]
    history = talk(1)
    history.append(items[0])
    history.extend(talk(4))
    asked = Asked()
    first = make(history, ROLLING, asked).state
    history.extend(talk(4))
    second = make(history, ROLLING, asked, first).state
    history.append(items[1])
    history.extend(talk(4))
    third = make(history, ROLLING, asked, second).state

    assert view_of(history, first)[0].native == items[0].native
    assert second.sealed_item == first.sealed_item
    assert view_of(history, third)[0].native == items[1].native
    assert view_tokens(history, third) > view_tokens(
        history, msgspec.structs.replace(third, sealed_item=None)
    )


@pytest.mark.parametrize("before", [False, True])
def test_a_part_of_the_layers_has_the_sealed_item_it_covers(*, before: bool) -> None:
    """An item after its cut is in the rest of the messages; an older one is in front again."""
    history = talk(1)
    if before:
        history.append(sealed_item(0))
    history.extend(talk(4))
    first = make(history, LAYERED, Asked()).state
    history.append(sealed_item(1))
    history.extend(talk(4))
    second = make(history, LAYERED, Asked(), first).state
    assert second is not None
    whole, part = list(second.earlier())[:2]

    assert whole.sealed_item is not None
    assert whole.sealed_item.native == sealed_item(1).native
    assert history[whole.sealed_index or 0].native == sealed_item(1).native
    assert len(part.layers) == len(whole.layers) - 1
    assert part.sealed_item == (first.sealed_item if before and first is not None else None)
    assert (part.sealed_item is not None) == before


def sealed_item(number: int) -> Message:
    item = {"type": "compaction", "id": f"cmp_{number}", "encrypted_content": "sealed " * 9}
    return message_from_openai_responses(item)


@pytest.mark.parametrize("is_known", [False, True])
def test_near_its_ceiling_a_request_fits_without_a_summarizer(*, is_known: bool) -> None:
    """If every summarizer fails, what is there is shortened, and the cut stays where it is."""
    config = HistoryReductionConfig(context_window_size=2_000)
    history, first = History(), None
    if is_known:
        history = talk(12)
        first = make(history, config, Asked()).state
    history.extend(Message.user(f"{number} {TEXT * 4}") for number in range(8))
    result = attempt(history, config, Asked(lambda _: SummaryFailure("TimeoutError")), first)
    state = result.state

    assert state is not None
    assert state.summarized_up_to_index == (first.summarized_up_to_index if first else 0)
    assert state.summary_content == (first.summary_content if first else "")
    assert view_tokens(history, state) <= budget_of(config).room
    assert (result.writing.summarizer, result.writing.failures) == (None, ("TimeoutError",) * 2)


@pytest.mark.parametrize("config", [ROLLING, LAYERED])
def test_a_summary_gives_way_at_last(config: HistoryReductionConfig) -> None:
    """With a window that became small the head and tail of the summary are what is left of it."""
    config = msgspec.structs.replace(config, counting_unit="messages", quote_user_messages=0)
    history, state = talk(4), None
    asked = Asked(lambda _: f"{len(history)} words of the talk " * 60)
    for _ in range(4):
        history.extend(talk(6))
        state = make(history, config, asked, state).state
    assert state is not None
    tight = msgspec.structs.replace(config, context_window_size=700)
    small = make(history, tight, Asked(lambda _: SummaryFailure("TimeoutError")), state)

    assert view_tokens(history, state) > budget_of(tight).room
    assert small.reason is Reason.CEILING_REACHED
    assert small.state.summarized_up_to_index == state.summarized_up_to_index
    assert view_tokens(history, small.state) <= budget_of(tight).room
    assert "[…]" in small.state.summary_content
    assert [(one.start, one.end) for one in small.state.layers] in (
        [],
        [(0, state.layers[-1].end if state.layers else 0)],
    )


def test_a_batch_leaves_the_summary_alone() -> None:
    """Clearing asks nobody, keeps cut, summary and quotes, and is an earlier record's successor."""
    config = msgspec.structs.replace(SMALL, summarization_threshold=40, context_window_size=8_000)
    history, asked = talk(6), Asked()
    first = make(history, config, asked, force=True).state
    for number in range(12):
        call = ToolCallPart(f"c{number}", "look_up", f"{number}")
        history.extend([Message.assistant(tool_calls=[call]), Message.tool(call.id, TEXT * 8)])
    batch = make(history, config, asked, first)

    assert batch.reason is Reason.CLEARED
    assert len(asked.requests) == 1
    assert batch.state.summary_messages()[0].parts == first.summary_messages()[0].parts
    assert batch.state.summarized_up_to_index == first.summarized_up_to_index
    assert batch.state.shortened
    assert batch.state.previous is not None
    assert batch.state.previous.is_same_as(first)


def test_a_summary_is_smaller_than_what_is_shown_of_what_leaves() -> None:
    """Cleared results have left the view before: a summary may not be as long as they were."""
    config = msgspec.structs.replace(SMALL, target_count=20, quote_user_messages=0)
    history, asked, state = talk(1), Asked(lambda one: "word " * (one.budget * 3 // 4)), None
    before = list[tuple[int, int]]()
    for number in range(60):
        call = ToolCallPart(f"c{number}", "look_up", f"{number}")
        history.extend([Message.assistant(tool_calls=[call]), Message.tool(call.id, TEXT * 2)])
        verdict = decide(history, config, state, config_fingerprint="f")
        if verdict.folds:
            made = make(history, config, asked, state).state
            before.append((view_tokens(history, verdict.state), view_tokens(history, made)))
            state = made

    assert state is not None
    assert state.summary_content
    assert len(before) > 5
    assert all(new < old for old, new in before)


def test_large_messages_stay_whole_if_nobody_wants_them_clipped() -> None:
    """Without a largest message a fold shows what it keeps as it is, as long as it fits."""
    history = talk(4)
    history.append(Message.user("and?"))
    history.append(Message.assistant(TEXT * 14))
    config = msgspec.structs.replace(SMALL, target_count=2, largest_message=None)
    clips = msgspec.structs.replace(config, largest_message=0.25)
    whole, short = (make(history, one, Asked()).state for one in (config, clips))

    assert view_of(history, whole)[-1] is history[9]
    assert view_of(history, short)[-1].text != history[9].text


def test_what_gives_way_among_quotes_is_given_to_the_summarizer() -> None:
    """A message that the view quoted, and has no room for any more, is not lost: it is read."""
    history, asked = talk(8), Asked()
    quoting = msgspec.structs.replace(ROLLING, quote_user_messages=600)
    first = make(history, quoting, asked).state
    history.extend(talk(40))
    small = msgspec.structs.replace(quoting, context_window_size=600)
    second = make(history, quoting, asked, first, budget=budget_of(small)).state

    shown = {one.text for one in second.quotes if one.text}
    gone = [one.text for one in first.quotes if one.text and one.text not in shown]
    assert asked.requests[0].gone == ()
    assert gone
    assert asked.requests[-1].gone == tuple(gone)


def test_a_request_that_is_shown_no_longer_is_given_to_the_summarizer() -> None:
    """What the view showed in front while it was answered is read once another request is there."""
    unquoted, asked = msgspec.structs.replace(ROLLING, quote_user_messages=0), Asked()
    history = History([Message.user("Paint the red car."), *map(Message.assistant, [TEXT] * 8)])
    first = make(history, unquoted, asked).state
    history.extend([Message.user("And the door?"), *map(Message.assistant, [TEXT] * 8)])
    make(history, unquoted, asked, first)

    assert [one.shown for one in asked.requests] == [("Paint the red car.",), ("And the door?",)]
    assert [one.gone for one in asked.requests] == [(), ("Paint the red car.",)]


def test_what_users_say_is_weighed_aside() -> None:
    """No user message of the folded part is looked at in the event loop."""
    loops = list[bool]()

    def has_rule(_: str) -> bool:
        loops.append(threading.current_thread() is threading.main_thread())
        return False

    attempt(talk(40), ROLLING, Asked(), has_rule=has_rule)

    assert len(loops) > 30
    assert not any(loops)


def test_code_leaves_room_for_all_quotes_and_a_model_for_itself() -> None:
    """What stands around the first quotes is counted for the digest, which repeats none of them."""
    asked = Asked()
    make(talk(5), ROLLING, asked)
    make(talk(5), ROLLING, asked, by_code=frozenset({0}))

    by_model, by_code = (request.budget for request in asked.requests)
    assert by_model - by_code == 64 * 3 // 4
