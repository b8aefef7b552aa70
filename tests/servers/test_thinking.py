"""The stand-in refuses thinking that comes after anything but what it was made from."""

from typing import Any

import pytest

from tests.servers.thinking import check_thinking, sign_thinking


USE = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "r"}
MARKED = {"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}


def turns(*contents: Any) -> list[dict[str, Any]]:
    roles = ("user", "assistant")
    return [{"role": roles[at % 2], "content": content} for at, content in enumerate(contents)]


ASKED = {"system": "be brief", "tools": [{"name": "f"}], "messages": turns("go")}


def answered(request: dict[str, Any], *after: Any) -> dict[str, Any]:
    """Return *request* with an answer, in which a thought comes before and after a call."""
    thoughts: list[dict[str, Any]] = []
    said: list[dict[str, Any]] = []
    for one in ("first", "second"):
        signature = sign_thinking(request, said)
        thoughts = [{"type": "thinking", "thinking": one, "signature": signature}]
        said += [*thoughts, {**USE, "id": one}]
    results = [{**RESULT, "tool_use_id": one} for one in ("first", "second")]
    messages = [*request["messages"], *turns([], said)[1:], *turns(results), *after]
    return {**request, "messages": messages}


def test_thinking_after_what_it_was_made_from() -> None:
    """Thoughts that come back after the same blocks are accepted, turn after turn."""
    once = answered(ASKED)
    twice = answered(answered(once))

    assert check_thinking(once) == check_thinking(twice) == []
    assert check_thinking({**once, "max_tokens": 5, "system": [MARKED]}) == []


@pytest.mark.parametrize(
    "changed",
    [
        {"system": "be long"},
        {"system": None},
        {"tools": []},
        {"messages": [{"role": "user", "content": "stop"}, *answered(ASKED)["messages"][1:]]},
        {"messages": [*turns("x", "y"), *answered(ASKED)["messages"][1:]]},
    ],
)
def test_thinking_after_anything_else(changed: dict[str, Any]) -> None:
    """If anything before a thought differs, it and each later one of its answer are reported."""
    found = check_thinking({**answered(ASKED), **changed})

    assert len(found) == 2


def test_a_thought_between_others_left_out() -> None:
    """A thought that is left out takes the later ones with it."""
    request = answered(answered(ASKED))
    del request["messages"][1]["content"][2]

    assert len(check_thinking(request)) == 2
