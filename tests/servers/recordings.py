"""The recorded conversations beside the checkout, those that no log reader takes included."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from foldline.history.formats.responses import joined_stream, read_response
from foldline.history.messages import Message, NativeFormat
from foldline.logs import Session, read_sessions
from foldline.logs.wire_logs import read_request


_ENDPOINTS = {
    "chat/completions": NativeFormat.OPENAI_CHAT,
    "v1/responses": NativeFormat.OPENAI_RESPONSES,
    "v1/messages": NativeFormat.ANTHROPIC,
}


def recorded_sessions(path: Path) -> tuple[Session, ...]:
    """Return the conversations in *path*: a log, meetings, or exchanges with vendors."""
    if path.name == "meetings.jsonl":
        return tuple(_meetings(path))
    if path.suffix != ".yaml":
        return read_sessions(path.read_bytes(), name=path.stem)
    return tuple(
        Session(
            id=f"exchange-{number}",
            format="cassette",
            messages=(*read_request(asked, native), *read_response(answer, native)),
        )
        for number, (native, asked, answer) in enumerate(recorded_exchanges(path))
    )


def recorded_exchanges(path: Path) -> Iterator[tuple[NativeFormat, Any, Any]]:
    """Give the wire format, the request body and the whole answer of each exchange in *path*."""
    cassette = yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)
    for item in cassette["interactions"]:
        request, response = item["request"], item["response"]
        native = next(_ENDPOINTS[end] for end in _ENDPOINTS if end in request["uri"])
        answer = response.get("parsed_body")
        if answer is None:
            answer = joined_stream(response["body"]["string"], native)
        yield native, request["parsed_body"], answer


def _meetings(path: Path) -> Iterator[Session]:
    """Read QMSum's meetings: the first speaker is the user, all others answer."""
    for line in path.read_text("utf-8").splitlines():
        meeting = json.loads(line)
        turns = meeting["meeting_transcripts"]
        messages = [
            Message.user(turn["content"])
            if turn["speaker"] == turns[0]["speaker"]
            else Message.assistant(turn["content"])
            for turn in turns
        ]
        yield Session(id=meeting["id"], format="meetings", messages=tuple(messages))
