"""
Messages of Chat Completions whose speakers take turns, as chat templates of some models want them.

Those of Mistral, Devstral, Gemma and Llama 2 on vLLM or llama.cpp, and DeepSeek's reasoner, refuse two
messages of one speaker in a row (vLLM issue 6862, llama.cpp issues 19851 and 21879, LiteLLM issue
7972). All others take them, and a merged message is one that nobody has said, so a request is written
in this way only after such a refusal. OpenClaude and AutoGen merge them too; fillers between them
would be words of the assistant.
"""

from collections.abc import Iterable
from typing import Any

from foldline.history.formats.renderings.sending import EMPTY_NOTE, OPENING_NOTE
from foldline.history.formats.wire import Object, listed_blocks


_CALLS = "tool_calls"


def in_turns(items: Iterable[Object]) -> list[Object]:
    """Return *items* with neighbors of one speaker merged, and with a note where a turn is missing."""
    made: list[Object] = []
    # Who had the last turn: calls and their results are part of none.
    spoke = ""
    for item in items:
        role = item["role"]
        last = made[-1] if made else {"role": ""}
        if role == last["role"] != "tool" and _CALLS not in last:
            made[-1] = _merged(last, item)
            if _CALLS in item:
                spoke = "user"
            continue
        if role == "user" and spoke == "user":
            made.append({"role": "assistant", "content": EMPTY_NOTE})
        if role == "assistant" and not spoke:
            made.append({"role": "user", "content": OPENING_NOTE})
            spoke = "user"
        made.append(item)
        if role == "user" or (role == "assistant" and not item.get(_CALLS)):
            spoke = role
    return made


def _merged(first: Object, second: Object) -> Object:
    """Return *first* and *second* as one message; of users with names it says who speaks."""
    is_one_name = first.get("name") == second.get("name")
    content = list[Any]()
    for one in (first, second):
        if not is_one_name and "name" in one:
            content.append(f"{one['name']}:")
        if one.get("content"):
            content.append(one["content"])
    merged = {**first, **second, "content": None}
    if not is_one_name:
        del merged["name"]
    if content and all(isinstance(one, str) for one in content):
        return {**merged, "content": "\n\n".join(content)}
    return {**merged, "content": [one for said in content for one in listed_blocks(said)] or None}
