"""
The marks in a request up to which a vendor keeps its beginning in the prompt cache.

Each vendor also marks the end of a request by itself. That alone would serve nothing once a fold or
a batch has changed the middle: Anthropic looks back only 20 blocks from a mark, and OpenAI's models
since gpt-5.6 match no shorter prefix than one that was marked. So the end of the instructions is
marked, and an early message that stays until the next fold; for Anthropic also the end of the request
before, since ten calls and their results are 20 blocks. After a fold the summary is a message of
the assistant, behind a note of the user that a vendor wants first: Anthropic's mark is on the second
message then. OpenAI takes no mark on the assistant's; there it is on the last of the first three that
is the user's, which is the pinned one after the summary, or the first one that stays.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from foldline.history.formats.wire import Object, is_object, maybe_list, maybe_object


_ANTHROPIC, _OPENAI = "cache_control", "prompt_cache_breakpoint"
_EXPLICIT = (("mode", "explicit"),)
_UNMARKABLE = frozenset({"thinking", "redacted_thinking", "refusal", "output_text"})
# The note, the summary and what follows it.
_EARLY = 3
_INSTRUCTIONS = frozenset({"system", "developer"})


def mark_anthropic(
    system: list[Object],
    messages: list[Object],
    settings: Mapping[str, object],
    *,
    marks_request: bool,
) -> Object:
    """Return the fields of a request with marks in them; none if the caller has set marks."""
    # The mark of the settings, since a vendor refuses a longer lifetime after a shorter one.
    mark = settings.get(_ANTHROPIC, {"type": "ephemeral"})
    given = repr([settings.get(name) for name in ("tools", "system")])
    is_marked = f"'{_ANTHROPIC}'" in given or _has_marks(
        [{"content": system}, *messages], _ANTHROPIC
    )
    if is_marked or not is_object(mark):
        return {}
    early = min(1, len(messages) - 2)
    marked: Object = {"system": _marked(system, _ANTHROPIC, mark)} if system else {}
    # The end of the request alone would be the same mark twice, and the vendor takes only a few.
    last = len(messages) - 1
    places = ({early, _asked(messages)} if last else set[int]()) | (
        set[int]() if marks_request else {last}
    )
    marked["messages"] = [
        _with_mark(item, _ANTHROPIC, mark) if place in places else item
        for place, item in enumerate(messages)
    ]
    return marked | ({_ANTHROPIC: mark} if marks_request else {})


def mark_openai(items: list[Object], settings: Mapping[str, object], text: str) -> list[Object]:
    """Return *items* with marks, a str as a block of the type *text*; as given if the caller marks."""
    options = maybe_object(settings.get("prompt_cache_options"))
    if options.get("mode") == "explicit" or _has_marks(items, _OPENAI):
        return items
    first = next(
        (at for at, item in enumerate(items) if item.get("role") not in _INSTRUCTIONS), len(items)
    )
    marked = list(items)
    said = (at for at in range(first, min(first + _EARLY, len(items))))
    early = [at for at in said if items[at].get("role") == "user"]
    for place in {*early[-1:], *([first - 1] if first else [])}:
        if items[place].get("role") in _INSTRUCTIONS | {"user"}:
            marked[place] = _with_mark(items[place], _OPENAI, dict(_EXPLICIT), text)
    return marked


def _asked(messages: list[Object]) -> int:
    """Return where the request before ended: at what the last answer follows; below 0 without one."""
    pairs = pairwise(item.get("role") for item in messages)
    return max((at for at, pair in enumerate(pairs) if pair == ("user", "assistant")), default=-1)


def _has_marks(items: list[Object], field: str) -> bool:
    blocks = (block for item in items for block in maybe_list(item.get("content")))
    return any(maybe_object(block).get(field) is not None for block in blocks)


def _with_mark(item: Object, field: str, mark: Object, text: str = "text") -> Object:
    content = item.get("content")
    blocks = [{"type": text, "text": content}] if isinstance(content, str) else maybe_list(content)
    marked = _marked(blocks, field, mark)
    return item if marked == blocks else {**item, "content": marked}


def _marked(blocks: list[Any], field: str, mark: Object) -> list[Any]:
    """Return *blocks* with a mark on the last one that may carry it, if there is one."""
    for place in range(len(blocks) - 1, -1, -1):
        block = maybe_object(blocks[place])
        if block and block.get("type") not in _UNMARKABLE and block.get("text") != "":
            return [*blocks[:place], {**block, field: mark}, *blocks[place + 1 :]]
    return blocks
