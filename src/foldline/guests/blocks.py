"""Objects of a guest that are lists of blocks: texts, calls, results, thinking, pictures."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from foldline.history.formats.anthropic import ANTHROPIC
from foldline.history.formats.renderings.sending import summary_text
from foldline.history.formats.wire import json_text, listed_blocks, readable_text
from foldline.history.grouping import grouped
from foldline.history.messages import Message, Native, NativeFormat, Role
from foldline.history.parts import (
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.history.unnamed import without_ids
from foldline.logs.bodies import messages_of


_Object = TypeVar("_Object")
_Block = TypeVar("_Block")


class BlockCodec(ABC, Generic[_Object, _Block]):
    """A codec of such objects; outside of an answer each result of a tool is a message of its own."""

    @abstractmethod
    def role(self, item: _Object, /) -> Role:
        """Return who says *item*; results are a tool's anyway."""

    @abstractmethod
    def blocks(self, item: _Object, /) -> Sequence[_Block]:
        """Return the blocks of *item*."""

    @abstractmethod
    def parts(self, block: _Block, /) -> Iterable[Part]:
        """Return what *block* says; a result of a tool is a single part."""

    def tool(self, _: _Block, /) -> str | None:
        """Return the name of the tool whose result a block is, if the block has it."""
        return None

    def thinking(self, _: _Block, /) -> Mapping[str, object] | None:
        """Return a block that is signed thinking of Anthropic's as the vendor writes it."""
        return None

    @abstractmethod
    def block(self, part: Part, own: _Block | None, tool: str | None = None, /) -> _Block | None:
        """Return a block for *part*, which may be a result of *tool*; see `rewritten` for *own*."""

    @abstractmethod
    def made(self, role: str, blocks: list[_Block], source: _Object | None, /) -> _Object:
        """Return an object of *blocks*; of *source*, which it was made from, it has what else it holds."""

    def said(self, item: _Object, /) -> tuple[Part, ...]:
        """Return what all blocks of *item* say."""
        return tuple(part for one in self.blocks(item) for part in self.parts(one))

    def read(self, item: _Object, /) -> Sequence[Message]:
        """Return what *item* says."""
        role = self.role(item)
        if role != "assistant":
            return messages_of(self.blocks(item), role=role, parts=self.parts, tool=self.tool)
        signed = filter(None, map(self.thinking, self.blocks(item)))
        return [with_thinking(Message(role=role, parts=self.said(item)), signed)]

    def write(self, message: Message, source: _Object | None, /) -> _Object:
        """Return *message*; what is unchanged in it is the very block of its source."""
        if message.is_summary:
            message = Message.assistant(summary_text(message))
        message = without_ids(message)
        own = [] if source is None else [(self.parts(one), one) for one in self.blocks(source)]
        blocks = rewritten(
            message.parts, own, lambda part, one: self.block(part, one, message.name)
        )
        return self.made(message.role, blocks, source)

    def part(self, item: _Object, which: Sequence[int], /) -> _Object:
        """Return the blocks of those messages."""
        groups = grouped((one, self.parts(one)) for one in self.blocks(item))
        blocks = [block for at in which for block, _ in groups[at]]
        return self.made(self.read(item)[which[0]].role, blocks, item)


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


def rewritten(
    parts: Iterable[Part],
    own: Iterable[tuple[Iterable[Part], _Block]],
    write: Callable[[Part, _Block | None], _Block | None],
) -> list[_Block]:
    """
    Return blocks for *parts*; what is unchanged is the very block that it was read from.

    Args:
        parts: What a message says.
        own: What each block of its source says, with the block.
        write: Makes the block of a part, or none. It also gets the block that has the same call
            under another id, or another result of the same call, if there is one.
    """
    left = [(list(said), one) for said, one in own]
    made: list[_Block | None] = []
    for part in parts:
        at = next((at for at, (said, _) in enumerate(left) if said == [part]), None)
        if at is None:
            like = (one for said, one in left if said and _is_like(said[0], part))
            made.append(write(part, next(like, None)))
        else:
            made.append(left.pop(at)[1])
    return [one for one in made if one is not None]


def result_text(part: ToolCallResponsePart) -> str:
    """Return what a tool answered as text, with marks for what is none."""
    said = [TextPart(part.response)] if isinstance(part.response, str) else part.response
    return "\n".join(filter(None, map(readable_text, said)))


def _is_like(one: Part, other: Part) -> bool:
    match one, other:
        case ToolCallPart(), ToolCallPart():
            return (one.name, one.arguments) == (other.name, other.arguments)
        case ToolCallResponsePart(), ToolCallResponsePart():
            return one.id == other.id
        case _:
            return False
