"""Reductions of earlier versions: recognized by the digests that they were made with."""

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import reduce
from typing import Any

import pytest
from msgspec.structs import replace

from foldline import HistoryReducer, HistoryReductionConfig
from foldline.history.digest import (
    EMPTY_DIGEST,
    chain_digest_1,
    chain_digest_with_nulls,
    hash_text,
)
from foldline.history.formats.anthropic import from_anthropic, message_from_anthropic
from foldline.history.formats.openai_responses import (
    from_openai_responses,
    message_from_openai_responses,
)
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import GenericPart, ToolCallPart
from foldline.history.prefix import Prefix
from foldline.reduction.earlier_digests import carried_over
from foldline.reduction.spans import SummaryLayer
from foldline.reduction.state import HistoryReductionState, hash_of
from foldline.testing.summarizer import ScriptedSummarizer


CALL = ToolCallPart("call_1", "find", '{"n": 1.50}')
SAID = (
    Message.user("one", name="ada"),
    Message.assistant("two", tool_calls=[CALL]),
    Message.tool("call_1", "three", name="find"),
    Message.assistant("four"),
    Message.user("five"),
    Message.assistant("six"),
)


def hash_1(messages: Iterable[Message]) -> str:
    """Return what version 1 stored of *messages*."""
    digest = EMPTY_DIGEST
    for message in messages:
        digest = chain_digest_1(digest, message)
    return f"sha256-1:{digest.hex()}"


def state_of(index: int, messages: tuple[Message, ...] = SAID) -> HistoryReductionState:
    """Return a reduction of the first *index* of *messages*, as version 1 made it."""
    return HistoryReductionState(
        summarized_up_to_index=index,
        message_count_at_reduction=len(messages),
        summary_content="what was said",
        created_at=datetime(2026, 11, 21, tzinfo=UTC),
        message_hash=hash_1(messages[:index]),
        target_count=2,
        reduction_threshold=2,
    )


def test_a_reduction_is_carried_over() -> None:
    """It stands for the same messages, under their digest of today."""
    carried = carried_over(state_of(4), History(SAID))

    assert carried == replace(state_of(4), message_hash=hash_of(SAID, 4))


def test_layers_and_earlier_reductions_are_carried_over() -> None:
    """All that a reduction knows by a digest is known by that of today."""
    layer = SummaryLayer(summary="what", start=0, end=3, message_hash=hash_1(SAID[:3]))
    state = replace(
        state_of(4),
        layers=(layer,),
        previous=state_of(3),
    )
    carried = carried_over(state, History(SAID))
    earlier = carried.previous

    assert carried.layers[0].message_hash == hash_of(SAID, 3)
    assert earlier is not None
    assert earlier.message_hash == hash_of(SAID, 3)


def test_a_reduction_of_other_messages_stays_as_it_is() -> None:
    """What was edited since is no longer what the reduction is of; neither is a shorter history."""
    edited = History([Message.user("other"), *SAID[1:]])

    assert carried_over(state_of(4), edited) == state_of(4)
    assert carried_over(state_of(4), History(SAID[:3])) == state_of(4)


def test_a_reduction_of_today_is_not_looked_at() -> None:
    """Without a digest of version 1 there is nothing to carry over."""
    state = carried_over(state_of(4), History(SAID))

    assert carried_over(state, History(SAID)) is state


def test_a_reducer_goes_on_with_a_reduction_of_version_1() -> None:
    """The first call after the change is a hit: nobody writes a summary, and the next is one too."""
    summarizer = ScriptedSummarizer()
    config = HistoryReductionConfig(
        enabled=True,
        strategy="summarizing",
        counting_unit="messages",
        target_count=2,
        summarization_threshold=2,
    )
    reducer = HistoryReducer(config, summarizer=summarizer)
    given = replace(state_of(4), config_fingerprint=reducer.config_fingerprint)
    first = asyncio.run(reducer.reduce(SAID, state=given))
    second = asyncio.run(reducer.reduce(SAID, state=first.state))

    assert first.event is not None
    assert first.event.status == "cache_hit"
    assert second.messages == first.messages
    assert second.state is first.state
    assert summarizer.requests == []


CALLED: dict[str, Any] = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": "one"},
    {"type": "message", "id": "msg_1", "role": "assistant", "content": "two"},
    {"role": "user", "content": "more"},
    {"role": "assistant", "content": "I look."},
    CALLED,
    {"type": "function_call_output", "call_id": "c", "output": "three"},
    {"role": "user", "content": "four"},
]


@pytest.mark.parametrize(("old", "new"), [(0, 0), (3, 3), (4, 3), (5, 4), (6, 5), (7, 6)])
def test_an_index_of_items_becomes_one_of_messages(old: int, new: int) -> None:
    """A cut inside of what is one message now moves to its beginning."""
    before = tuple(map(message_from_openai_responses, ITEMS))
    history = History(from_openai_responses(ITEMS))
    carried = carried_over(state_of(old, before), history)

    assert carried.summarized_up_to_index == new
    assert carried.message_hash == hash_of(history, new)


def test_a_pinned_message_moves_with_its_item() -> None:
    """Words behind results were one message with them, and are one of their own now."""
    result = {"type": "tool_result", "tool_use_id": "c", "content": "three"}
    items: list[dict[str, Any]] = [
        {"role": "user", "content": "one"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}],
        },
        {"role": "user", "content": [result, {"type": "text", "text": "and?"}]},
        {"role": "assistant", "content": "four"},
    ]
    before = tuple(map(message_from_anthropic, items))
    carried = carried_over(
        replace(state_of(4, before), pinned_index=2), History(from_anthropic(items))
    )

    assert (carried.summarized_up_to_index, carried.pinned_index) == (5, 3)


def test_a_layer_of_other_messages_stays_as_it_is() -> None:
    """Its digest fits nothing, before and after."""
    layer = SummaryLayer(summary="what", start=0, end=3, message_hash="sha256-1:other")
    carried = carried_over(replace(state_of(4), layers=(layer,)), History(SAID))

    assert carried.layers == (layer,)


FOUND = Message(role="assistant", parts=(GenericPart("web", '{"found":1,"page":null}'),))
SEARCHED = (*SAID[:3], FOUND, *SAID[4:])


@pytest.mark.parametrize("has_older", [False, True])
def test_a_reducer_goes_on_with_a_reduction_from_when_nulls_counted(has_older: bool) -> None:
    """It is a hit, also where an earlier reduction, of what has no nulls, would fit as it is."""
    summarizer = ScriptedSummarizer()
    config = HistoryReductionConfig(
        counting_unit="messages", target_count=2, summarization_threshold=2
    )
    reducer = HistoryReducer(config, summarizer=summarizer)
    old = hash_text(reduce(chain_digest_with_nulls, SEARCHED[:4], EMPTY_DIGEST))
    made = replace(state_of(4), config_fingerprint=reducer.config_fingerprint)
    older = replace(made, summarized_up_to_index=1, message_hash=hash_of(SAID, 1))
    given = replace(made, message_hash=old, previous=older if has_older else None)
    first = asyncio.run(reducer.reduce(SEARCHED, state=given))

    assert old != hash_of(SEARCHED, 4)
    assert first.event.earlier == "used"
    assert first.event.status == "cache_hit"
    assert first.state is not None
    assert first.state.message_hash == hash_of(SEARCHED, 4)
    assert summarizer.requests == []


def test_a_part_of_a_history_carries_nothing_over() -> None:
    """Digests of an earlier version can be made only of all messages."""
    rest = History(SAID[3:], prefix=Prefix(length=3, digest=History(SAID).digest(3)))
    given = state_of(4)

    assert carried_over(given, rest) is given
