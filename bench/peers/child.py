"""
Contestants in processes of their own, which take their turns when they are asked.

Each is asked in a line of JSON and answers in one, so that rounds of several can alternate and none
works while another is measured.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-peers" / "bin" / "python"
_HELLO = "hello"
_QUIET = {"OPENAI_AGENTS_DISABLE_TRACING": "1", "LANGSMITH_TRACING": "false"}


class Child:
    """A contestant in another process."""

    def __init__(self, python: Path | str, module: str, *arguments: str) -> None:
        """Start *module* with *arguments* under the interpreter *python*."""
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), **_QUIET}
        self._process = subprocess.Popen(
            [python, "-m", module, *arguments],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, name: str, *values: Any) -> Any:
        """Let it do *name* and return what it answers."""
        given, taken = self._process.stdin, self._process.stdout
        assert given is not None
        assert taken is not None
        given.write(json.dumps([name, *values]) + "\n")
        given.flush()
        line = taken.readline()
        if not line:
            message = f"{self._process.args!r} ended in {name!r}"
            raise RuntimeError(message)
        return json.loads(line)

    def is_ready(self) -> bool:
        """Whether it has started: a library that it needs may be missing."""
        try:
            return bool(self.ask(_HELLO))
        except (RuntimeError, OSError):
            self.close()
            return False

    def close(self) -> None:
        """Let it end."""
        self._process.communicate()


def peers(modules: Mapping[str, str], *arguments: str) -> dict[str, Child]:
    """
    Start the contestants *modules*, by their names, in the environment of the peers.

    One whose library is missing is left out, and so are all where there is no such environment.
    """
    if not PYTHON.exists():
        return {}
    found = {name: Child(PYTHON, module, *arguments) for name, module in modules.items()}
    return {name: child for name, child in found.items() if child.is_ready()}


def serve(contestant: object) -> None:
    """Answer until nobody asks any more, with what *contestant* has under the name that is asked for."""
    answers = sys.stdout
    # Whatever a library prints is not an answer.
    sys.stdout = sys.stderr
    for line in sys.stdin:
        name, *values = json.loads(line)
        if name == _HELLO:
            answers.write("true\n")
            answers.flush()
            continue
        answers.write(json.dumps(getattr(contestant, name)(*values)) + "\n")
        answers.flush()
