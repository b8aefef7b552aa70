"""The recorded conversations beside the checkout, those that are no logs of agents included."""

import json
from collections.abc import Iterator
from pathlib import Path

import yaml

from foldline.history.formats.responses import joined_stream, read_response
from foldline.history.messages import Message, NativeFormat
from foldline.logs import Session, read_sessions
from foldline.logs.request import read_request


_ENDPOINTS = {
    "chat/completions": NativeFormat.OPENAI_CHAT,
    "v1/responses": NativeFormat.OPENAI_RESPONSES,
    "v1/messages": NativeFormat.ANTHROPIC,
}


def recorded_sessions(path: Path) -> tuple[Session, ...]:
    """Return the conversations in *path*: a log, meetings, or exchanges with vendors."""
    if path.suffix == ".yaml":
        return tuple(_exchanges(path))
    if path.name == "meetings.jsonl":
        return tuple(_meetings(path))
    return read_sessions(path.read_bytes(), name=path.stem)


def _meetings(path: Path) -> Iterator[Session]:
    """Read QMSum's meetings; who opens one is its user, and everybody else answers."""
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


def _exchanges(path: Path) -> Iterator[Session]:
    """Read the requests and answers of a VCR cassette."""
    cassette = yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)
    for number, item in enumerate(cassette["interactions"]):
        request, response = item["request"], item["response"]
        native = next(_ENDPOINTS[end] for end in _ENDPOINTS if end in request["uri"])
        answer = response.get("parsed_body")
        if answer is None:
            answer = joined_stream(response["body"]["string"], native)
        said = read_request(request["parsed_body"], native).messages
        messages = (*said, *read_response(answer, native))
        yield Session(id=f"exchange-{number}", format="cassette", messages=messages)
