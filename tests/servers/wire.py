"""
A socket file before that of a server, where what goes through can be cut, torn, held or swallowed.
"""

import asyncio
import enum
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path


_WHOLE = 1 << 20
_DELAY = 0.1
# How long it takes until everybody in this process has heard of an end.
_HEARD = 0.02


class Fault(enum.Enum):
    """What happens to one request and to its answer."""

    ENDED_BEFORE = "ended before"
    """All connections end while nobody uses them."""

    LOST_REQUEST = "lost request"
    """Nothing of it arrives, and the connection ends."""

    TORN_REQUEST = "torn request"
    """The first half arrives, and the connection ends."""

    LATE_REQUEST = "late request"
    """The connection ends for the client, and the request arrives a moment later."""

    ENDED_REQUEST = "ended request"
    """It arrives, followed by the end of what the client sends; answers still come."""

    SWALLOWED_REQUEST = "swallowed request"
    """Nothing of it arrives, and there is no error."""

    LOST_ANSWER = "lost answer"
    """The connection ends before the answer."""

    TORN_ANSWER = "torn answer"
    """The connection ends in the middle of the answer."""

    ENDED_ANSWER = "ended answer"
    """The server's side ends before the answer; the client may go on sending."""

    SWALLOWED_ANSWER = "swallowed answer"
    """The request arrives, nothing comes back, and there is no error."""

    DELAYED_ANSWER = "delayed answer"
    """The answer comes a moment later."""

    DRIPPED_ANSWER = "dripped answer"
    """The answer comes byte by byte."""


_BREAKS = frozenset({Fault.LOST_REQUEST, Fault.TORN_REQUEST, Fault.LATE_REQUEST})
_SWALLOWS = frozenset({Fault.SWALLOWED_REQUEST, Fault.SWALLOWED_ANSWER})


class _Line:
    """One connection, and what befalls it."""

    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.client = client
        self.server = server
        self.fault: Fault | None = None

    def close(self) -> None:
        self.client.close()
        self.server.close()


class Wire:
    """
    Passes on what clients and a server say to each other, but for the request that was chosen.
    """

    def __init__(self, server: Path, path: Path) -> None:
        """Lead from the socket file *path* to *server*."""
        self.path = path
        self.requests = 0
        self.has_struck = False
        self.struck = asyncio.Event()
        self._server = server
        self._fault: Fault | None = None
        self._at = 0
        self._lasts = False
        self._is_down = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._late: set[asyncio.Task[None]] = set()
        self._lines: set[_Line] = set()

    async def strike(self, fault: Fault, *, at: int = 0, lasts: bool = False) -> None:
        """
        Let *fault* befall one request; count requests from here.

        Args:
            fault: What happens.
            at: How many requests pass before that one.
            lasts: Whether from then on nothing passes: what is new is refused, or swallowed where
                the fault swallows.
        """
        self.requests = 0
        self.has_struck = fault is Fault.ENDED_BEFORE
        self._fault, self._at, self._lasts = fault, at, lasts
        if self.has_struck:
            for line in self._lines:
                line.close()
            await asyncio.sleep(_HEARD)

    async def heal(self) -> None:
        """
        Let everything pass again, once what comes late has come; broken connections stay broken.
        """
        await asyncio.gather(*self._late)
        self._fault = None
        self._is_down = False

    @asynccontextmanager
    async def listen(self) -> AsyncGenerator["Wire"]:
        """Take connections."""
        server = await asyncio.start_unix_server(self._accept, self.path)
        try:
            yield self
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, *self._late, return_exceptions=True)
            for line in self._lines:
                line.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        if self._is_down and self._fault not in _SWALLOWS:
            writer.close()
            return
        there, back = await asyncio.open_unix_connection(self._server)
        line = _Line(writer, back)
        self._lines.add(line)
        self._tasks.add(asyncio.create_task(self._answer(there, line)))
        with suppress(ConnectionError, asyncio.CancelledError):
            while data := await reader.read(_WHOLE):
                if not self._request(data, line):
                    return
        line.close()

    def _next(self) -> Fault | None:
        """Return what befalls the request that comes now."""
        if self._is_down:
            return self._fault if self._fault in _SWALLOWS else Fault.LOST_REQUEST
        self.requests += 1
        if self._fault is None or self.has_struck or self.requests <= self._at:
            return None
        self.has_struck = True
        self.struck.set()
        self._is_down = self._lasts
        return self._fault

    def _request(self, data: bytes, line: _Line) -> bool:
        """Pass on a request; False where none follows on this connection."""
        was_swallowing = self._is_down or line.fault in _SWALLOWS
        if line.fault not in _SWALLOWS:
            line.fault = self._next()
        if line.fault in _BREAKS:
            self._break(data, line)
            return False
        if line.fault is not Fault.SWALLOWED_REQUEST and not was_swallowing:
            line.server.write(data)
        if line.fault is Fault.ENDED_REQUEST:
            line.server.write_eof()
            return False
        return True

    def _break(self, data: bytes, line: _Line) -> None:
        line.client.close()
        if line.fault is Fault.LATE_REQUEST:
            self._late.add(asyncio.create_task(_send_late(data, line.server)))
            return
        if line.fault is Fault.TORN_REQUEST:
            line.server.write(data[: len(data) // 2])
        line.server.close()

    async def _answer(self, there: asyncio.StreamReader, line: _Line) -> None:
        with suppress(ConnectionError):
            while data := await there.read(_WHOLE):
                if not await _pass_back(data, line):
                    break
        if line.fault is not Fault.ENDED_ANSWER:
            line.close()


async def _send_late(data: bytes, server: asyncio.StreamWriter) -> None:
    await asyncio.sleep(_DELAY)
    with suppress(ConnectionError):
        server.write(data)
        await server.drain()
        await asyncio.sleep(_DELAY / 2)
    server.close()


async def _pass_back(data: bytes, line: _Line) -> bool:
    """Pass on an answer; False where none follows on this connection."""
    client = line.client
    match line.fault:
        case Fault.LOST_ANSWER:
            return False
        case Fault.ENDED_ANSWER:
            client.write_eof()
            return False
        case Fault.TORN_ANSWER:
            client.write(data[: len(data) // 2])
            return False
        case Fault.DRIPPED_ANSWER:
            for place in range(len(data)):
                client.write(data[place : place + 1])
                await asyncio.sleep(0)
        case Fault.DELAYED_ANSWER:
            await asyncio.sleep(_DELAY)
            client.write(data)
        case Fault.SWALLOWED_REQUEST | Fault.SWALLOWED_ANSWER | Fault.LATE_REQUEST:
            pass
        case _:
            client.write(data)
    return True


@asynccontextmanager
async def wire_before(server: Path) -> AsyncGenerator[Wire]:
    """Give a wire to the socket file *server*, whose own has the same name in another folder."""
    with tempfile.TemporaryDirectory(prefix="foldline-wire-") as folder:
        async with Wire(server, Path(folder) / server.name).listen() as wire:
            yield wire
