"""Pins of callers with a loop of their own, with a list of messages or with a thread."""

from typing import Any

import pytest

from foldline.agent.reducer import HistoryReducer
from foldline.errors import ConfigError
from foldline.history.messages import Message
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.event import Reason
from foldline.threads.stores.memory import MemoryStore


CONFIG = HistoryReductionConfig(
    counting_unit="messages", target_count=2, summarization_threshold=2, quote_user_messages=0
)
KEPT = '<quote message="{}" by="{}" pinned="yes">\n{}\n</quote>'


def said(count: int) -> list[Message]:
    return [
        (Message.user if number % 2 == 0 else Message.assistant)(
            f"what is said in message {number}, and some words more for the summary"
        )
        for number in range(count)
    ]


def quote(index: int) -> str:
    return KEPT.format(index, "assistant" if index % 2 else "user", said(index + 1)[index].text)


@pytest.mark.parametrize("as_dicts", [False, True])
def test_a_list_is_pinned_by_index(*, as_dicts: bool) -> None:
    """Indexes pin messages and dictionaries alike, and only as long as they are passed."""
    reducer, messages = HistoryReducer(CONFIG), said(9)
    items: Any = messages
    if as_dicts:
        items = [{"role": one.role, "content": one.text} for one in messages]
    first = reducer.reduce_sync(items, pins=[1, 4])
    again = reducer.reduce_sync(items, state=first.state, pins=[1, 4])
    less = reducer.reduce_sync(items, state=again.state, pins=[4])
    shown = [str(one.messages).count(quote(1).split("\n")[1]) for one in (first, less)]

    assert first.state is not None
    assert first.state.summary_content in str(first.state.front_messages()[0].text)
    assert quote(1) in first.state.front_messages()[0].text
    assert quote(4) in str(less.state and less.state.front_messages()[0].text)
    assert shown == [1, 0]
    assert again.event.status == "cache_hit"
    assert (less.event.reason, less.event.summarizer_calls) == (Reason.PINS_CHANGED, 0)


def test_a_message_of_a_list_can_be_made_pinned() -> None:
    """Without indexes the messages that were made pinned are kept through later folds."""
    messages = said(9)
    messages[3] = Message.assistant("never fold this", pin=True)
    reducer, state = HistoryReducer(CONFIG), None
    for count in range(9, 30):
        messages += said(count + 1)[count:]
        state = reducer.reduce_sync(messages, state=state).state

    assert state is not None
    assert state.summarized_up_to_index > 20
    assert [(one.index, one.text) for one in state.quotes] == [(3, "never fold this")]


async def test_a_thread_gives_its_pins_to_a_loop() -> None:
    """What a window brings can be passed on: a message before the window is quoted too."""
    reducer = HistoryReducer(CONFIG)
    async with MemoryStore() as store:
        thread = await store.thread("t")
        await thread.add_messages(said(9))
        reduced = await reducer.reduce((await thread.window()).history)
        assert reduced.state is not None
        await thread.save_reduction(reduced.state)
        await thread.pin(1)
        window = await (await store.thread("t")).window()
        assert window.history.start > 1
        reduced = await reducer.reduce(window.history, state=window.reduction, pins=window.pins)

    assert quote(1) in reduced.messages[0].text


@pytest.mark.parametrize(
    ("pins", "says"),
    [
        ([9], r"pins\[0\] must be below 9, the number of messages, got 9"),
        ([0, -1], r"pins\[1\] must be a whole number of at least 0, got -1"),
        (["0"], r"pins\[0\] must be a whole number of at least 0, got '0'"),
        (3, "pins must be a Sequence or None, got int"),
    ],
)
def test_a_wrong_pin_is_refused(pins: Any, says: str) -> None:
    """An index of no message is an error that names its place."""
    with pytest.raises(ConfigError, match=says):
        HistoryReducer(CONFIG).reduce_sync(said(9), pins=pins)
