"""
Plant one bug after the other in a copy of the history room and see that a test fails for each.

Run it by hand: `python tests/planted/history.py`. It ends with 1 where a bug went unnoticed.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple


ROOT = Path(__file__).resolve().parents[2]


class Bug(NamedTuple):
    """
    One change of one module, and the test file that has to notice it.
    """

    name: str
    module: str
    old: str
    new: str
    tests: str


BUGS = (
    Bug(
        "cut inside a tool group",
        "history.py",
        "while self._whole[-1] > reach:",
        "while self._whole[-1] > position:",
        "test_boundaries.py",
    ),
    Bug(
        "cut counted over system messages",
        "history.py",
        "index = len(self._messages) - size",
        "index = self.total - size",
        "test_boundaries.py",
    ),
    Bug(
        "digest without the role",
        "digest.py",
        "(_VERSION, message.role, message.name, parts)",
        "(_VERSION, message.name, parts)",
        "test_digest.py",
    ),
    Bug(
        "digest without the result",
        "digest.py",
        "parts: Any = message.parts",
        "parts: Any = [part for part in message.parts if not hasattr(part, 'response')]",
        "test_digest.py",
    ),
    Bug(
        "repair drops a late result",
        "repair.py",
        "_response(messages, call, answer)",
        "_response(messages, call, answer if answer and answer[0] == block.stop else None)",
        "test_repair.py",
    ),
    Bug(
        "exchanges counted by bisect_right",
        "history.py",
        "bisect_left(self._users, start)",
        "bisect_right(self._users, start)",
        "test_history.py",
    ),
    Bug(
        "tokens of system messages counted in the tail",
        "history.py",
        "return self.tokens(start)",
        "return self.tokens(start) + self._system_tokens",
        "test_history.py",
    ),
    Bug(
        "arguments hashed as raw text",
        "digest.py",
        "[_projection(part) for part in parts]",
        "[part for part in parts]",
        "test_digest.py",
    ),
    Bug(
        "no exchange asked for keeps them all",
        "history.py",
        'unit == "messages" or size == 0',
        'unit == "messages"',
        "test_history.py",
    ),
    Bug(
        "a call that was given up holds the cut",
        "history.py",
        "self._open.clear()",
        "self._open.copy()",
        "test_boundaries.py",
    ),
    Bug(
        "cut above a call that waits",
        "boundaries.py",
        "min(top, history.first_open_call())",
        "top",
        "test_boundaries.py",
    ),
    Bug(
        "reasoning cut from what it led to",
        "boundaries.py",
        "if not _splits_reasoning(history, index):",
        "if index:",
        "test_boundaries.py",
    ),
    Bug(
        "a call of a user takes an answer",
        "history.py",
        'if message.role == "assistant":',
        "if message.role:",
        "test_repair.py",
    ),
    Bug(
        "NaN in metadata is lost",
        "codec.py",
        'message.metadata is not None and b"null" in data',
        "False",
        "test_codec.py",
    ),
    Bug(
        "an error quotes the value",
        "codec.py",
        "_QUOTED.sub('', str(error))",
        "error",
        "test_codec.py",
    ),
)


def failing(bug: Bug, folder: Path) -> str | None:
    """
    Return the name of the first test that fails with *bug* planted, or None.
    """
    source = folder / bug.name.replace(" ", "_")
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    module = source / "foldline" / "history" / bug.module
    text = module.read_text(encoding="utf-8")
    if text.count(bug.old) != 1:
        message = f"{bug.name}: its place stands {text.count(bug.old)} times in {bug.module}"
        raise SystemExit(message)
    module.write_text(text.replace(bug.old, bug.new), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-qx", "--no-header", "--tb=no"]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", f"tests/history/{bug.tests}"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    found = re.search(r"^FAILED \S+::(\w+)", done.stdout, re.MULTILINE)
    return found[1] if found else None


def main() -> int:
    """
    Plant every bug, print a table, and return 1 where one went unnoticed.
    """
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        tests = list(pool.map(lambda bug: failing(bug, Path(folder)), BUGS))
    for bug, test in zip(BUGS, tests, strict=True):
        sys.stdout.write(f"{bug.name:46} {test or 'NOTHING FAILS'}\n")
    return int(None in tests)


if __name__ == "__main__":
    sys.exit(main())
