"""The kinds of parts."""

import msgspec
import pytest

from foldline.history.codec import decode_json, encode_json
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


@pytest.mark.parametrize(
    ("part", "stored"),
    [
        (TextPart("hi"), {"type": "text", "content": "hi"}),
        (
            ToolCallPart("1", "search", "{}"),
            {"type": "tool_call", "id": "1", "name": "search", "arguments": "{}"},
        ),
        (
            ToolCallResponsePart("1", (TextPart("ok"),)),
            {
                "type": "tool_call_response",
                "id": "1",
                "response": [{"type": "text", "content": "ok"}],
            },
        ),
        (ReasoningPart("hm"), {"type": "reasoning", "content": "hm"}),
        (
            BlobPart("image", "image/png", "AAAA"),
            {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "AAAA"},
        ),
        (UriPart("image", "a:b"), {"type": "uri", "modality": "image", "uri": "a:b"}),
        (FilePart("image", "f1"), {"type": "file", "modality": "image", "file_id": "f1"}),
        (CompactionPart("so far"), {"type": "compaction", "content": "so far"}),
        (GenericPart("new", "{}"), {"type": "generic", "kind": "new", "data": "{}"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_stored_form_of_a_part_is_pinned(part: Part, stored: dict[str, object]) -> None:
    """Names and fields of a part are those of the schema, and the union finds its kind again."""
    assert decode_json(encode_json(part)) == stored
    assert msgspec.convert(stored, Part) == part
