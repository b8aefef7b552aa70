"""What vendors sign, bind and seal, in the lists of callers with a loop of their own."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from foldline import HistoryReducer, HistoryReductionConfig
from foldline.formats import from_anthropic, render_openai_chat, to_openai_chat
from foldline.reduction.state import HistoryReductionState
from foldline.testing.grammars import (
    Rule,
    check_anthropic,
    check_openai_chat,
    check_openai_responses,
)
from tests.servers.thinking import check_thinking, sign_thinking


FOLDS = HistoryReductionConfig(counting_unit="messages", target_count=5, summarization_threshold=3)
CALL = {"type": "tool_use", "name": "look", "input": {}}
LOOK = {"name": "look", "arguments": "{}"}
RESULT = {"type": "tool_result", "content": "found AB12 in /src/x.py " * 40}


def asked(messages: list[Any]) -> dict[str, Any]:
    return {"system": "be brief", "tools": [{"name": "look"}], "messages": messages}


def answer(request: dict[str, Any], step: int) -> list[Any]:
    """Return what a model says to *request*, and what comes after it."""
    signature = sign_thinking(request)
    thought = {"type": "thinking", "thinking": "", "signature": signature}
    if step % 6 == 5:
        text = {"type": "text", "text": f"Done with {step}."}
        question = {"role": "user", "content": f"And {step}?"}
        return [{"role": "assistant", "content": [thought, text]}, question]
    call, result = {**CALL, "id": f"t{step}"}, {**RESULT, "tool_use_id": f"t{step}"}
    return [
        {"role": "assistant", "content": [thought, call]},
        {"role": "user", "content": [result]},
    ]


async def _loop(
    config: HistoryReductionConfig, steps: int, *, rules: int = 0
) -> tuple[list[Any], list[dict[str, Any]], int]:
    """
    Return what is said in *steps* model calls, their requests, and how often it folds.

    With *rules* there is a system message after so many of them each.
    """
    reducer = HistoryReducer(config, model="anthropic:claude-fable-5-1")
    state: HistoryReductionState | None = None
    said: list[Any] = [{"role": "user", "content": "Find all of them, never touch the invoices."}]
    requests: list[dict[str, Any]] = []
    folds = 0
    for step in range(steps):
        reduced = await reducer.reduce(said, state=state)
        state, request = reduced.state, asked(reduced.messages)
        folds += reduced.event.status == "performed"
        requests.append(request)
        said += answer(request, step)
        if rules and step % rules == rules - 1:
            said.append({"role": "system", "content": f"Mode {step}."})
    return said, requests, folds


@pytest.mark.parametrize("rules", [1, 2, 7])
def test_a_system_message_in_the_middle_unbinds_no_thinking(rules: int) -> None:
    """The vendor takes each request of such a conversation, before the first fold and after many."""
    said, requests, folds = asyncio.run(_loop(FOLDS, 60, rules=rules))
    sent = [one["messages"] for one in requests]
    added = [one for one in said if one["role"] == "system"]

    assert folds > 5
    assert [check_thinking(one) for one in requests] == [[]] * 60
    assert [check_anthropic(None, one) for one in sent] == [()] * 60
    assert all(one in sent[-1] for one in added[:-1])
    assert sum("signature" in str(one) for one in sent) > 40


@pytest.mark.parametrize(
    "config",
    [
        FOLDS,
        replace(FOLDS, use_single_summary=False),
        replace(FOLDS, strategy="message_counting"),
        HistoryReductionConfig(ceiling=4000, context_window_size=8000),
        HistoryReductionConfig(strategy="clearing", ceiling=4000, context_window_size=8000),
    ],
    ids=["rolling", "layers", "counting", "batches", "clearing"],
)
def test_bound_thinking_goes_only_after_its_prefix(config: HistoryReductionConfig) -> None:
    """Over many folds each request has valid thinking, and the old way would have had another."""
    said, requests, folds = asyncio.run(_loop(config, 60))
    view = requests[-1]["messages"]
    old = asked([*view[:2], *said[len(said) - len(view) :]])

    assert folds > 5
    assert [check_thinking(one) for one in requests] == [[]] * 60
    assert [check_anthropic(one["system"], one["messages"]) for one in requests] == [()] * 60
    assert sum("signature" in str(one["messages"]) for one in requests) > 40
    assert check_thinking(old)


def _edited(state: HistoryReductionState, said: list[Any]) -> HistoryReductionState:
    """Edit a message that only the newest reduction of *said* covers."""
    at = next(
        at
        for at in range(state.summarized_up_to_index - 1, 0, -1)
        if said[at]["role"] == "assistant"
    )
    thought, *rest = said[at]["content"]
    said[at] = {**said[at], "content": [thought, {"type": "text", "text": "edited"}, *rest]}
    return state


def _of_format_1(state: HistoryReductionState, said: list[Any]) -> HistoryReductionState:
    """Return what version 1 would have stored of *state*."""
    assert said
    made = replace(state, quotes=(), shortened=(), thinking_from=None, history_length=0, format=1)
    return replace(made, previous=None).sealed()


@pytest.mark.parametrize("change", [_edited, _of_format_1])
def test_another_reduction_than_the_last_leaves_all_thinking_out(
    change: Callable[[HistoryReductionState, list[Any]], HistoryReductionState],
) -> None:
    """What was said after the newest one was made of another view; what comes then is sent."""
    said, _, _ = asyncio.run(_loop(FOLDS, 60))
    reducer, state = HistoryReducer(FOLDS), None
    for end in range(1, len(said) + 1, 2):
        state = reducer.reduce_sync(said[:end], state=state).state
    assert state is not None
    state = change(state, said)
    whole = HistoryReducer(replace(FOLDS, target_count=40, summarization_threshold=90))
    for step in range(3):
        reduced = whole.reduce_sync(said, state=state)
        state, request = reduced.state, asked(reduced.messages)
        said += answer(request, step)

        assert reduced.event.status == "cache_hit"
        assert check_thinking(request) == []
        assert str(request).count("signature") == step


async def _read_much() -> list[dict[str, Any]]:
    """Return the requests of a tool loop in which two results are too large to be shown whole."""
    reducer = HistoryReducer(HistoryReductionConfig(ceiling=4000, context_window_size=16_000))
    state: HistoryReductionState | None = None
    said: list[Any] = [{"role": "user", "content": "Find all of them."}]
    requests: list[dict[str, Any]] = []
    for step in range(5):
        reduced = await reducer.reduce(said, state=state)
        state = reduced.state
        requests.append(asked(reduced.messages))
        said += answer(requests[-1], step)
        if step in {1, 3}:
            (result,) = said[-1]["content"]
            said[-1] = {"role": "user", "content": [{**result, "content": "A line of it.\n" * 600}]}
    return requests


def test_clipping_what_has_just_come_keeps_the_thinking() -> None:
    """A large result that is clipped before it was ever sent changes nothing before a thought."""
    requests = asyncio.run(_read_much())
    thoughts = [str(one["messages"]).count("signature") for one in requests]

    assert "characters left out" in str(requests[2]["messages"])
    assert str(requests[4]["messages"]).count("characters left out") == 2
    assert thoughts == [0, 1, 2, 3, 4]
    assert [check_thinking(one) for one in requests] == [[]] * 5


TALK: list[Any] = [
    {"role": "user" if at % 2 == 0 else "assistant", "content": f"Message {at}. " * 12}
    for at in range(31)
]
SEALED = {"type": "compaction", "id": "cmp_1", "encrypted_content": "AAAA"}
BLOCK = {"type": "compaction", "content": "AB1.", "encrypted_content": "X", "signature": "s"}


@pytest.mark.parametrize("place", [1, 3, 26])
def test_a_sealed_compaction_stays_in_the_view(place: int) -> None:
    """OpenAI's item stays, verbatim, on either side of a cut; without it a request is refused."""
    said = [*TALK[:place], SEALED, *TALK[place:]]
    reduced = HistoryReducer(FOLDS).reduce_sync(said)
    old = [item for item in reduced.messages if item != SEALED]

    assert reduced.event.status == "performed"
    assert check_openai_responses(reduced.messages, said=said) == ()
    assert [one.rule for one in check_openai_responses(old, said=said)] == [Rule.COMPACTION]


def test_the_newest_of_two_compactions_stays() -> None:
    """A fold that passes two compactions keeps the newer one, and the next fold keeps it too."""
    newest = {**SEALED, "id": "cmp_2"}
    said = [*TALK[:3], SEALED, *TALK[3:7], newest, *TALK[7:]]
    reducer = HistoryReducer(FOLDS)
    once = reducer.reduce_sync(said)
    longer = [*said, *TALK[1:]]
    twice = reducer.reduce_sync(longer, state=once.state)

    assert [once.event.status, twice.event.status] == ["performed", "performed"]
    assert check_openai_responses(once.messages, said=said) == ()
    assert check_openai_responses(twice.messages, said=longer) == ()


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_signed_compaction_stays_first(role: str) -> None:
    """Anthropic's block opens a request before and after a fold; as text it is refused."""
    opening = {"role": role, "content": [BLOCK, {"type": "text", "text": "go on"}]}
    said = [opening, *TALK[role == "user" :]]
    reduced = HistoryReducer(FOLDS).reduce_sync(said)
    short = HistoryReducer(FOLDS).reduce_sync(said[:3])
    old = [{"role": "user", "content": "AB1."}, *reduced.messages[1:]]

    assert [short.event.status, reduced.event.status] == ["skipped", "performed"]
    assert check_anthropic(None, short.messages, said=said) == ()
    assert check_anthropic(None, reduced.messages, said=said) == ()
    assert [one.rule for one in check_anthropic(None, old, said=said)] == [Rule.COMPACTION]


@pytest.mark.parametrize("target", range(5, 18, 2))
def test_reasoning_and_what_was_made_of_it_leave_together(target: int) -> None:
    """OpenAI's encrypted reasoning stays before its items, wherever a fold cuts."""
    said: list[Any] = [{"role": "user", "content": "Find all of them."}]
    for at in range(10):
        said += [
            {"type": "reasoning", "id": f"rs_{at}", "summary": [], "encrypted_content": f"E{at}"},
            {"type": "function_call", "id": f"fc_{at}", "call_id": f"c{at}", **LOOK},
            {"type": "function_call_output", "call_id": f"c{at}", "output": "found " * 20},
        ]
    said.append({"role": "user", "content": "And now?"})
    config = HistoryReductionConfig(
        counting_unit="messages", target_count=target, summarization_threshold=0
    )
    reduced = HistoryReducer(config).reduce_sync(said)
    kept = [item for item in reduced.messages if item in said]

    assert reduced.event.status == "performed"
    assert kept == said[-len(kept) :]
    assert check_openai_responses(reduced.messages) == ()
    assert {one.rule for one in check_openai_responses(kept[1:])} == {Rule.REASONING}


def test_messages_keep_the_reduction_of_a_list_with_what_another_vendor_lacks() -> None:
    """Thinking and failed results are in the digest, and the other vendor's form has neither."""
    said, _, _ = asyncio.run(_loop(FOLDS, 24))
    said[2]["content"][0]["is_error"] = True
    reducer = HistoryReducer(FOLDS)
    state = reducer.reduce_sync(said).state
    read = from_anthropic(said)
    kept = reducer.reduce_sync(read, state=state)
    lost = reducer.reduce_sync(to_openai_chat(read), state=state)

    assert (kept.event.earlier, lost.event.earlier) == ("used", "other_messages")
    assert check_openai_chat(render_openai_chat(kept.messages)) == ()


def test_cleared_calls_go_back_with_reasoning() -> None:
    """DeepSeek refuses calls without reasoning, or without a text as arguments, shortened or not."""
    items: list[Any] = []
    for step in range(12):
        call = {"name": "write", "arguments": f'{{"text": "{"a word " * 600}"}}'}
        calls = [{"id": f"c{step}", "type": "function", "function": call}]
        thought = {"reasoning_content": "I write.", "tool_calls": calls}
        items += [
            {"role": "user", "content": f"Write file {step}."},
            {"role": "assistant", "content": "", **thought},
            {"role": "tool", "tool_call_id": f"c{step}", "content": "written"},
        ]
    view = HistoryReducer(window=6_000).reduce_sync(items).messages
    asked = [one for one in view if "tool_calls" in one]
    found = [one["reasoning_content"] for one in asked]
    kinds = {type(call["function"]["arguments"]) for one in asked for call in one["tool_calls"]}

    assert "[reasoning left out]" in found
    assert all(found)
    assert kinds == {str}
