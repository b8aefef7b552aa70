"""
Plant one bug after the other in a copy of the package and see that a test fails for each.

`make teeth` runs it. It ends with 1 where a bug went unnoticed.
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
        "history/history.py",
        "while whole[-1] > reach:",
        "while whole[-1] > position:",
        "history/test_boundaries.py",
    ),
    Bug(
        "cut counted over system messages",
        "history/history.py",
        "index = len(self) - size",
        "index = self.total - size",
        "history/test_boundaries.py",
    ),
    Bug(
        "digest without the role",
        "history/digest.py",
        "(_VERSION, message.role, message.name, parts)",
        "(_VERSION, message.name, parts)",
        "history/test_digest.py",
    ),
    Bug(
        "digest without the result",
        "history/digest.py",
        "parts: Any = message.parts",
        "parts: Any = [part for part in message.parts if not hasattr(part, 'response')]",
        "history/test_digest.py",
    ),
    Bug(
        "repair drops a late result",
        "history/repair.py",
        "_response(messages, call, answer)",
        "_response(messages, call, answer if answer and answer[0] == block.stop else None)",
        "history/test_repair.py",
    ),
    Bug(
        "exchanges counted by bisect_right",
        "history/history.py",
        "bisect_left(self._users, start)",
        "bisect_right(self._users, start)",
        "history/test_history.py",
    ),
    Bug(
        "tokens of system messages counted in the tail",
        "history/history.py",
        "return self.tokens(start)",
        "return self.tokens(start) + self._system_tokens",
        "history/test_history.py",
    ),
    Bug(
        "arguments hashed as raw text",
        "history/digest.py",
        "[_projection(part) for part in parts]",
        "[part for part in parts]",
        "history/test_digest.py",
    ),
    Bug(
        "no exchange asked for keeps them all",
        "history/history.py",
        'unit == "messages" or size == 0',
        'unit == "messages"',
        "history/test_history.py",
    ),
    Bug(
        "a call that was given up holds the cut",
        "history/history.py",
        "self._open.clear()",
        "self._open.copy()",
        "history/test_boundaries.py",
    ),
    Bug(
        "cut above a call that waits",
        "history/boundaries.py",
        "min(top, history.first_open_call())",
        "top",
        "history/test_boundaries.py",
    ),
    Bug(
        "reasoning cut from what it led to",
        "history/boundaries.py",
        "if not _splits_reasoning(history, index):",
        "if index:",
        "history/test_boundaries.py",
    ),
    Bug(
        "a call of a user takes an answer",
        "history/history.py",
        'if message.role == "assistant":',
        "if message.role:",
        "history/test_repair.py",
    ),
    Bug(
        "NaN in metadata is lost",
        "history/codec.py",
        'message.metadata is not None and b"null" in data',
        "False",
        "history/test_codec.py",
    ),
    Bug(
        "an error quotes the value",
        "history/codec.py",
        'return _QUOTED.sub("", str(error))',
        "return str(error)",
        "history/test_codec.py",
    ),
    Bug(
        "a hit without looking at the digest",
        "reduction/standing.py",
        "and state.message_hash == hash_of(history, index)",
        "",
        "properties/test_edits.py",
    ),
    Bug(
        "a reduction of another configuration is used",
        "reduction/standing.py",
        "state.config_fingerprint == config_fingerprint\n        and ",
        "",
        "reduction/test_verdict.py",
    ),
    Bug(
        "the trigger is not strict",
        "reduction/verdict.py",
        "if units > limits.ceiling:",
        "if units >= limits.ceiling:",
        "reduction/test_verdict.py",
    ),
    Bug(
        "the stored threshold decides",
        "reduction/verdict.py",
        "if units > limits.ceiling:",
        "stored = standing or limits\n    if units > (limits.ceiling if stored is limits "
        "else stored.target_count + stored.reduction_threshold):",
        "reduction/test_verdict.py",
    ),
    Bug(
        "no earlier reduction is looked for",
        "reduction/standing.py",
        "for candidate in _longest_first(state):",
        "for candidate in ():",
        "properties/test_edits.py",
    ),
    Bug(
        "failed attempts have no end",
        "reduction/verdict.py",
        "state.failed_attempts >= MAX_ATTEMPTS",
        "state.failed_attempts < 0",
        "reduction/test_verdict.py",
    ),
    Bug(
        "the whole prefix is read again at each fold",
        "reduction/strategies/summarizing.py",
        "total, start = Writing(), task.start",
        "total, start = Writing(), 0",
        "scenarios/test_call_counts.py",
    ),
    Bug(
        "the summary before is forgotten",
        "reduction/strategies/summarizing.py",
        "earlier=(earlier.text,) if earlier.text else (),",
        "earlier=(),",
        "reduction/test_fold.py",
    ),
    Bug(
        "an empty summary is accepted",
        "reduction/contract.py",
        "if not text.strip():",
        "if False:",
        "reduction/test_contract.py",
    ),
    Bug(
        "a summary longer than what it replaces is accepted",
        "reduction/contract.py",
        "if tokens >= room:",
        "if tokens >= 10 * room:",
        "reduction/test_fold.py",
    ),
    Bug(
        "a failing summarizer is asked for ever",
        "reduction/strategies/writing.py",
        "for summarizer in range(task.summarizers):",
        "for summarizer in [0] * 50:",
        "reduction/test_fold.py",
    ),
    Bug(
        "the last user message is not pinned",
        "reduction/fold.py",
        "pinned_index=user if user is not None and user < verdict.cut else None,",
        "pinned_index=None,",
        "properties/test_valid_requests.py",
    ),
    Bug(
        "nothing is pinned where a history was rewound",
        "reduction/standing.py",
        "return msgspec.structs.replace(state, pinned_index=user)",
        "return state",
        "properties/test_valid_requests.py",
    ),
    Bug(
        "system messages are lost",
        "reduction/view.py",
        "return [*history.system, *state.summary_messages(), *rest]",
        "return [*state.summary_messages(), *rest]",
        "properties/test_valid_requests.py",
    ),
    Bug(
        "damage is sent as it is",
        "reduction/view.py",
        "rest = repair(rest)",
        "rest = list(rest)",
        "properties/test_valid_requests.py",
    ),
    Bug(
        "the failure of a summarizer fails the turn",
        "agent/reducer.py",
        "return SummaryFailure(type(error).__name__)",
        "raise",
        "agent/test_reducer.py",
    ),
    Bug(
        "a new loop for each blocking call",
        "agent/portal.py",
        "if self._loop is None:",
        "if True:",
        "agent/test_folding.py",
    ),
    Bug(
        "an old cancellation counts as a new one",
        "agent/reducer.py",
        "task.cancelling() > cancellations",
        "task.cancelling()",
        "agent/test_folding.py",
    ),
    Bug(
        "the same fold is made by everybody",
        "agent/reducer.py",
        "async with self._cache.folds.alone(place):",
        "async with self._cache.folds.alone(object()):",
        "agent/test_folding.py",
    ),
    Bug(
        "a failed fold shows what was not in force",
        "agent/reducer.py",
        "result.state if result.performed else call.verdict.state",
        "result.state if result.performed else call.given",
        "agent/test_folding.py",
    ),
    Bug(
        "another configuration takes its reductions away",
        "reduction/fold.py",
        "before = known_of(history, given)",
        "before = None",
        "agent/test_alternating.py",
    ),
    Bug(
        "an earlier reduction forgets those of others",
        "reduction/standing.py",
        "candidate.behind(others)",
        "candidate",
        "agent/test_alternating.py",
    ),
    Bug(
        "what no longer stands is carried along",
        "reduction/standing.py",
        "or _fits(history, one))",
        "or one)",
        "agent/test_alternating.py",
    ),
    Bug(
        "the first tool call changes the front",
        "agent/wire.py",
        "writer = _detected_chat_messages if is_detected else _WRITERS[wire]",
        "writer = _WRITERS[wire]",
        "agent/test_wire.py",
    ),
    Bug(
        "a summary may be as long as it likes",
        "reduction/contract.py",
        "elif tokens > request.budget * BUDGET_TOLERANCE:",
        "elif False:",
        "reduction/test_contract.py",
    ),
    Bug(
        "tenants share a cache",
        "agent/cache.py",
        "key = (scope, state.config_fingerprint, _identity(state)[1])",
        'key = ("", state.config_fingerprint, _identity(state)[1])',
        "agent/test_cache.py",
    ),
)


def failing(bug: Bug, folder: Path) -> str | None:
    """
    Return the name of the first test that fails with *bug* planted, or None.
    """
    source = folder / bug.name.replace(" ", "_")
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    module = source / "foldline" / bug.module
    text = module.read_text(encoding="utf-8")
    if text.count(bug.old) != 1:
        message = f"{bug.name}: its place stands {text.count(bug.old)} times in {bug.module}"
        raise SystemExit(message)
    module.write_text(text.replace(bug.old, bug.new), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-qx", "--no-header", "--tb=no"]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", "-p", "no:randomly", f"tests/{bug.tests}"],
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
