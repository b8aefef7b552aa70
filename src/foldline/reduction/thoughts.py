"""Thoughts of a model in the text of its answer, where a server without a parser leaves them."""

import re
from operator import is_

from msgspec.structs import replace

from foldline.history.messages import Message
from foldline.history.parts import Part, ReasoningPart, TextPart


_ENDS = r"(?:</think(?:ing)?>|\[/THINK\])"
# Some templates have the opening tag in the prompt; a tag that is talked about stands in a line.
_THOUGHT = re.compile(
    rf"(?s:\s*+(?:(?:<think(?:ing)?>|\[THINK\])(.*?){_ENDS}|(.*?){_ENDS}(?=[ \t]*+(?:\n|\Z)))\s*+)"
).match


def with_thoughts(message: Message) -> Message:
    """Return *message* with what its text begins with, if that is a thought, as reasoning."""
    if message.role != "assistant":
        return message
    parts: list[Part] = []
    for part in message.parts:
        text = part.content if type(part) is TextPart else ""
        # Most answers have none, which is seen at once.
        found = _THOUGHT(text) if "</think" in text or "[/THINK]" in text else None
        if found is None:
            parts.append(part)
            continue
        parts.append(ReasoningPart((found[1] or found[2] or "").strip()))
        parts += [TextPart(rest)] if (rest := text[found.end() :]) else []
    is_same = len(parts) == len(message.parts) and all(map(is_, parts, message.parts))
    return message if is_same else replace(message, parts=tuple(parts), native=None)
