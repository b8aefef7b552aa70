"""Signed thinking in a framework's messages."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from foldline.history.formats.anthropic import ANTHROPIC
from foldline.history.formats.wire import json_text, listed_blocks
from foldline.history.messages import Message, Native, NativeFormat
from foldline.history.parts import ReasoningPart


__all__ = ["with_thinking"]


def with_thinking(message: Message, blocks: Iterable[Mapping[str, Any]]) -> Message:
    """
    Return *message*, an answer of Anthropic's, with its signed thinking *blocks* beside it.

    The vendor binds such a block to everything before it, so that a view which changes that has to
    leave it out. *blocks* are as the vendor writes them: `thinking` with a `signature`, or
    `redacted_thinking`. Without any, *message* is returned as it is.
    """
    bound = [dict(block) for block in blocks]
    if not bound:
        return message
    rest = tuple(one for one in message.parts if not isinstance(one, ReasoningPart))
    said = [
        block
        for item in ANTHROPIC.build(replace(message, parts=rest))
        for block in listed_blocks(item["content"])
    ]
    item = json_text({"role": "assistant", "content": [*bound, *said]})
    return replace(message, native=Native(format=NativeFormat.ANTHROPIC, item=item))
