"""Pins of callers with a loop of their own, with a list of messages or with a thread."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest

from foldline.agent.reducer import HistoryReducer
from foldline.errors import ConfigError
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.integrations.bedrock import ConverseView
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig
from foldline.reduction.event import Reason
from foldline.testing.grammars import check_anthropic, check_openai_chat, check_openai_responses
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


RESULTS = [
    {"type": "tool_result", "tool_use_id": f"c{n}", "content": f"the result {n}"} for n in (1, 2)
]
CALLS = [{"type": "tool_use", "id": f"c{n}", "name": "look", "input": {}} for n in (1, 2)]
TALK = [
    {"role": "user", "content": f"something else {number}, and some words more"}
    for number in range(8)
]


@pytest.mark.parametrize(
    ("items", "pin", "found"),
    [
        (
            [
                *TALK[:1],
                {"role": "assistant", "content": CALLS},
                {"role": "user", "content": [*RESULTS, {"type": "text", "text": "so far"}]},
                {"role": "user", "content": "the rule"},
            ],
            2,
            ["the result 1", "the result 2", "so far"],
        ),
        (
            [
                *TALK[:1],
                {"role": "assistant", "content": CALLS},
                {"role": "user", "content": RESULTS},
                {"role": "user", "content": "the rule"},
            ],
            3,
            ["the rule"],
        ),
        (
            [
                {"role": "developer", "content": "be brief"},
                *TALK[:1],
                {"type": "reasoning", "id": "rs_1", "summary": []},
                {"type": "message", "role": "assistant", "content": "an answer"},
                {"role": "user", "content": "the rule"},
            ],
            3,
            ["an answer"],
        ),
        (
            [{"role": "system", "content": "be brief"}, {"role": "user", "content": "the rule"}],
            0,
            [],
        ),
    ],
)
def test_an_index_is_that_of_the_list_that_is_given(
    items: list[Any], pin: int, found: list[str]
) -> None:
    """Whatever an item is read as: several messages, a part of one, or one that is not counted."""
    state = HistoryReducer(CONFIG).reduce_sync([*items, *TALK], pins=[pin]).state

    assert state is not None
    assert [one.text for one in state.quotes if one.kind == "pin"] == found
    with pytest.raises(ConfigError, match=f"below {len(items)}, the number of messages"):
        HistoryReducer(CONFIG).plan(items, pins=[len(items)])


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


PDF = "data:application/pdf;base64,JVBERi0xLjQK"
WORDS = "Keep this contract at hand."
FILES: dict[str, Any] = {
    "chat": [
        {"type": "text", "text": WORDS},
        {"type": "file", "file": {"filename": "contract.pdf", "file_data": PDF}},
    ],
    "responses": [
        {"type": "input_text", "text": WORDS},
        {"type": "input_file", "filename": "contract.pdf", "file_data": PDF},
    ],
    "anthropic": [
        {"type": "text", "text": WORDS},
        {"type": "image", "source": {"type": "url", "url": "https://a.b/c.png"}},
    ],
    "converse": [
        {"text": WORDS},
        {"document": {"format": "pdf", "name": "contract", "source": {"bytes": b"%PDF"}}},
    ],
}
GRAMMARS: dict[str, Callable[[list[Any]], Sequence[object]]] = {
    "chat": check_openai_chat,
    "responses": check_openai_responses,
    "anthropic": lambda items: check_anthropic([], items),
    "converse": lambda items: [
        one["role"] for one, after in pairwise(items) if one["role"] == after["role"]
    ],
}


@pytest.mark.parametrize("form", FILES)
def test_a_pinned_file_stays_in_every_form(form: str) -> None:
    """Its very item opens each view after the fold, which is a valid request, and is no text there."""
    items: list[Any] = [{"role": "user", "content": FILES[form]}]
    reducer, state, folds = HistoryReducer(CONFIG), None, 0
    view = ConverseView(reducer) if form == "converse" else reducer
    for one in said(30)[1:]:
        items.append(
            {"role": one.role, "content": [{"text": one.text}] if form == "converse" else one.text}
        )
        reduced = view.reduce_sync(items, state=state, pins=[0])
        state = reduced.state
        folds += reduced.event.status == "performed"

        assert reduced.messages[0] is items[0]
        assert WORDS not in str(reduced.messages[1:])
        assert reduced.messages[-1] is items[-1]
        assert not GRAMMARS[form](reduced.messages)
        assert reduced.event.left_out == ()
    less = view.reduce_sync(items, state=state, pins=[])

    assert folds > 5
    assert WORDS not in str(less.messages)


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
        (3, "pins must be a list, got int"),
    ],
)
def test_a_wrong_pin_is_refused(pins: Any, says: str) -> None:
    """An index of no message is an error that names its place."""
    with pytest.raises(ConfigError, match=says):
        HistoryReducer(CONFIG).reduce_sync(said(9), pins=pins)


def loop(rounds: int) -> list[Message]:
    """Return a tool loop of so many rounds, each with a result of some 400 tokens."""
    messages = [Message.user("Look at all of them, please.")]
    for at in range(rounds):
        call = ToolCallPart(id=f"c{at}", name="look", arguments=f'{{"at":{at}}}')
        found = f"result {at}: " + "; ".join(f"value {at}-{place}" for place in range(80))
        messages += [Message.assistant(tool_calls=[call]), Message.tool(f"c{at}", found)]
    return messages


def results(view: Sequence[Message]) -> set[str]:
    answers = (answer.response for one in view for answer in one.tool_call_responses)
    return {one for one in answers if isinstance(one, str)}


def test_a_pinned_result_is_not_cleared() -> None:
    """Old results are cleared around it, and folded away it is quoted: it is never out of sight."""
    reducer, state = HistoryReducer(window=12_000), None
    kept = loop(2)[4].tool_call_responses[0].response
    reasons = set()
    for rounds in range(3, 60):
        reduced = reducer.reduce_sync(loop(rounds), state=state, pins=[4])
        state = reduced.state
        reasons.add(reduced.event.reason)
        texts = "\n".join(one.text for one in reduced.messages)

        assert kept in results(reduced.messages) or f"{kept}\n</quote>" in texts

    assert {Reason.CLEARED, Reason.CEILING_REACHED} <= reasons


def test_a_message_made_pinned_is_not_cleared() -> None:
    """The same without indexes, for a message that is made pinned."""
    messages = loop(30)
    messages[4] = Message.tool("c1", str(messages[4].tool_call_responses[0].response), pin=True)
    reduced = HistoryReducer(window=16_000).reduce_sync(messages)

    assert reduced.event.reason is Reason.CLEARED
    assert messages[4] in reduced.messages
    assert messages[6] not in reduced.messages


def test_a_cleared_result_that_is_pinned_comes_back() -> None:
    """It is shown whole again at once, if it fits, and then nothing changes any more."""
    reducer, messages = HistoryReducer(window=16_000), loop(30)
    cleared = reducer.reduce_sync(messages, pins=[])
    pinned = reducer.reduce_sync(messages, state=cleared.state, pins=[4])
    again = reducer.reduce_sync(messages, state=pinned.state, pins=[4])

    assert messages[4] not in cleared.messages
    assert pinned.event.reason is Reason.PINS_CHANGED
    assert messages[4] in pinned.messages
    assert again.event.status == "cache_hit"


def test_pins_that_do_not_fit_are_shortened_last_and_named() -> None:
    """The ceiling wins over pins; the event names each that is not shown word for word."""
    reducer, messages = HistoryReducer(window=8_000), loop(16)
    pins = [at for at, one in enumerate(messages) if one.role == "tool"]
    few = reducer.reduce_sync(messages, pins=pins[:3])
    all_of_them = reducer.reduce_sync(messages, pins=pins)
    event = all_of_them.event
    again = reducer.reduce_sync(messages, state=all_of_them.state, pins=pins)

    assert few.event.left_out == ()
    assert event.request_tokens <= event.ceiling
    assert set(event.left_out) <= {f"message {at} (pinned)" for at in pins}
    assert len(event.left_out) > 3
    assert again.event.status == "cache_hit"


def test_a_large_pinned_message_is_not_clipped() -> None:
    """A message above its share of the ceiling is shown whole if it is pinned."""
    messages = [*loop(2), Message.assistant("word " * 3_000), Message.user("And now?")]
    clipped = HistoryReducer(window=16_000).reduce_sync(messages)
    pinned = HistoryReducer(window=16_000).reduce_sync(messages, pins=[5])

    assert clipped.event.reason is Reason.CLIPPED
    assert messages[5] not in clipped.messages
    assert messages[5] in pinned.messages


def test_a_pin_that_is_quoted_in_part_is_named_once() -> None:
    """A pinned message larger than a quarter of the ceiling is quoted as head and tail, and named."""
    messages = [*said(8), Message.assistant("word " * 3_000), *said(2), *said(30)]
    reducer, state = HistoryReducer(window=16_000), None
    named: list[str] = []
    views: list[list[Message]] = []
    for count in range(10, len(messages) + 1):
        overrides = AgentRunConfig(trigger_history_reduction=count % 10 == 0)
        reduced = reducer.reduce_sync(messages[:count], state=state, overrides=overrides, pins=[8])
        state = reduced.state
        named += reduced.event.left_out
        views.append(reduced.messages)

    assert named == ["message 8 (pinned)"]
    assert "characters left out" in views[-1][0].text


@pytest.mark.parametrize("note", ["", "\n<system-reminder>The list is empty.</system-reminder>"])
def test_equal_messages_are_not_left_out(note: str) -> None:
    """A message of the user that is said again later is no loss, since the later one is quoted."""
    said = [Message.user("Build it."), Message.assistant("a " * 400)]
    again = [Message.user(f"Continue.{note}"), Message.assistant("b " * 400)] * 60
    reduced = HistoryReducer(window=8_000).reduce_sync([*said, *again, Message.user("And now?")])

    assert reduced.event.removed_count > 20
    assert str(reduced.messages[0].text).count("user: Continue.") == 1
    assert reduced.event.left_out == ()
