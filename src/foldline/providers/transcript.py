"""
A stretch of conversation as plain text between two fences.

Each message begins with a line `=== 3 user ===`. A line of the conversation that begins with `===`
is indented by a space, and the fences hold a mark, made of the text itself, that does not occur in
it. So nothing that was said can look like another message or like the end.
"""

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import assert_never

from foldline.history.media import media_inside
from foldline.history.messages import Message
from foldline.history.parts import (
    BlobPart,
    CompactionPart,
    FilePart,
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from foldline.providers.digest.text import clean, one_line
from foldline.providers.speakers import named, spoken_by


_MARK_LENGTH = 12
_ADDRESS_LENGTH = 300
_SHARE_OF_HEAD = 2 / 3
# After anything that some reader takes for the end of a line, and behind what is not seen.
_FALSE_HEADER = re.compile(
    r"(?<![^\n\r\v\f\x1c-\x1e\x85\u2028\u2029])(?=[\u00ad\u200b-\u200f\u2060\ufeff]{0,8}(?:===|\uff1d))"
)
# What the template of a chat takes for the edge of a turn, up to where it is parted.
_TEMPLATE = re.compile(r"(<)(?=\|\w+\|>|/?s>|<?/?SYS>|(?:start|end)_of_turn>)|(\[)(?=/?INST\])")
_PARTED = r"\1\2 "


def write_transcript(
    messages: Iterable[Message], *, earlier: Iterable[str] = (), most_result: int
) -> tuple[str, str]:
    """Return *earlier* summaries, then *messages*, without known secrets, and the mark in it."""
    messages, earlier = tuple(messages), tuple(earlier)
    agents = spoken_by(messages, earlier)
    ids = dict.fromkeys(call.id for message in messages for call in message.tool_calls)
    # Ids are long, and no summary needs them.
    calls = {call_id: number for number, call_id in enumerate(ids, 1)}
    blocks = [
        _block(f"earlier summary {place}", [clean(text)]) for place, text in enumerate(earlier, 1)
    ]
    for place, message in enumerate(messages, 1):
        lines = [_line(part, calls, most_result) for part in message.parts]
        name = agents[place - 1] or named(message.name or "")
        role = "summary" if message.is_summary else message.role
        blocks.append(_block(f"{place} {role} ({name})" if name else f"{place} {role}", lines))
    body = "\n\n".join(blocks)
    # It cannot be put into the conversation: with it the conversation would have another one.
    mark = sha256(body.encode()).hexdigest()[:_MARK_LENGTH]
    return f"====== TRANSCRIPT {mark} ======\n\n{body}\n\n====== END {mark} ======", mark


def _block(header: str, lines: Iterable[str]) -> str:
    said = "\n".join(line for line in lines if line) or "(nothing)"
    return f"=== {_TEMPLATE.sub(_PARTED, header)} ===\n{_FALSE_HEADER.sub(' ', _TEMPLATE.sub(_PARTED, said))}"


def _line(part: Part, calls: Mapping[str, int], most_result: int) -> str:
    match part:
        case TextPart():
            return clean(part.content)
        case ReasoningPart():
            return f"[thought] {clean(part.content)}" if part.content else ""
        case CompactionPart():
            return f"[summary by the vendor] {clean(part.content)}" if part.content else ""
        case ToolCallPart():
            called = f"[call {calls.get(part.id, 0)}: {named(part.name)}]"
            return f"{called} {clean(part.arguments)}"
        case ToolCallResponsePart():
            number = calls.get(part.id)
            of = "an earlier call" if number is None else f"call {number}"
            return f"[result of {of}] {_result(part, most_result)}"
        case BlobPart() | UriPart() | FilePart() | GenericPart():
            return _note(part, most_result)
    assert_never(part)


def _result(part: ToolCallResponsePart, most: int) -> str:
    # Secrets are removed first: half of one is not recognized.
    contents = [TextPart(part.response)] if isinstance(part.response, str) else part.response
    lines = (
        clean(content.content) if isinstance(content, TextPart) else _note(content, most)
        for content in contents
    )
    return without_middle("\n".join(lines), most)


def _note(part: BlobPart | UriPart | FilePart | GenericPart, most: int) -> str:
    match part:
        case BlobPart():
            kind = one_line(f"{named(part.modality)} {named(part.mime_type)}")
            return f"[{kind}, {len(part.content) * 3 // 4:,} bytes, not shown]"
        case UriPart():
            where = "inline" if part.uri.startswith("data:") else clean(part.uri)[:_ADDRESS_LENGTH]
            return f"[{named(part.modality)} at {where}, not shown]"
        case FilePart():
            return f"[{named(part.modality)} {named(part.file_id)}, not shown]"
        case GenericPart(opaque=True):
            return ""
        case GenericPart():
            return f"[{named(part.kind)}] {without_middle(clean(media_inside(part.data)[0]), most)}"
    assert_never(part)


def without_middle(text: str, most: int) -> str:
    """Return at most *most* characters of *text*, from both ends, and how many are missing."""
    if len(text) <= most:
        return text
    head = int(most * _SHARE_OF_HEAD)
    tail = most - head
    left_out = f"[{len(text) - most:,} characters left out]"
    return f"{text[:head]}\n{left_out}\n{text[len(text) - tail :]}"
