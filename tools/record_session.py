"""
Record a working session of an assistant: its turns, its tool calls and what they really answered.

```
record_session.py user < request.txt  what the user asks
record_session.py say < answer.txt    what the assistant answers
record_session.py call < turn.txt     run tools at once, in one turn of the assistant
record_session.py pack TARGET         check the session and write it compressed
```

A turn is written as blocks. Each opens with a line `%% say`, `%% shell`, `%% read_file PATH [START END]`,
`%% write_file PATH` or `%% edit_file PATH`; its lines are the text, the command, the content, or the
old text, a line `%% with` and the new text.

Messages are in the OpenAI Chat format, one JSON object a line. Results stand in the order in which
the calls ended. Paths, hosts, users and values of the environment are replaced before anything is
written, always by the same words.
"""

import argparse
import getpass
import gzip
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias


_ROOT = Path(__file__).resolve().parents[1]
_TEMP = Path(tempfile.gettempdir())
_SHELL_LIMIT = 6_000
_FILE_LIMIT = 12_000
_TIMEOUT = 300
_WRITING = Lock()
_SHORTEST_SECRET = 8
_LEFT_BEHIND = re.compile(r"(?<![\w.<~])/(?:work|tmp|root|home|Users)\b|[A-Z_]*(?:KEY|TOKEN)=\S")

_SYSTEM = """\
You are a careful software engineer. You work in the repository of foldline, a Python library that \
keeps long conversations of LLM agents inside a budget without losing a message. You have four \
tools: shell runs a command in the top folder of the repository, read_file, write_file and \
edit_file work on its files. Call several tools at once where one does not need the answer of \
another. Read before you write. A test states one fact in a one-sentence docstring; nothing is \
patched or mocked. Show a failing example before you fix what it shows, keep the public names, \
keep changes small, and report figures that you measured, never figures that you expect."""

Json: TypeAlias = dict[str, Any]


class _Call:
    def __init__(self, name: str, arguments: Json) -> None:
        self.name = name
        self.arguments = arguments


def _scrub(text: str) -> str:
    for pattern, word in _replacements():
        text = pattern.sub(word, text)
    return text


def _replacements() -> Iterator[tuple[re.Pattern[str], str]]:
    places = {
        str(_ROOT): ".",
        str(_ROOT.parent): "..",
        str(_TEMP): "<tmp>",
        str(Path.home()): "~",
        sys.base_prefix: "<python>",
    }
    for place in sorted(places, key=len, reverse=True):
        yield re.compile(rf"(?<![\w.~>-]){re.escape(place)}(?![\w-])"), places[place]
    yield re.compile(r"pytest-of-\w+"), "pytest-of-user"
    values = {value for name, value in os.environ.items() if name != "SHELL"}
    for value in sorted(values, key=lambda value: (-len(value), value)):
        if len(value) >= _SHORTEST_SECRET:
            yield re.compile(re.escape(value)), "<environment>"
    host, user = re.escape(platform.node()), re.escape(getpass.getuser())
    yield re.compile(rf"\b{user}@{host}\b"), "<user>@<host>"
    if len(host) >= _SHORTEST_SECRET:
        yield re.compile(rf"\b{host}\b"), "<host>"


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head, tail = text[: limit // 2], text[-limit // 2 :]
    head, tail = head[: head.rfind("\n") + 1], tail[tail.find("\n") + 1 :]
    left_out = len(text) - len(head) - len(tail)
    return f"{head}[… {left_out:,} characters left out …]\n{tail}"


def _environment() -> dict[str, str]:
    scratch = _TEMP / "session" / "caches"
    return {
        "PATH": f"{_ROOT / '.venv' / 'bin'}:{os.defpath}",
        "HOME": str(scratch),
        "LANG": "C.UTF-8",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "PYTHONPATH": "src",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_ADDOPTS": "-p no:cacheprovider -p no:randomly",
        "COVERAGE_FILE": str(scratch / "coverage"),
        "MYPY_CACHE_DIR": str(scratch / "mypy"),
        "RUFF_CACHE_DIR": str(scratch / "ruff"),
    }


def _shell(command: str) -> str:
    done = subprocess.run(  # noqa: S603 - running commands is what it is for
        ["/bin/bash", "-c", command],
        cwd=_ROOT,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=_TIMEOUT,
        check=False,
        text=True,
        errors="replace",
    )
    return f"{_cut(_scrub(done.stdout), _SHELL_LIMIT).rstrip()}\n[exit code {done.returncode}]"


def _read_file(path: str, start: int = 1, end: int | None = None) -> str:
    lines = (_ROOT / path).read_text(encoding="utf-8").splitlines(keepends=True)
    return _cut(_scrub("".join(lines[start - 1 : end])), _FILE_LIMIT)


def _write_file(path: str, content: str) -> str:
    target = _ROOT / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(content, encoding="utf-8")
    return f"wrote {content.count(chr(10))} lines to {path}"


def _edit_file(path: str, old: str, new: str) -> str:
    target = _ROOT / path
    # Edits of one file that are asked for at once must not undo each other.
    with _WRITING:
        text = target.read_text(encoding="utf-8")
        if text.count(old) != 1:
            return f"error: the old text stands {text.count(old)} times in {path}, not once"
        target.write_text(text.replace(old, new), encoding="utf-8")
    line = text[: text.index(old)].count("\n") + 1
    return f"edited {path} at line {line}"


_TOOLS: dict[str, Callable[..., str]] = {
    "shell": _shell,
    "read_file": _read_file,
    "write_file": _write_file,
    "edit_file": _edit_file,
}


def _run(call: _Call) -> str:
    try:
        return _TOOLS[call.name](**call.arguments)
    except (OSError, subprocess.SubprocessError) as error:
        return _scrub(f"error: {error}")


def _blocks(script: str) -> tuple[str, list[_Call]]:
    """Return what the assistant says and the calls that *script* holds."""
    said, calls = "", []
    for block in re.split(r"^%% (?=say|shell|\w+_file )", script, flags=re.MULTILINE)[1:]:
        head, _, body = block.partition("\n")
        name, *words = head.split()
        if name == "say":
            said = body.strip()
        else:
            calls.append(_Call(name, _arguments(name, words, body)))
    return said, calls


def _arguments(name: str, words: list[str], body: str) -> Json:
    if name == "shell":
        return {"command": body.strip()}
    if name == "write_file":
        return {"path": words[0], "content": body}
    if name == "edit_file":
        old, _, new = body.partition("%% with\n")
        return {"path": words[0], "old": old.removesuffix("\n"), "new": new.removesuffix("\n")}
    numbers = dict(zip(("start", "end"), map(int, words[1:]), strict=False))
    return {"path": words[0], **numbers}


def _record_calls(session: Path, said: str, calls: list[_Call]) -> None:
    made = sum(len(message.get("tool_calls", ())) for message in _read(session))
    ids = [f"call_{number}" for _, number in zip(calls, count(made + 1), strict=False)]
    wire = [
        {
            "id": call_id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
        }
        for call_id, call in zip(ids, calls, strict=True)
    ]
    _append(session, {"role": "assistant", "content": said or None, "tool_calls": wire})
    with ThreadPoolExecutor(max_workers=len(calls)) as pool:
        running = {pool.submit(_run, call): at for at, call in enumerate(calls)}
        for future in as_completed(running):
            at = running[future]
            _append(session, {"role": "tool", "tool_call_id": ids[at], "content": future.result()})
            sys.stdout.write(f"--- {ids[at]} {calls[at].name}\n{future.result()}\n")


def _read(session: Path) -> list[Json]:
    if not session.exists():
        return []
    return [json.loads(line) for line in session.read_text(encoding="utf-8").splitlines()]


def _append(session: Path, message: Json) -> None:
    if not session.exists():
        session.parent.mkdir(parents=True, exist_ok=True)
        first = json.dumps({"role": "system", "content": _SYSTEM}, ensure_ascii=False)
        session.write_text(f"{first}\n", encoding="utf-8")
    line = _scrub(json.dumps(message, ensure_ascii=False))
    json.loads(line)
    with session.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def _faults(messages: Iterable[Json]) -> Iterator[str]:
    """Give what is wrong with a session: calls without their one answer, and places left behind."""
    waiting: set[str] = set()
    for number, message in enumerate(messages, start=1):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                yield f"line {number}: an answer to no call"
            waiting.discard(message["tool_call_id"])
        elif waiting:
            yield f"line {number}: {len(waiting)} calls before it were not answered"
        waiting.update(call["id"] for call in message.get("tool_calls", ()))
        found = _LEFT_BEHIND.search(json.dumps(message, ensure_ascii=False))
        if found:
            yield f"line {number}: {found[0]}"
    if waiting:
        yield f"at the end: {len(waiting)} calls were not answered"


def _pack(session: Path, target: Path) -> int:
    messages = _read(session)
    faults = list(_faults(messages))
    if faults:
        sys.stderr.write("\n".join(faults) + "\n")
        return 1
    data = gzip.compress(session.read_bytes(), compresslevel=9, mtime=0)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    turns = [len(message["tool_calls"]) for message in messages if message.get("tool_calls")]
    users = sum(message["role"] == "user" for message in messages)
    sys.stdout.write(
        f"{len(messages)} messages, {users} exchanges, {sum(turns)} tool calls, "
        f"{sum(turn > 1 for turn in turns)} turns with parallel calls, {len(data):,} bytes\n"
    )
    return 0


def main() -> int:
    """Record one turn, or pack the session."""
    parser = argparse.ArgumentParser(description="Record a working session.")
    parser.add_argument("--session", type=Path, default=_TEMP / "session" / "session.jsonl")
    parser.add_argument("action", choices=["user", "say", "call", "pack"])
    parser.add_argument("values", nargs="*")
    options = parser.parse_args()
    if options.action == "pack":
        return _pack(options.session, Path(options.values[0]))
    if options.action != "call":
        role = "user" if options.action == "user" else "assistant"
        text = " ".join(options.values) or sys.stdin.read()
        _append(options.session, {"role": role, "content": text.strip()})
        return 0
    _record_calls(options.session, *_blocks(sys.stdin.read()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
