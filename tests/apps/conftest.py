"""The command, run inside the process of the tests."""

import asyncio
import io
import json
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from foldline.apps.cli.main import main
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.threads.sample import fill


class Outcome(Struct, frozen=True, kw_only=True):
    """What a command came to."""

    code: int
    """Its exit code."""

    out: str
    """What it printed."""

    err: str
    """What it said beside that."""

    def json(self) -> Any:
        """Return the one document that was printed."""
        return json.loads(self.out)


Run = Callable[..., Outcome]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what runs the command in an empty folder, with *stdin* as its standard input."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return Outcome(code=code, out=said.out, err=said.err)

    return call


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of a store with everything in it, which the commands use."""

    async def make() -> None:
        async with SQLiteStore(tmp_path / "store.db") as store:
            await fill(store)

    asyncio.run(make())
    monkeypatch.setenv("FOLDLINE_STORE", str(tmp_path / "store.db"))
    return tmp_path / "store.db"


@pytest.fixture
def damage() -> Callable[[Path, str], None]:
    """Return what runs a statement on the file of a store."""

    def call(path: Path, statement: str) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(statement)
            connection.commit()

    return call


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """Return a file with a long conversation in OpenAI Chat, with tool calls."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
    for number in range(30):
        function = {"name": "look_up", "arguments": f'{{"number": {number}}}'}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        found = f"Parcel {number} is on its way and will be there on day {number}. " * 6
        messages += [
            {"role": "user", "content": f"Where is parcel {number}? I have waited for long now."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{number}", "content": found},
            {"role": "assistant", "content": f"Parcel {number} is on its way. " * 4},
        ]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"model": "any", "messages": messages}), encoding="utf-8")
    return path
