"""Objects that are lists of blocks, and what of a block survives a change beside it."""

from collections.abc import Iterator
from typing import Any

from foldline.agent.reducer import HistoryReducer
from foldline.guests import NO_RESPONSE, GuestView
from foldline.guests.blocks import BlockCodec, result_text, rewritten
from foldline.history.messages import Message, Role
from foldline.history.parts import (
    BlobPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.testing.guests import GuestConformance


Block = dict[str, str]
Item = dict[str, Any]


class LetterCodec(BlockCodec[Item, Block]):
    """Letters: a dictionary of who wrote it and blocks."""

    def role(self, item: Item, /) -> Role:
        """Return who wrote it; what a tool wrote beside its results is the user's."""
        return "assistant" if item["by"] == "assistant" else "user"

    def blocks(self, item: Item, /) -> list[Block]:
        """Return the blocks."""
        blocks: list[Block] = item["blocks"]
        return blocks

    def parts(self, block: Block, /) -> Iterator[Part]:
        """Read a block."""
        if "call" in block:
            yield ToolCallPart(block["id"], block["call"], "{}")
        elif "result" in block:
            yield ToolCallResponsePart(block["id"], block["result"])
        elif "thought" in block:
            yield ReasoningPart(block["thought"])
        elif "mark" not in block:
            yield TextPart(block["text"])

    def tool(self, block: Block, /) -> str | None:
        """Return the name of a result."""
        return block.get("tool")

    def thinking(self, block: Block, /) -> Block | None:
        """Return a thought that is signed."""
        if "seal" not in block:
            return None
        return {"type": "thinking", "thinking": block["thought"], "signature": block["seal"]}

    def block(self, part: Part, own: Block | None, tool: str | None = None, /) -> Block | None:
        """Write a part."""
        match part:
            case ToolCallPart(id=id, name=name):
                return {**(own or {}), "call": name, "id": id}
            case ToolCallResponsePart(id=id):
                named = {} if tool is None else {"tool": tool}
                return {**(own or {}), "result": result_text(part), "id": id, **named}
            case ReasoningPart(content=text):
                return {"thought": text}
            case TextPart(content=text):
                return {"text": text}
            case _:
                return None

    def made(self, role: str, blocks: list[Block], _: Item | None, /) -> Item:
        """Make a letter."""
        return {"by": role, "blocks": blocks}


ASKED: Item = {"by": "user", "blocks": [{"text": "What is in both rooms?"}]}
CALLS: list[Block] = [
    {"thought": "Hm.", "seal": "first"},
    {"thought": "Hm.", "seal": "second"},
    {"call": "look", "id": "1", "ticket": "a"},
    {"call": "look", "id": "2", "ticket": "b"},
]
CALLED: Item = {"by": "assistant", "blocks": CALLS}
RESULTS: list[Block] = [
    {"result": "A table.", "id": "1", "tool": "look", "took": "1 s"},
    {"result": "A chair.", "id": "2", "tool": "look", "took": "2 s"},
    {"text": "Go on."},
    {"text": "Please."},
]
ANSWERED: Item = {"by": "user", "blocks": RESULTS}
CODEC = LetterCodec()


def test_it_is_a_codec() -> None:
    """It keeps every promise of a codec."""
    report = GuestConformance(CODEC, [ASKED, CALLED, ANSWERED]).run()

    assert report.is_conformant, str(report)


def test_each_result_is_a_message() -> None:
    """What stands between results is one message, and each result one with the name of its tool."""
    said = CODEC.read(ANSWERED)

    assert [(one.role, one.name, len(one.parts)) for one in said] == [
        ("tool", "look", 1),
        ("tool", "look", 1),
        ("user", None, 2),
    ]


def test_a_part_has_the_very_blocks() -> None:
    """Those messages of an object are made of its own blocks."""
    made = CODEC.part(ANSWERED, [1, 2])

    assert list(map(id, made["blocks"])) == list(map(id, RESULTS[1:]))


def test_a_part_is_of_those_who_say_it() -> None:
    """Beside a result words are still the user's: a vendor refuses words of a tool that are no result."""
    assert [CODEC.part(ANSWERED, [at])["by"] for at in (0, 2)] == ["tool", "user"]


def test_what_is_unchanged_is_the_very_block() -> None:
    """Beside a call with another id all else stays, and of two equal thoughts each its own seal."""
    (message,) = CODEC.read(CALLED)
    other = ToolCallPart("1_2", "look", "{}")

    made = CODEC.write(Message(role="assistant", parts=(*message.parts[:2], other)), CALLED)

    assert list(map(id, made["blocks"][:2])) == list(map(id, CALLS[:2]))
    assert made["blocks"][2] == {"call": "look", "id": "1_2", "ticket": "a"}


def test_a_changed_result_is_made_of_its_own_block() -> None:
    """A result that is shown shortened keeps what else its block has; a new one has nothing else."""
    short = Message.tool("2", "[cleared]", name="look")

    made, new = CODEC.write(short, ANSWERED), CODEC.write(short, None)

    assert made["blocks"] == [{"result": "[cleared]", "id": "2", "tool": "look", "took": "2 s"}]
    assert new["blocks"] == [{"result": "[cleared]", "id": "2", "tool": "look"}]


def test_a_block_that_says_nothing_stays_with_the_one_before_it() -> None:
    """A mark after a result is no message, and is in that part; a part may also be made of both."""
    mark: Block = {"mark": "here"}
    item: Item = {"by": "user", "blocks": [RESULTS[0], mark, RESULTS[2]]}

    assert [one.role for one in CODEC.read(item)] == ["tool", "user"]
    assert CODEC.part(item, [0])["blocks"] == [RESULTS[0], mark]
    assert CODEC.read({"by": "user", "blocks": [mark]}) == []


def test_calls_without_ids_are_the_very_objects() -> None:
    """A view pairs them with their results, and writes none of the ids that it made for that."""
    calls: list[Block] = [{"call": "look", "id": ""}, {"call": "look", "id": ""}]
    results: list[Block] = [{"result": text, "id": "", "tool": "look"} for text in ("a", "b")]
    said = [
        item
        for _ in range(3)
        for item in (ASKED, {"by": "assistant", "blocks": calls}, {"by": "user", "blocks": results})
    ]
    said[-1] = {"by": "user", "blocks": results[:1]}

    view = GuestView(HistoryReducer(), CODEC).reduce_sync(said).messages

    assert list(map(id, view[:-1])) == list(map(id, said))
    assert view[-1]["blocks"] == [{"result": NO_RESPONSE, "id": "", "tool": "look"}]


def test_what_has_no_block_is_left_out() -> None:
    """A part that nothing can be made of makes nothing."""
    parts = (TextPart("See:"), BlobPart("image", "image/png", "aGk="))

    assert rewritten(parts, [], CODEC.block) == [{"text": "See:"}]


def test_the_text_of_a_result() -> None:
    """Its parts are lines, with a mark for what is no text."""
    part = ToolCallResponsePart("1", (TextPart("Red."), BlobPart("image", "image/png", "aGk=")))

    assert result_text(part) == "Red.\n[image]"
