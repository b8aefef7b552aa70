"""
What the lines of Qwen Code hold: a content of Gemini in an envelope of Claude Code.

Source: its `chatRecordingService.ts`. The envelope is read by `logs.claude_code`, which gives its lines here.
"""

from functools import partial

from msgspec.structs import replace

from foldline.history.formats.responses import usage_or_none
from foldline.history.formats.wire import (
    Object,
    first_text,
    maybe_list,
    maybe_object,
    maybe_time,
    scalars,
)
from foldline.history.messages import Message
from foldline.logs.bodies import messages_of
from foldline.logs.gemini import content_parts, role_of, tool_of


def messages_of_line(line: Object) -> list[Message]:
    """Return what the content of *line* says, with what the line has beside it."""
    content = maybe_object(line.get("message"))
    said = messages_of(
        map(maybe_object, maybe_list(content.get("parts"))),
        role=role_of(content),
        parts=partial(content_parts, of_agent=True),
        tool=tool_of,
    )
    id, created_at = first_text(line, "uuid") or None, maybe_time(line.get("timestamp"))
    report = maybe_object(line.get("usageMetadata"))
    # Unlike Google's own, its answers are counted with their thoughts.
    usage = usage_or_none(
        input_tokens=report.get("promptTokenCount"),
        output_tokens=report.get("candidatesTokenCount"),
        cache_read_tokens=report.get("cachedContentTokenCount"),
        reasoning_tokens=report.get("thoughtsTokenCount"),
    )
    metadata = scalars(line, ("model",)) or None
    return [
        replace(one, id=id, created_at=created_at, usage=usage, metadata=metadata) for one in said
    ]


def is_from_program(line: Object) -> bool:
    """Whether the program says *line* in the user's place."""
    return line.get("subtype") in ("notification", "cron") or line.get("provenance") == "system"
