"""
Messages of the Vercel AI SDK: those of its user interface, which have `parts`, and those for a model.

Source: its `convert-to-model-messages.ts`. A call in the former holds its result, and each step is an answer.
Sources and data are for the screen. Of the latter only lists with calls are read here: others are plain chat.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, cast

from foldline.history.formats.wire import (
    Object,
    blocks_in,
    check_role,
    first_text,
    json_text,
    maybe_list,
    maybe_object,
    maybe_text,
    media_from_url,
    text_block,
)
from foldline.history.media import modality_of
from foldline.history.messages import Message, Role
from foldline.history.parts import BlobPart, Part, ReasoningPart, TextPart
from foldline.logs.bodies import answers, call_of, read_bodies, response_of
from foldline.logs.importer import Importer, first_items, stamped


_ROLES = ("system", "user", "assistant", "tool")
_STEP = "step-start"
_ANSWERED = ("output-available", "output-error", "output-denied", "result")
_MEDIA = ("file", "image", "media")
_ANSWERS = ("output", "result", "errorText")


def is_ai_sdk(value: Any) -> bool:
    """Whether *value* is a message of the AI SDK that is in no other format."""
    item = maybe_object(value)
    if item.get("role") not in _ROLES or "info" in item:
        return False
    blocks = [*map(maybe_object, maybe_list(item.get("parts") or item.get("content")))]
    has_text = any(one.get("type") == "text" and "text" in one for one in blocks)
    has_calls = "toolInvocations" in item or any("toolCallId" in one for one in blocks)
    return has_calls or ("parts" in item and has_text)


def _rules(body: Object) -> list[str]:
    return [maybe_text(body.get("system"))]


def messages_from_ai_sdk(item: Object) -> Iterator[Message]:
    """Return what *item* says: each step, and the results of its calls."""
    role = cast("Role", check_role(item.get("role"), _ROLES))
    blocks = [*_blocks(item)]
    pieces = ((block.get("type"), [*_parts(block)], [*_result(block)]) for block in blocks)
    kept = [(said, results) for kind, said, results in pieces if said or results or kind == _STEP]
    return stamped(answers(kept, role), item.get("createdAt"), first_text(item, "id"))


def _blocks(item: Object) -> Iterator[Object]:
    if item.get("parts"):
        yield from (block for block, _ in blocks_in(item["parts"], "parts"))
        return
    # Its version 4 has calls beside the text that follows them.
    yield from ({"toolInvocation": one} for one in maybe_list(item.get("toolInvocations")))
    content = item.get("content")
    if isinstance(content, str):
        yield text_block(content)
    else:
        yield from (block for block, _ in blocks_in(content, "content"))


def _call(block: Object) -> Object:
    """Return *block* if it is a call or a result, as its version has it."""
    call = maybe_object(block.get("toolInvocation")) or block
    return call if "toolCallId" in call else {}


def _name(block: Object) -> str:
    return first_text(_call(block), "toolName") or maybe_text(block.get("type"))[len("tool-") :]


def _parts(block: Object) -> Iterator[Part]:
    text, call = first_text(block, "text", "reasoning"), _call(block)
    mime = first_text(block, "mediaType", "mimeType")
    match block.get("type"):
        case "text" if text:
            yield TextPart(text)
        case "reasoning" if text:
            yield ReasoningPart(text)
        case str(kind) if kind.partition("-")[0] in _MEDIA:
            modality = modality_of(mime or kind)
            if data := first_text(block, "url", "data", kind):
                is_url = ":" in data
                yield media_from_url(data, modality) if is_url else BlobPart(modality, mime, data)
        case kind if call and kind != "tool-result":
            given = call.get("input", call.get("args")) or {}
            yield call_of(first_text(call, "toolCallId"), _name(block), given)
        case _:
            pass


def _result(block: Object) -> Iterator[Message]:
    call = _call(block)
    if call.get("state") in _ANSWERED or block.get("type") == "tool-result":
        output = next((call[key] for key in _ANSWERS if key in call), "")
        yield Message.tool(first_text(call, "toolCallId"), _said(output), name=_name(block))


def _said(output: Any) -> Any:
    match output:
        case {"type": "content", "value": list(blocks)}:
            return response_of(part for one in blocks for part in _parts(maybe_object(one)))
        case {"type": "text" | "json" | "error-text" | "error-json", "value": said}:
            output = said
        case _:
            pass
    return output if isinstance(output, str) else json_text(output)


AI_SDK = Importer(
    name="ai-sdk",
    description="messages of the Vercel AI SDK (UIMessage, or ModelMessage with calls)",
    matches=lambda document: any(map(is_ai_sdk, first_items(document, "messages"))),
    read=partial(read_bodies, key="messages", rules=_rules, read=messages_from_ai_sdk),
)
"""The importer of the AI SDK's messages."""
