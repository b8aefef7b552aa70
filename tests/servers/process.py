"""A server's process, which ends with the process of the tests however that one ends."""

import pwd
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from signal import Signals
from typing import Self


_PATIENCE = 30.0
_PAUSE = 0.005

# Reads the number of the server's process whenever it changes. The pipe closes when the tests are
# over, killed ones too: then what still runs is ended, and its folder is deleted.
_KEEPER = """
server=
while read -r line; do server=$line; done
if [ -n "$server" ] && kill -s "$1" "$server" 2>/dev/null; then
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        kill -s 0 "$server" 2>/dev/null || break
        sleep 0.1
    done
fi
rm -rf "$2"
"""


class ServerProcess:
    """
    A server in the foreground, in a session of its own, so that Ctrl-C reaches only the tests.
    """

    def __init__(
        self, folder: Path, *, last: Signals, account: pwd.struct_passwd | None = None
    ) -> None:
        """
        Keep *folder* and the server in it, which runs as *account*, until `close`.

        Args:
            last: What ends the server when this process is gone.
        """
        self._folder = folder
        self._account = account
        self._server: subprocess.Popen[bytes] | None = None
        self._keeper = subprocess.Popen(
            ["/bin/sh", "-c", _KEEPER, "keeper", last.name.removeprefix("SIG"), f"{folder}"],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    @property
    def pid(self) -> int | None:
        """Return the number of the process, or None where none runs."""
        running = self._server is not None and self._server.poll() is None
        return self._server.pid if running and self._server is not None else None

    @property
    def log(self) -> str:
        """Return what the server has said so far."""
        path = self._folder / "log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def run(self, command: Sequence[str | Path]) -> subprocess.Popen[bytes]:
        """Return *command*, started as the server's account with none of this environment."""
        account = self._account
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=self._folder,
                env={"LC_ALL": "C", "TZ": "UTC"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=account.pw_uid if account else None,
                group=account.pw_gid if account else None,
                extra_groups=[] if account else None,
            )

    def start(self, command: Sequence[str | Path], *, ready: Callable[[int], bool]) -> None:
        """Start *command*; return when *ready* says so of the number of its process."""
        if self.pid is not None:
            message = f"the server runs already, as process {self.pid}"
            raise RuntimeError(message)
        self._server = self.run(command)
        self._tell(f"{self._server.pid}")
        deadline = time.monotonic() + _PATIENCE
        while not ready(self._server.pid):
            if self._server.poll() is not None or time.monotonic() > deadline:
                self.end(Signals.SIGKILL)
                message = f"{command[0]} did not start:\n{self.log[-2000:]}"
                raise RuntimeError(message)
            time.sleep(_PAUSE)

    def end(self, signal: Signals) -> None:
        """End the server with *signal*; return when its process is gone."""
        if self._server is None:
            return
        self._server.send_signal(signal)
        try:
            self._server.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()
            raise
        finally:
            self._server = None
            self._tell("")

    def close(self) -> None:
        """Let the keeper delete the folder, and end the server where it still runs."""
        if self._keeper.stdin is not None:
            self._keeper.stdin.close()
        self._keeper.wait()

    def _tell(self, line: str) -> None:
        if self._keeper.stdin is not None:
            self._keeper.stdin.write(f"{line}\n".encode())
            self._keeper.stdin.flush()


class Server:
    """A server with a folder of its own, started; as a context it ends with `close`."""

    folder: Path
    _process: ServerProcess

    @property
    def pid(self) -> int | None:
        """Return the number of its first process, or None where it is stopped."""
        return self._process.pid

    def start(self) -> None:
        """Start it; return when it takes connections."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stop it in order."""
        raise NotImplementedError

    def kill(self) -> None:
        """Stop it at once."""
        raise NotImplementedError

    def restart(self) -> None:
        """Stop it in order if it runs, and start it again."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Stop it at once and delete all it held."""
        self.kill()
        self._process.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
