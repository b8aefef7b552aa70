"""Dictionaries of vendors in and out of a reducer."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from foldline.agent.reducer import HistoryReducer
from foldline.history.messages import NativeFormat
from foldline.reduction.config import HistoryReductionConfig
from foldline.testing.grammars.anthropic import check_anthropic
from foldline.testing.grammars.openai_chat import check_openai_chat
from foldline.testing.grammars.openai_responses import check_openai_responses
from foldline.testing.summarizer import ScriptedSummarizer


TEXT = "so many words were said about the weather in the north and the south " * 3
CONFIG = HistoryReductionConfig(
    counting_unit="messages", target_count=4, summarization_threshold=20
)
COUNTING = replace(CONFIG, strategy="message_counting")
OPENAI_END: list[dict[str, Any]] = [
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "r"},
    {"role": "assistant", "content": "done "},
    {"role": "user", "content": "more"},
]
ANTHROPIC_END: list[dict[str, Any]] = [
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "r"}]},
    {"role": "assistant", "content": "done "},
    {"role": "user", "content": "more"},
]


def chat(count: int) -> list[dict[str, Any]]:
    """Make plain text with neighbours of one role, a blank answer, and white space at an end."""
    items: list[dict[str, Any]] = []
    for number in range(count):
        role = "user" if number % 5 in (0, 2, 3) else "assistant"
        content = "" if number % 10 == 4 else f"{number} {TEXT}\n"
        items.append({"role": role, "content": content})
    return items


def reducer(config: HistoryReductionConfig) -> HistoryReducer:
    return HistoryReducer(config, summarizer=ScriptedSummarizer(repeat="what was said so far"))


def sent(item: dict[str, Any]) -> bytes:
    return json.dumps(item, sort_keys=True).encode()


@pytest.mark.parametrize("end", [OPENAI_END, ANTHROPIC_END], ids=["openai", "anthropic"])
@pytest.mark.parametrize("config", [CONFIG, COUNTING], ids=["summarizing", "counting"])
@pytest.mark.parametrize("plain", [10, 25, 26, 27, 28, 29, 30])
def test_the_front_stays_when_a_conversation_shows_its_vendor(
    config: HistoryReductionConfig, plain: int, end: list[dict[str, Any]]
) -> None:
    """Between folds each request begins with the one before it, through the first tool call too."""
    one, items, state = reducer(config), chat(plain), None
    items.append({"role": "user", "content": "now"})
    before: list[bytes] = []
    for item in [None, *end]:
        if item is not None:
            items.append(item)
        reduced = one.reduce_sync(items, state=state)
        state = reduced.state
        now = [sent(message) for message in reduced.messages]

        assert now[: len(before)] == before
        # An answer that ends a request is sent without the white space at its end.
        if items[-1]["role"] != "assistant":
            before = now


def test_both_vendors_take_the_front() -> None:
    """What is sent before and after the first call keeps the grammar of its vendor."""
    one, items = reducer(CONFIG), [*chat(30), {"role": "user", "content": "now"}]
    plain = one.reduce_sync(items)
    called = one.reduce_sync([*items, *OPENAI_END], state=plain.state)

    assert called.verdict.kind == "hit"
    assert plain.messages[0]["role"] == "user"
    assert list(check_anthropic([], plain.messages)) == []
    assert list(check_openai_chat(plain.messages)) == []
    assert list(check_openai_chat(called.messages)) == []


def test_a_note_opens_whether_the_format_is_named_or_not() -> None:
    """With the format given, and with rules in front, the user speaks before the summary too."""
    rules: dict[str, Any] = {"role": "system", "content": "rules"}
    items = [*chat(30), *OPENAI_END]
    named = reducer(CONFIG).reduce_sync(items, format=NativeFormat.OPENAI_CHAT)
    ruled = reducer(CONFIG).reduce_sync([rules, *items])

    assert [item["role"] for item in named.messages[:2]] == ["user", "assistant"]
    assert [item["role"] for item in ruled.messages[:3]] == ["system", "user", "assistant"]


@pytest.mark.parametrize(
    ("call", "name", "arguments"),
    [
        ({"type": "tool", "function": {"name": "f", "arguments": "{}"}}, "f", "{}"),
        ({"type": "tool_use", "name": "f", "arguments": {"a": 1}}, "f", '{"a":1}'),
        ({"type": "mcp", "mcp": {"name": "f", "arguments": '{"b":2}'}}, "f", '{"b":2}'),
    ],
)
def test_a_call_of_an_unknown_type_is_sent_as_a_function(
    call: dict[str, Any], name: str, arguments: str
) -> None:
    """The vendor takes functions and custom tools alone: name and arguments go out as one."""
    items: list[dict[str, Any]] = [
        {"role": "user", "content": "now"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", **call}]},
        {"role": "tool", "tool_call_id": "c1", "content": "r"},
    ]
    messages = reducer(CONFIG).reduce_sync(items).messages
    (made,) = messages[1]["tool_calls"]

    assert list(check_openai_chat(messages)) == []
    assert (made["id"], made["type"], made["function"]["name"]) == ("c1", "function", name)
    assert made["function"]["arguments"] == arguments


def test_an_item_of_several_messages_comes_back_as_the_very_object() -> None:
    """Results and words in one item are messages of their own, and the caller's item is still one."""
    blocks = [
        {
            "type": "tool_result",
            "tool_use_id": "c1",
            "content": "r",
            "cache_control": {"type": "x"},
        },
        {"type": "text", "text": "so"},
    ]
    items = [*chat(30), ANTHROPIC_END[0], {"role": "user", "content": blocks, "extra": 1}]
    reduced = reducer(CONFIG).reduce_sync(items)

    assert reduced.verdict.kind == "fold"
    assert reduced.messages[-1] is items[-1]


def test_several_items_of_one_message_come_back_as_the_very_objects() -> None:
    """The items of one answer are one message, and each of them is still the caller's own."""
    end: list[dict[str, Any]] = [
        {"type": "message", "role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "r"},
    ]
    items = [*chat(30), *end]
    reduced = reducer(CONFIG).reduce_sync(items, format=NativeFormat.OPENAI_RESPONSES)

    assert reduced.verdict.kind == "fold"
    assert all(one is other for one, other in zip(reduced.messages[-3:], end, strict=True))


@pytest.mark.parametrize(
    "setting",
    [
        {"type": "additional_tools", "role": "developer", "tools": [{"type": "web_search"}]},
        {"type": "configuration_update", "reasoning": {"effort": "low"}},
    ],
)
def test_an_item_that_changes_settings_is_in_every_view(setting: dict[str, Any]) -> None:
    """It holds for all that comes after it, so a fold leaves it in front, the very object."""
    reducer = HistoryReducer(
        HistoryReductionConfig(counting_unit="messages", target_count=2, summarization_threshold=0)
    )
    items = [{"role": "user", "content": "a question " * 30}, setting]
    for at in range(6):
        items += [{"role": "assistant", "content": f"{at} " * 90}, {"role": "user", "content": "?"}]
    reduced = reducer.reduce_sync(items)

    assert reduced.event.status == "performed"
    assert reduced.messages[0] is setting
    assert check_openai_responses(reduced.messages) == ()
