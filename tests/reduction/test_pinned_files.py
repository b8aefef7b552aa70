"""Pinned messages with files: the view shows them as they are, as far as there is room."""

import asyncio
from functools import partial

import pytest
from msgspec.structs import replace

from foldline.history.formats.anthropic import message_from_anthropic
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import (
    BlobPart,
    FilePart,
    Part,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.history.tokens import count_message
from foldline.reduction.active import active_reduction
from foldline.reduction.balance import FoldCosts
from foldline.reduction.budget import budget_of
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.draft import FoldOptions
from foldline.reduction.fold import fold
from foldline.reduction.prices import MILLION, PriceTier
from foldline.reduction.quotes import Pins, Quote, within
from foldline.reduction.request import run_flow
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.verdict import decide
from foldline.reduction.view import view_of, view_tokens
from tests.history.words import WordCount
from tests.reduction.records import record
from tests.reduction.test_balance import BALANCE, PRICES, said
from tests.reduction.test_fold import NOW, Asked
from tests.reduction.test_quotes import folded
from tests.reduction.test_verdict import state_of


FILE = FilePart("document", "file_1")
CONFIG = HistoryReductionConfig(counting_unit="messages", target_count=2, summarization_threshold=2)


def shows(*parts: Part, said: str = "Keep it.", pin: bool = True) -> Message:
    """Return a message of the user with *parts* behind a text."""
    message = Message.user(said, pin=pin)
    return replace(message, parts=(*message.parts, *parts))


def talk(first: Message, count: int = 9) -> History:
    """Return a history of *count* messages after *first*."""
    words = " and some words more for the summary" * 9
    said = (f"message {number}{words}" for number in range(1, count + 1))
    kinds = (Message.assistant, Message.user)
    return History([first, *(kinds[at % 2](text) for at, text in enumerate(said))])


def made(
    history: History,
    pins: Pins | None = None,
    state: HistoryReductionState | None = None,
    config: HistoryReductionConfig = CONFIG,
    asked: Asked | None = None,
) -> tuple[HistoryReductionState, tuple[str, ...]]:
    """Return the reduction of a fold of *history*, and what it names as left out."""
    verdict = decide(history, config, state, config_fingerprint="f", pins=pins)
    assert verdict.folds
    options = FoldOptions(
        created_at=NOW,
        config_fingerprint="f",
        summarizers=1,
        budget=budget_of(config),
        summary_budget=1_500,
        pins=pins,
    )
    flow = fold(history, verdict, config, options, given=state)
    result = asyncio.run(run_flow(flow, asked or Asked(), asyncio.to_thread))
    assert result.state is not None
    return result.state, result.left_out


def test_a_pinned_file_of_the_user_stays_in_the_view() -> None:
    """The message itself stands before the summary, which repeats no word of it."""
    history = talk(shows(FILE))
    state, left_out = made(history)
    view = view_of(history, state)

    assert view[0] is history[0]
    assert view[1].is_summary
    assert "Keep it." not in view[1].text
    assert not any(one.endswith("(pinned)") for one in left_out)
    assert view_tokens(history, state) >= sum(count_message(one, history.counter) for one in view)
    assert state.front_tokens < state.shown_tokens - state.front_tokens == history.tokens(0, 1)
    assert view == state.apply_to_messages([*history])


def test_a_summarizer_is_told_what_a_pinned_file_is_shown_with() -> None:
    """Its text stands word for word in the view, as quotes do."""
    asked = Asked()
    made(talk(shows(FILE)), asked=asked)

    assert "Keep it." in asked.requests[0].shown


def test_a_record_holds_no_file_and_notices_that_one_is_left_out() -> None:
    """The bytes stay in the history; the hash of the record covers what is shown of it."""
    blob = BlobPart("document", "application/pdf", "JVBERi0x" * 100)
    state, _ = made(talk(shows(blob)))
    again = HistoryReductionState.from_json(state.to_json())
    quotes = tuple(replace(one, is_message=False) for one in state.quotes)

    assert blob.content[:16].encode() not in state.to_json()
    assert (again, again.is_whole, again.shown_pins) == (state, True, state.shown_pins)
    assert not replace(again, quotes=quotes).is_whole


def test_a_later_fold_shows_the_file_too_until_it_is_unpinned() -> None:
    """What was pinned by an index is quoted like any other message once it is not pinned."""
    history = talk(shows(FILE, pin=False))
    pins = [(0, history[0])]
    first, _ = made(history, pins)
    history.extend(talk(history[0], 8)[1:])
    second, _ = made(history, pins, first)
    unpinned, _ = made(history, [], second)

    assert ([*first.shown_pins], [*second.shown_pins]) == ([0], [0])
    assert first.summarized_up_to_index < second.summarized_up_to_index
    assert not unpinned.shown_pins
    assert (unpinned.quotes[0].kind, unpinned.quotes[0].text) == (
        "first",
        "Keep it.\n[document not shown]",
    )


def test_a_part_of_the_history_shows_the_files_that_it_knows() -> None:
    """Without the message a reduction that shows it does not fit; with it the view is the same."""
    full = talk(shows(FILE))
    state, _ = made(full)
    window = full.after(state.summarized_up_to_index)
    found = partial(
        active_reduction, unit=state.counting_unit, config_fingerprint=state.config_fingerprint
    )

    assert found(window, state) is None
    window.known[0] = full[0]
    assert found(window, state) is state
    assert view_of(window.copy(), state) == view_of(full, state)
    assert view_tokens(window, state) == view_tokens(full, state)


def test_a_file_before_a_part_of_the_history_is_quoted_if_it_is_not_known() -> None:
    """A view can show only what can be read again."""
    full = talk(shows(FILE, pin=False))
    state, _ = made(full, [])
    window = full.after(state.summarized_up_to_index)
    pins = [(0, full[0])]
    quoted, left_out = made(window, pins, state)
    window.known[0] = full[0]
    known, _ = made(window, pins, state)

    assert (quoted.shown_pins, left_out) == ({}, ("message 0 (pinned)",))
    assert known.shown_pins.keys() == {0}


def test_the_last_user_message_is_shown_once() -> None:
    """A pinned one that the cut has passed is in the view already, with its file."""
    history = talk(shows(FILE, said="old"), 1)
    state = state_of(
        history,
        2,
        pinned_index=0,
        quotes=(Quote(index=0, kind="pin", role="user", text="", tokens=9, is_message=True),),
    )

    assert view_of(history, state).count(history[0]) == 1
    assert view_tokens(history, state) == state.front_tokens + history.tokens(0, 1)


def test_what_only_a_message_of_the_user_can_show_is_named() -> None:
    """Files of an answer and of a tool stay words, and are named; so is one in a user's result."""
    answer = replace(Message.assistant("Here.", pin=True), parts=(TextPart("Here."), FILE))
    result = ToolCallResponsePart("c", (TextPart("seen"), FILE))
    seen = replace(Message.tool("c", "", pin=True), parts=(result,))
    found = folded(
        Message.user("a"),
        answer,
        Message.assistant(tool_calls=[ToolCallPart("c", "look", "{}")]),
        seen,
        shows(result),
    )

    assert [(one.text, one.is_whole, one.is_message) for one in found if one.kind == "pin"] == [
        ("Here.\n[document not shown]", False, False),
        ("[document not shown]\nseen", False, False),
        ("Keep it.\n[document not shown]\nseen", False, False),
    ]


def test_files_have_a_third_of_the_room() -> None:
    """The newest are shown as long as they fit; the words of the others stay, and they are named."""
    config = HistoryReductionConfig(context_window_size=40_000)
    history = [shows(FILE, said=str(number)) for number in range(5)]
    found = folded(*history, config=config)
    large = sum(one.tokens for one in found if one.is_message)
    state, left_out = made(talk(shows(*[FILE] * 8)), config=replace(CONFIG, ceiling=40_000))

    assert [one.is_message for one in found] == [False, False, True, True, True]
    assert large <= budget_of(config).room / 3
    assert found[0].text == "0\n[document not shown]"
    assert "message 0 (pinned)" in left_out
    assert not state.shown_pins


def test_a_file_that_gives_way_in_the_end_is_named() -> None:
    """What is left out of a view as the last thing is no message of it any more."""
    found = within(folded(shows(FILE)), 0, "pin")

    assert [(one.is_message, one.is_whole, one.tokens) for one in found] == [(False, False, 0)]


def test_where_old_messages_are_dropped_only_the_file_is_in_front() -> None:
    """No empty summary is sent with it, with layers neither."""
    for config in (
        replace(CONFIG, strategy="message_counting"),
        replace(CONFIG, use_single_summary=False, quote_user_messages=0),
    ):
        history = talk(shows(FILE))
        state, _ = made(history, config=config)
        front = state.front_messages(history)

        assert front[0] is history[0]
        assert all(one.text for one in front)


def test_each_pin_that_is_not_shown_is_named() -> None:
    """Two with the same words may have different files."""
    shown = shows(*[FILE] * 8)
    history = talk(shown)
    history.extend([shows(*[FILE] * 8), *talk(shown)[1:]])
    _, left_out = made(history, config=replace(CONFIG, ceiling=40_000))

    assert {"message 0 (pinned)", "message 10 (pinned)"} <= {*left_out}


def test_thinking_that_is_bound_to_a_view_without_the_file_is_left_out() -> None:
    """A pin that brings a message to the front changes what stands before every answer."""
    config = replace(CONFIG, quote_user_messages=0)
    history = talk(shows(FILE, pin=False))
    state, _ = made(history, [], config=config)
    thought = {"type": "thinking", "thinking": "hm", "signature": "S"}
    said = {"type": "text", "text": "so"}
    thinks = message_from_anthropic({"role": "assistant", "content": [thought, said]})
    history.extend([thinks, Message.user("and?")])
    pinned, _ = made(history, [(0, history[0])], state, config)

    assert thinks in view_of(history, state)
    assert pinned.summary_content == state.summary_content
    assert thinks not in view_of(history, pinned)


@pytest.mark.parametrize("count", range(2, 12))
def test_a_pinned_file_costs_a_fold_what_a_system_message_does(count: int) -> None:
    """It is in each request before the summary, and a fold leaves it there."""
    tier = PriceTier(above=3_000, input=100 * MILLION, output=MILLION, cached_read=MILLION)
    costs = FoldCosts(prices=replace(PRICES, tiers=(tier,)))
    first, second = Message.user("Keep it."), Message.assistant("Yes.")
    pin = Quote(index=0, kind="pin", role="user", text="", tokens=3_000, is_message=True)
    found: list[str] = []
    for rules, quotes in (([], (pin,)), ([Message.system("word " * 2_996)], ())):
        history = History([*rules, first, second, *said([20] * count)], counter=WordCount())
        state = record(history, 2, length=2, quotes=quotes, summary_tokens=9).sealed()
        found.append(decide(history, BALANCE, state, config_fingerprint="", costs=costs).kind)

    assert found[0] == found[1]


def test_a_record_of_an_earlier_version_is_read_as_before() -> None:
    """Its pin is a text that says that a file is missing; the next fold shows the message."""
    history = talk(shows(FILE))
    state, _ = made(history)
    text = "Keep it.\n[document not shown]"
    old = Quote(index=0, kind="pin", role="user", text=text, tokens=30)
    before = replace(state, quotes=(old,)).sealed()
    history.extend(talk(history[0], 8)[1:])
    after, _ = made(history, [(0, history[0])], before)

    assert b"is_message" not in before.to_json()
    assert text in view_of(history, before)[0].text
    assert after.shown_pins.keys() == {0}
