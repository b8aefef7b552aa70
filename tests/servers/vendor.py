"""
A vendor of the tests: an HTTP server on a loopback address that gives prepared or recorded answers.
"""

import asyncio
import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import yaml


_HOST = "127.0.0.1"
_PATIENCE = 30.0
_JSON = "application/json"
_EVENTS = "text/event-stream; charset=utf-8"

# Keeps the SDKs from trying again, which they do after a pause.
_FINAL = {"x-should-retry": "false"}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request that came in."""

    path: str
    """Its path, without a query."""

    headers: dict[str, str]
    """Its headers, their names in lower case."""

    body: Any
    """Its body, read as JSON."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the server says to one request."""

    body: bytes
    """All of it."""

    status: int = 200
    """The status."""

    kind: str = _JSON
    """The media type."""

    headers: Mapping[str, str] = field(default_factory=_FINAL.copy)
    """Its headers besides the media type."""

    piece: int = 1 << 16
    """How many bytes are sent at once."""

    end: Literal["whole", "cut", "hang"] = "whole"
    """Whether it ends in order, with the connection, or not before the client leaves."""

    @classmethod
    def of(cls, value: object, *, status: int = 200, **headers: str) -> "Answer":
        """Answer with *value* as JSON; *headers* take the place of the usual ones."""
        body = json.dumps(value, ensure_ascii=False).encode()
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return cls(body=body, status=status, headers=named or _FINAL)

    @classmethod
    def stream(
        cls,
        events: Iterable[object],
        *,
        end: Literal["whole", "cut", "hang"] = "whole",
        piece: int = 1 << 16,
    ) -> "Answer":
        """Answer with *events* as server-sent events."""
        return cls(body=sse(events), kind=_EVENTS, end=end, piece=piece)


def sse(events: Iterable[object]) -> bytes:
    """Write *events* as server-sent events; a string is sent as it is."""
    texts = (one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in events)
    return "".join(f"data: {text}\n\n" for text in texts).encode()


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """One exchange with a vendor, as it was recorded."""

    path: str
    """The path of the request."""

    asked: Any
    """The body of the request."""

    answer: Answer
    """What the vendor said."""


def read_recordings(file: Path) -> list[Recorded]:
    """Return the exchanges that were recorded in *file*."""
    cassette = yaml.safe_load(file.read_text(encoding="utf-8"))
    return [_recorded(item["request"], item["response"]) for item in cassette["interactions"]]


def _recorded(request: Any, response: Any) -> Recorded:
    path = "/" + request["uri"].split("://")[1].partition("/")[2].partition("?")[0]
    status = response["status"]["code"]
    if "parsed_body" in response:
        answer = Answer.of(response["parsed_body"], status=status)
    else:
        text = response["body"]["string"]
        answer = Answer(body=text.encode(), status=status, kind=_EVENTS, piece=50)
    return Recorded(path=path, asked=request["parsed_body"], answer=answer)


@dataclass
class VendorServer:
    """A server that gives *answers* in their order, one to a request; it ends with the context."""

    answers: list[Answer] = field(default_factory=list[Answer])
    """What it has yet to say."""

    otherwise: Answer = field(default_factory=lambda: Answer.of({}, status=501))
    """What it says when it has nothing else to say."""

    asked: list[Asked] = field(default_factory=list[Asked])
    """What it was asked so far."""

    left: threading.Event = field(default_factory=threading.Event)
    """Set as soon as a client has left while an answer was not yet at its end."""

    open_connections: int = 0
    """How many connections are open."""

    port: int = 0
    """Where it listens."""

    @property
    def url(self) -> str:
        """Return its address."""
        return f"http://{_HOST}:{self.port}"

    def __enter__(self) -> Self:
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(_PATIENCE), "the server did not start"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_PATIENCE)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._connected, _HOST, 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.open_connections += 1
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            # The client or the server is through with it.
            pass
        finally:
            self.open_connections -= 1
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.split("\r\n")
        pairs = (line.partition(":") for line in lines if line)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        data = await reader.readexactly(int(headers.get("content-length", 0)))
        path = first.split(" ")[1].partition("?")[0]
        asked = Asked(path=path, headers=headers, body=json.loads(data or b"null"))
        self.asked.append(asked)
        answer = self.answer(asked)
        await self._say(answer, reader, writer)
        return answer.end == "whole"

    def answer(self, asked: Asked) -> Answer:
        """Return what it says to *asked*."""
        return self.answers.pop(0) if self.answers else self.otherwise

    async def _say(
        self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        headers = {"content-type": answer.kind, **answer.headers, "transfer-encoding": "chunked"}
        lines = [
            f"HTTP/1.1 {answer.status} -",
            *(f"{key}: {text}" for key, text in headers.items()),
        ]
        writer.write("\r\n".join([*lines, "\r\n"]).encode())
        for place in range(0, len(answer.body), answer.piece):
            piece = answer.body[place : place + answer.piece]
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
        if answer.end == "whole":
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        elif answer.end == "hang":
            # Nothing more comes from the client but its leaving.
            await reader.read()
            self.left.set()
