"""
A storm over workers: they are killed, the server restarts, and every turn must be answered once.

The model of a worker notes in a file when it is asked and when it has answered, and a tool when it
runs, so that afterwards it is known who did what when.
"""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from time import monotonic, time
from typing import Any

from msgspec import Struct

from foldline.agent.agent import Agent
from foldline.errors import StoreError
from foldline.history.messages import Message
from foldline.providers.model import ChatRequest, ChatResponse
from foldline.testing.model import calls
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.workers.handle import PostedTurn
from foldline.workers.workers import Workers
from tests.servers.postgres import PostgresServer


__all__ = ["Findings", "Plan", "storm"]


class Plan(Struct, frozen=True, kw_only=True):
    """How large a storm is."""

    threads: int
    turns: int
    """On each thread."""
    workers: int = 4
    concurrency: int = 5
    lease: float = 3.0
    kill_every: int
    """After how many calls of the model one of them is killed, however fast the machine is."""
    restarts: int = 1
    thinks: float = 0.03
    """How many seconds the model takes."""


class Findings(Struct, kw_only=True):
    """What is stored, and what was done, after a storm."""

    turns: int = 0
    lost: int = 0
    doubled: int = 0
    disordered: int = 0
    overlapping: int = 0
    tools_twice: int = 0
    kills: int = 0
    restarts: int = 0
    takeovers: list[float]
    """How many seconds after a kill each thread of the dead worker was continued."""
    delayed: list[float]
    """The same where the server was away in between."""
    model_calls: int = 0
    seconds: float = 0.0


class NotingModel:
    """Says `answer to` and the question; every fourth question needs a tool first."""

    name = "noting"
    writes_summaries = False

    def __init__(self, log: Path, thinks: float) -> None:
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._thinks = thinks

    def note(self, what: str, turn: str) -> None:
        """Write one line, which no other process can tear."""
        entry = {"what": what, "turn": turn, "pid": os.getpid(), "at": time()}
        os.write(self._log, json.dumps(entry).encode() + b"\n")

    async def respond(self, request: ChatRequest) -> ChatResponse:
        """Answer the last question."""
        asked = next(one for one in reversed(request.messages) if one.role == "user").text
        self.note("begin", asked)
        await asyncio.sleep(self._thinks)
        is_told = request.messages[-1].role == "tool"
        self.note("end", asked)
        if int(asked.rpartition("-")[2]) % 4 == 3 and not is_told:
            said = calls(("look_up", {"turn": asked}))
        else:
            said = Message.assistant(f"answer to {asked}")
        return ChatResponse(messages=(said,))


def workers_at(dsn: str, log: Path, plan: Plan) -> Workers:
    """Return the workers of a storm."""
    model = NotingModel(log, plan.thinks)

    async def look_up(turn: str) -> str:
        """Look something up."""
        model.note("tool", turn)
        await asyncio.sleep(plan.thinks)
        return "found"

    agent = Agent(model, tools=[look_up])
    store = PostgresStore(dsn, timeout=5.0, turn_lease=plan.lease)
    return Workers(agent, store, lease=plan.lease, show_every=None)


def main() -> None:
    """Run one worker: `python -m tests.workers.storm DSN LOG PLAN`."""
    dsn, log, given = sys.argv[1:]
    plan = Plan(**json.loads(given))
    asyncio.run(workers_at(dsn, Path(log), plan).run(concurrency=plan.concurrency))


class Storm:
    """The processes of a storm, and what was done to them."""

    def __init__(self, server: PostgresServer, dsn: str, folder: Path, plan: Plan) -> None:
        self.server, self.dsn, self.plan = server, dsn, plan
        self.log = folder / "log"
        self.errors = folder / "errors"
        self.kills: list[tuple[int, float]] = []
        self.outages: list[float] = []
        self._running: list[subprocess.Popen[bytes]] = []
        self._chance = random.Random(7)
        self._read = self._begun = 0

    def start(self) -> None:
        """Start one more worker."""
        given = json.dumps({name: getattr(self.plan, name) for name in Plan.__struct_fields__})
        command = [sys.executable, "-m", "tests.workers.storm", self.dsn, f"{self.log}", given]
        with self.errors.open("ab") as errors:
            self._running.append(subprocess.Popen(command, stderr=errors))

    def kill(self) -> None:
        """Kill a worker that works, and start another one."""
        one = self._chance.choice(self._running)
        one.send_signal(signal.SIGKILL)
        one.wait()
        self.kills.append((one.pid, time()))
        self._running.remove(one)
        self.start()

    def stop(self) -> None:
        """Tell all workers to stop, and wait until they have."""
        for one in self._running:
            one.send_signal(signal.SIGTERM)
        for one in self._running:
            one.wait(60)

    async def blow(self, done: asyncio.Event) -> None:
        """Kill a worker every so many calls, and restart the server now and then, until *done*."""
        plan, restarts = self.plan, 0
        while not done.is_set():
            if self._asked() < plan.kill_every * (len(self.kills) + 1):
                await asyncio.sleep(0.02)
                continue
            self.kill()
            if restarts < plan.restarts and len(self.kills) % 3 == 2:
                restarts += 1
                await asyncio.to_thread(self.server.kill)
                await asyncio.to_thread(self.server.start)
                self.outages.append(time())
        self.restarts = restarts

    def _asked(self) -> int:
        """Return how often the model was asked so far."""
        if self.log.exists():
            with self.log.open("rb") as log:
                log.seek(self._read)
                added = log.read()
            self._read += len(added)
            self._begun += added.count(b'"begin"')
        return self._begun


async def storm(server: PostgresServer, dsn: str, folder: Path, plan: Plan) -> Findings:
    """Post all turns of *plan* while its workers are killed; return what has come of them."""
    one = Storm(server, dsn, folder, plan)
    done, began = asyncio.Event(), monotonic()
    async with workers_at(dsn, folder / "unused", plan) as workers:
        for _ in range(plan.workers):
            one.start()
        blowing = asyncio.create_task(one.blow(done))
        slots = asyncio.Semaphore(20)
        try:
            posted = await asyncio.gather(
                *(_post(workers, slots, number, plan) for number in range(plan.threads))
            )
            for turn in [turn for turns in posted for turn in turns]:
                await _ended(turn)
        finally:
            done.set()
            await blowing
            one.stop()
        seconds = monotonic() - began
        found = Findings(
            takeovers=[], delayed=[], kills=len(one.kills), restarts=one.restarts, seconds=seconds
        )
        for number in range(plan.threads):
            thread = await workers.store.thread(f"thread-{number}")
            _judge(found, number, plan, await thread.get_messages())
    entries = [json.loads(line) for line in one.log.read_text().splitlines()]
    _judge_log(found, entries, dict(one.kills), one.outages)
    return found


async def _post(
    workers: Workers, slots: asyncio.Semaphore, number: int, plan: Plan
) -> list[PostedTurn]:
    posted: list[PostedTurn] = []
    for turn in range(plan.turns):
        async with slots:
            posted.append(await _posted(workers, f"thread-{number}", f"turn-{number}-{turn}"))
    return posted


async def _posted(workers: Workers, thread: str, turn: str) -> PostedTurn:
    while True:
        try:
            return await workers.answer(thread, turn, turn_id=turn)
        except StoreError:
            await asyncio.sleep(0.2)


async def _ended(turn: PostedTurn) -> None:
    while True:
        try:
            await turn.result(timeout=120)
        except StoreError:
            await asyncio.sleep(0.2)
        else:
            return


def _judge(found: Findings, number: int, plan: Plan, messages: list[Message]) -> None:
    asked = [one.text for one in messages if one.role == "user"]
    said = [one.text for one in messages if one.role == "assistant" and one.text]
    wanted = [f"turn-{number}-{turn}" for turn in range(plan.turns)]
    found.turns += len(set(wanted) & set(asked))
    for turn in wanted:
        answers = said.count(f"answer to {turn}")
        found.lost += answers == 0
        found.doubled += answers > 1 or asked.count(turn) > 1
    found.disordered += asked != wanted or said != [f"answer to {turn}" for turn in wanted]


def _judge_log(
    found: Findings, entries: list[dict[str, Any]], died: dict[int, float], outages: list[float]
) -> None:
    tools = Counter(str(one["turn"]) for one in entries if one["what"] == "tool")
    found.tools_twice = sum(count > 1 for count in tools.values())
    asked: dict[str, dict[str, Any]] = {}
    for entry in sorted(entries, key=lambda one: float(one["at"])):
        thread = str(entry["turn"]).rpartition("-")[0]
        if entry["what"] == "end":
            asked.pop(thread, None)
        elif entry["what"] == "begin":
            found.model_calls += 1
            before, asked[thread] = asked.get(thread, entry), entry
            if before["pid"] != entry["pid"]:
                dead_at = died.get(int(before["pid"]), float("inf"))
                _judge_takeover(found, float(entry["at"]), dead_at, outages)


def _judge_takeover(found: Findings, at: float, dead_at: float, outages: list[float]) -> None:
    if at < dead_at:
        found.overlapping += 1
    elif any(dead_at <= back <= at for back in outages):
        found.delayed.append(at - dead_at)
    else:
        found.takeovers.append(at - dead_at)


if __name__ == "__main__":
    main()
