"""What the vendors' messages have in common: plain text, lists of blocks, media between words."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from foldline.errors import FormatError
from foldline.history.formats.wire import as_object, is_list, readable_text
from foldline.history.messages import Message
from foldline.history.parts import Part, TextPart


__all__ = ["blocks_in", "plain_message", "written_blocks"]


_PLAIN_KEYS = ["role", "content"]


def plain_message(fields: dict[str, Any], roles: Collection[str]) -> Message | None:
    """
    Return what *fields* say where they are a role of *roles* and a text, in this order.

    Most items of a long history are exactly this; writing them again needs no proof.
    """
    role: Any = fields.get("role")
    content = fields.get("content")
    if type(content) is str and list(fields) == _PLAIN_KEYS and role in roles:
        return Message(role=role, parts=(TextPart(content),))
    return None


def blocks_in(content: Any, field: str) -> Iterator[tuple[dict[str, Any], str]]:
    """
    Give each block of *content*, which is no text, with the name of its place; None has none.

    Raises:
        FormatError: *content* is not a list of objects.
    """
    if content is None:
        return
    if not is_list(content):
        message = f"{field} is neither a string nor a list"
        raise FormatError(message)
    for place, block in enumerate(content):
        name = f"{field}[{place}]"
        yield as_object(block, name), name


def written_blocks(
    parts: Iterable[Part],
    *,
    media: Callable[[Part], dict[str, Any] | None] | None = None,
    text_type: str = "text",
) -> list[dict[str, Any]]:
    """Write *parts* as blocks: what *media* has a block for as that, all else as readable text."""
    blocks: list[dict[str, Any]] = []
    for part in parts:
        block = media(part) if media is not None else None
        text = readable_text(part)
        if block is not None:
            blocks.append(block)
        elif text is not None:
            blocks.append({"type": text_type, "text": text})
    return blocks
