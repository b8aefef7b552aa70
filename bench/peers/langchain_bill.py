"""
What LangChain's SummarizationMiddleware sends, played on the sizes of a session.

It runs in the environment of the peers, with the model scripted and tokens counted by the sizes that
are given, so that every contestant counts alike.
"""

import sys
from collections.abc import Sequence
from typing import Any

from langchain.agents.middleware import (  # type: ignore[import-not-found]
    ClearToolUsesEdit,
    SummarizationMiddleware,
)
from langchain_core.language_models.fake_chat_models import (  # type: ignore[import-not-found]
    GenericFakeChatModel,
)
from langchain_core.messages import (  # type: ignore[import-not-found]
    AIMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)

from bench.peers.child import serve


_PROMPT, _FIXED = 600, 20
_SAID = "What was said."
# What takes the place of a result, and about how many tokens the message has then.
_CLEARED, _NOTE = "[cleared]", 10


def requests(
    messages: Sequence[dict[str, Any]],
    calls: Sequence[int],
    trigger: Sequence[Any],
    keep: Sequence[Any],
    summary: int,
) -> list[list[Any]]:
    """Return for each model call the ids of what is sent, and the tokens that a summarizer reads."""
    sizes = {one["id"]: one["size"] for one in messages}

    def count(given: Any) -> int:
        return sum(sizes.get(one.id, summary) for one in given)

    model = GenericFakeChatModel(messages=iter(lambda: AIMessage(_SAID), None))
    middleware = SummarizationMiddleware(
        model=model, trigger=tuple(trigger), keep=tuple(keep), token_counter=count
    )
    state: list[Any] = []
    found: list[list[Any]] = []
    said = made = 0
    for position in calls:
        state += map(_message, messages[said:position])
        said = position
        before = list(state)
        update = middleware.before_model({"messages": state}, None)
        read = 0
        if update is not None:
            state = [one for one in update["messages"] if not isinstance(one, RemoveMessage)]
            made += 1
            # Where trimming leaves nothing of what it drops, no model is asked.
            is_written = _SAID in str(state[0].content)
            state[0].id = f"{'summary' if is_written else 'fixed'} {made}"
            sizes[state[0].id] = summary if is_written else _FIXED
            kept = {one.id for one in state}
            # What it leaves out it trims to 4,000 tokens for the summarizer.
            dropped = count([one for one in before if one.id not in kept])
            read = min(4_000, dropped) + _PROMPT if is_written else 0
        found.append([[one.id for one in state], read])
    return found


def cleared(messages: Sequence[dict[str, Any]], calls: Sequence[int]) -> list[list[str]]:
    """Return what ClearToolUsesEdit sends at each call, as it is by default: `-id` is cleared."""
    sizes = {one["id"]: one["size"] for one in messages}

    def count(given: Any) -> int:
        return sum(_NOTE if one.content == _CLEARED else sizes[one.id] for one in given)

    edit, found = ClearToolUsesEdit(), []
    for position in calls:
        sent = [_message(one) for one in messages[:position]]
        edit.apply(sent, count_tokens=count)
        found.append(["-" * (one.content == _CLEARED) + one.id for one in sent])
    return found


def _message(one: dict[str, Any]) -> Any:
    if one["role"] == "assistant":
        calls = [{"id": call, "name": "tool", "args": {}} for call in one["calls"]]
        return AIMessage("said", id=one["id"], tool_calls=calls)
    if one["role"] == "tool":
        return ToolMessage("result", id=one["id"], tool_call_id=one["answers"])
    return HumanMessage("asked", id=one["id"])


if __name__ == "__main__":
    serve(sys.modules[__name__])
