"""Vendors on this machine: they answer from a script, and refuse what the real ones refuse."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Thread
from typing import Any


Body = dict[str, Any]
Judge = Callable[[Body], Iterator[str]]


class Desk:
    """One conversation with a vendor."""

    def __init__(self, judge: Judge, url: str) -> None:
        self.judge = judge
        self.url = url
        """Where it is asked."""
        self.answers: list[Body] = []
        """What it will answer."""
        self.asked: list[Body] = []
        """What it was asked and has not refused."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        desk = _desks()[self.path.split("/")[1]]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        faults = [*desk.judge(body)]
        said: Body = {"message": "; ".join(faults)}
        if self.path.endswith(":generateContent"):
            said = {"error": {"code": 400, "status": "INVALID_ARGUMENT", **said}}
        if not faults:
            desk.asked.append(body)
            said = desk.answers.pop(0)
        data = json.dumps(said).encode()
        self.send_response(400 if faults else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("x-amzn-errortype", "ValidationException")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@cache
def _desks() -> dict[str, Desk]:
    return {}


@cache
def _served() -> str:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


_numbers = count()


def open_desk(judge: Judge) -> Desk:
    """Return a new conversation with a vendor whose rules *judge* knows."""
    name = f"desk-{next(_numbers)}"
    return _desks().setdefault(name, Desk(judge, f"{_served()}/{name}"))


def anything(_: Body) -> Iterator[str]:
    """Refuse nothing: a damaged history is sent as it is, if it is not reduced."""
    yield from ()


def gemini(body: Body) -> Iterator[str]:
    """Yield why Gemini refuses *body*, in its own words where they are known."""
    turns: list[tuple[str, list[Body]]] = []
    for content in body["contents"]:
        if not content.get("parts"):
            yield "contents.parts must not be empty"
        if content.get("role") not in ("user", "model"):
            yield "Please use a valid role: user, model"
        turns.append((content["role"], content["parts"]))
    if turns[0][0] != "user":
        yield "Please ensure that multiturn requests begin with a user turn"
    if turns[-1][0] != "user":
        yield "Please ensure that multiturn requests end with a user turn or a function response"
    before: tuple[str, list[Body]] = ("", [])
    for turn in turns:
        yield from _gemini_turn(turn, before)
        before = turn
    if any("functionCall" in part for part in before[1]):
        yield "The last call is not answered"


def _gemini_turn(turn: tuple[str, list[Body]], before: tuple[str, list[Body]]) -> Iterator[str]:
    calls = _named(before[1], "functionCall")
    if _named(turn[1], "functionResponse") != calls:
        yield (
            "Please ensure that the number of function response parts is equal to the number of "
            "function call parts of the function call turn"
        )
    if _named(turn[1], "functionCall") and (turn[0] != "model" or before[0] != "user"):
        yield (
            "Please ensure that function call turn comes immediately after a user turn or after a "
            "function response turn"
        )


def _named(parts: Sequence[Body], kind: str) -> list[tuple[str, object]]:
    held = [part[kind] for part in parts if kind in part]
    return sorted((one["name"], str(one.get("id"))) for one in held)


def converse(body: Body) -> Iterator[str]:
    """Yield why Bedrock refuses *body*, in its own words where they are known."""
    messages: list[Body] = body["messages"]
    if messages[0]["role"] != "user":
        yield "A conversation must start with a user message"
    if messages[-1]["role"] != "user":
        yield "The model does not support assistant message prefill"
    blocks = [block for message in messages for block in message["content"]]
    if any("toolUse" in one or "toolResult" in one for one in blocks) and "toolConfig" not in body:
        yield "The toolConfig field must be defined when using toolUse and toolResult content blocks"
    if sum("cachePoint" in one for one in [*blocks, *body.get("system", [])]) > 4:
        yield "You can't use more than 4 cache checkpoints"
    before: Body = {"role": "", "content": []}
    for at, message in enumerate(messages):
        if message["role"] == before["role"]:
            yield "A conversation must alternate between user and assistant roles"
        yield from _converse_turn(at, message["content"], before["content"])
        before = message
    if _ids(before["content"], "toolUse"):
        yield "The last call is not answered"


def _converse_turn(at: int, content: Sequence[Body], before: Sequence[Body]) -> Iterator[str]:
    if not content:
        yield f"The content field in the Message object at messages.{at} is empty"
    if any("text" in one and not one["text"].strip() for one in content):
        yield f"The text field in the ContentBlock object at messages.{at} is blank"
    if _ids(content, "toolResult") != (called := _ids(before, "toolUse")):
        yield f"Expected toolResult blocks at messages.{at}.content for the following Ids: {called}"


def _ids(content: Sequence[Body], kind: str) -> list[str]:
    return sorted(one[kind]["toolUseId"] for one in content if kind in one)
