"""The command, run inside the process of the tests."""

import asyncio
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from foldline.apps.cli.main import main
from foldline.threads.cipher import AesCipher
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.threads.sample import fill


class Outcome(Struct, frozen=True, kw_only=True):
    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Outcome]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what runs the command in an empty folder, with *stdin* as its standard input."""
    monkeypatch.chdir(tmp_path)

    def call(
        *arguments: str | Path, stdin: bytes = b"", kind: type[TextIOWrapper] = TextIOWrapper
    ) -> Outcome:
        monkeypatch.setattr(sys, "stdin", kind(BytesIO(stdin), encoding="utf-8"))
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return Outcome(code=code, out=said.out, err=said.err)

    return call


class Typed(TextIOWrapper):
    """A standard input that a person types into."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def type_lines(run: Run) -> Run:
    """Return what runs a command with arguments, and types lines into it until the input ends."""

    def call(arguments: Iterable[str], *lines: str | bytes) -> Outcome:
        data = b"".join((one.encode() if isinstance(one, str) else one) + b"\n" for one in lines)
        return run(*arguments, stdin=data, kind=Typed)

    return call


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Mapping[bool, bytes]:
    """Return the file of a store with everything in it, plain and encrypted with zeros."""

    async def make(path: Path, cipher: AesCipher | None) -> None:
        async with SQLiteStore(path, cipher=cipher) as store:
            await fill(store)

    path = tmp_path_factory.mktemp("filled")
    asyncio.run(make(path / "plain.db", None))
    asyncio.run(make(path / "secret.db", AesCipher(bytes(32))))
    return {
        is_secret: (path / f"{name}.db").read_bytes()
        for is_secret, name in ((False, "plain"), (True, "secret"))
    }


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filled: Mapping[bool, bytes]) -> Path:
    """Return the file of a store with everything in it, which the commands use."""
    path = tmp_path / "store.db"
    path.write_bytes(filled[False])
    path.chmod(0o600)
    monkeypatch.setenv("FOLDLINE_STORE", str(path))
    return path


@pytest.fixture
def secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filled: Mapping[bool, bytes]) -> Path:
    """Return the file of an encrypted one, whose key is 32 zeros."""
    path = tmp_path / "store.db"
    path.write_bytes(filled[True])
    monkeypatch.setenv("FOLDLINE_STORE", str(path))
    return path


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
