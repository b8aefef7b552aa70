"""A worker as a process: `python -m tests.workers.hanging DSN LEASE PATIENCE`."""

import asyncio
import sys

from foldline.agent.agent import Agent
from foldline.providers.model import ChatRequest
from foldline.testing.model import ScriptedModel
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.workers.workers import Workers


async def main(dsn: str, lease: float, patience: float) -> None:
    """Say `asked` when the model is asked, and answer when a line comes in."""
    told = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin, told.set)

    async def ask(_: ChatRequest) -> str:
        sys.stdout.write("asked\n")
        sys.stdout.flush()
        await told.wait()
        return "from the process"

    agent = Agent(ScriptedModel(repeat=ask))
    workers = Workers(agent, PostgresStore(dsn, turn_lease=lease, timeout=2))
    await workers.run(patience=patience)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3])))
