"""Thoughts of a model in the text of its answer, where a server without a parser leaves them."""

import re
from operator import is_

from msgspec.structs import replace

from foldline.history.messages import Message
from foldline.history.parts import Part, ReasoningPart, TextPart


_ENDS = r"(?:</think(?:ing)?>|\[/THINK\])"
_STARTS = r"(?:<think(?:ing)?>|\[THINK\])"
# Some templates have the opening tag in the prompt; a tag that is talked about stands in a line.
_THOUGHT = re.compile(
    rf"(?s:\s*+(?:{_STARTS}(.*?){_ENDS}|(.*?){_ENDS}(?=[ \t]*+(?:\n|\Z)))\s*+)"
).match
# After either of them a tag at the end is a part of what the answer shows, not the end of a thought.
_OPENED, _FENCES = (
    re.compile(rf"(?<!`){_STARTS}").search,
    re.compile(r"(?m)^[ \t]*+(?:```|~~~)").findall,
)


def with_thoughts(message: Message) -> Message:
    """Return *message* with what its text begins with, if that is a thought, as reasoning."""
    if message.role != "assistant":
        return message
    parts: list[Part] = []
    for part in message.parts:
        text = part.content if type(part) is TextPart else ""
        # Most answers have none, which is seen at once.
        found = _THOUGHT(text) if "</think" in text or "[/THINK]" in text else None
        if found is None or _is_shown(found[2] or ""):
            parts.append(part)
            continue
        parts.append(ReasoningPart((found[1] or found[2] or "").strip()))
        parts += [TextPart(rest)] if (rest := text[found.end() :]) else []
    is_same = len(parts) == len(message.parts) and all(map(is_, parts, message.parts))
    return message if is_same else replace(message, parts=tuple(parts), native=None)


def _is_shown(before: str) -> bool:
    """Whether a tag that closes after *before* belongs to an example."""
    return _OPENED(before) is not None or len(_FENCES(before)) % 2 > 0
