"""
A view as an Anthropic Messages request: the system blocks and the messages.

Source of the rules: Anthropic Messages API reference, and the errors that the API answers; of
compactions platform.claude.com, "Compaction on demand", read on 2026-11-22.
"""

from collections.abc import Iterable
from itertools import chain
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from foldline.history.formats.anthropic import ANTHROPIC
from foldline.history.formats.renderings.sending import (
    EMPTY_NOTE,
    OPENING_NOTE,
    CallIds,
    Original,
    sent_items,
    tool_name,
)
from foldline.history.formats.wire import (
    checked_messages,
    is_object,
    listed_blocks,
    object_from_json,
    text_block,
)
from foldline.history.messages import Message


_CALL_ID = "[a-zA-Z0-9_-]{1,64}"
_NAME_LIMIT = 128
_CACHE_MARKS = 4
_MARK = "cache_control"
_FOREIGN = {
    "user": frozenset({"tool_use", "thinking", "redacted_thinking", "compaction"}),
    "assistant": frozenset({"tool_result", "image", "document"}),
}


class AnthropicView(Struct, frozen=True, kw_only=True):
    """The two fields of a request that hold a conversation."""

    system: list[dict[str, Any]]
    """Text blocks for the field `system`; if there are none, leave the field out."""

    messages: list[dict[str, Any]]
    """The field `messages`."""


class _Turn(Struct):
    role: str
    blocks: list[dict[str, Any]]
    item: dict[str, Any] | None
    """The item that is exactly this turn, as long as it is."""

    is_alone: bool = False
    """Whether the caller has it as a message of mere text, which the vendor joins by itself."""


def render_anthropic(
    view: Iterable[Message],
    *,
    original: Original | None = None,
    opens: bool = True,
    rules: int | None = None,
) -> AnthropicView:
    """
    Write *view*, in which every call is directly followed by its result, as the vendor accepts it.

    The first *rules* system messages are taken out, or all; a later one comes between what the user
    says and the answer. Neighbors of one role become one message, unless both are texts that the
    caller has apart; blank text and unsigned thinking are left out. An item that *original* gives is used as it is unless something
    in it has to change. The rendering of a longer view begins with that of a shorter one, the
    last message of which may be extended; of more than four cache marks the older ones go.

    What does not open a request is a later part of one, and may begin with an answer. A signed
    compaction of the vendor represents all messages before it and has to come first, so
    the rendering begins with the newest one, verbatim.
    """
    ids = CallIds(_CALL_ID)
    system: list[dict[str, Any]] = []
    turns: list[_Turn] = []
    # System messages that wait for their place.
    waiting: list[_Turn] = []
    for message in checked_messages(view, ANTHROPIC.format):
        items = sent_items(message, _CONVERTER, original, _is_misplaced)
        if message.role == "system" and not message.is_summary:
            said = [_system_turn(item) for item in items]
            if rules is None or rules > 0:
                blocks = chain.from_iterable(turn.blocks for turn in said)
                system += [one for one in blocks if one["type"] == "text"]
                rules = None if rules is None else rules - 1
            else:
                waiting += [turn for turn in said if turn.item is not None or turn.blocks]
            continue
        continues = message.native is not None and message.native.continues
        for item in items:
            turn = _turn(item, ids)
            turn.is_alone = original is not None and _is_text(message, item)
            if turn.blocks:
                _append(turns, turn, waiting, continues=continues)
    _place(turns, waiting)
    turns = _from_compaction(turns)
    if opens and (not turns or not _opens(turns[0])):
        turns.insert(0, _note(OPENING_NOTE))
    for turn in turns:
        _put_results_first(turn)
    _end_well(turns[-1])
    return _with_few_marks(system, turns)


def _built(message: Message) -> list[dict[str, Any]]:
    """Write *message* without white space at its end, which an answer must not have."""
    return [
        {**item, "content": item["content"].rstrip()}
        if item["role"] == "assistant" and isinstance(item["content"], str)
        else item
        for item in ANTHROPIC.build(message)
    ]


_CONVERTER = replace(ANTHROPIC, build=_built)


def _is_text(message: Message, item: dict[str, Any]) -> bool:
    """Whether *item* is *message* as somebody said it, and mere text."""
    return not message.is_summary and isinstance(item.get("content"), str)


def _is_misplaced(item: dict[str, Any]) -> bool:
    """Whether *item* holds what only the other role may say, so that it has to be taken apart."""
    if isinstance(item.get("content"), str):
        return False
    foreign = _FOREIGN.get(item["role"], frozenset())
    blocks = listed_blocks(item.get("content"))
    return any(block["type"] in foreign and not _is_signed_compaction(block) for block in blocks)


def _is_signed_compaction(block: dict[str, Any]) -> bool:
    return block["type"] == "compaction" and bool(block.get("signature"))


def _from_compaction(turns: list[_Turn]) -> list[_Turn]:
    for index in range(len(turns) - 1, -1, -1):
        turn = turns[index]
        for place in range(len(turn.blocks) - 1, -1, -1):
            if _is_signed_compaction(turn.blocks[place]):
                first = turn if place == 0 else _Turn(turn.role, turn.blocks[place:], None)
                return [first, *turns[index + 1 :]]
    return turns


def _opens(turn: _Turn) -> bool:
    """Whether *turn* may come first: it is the user's, or begins with a compaction."""
    return turn.role == "user" or turn.blocks[0]["type"] == "compaction"


def _note(text: str) -> _Turn:
    return _Turn("user", [text_block(text)], {"role": "user", "content": text})


def _turn(item: dict[str, Any], ids: CallIds) -> _Turn:
    role, content = item["role"], item.get("content")
    given = listed_blocks(content)
    if isinstance(content, str) and content and not content.isspace():
        return _Turn(role, given, item)
    blocks = [clean for block in given if (clean := _clean(block, ids)) is not None]
    if role == "user" and not blocks:
        return _Turn(role, [text_block(EMPTY_NOTE)], None)
    return _Turn(role, given, item) if blocks == given else _Turn(role, blocks, None)


def _clean(block: dict[str, Any], ids: CallIds) -> dict[str, Any] | None:
    """Return *block* as the vendor takes it; None where it cannot be sent at all."""
    match block["type"]:
        case "text":
            return block if block["text"].strip() else None
        case "thinking":
            return block if block.get("signature") else None
        case "tool_use":
            return {
                **block,
                "id": ids.call(block["id"]),
                "name": tool_name(block["name"], limit=_NAME_LIMIT),
                "input": _as_input(block.get("input")),
            }
        case "tool_result":
            changed = {**block, "tool_use_id": ids.answer(block["tool_use_id"])}
            if not isinstance(block.get("content"), str):
                parts = block.get("content") or ()
                changed["content"] = [part for part in parts if _says_more(part)]
            return changed
        case _:
            return block


def _as_input(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return object_from_json(value)
    if is_object(value):
        return value
    return {} if value is None else {"arguments": value}


def _says_more(block: dict[str, Any]) -> bool:
    return block["type"] != "text" or bool(block["text"].strip())


def _system_turn(item: dict[str, Any]) -> _Turn:
    given = listed_blocks(item.get("content"))
    blocks = [one for one in given if one["type"] != "text" or one["text"].strip()]
    # One that only sets options has no content.
    is_whole = blocks == given and (blocks or "output_config" in item)
    return _Turn("system", blocks, item if is_whole else None)


def _place(turns: list[_Turn], waiting: list[_Turn]) -> None:
    """Put the system messages that are *waiting* where an answer may follow, and nothing else."""
    if not waiting:
        return
    last = turns[-1] if turns else None
    if last is None or not (last.role == "user" or _ends_in_result(last)):
        turns.append(_note(EMPTY_NOTE if turns else OPENING_NOTE))
    turns += waiting
    waiting.clear()


def _ends_in_result(turn: _Turn) -> bool:
    """Whether *turn* is an answer that ends in what a tool of the vendor returned."""
    return turn.role == "assistant" and turn.blocks[-1]["type"].endswith("_tool_result")


def _append(turns: list[_Turn], turn: _Turn, waiting: list[_Turn], *, continues: bool) -> None:
    if turn.role == "assistant":
        _place(turns, waiting)
    last = turns[-1] if turns else None
    if last is None or last.role != turn.role or (last.is_alone and turn.is_alone):
        turns.append(turn)
        return
    last.blocks.extend(turn.blocks)
    last.is_alone = False
    is_whole = continues and last.item is not None and turn.item is not None
    last.item = {**last.item, "content": last.blocks} if is_whole and last.item else None


def _put_results_first(turn: _Turn) -> None:
    if len(turn.blocks) == 1:
        return
    is_other = [block["type"] != "tool_result" for block in turn.blocks]
    if is_other != sorted(is_other):
        turn.blocks.sort(key=lambda block: block["type"] != "tool_result")
        turn.item = None


def _end_well(turn: _Turn) -> None:
    """Take the white space off the end of an assistant message that ends the request."""
    if turn.role == "assistant" and (last := turn.blocks[-1])["type"] == "text":
        text = last["text"].rstrip()
        if text != last["text"]:
            turn.blocks[-1] = {**last, "text": text}
            turn.item = None


def _with_few_marks(system: list[dict[str, Any]], turns: list[_Turn]) -> AnthropicView:
    left = _unmark(system, _CACHE_MARKS)
    for turn in reversed(turns):
        before = left
        left = _unmark(turn.blocks, before)
        if left < 0 and left != before:
            turn.item = None
    messages = [turn.item or {"role": turn.role, "content": turn.blocks} for turn in turns]
    return AnthropicView(system=system, messages=messages)


def _unmark(blocks: list[dict[str, Any]], left: int) -> int:
    """Leave marks on the last *left* marked blocks only; return what is left for the others."""
    for place in range(len(blocks) - 1, -1, -1):
        block = blocks[place]
        if block.get(_MARK) is None:
            continue
        left -= 1
        if left < 0:
            blocks[place] = {key: block[key] for key in block if key != _MARK}
    return left
