"""What `import foldline` costs those who only want to import it."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest


# Rooms whose modules need extras: programs, guests of frameworks, and what tests are made with.
# Of `foldline.workers`, what is for any queue needs no extra.
QUEUE = ("metrics", "news", "queue", "status", "sweep", "tasks", "workers")
WITH_EXTRAS = (
    "foldline.apps",
    "foldline.integrations",
    "foldline.testing",
    *(f"foldline.workers.{name}" for name in QUEUE),
)

PROBE = """
import importlib, json, os, sys

report, *names = sys.argv[1:]
written, before = [], set(sys.modules)


def watch(event, arguments):
    if event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        written.append(str(arguments[0]))


sys.addaudithook(watch)
for name in names:
    importlib.import_module(name)
found = {"written": list(written), "loaded": sorted(set(sys.modules) - before)}
with open(report, "w") as file:
    json.dump(found, file)
"""


class Trace(NamedTuple):
    """What was printed, which files were opened for writing, and which foreign packages loaded."""

    printed: str
    written: list[str]
    foreign: set[str]


def _trace(folder: Path, *names: str) -> Trace:
    report = folder / f"{names[0]}.json"
    # -B: a cached byte code file is the interpreter's, not ours.
    result = subprocess.run(
        [sys.executable, "-B", "-c", PROBE, str(report), *names],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(report.read_text(encoding="utf-8"))
    packages = {str(name).partition(".")[0] for name in found["loaded"]}
    return Trace(
        printed=result.stdout + result.stderr,
        written=[str(path) for path in found["written"]],
        foreign=packages - sys.stdlib_module_names - {"foldline"},
    )


def _loaded(code: str) -> set[str]:
    """Return the modules that are loaded in a new process after *code*."""
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(result.stdout.split())


def test_the_package_alone_loads_nothing() -> None:
    """`import foldline` loads the standard library and itself, since names are loaded when used."""
    loaded = _loaded("import foldline")

    assert {name for name in loaded if name.startswith("foldline")} == {"foldline"}
    assert loaded.isdisjoint({"msgspec", "asyncio", "sqlite3"})


HIT = """
from foldline import History, HistoryReducer, HistoryReductionConfig, HistoryReductionState, Message
from datetime import UTC, datetime
said = [Message.user("ask"), Message.assistant("say"), Message.user("more")]
reducer = HistoryReducer(HistoryReductionConfig(target_count=1, summarization_threshold=0))
state = HistoryReductionState.create(
    History(said),
    "so far",
    2,
    target_count=1,
    reduction_threshold=0,
    message_count_at_reduction=2,
    created_at=datetime(2026, 11, 21, tzinfo=UTC),
    counting_unit="exchanges",
    config_fingerprint=reducer.config_fingerprint,
)
assert reducer.reduce_sync(said, state=state).verdict.kind == "hit"
"""


def test_a_hit_loads_nothing_of_a_fold() -> None:
    """A reducer loads asyncio, the log, the digest, what reads texts, vendors and threads when it folds, not before."""
    loaded = _loaded(HIT)
    heavy = ("foldline.threads", "foldline.agent.tools", "foldline.agent.telemetry")

    assert not [name for name in loaded if name.startswith(heavy)]
    assert loaded.isdisjoint(
        {
            "asyncio",
            "difflib",
            "foldline.agent.folding",
            "foldline.providers.digest.summarizer",
            "foldline.providers.vendors.opening",
            "foldline.reduction.contract",
            "foldline.reduction.fold",
            "foldline.reduction.language",
            "foldline.reduction.statements",
            "foldline.reduction.text_calls",
            "logging",
        }
    )


@pytest.fixture(scope="module")
def allowed(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return the packages that msgspec loads by itself, msgspec included."""
    return _trace(tmp_path_factory.mktemp("msgspec"), "msgspec").foreign


def test_the_rooms_load_msgspec_alone(
    tmp_path: Path, modules: Mapping[str, ModuleType], allowed: set[str]
) -> None:
    """Every module outside the programs and guests is importable with msgspec alone."""
    names = [name for name in modules if not name.startswith(WITH_EXTRAS)]

    trace = _trace(tmp_path, *names)

    assert trace.foreign <= allowed
    assert (trace.printed, trace.written) == ("", [])


FIRST_FOLD = """
import asyncio, sys, threading

from foldline import HistoryReducer, HistoryReductionConfig, Message

loaded_by = []


class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "foldline.agent.folding":
            loaded_by.append(threading.current_thread() is threading.main_thread())


sys.meta_path.insert(0, Watch())
config = HistoryReductionConfig(counting_unit="messages", target_count=2, summarization_threshold=2)
said = [Message.user(f"order AB{n} is in the harbor " * 9) for n in range(9)]
print(asyncio.run(HistoryReducer(config).reduce(said)).event.status, loaded_by)
"""


def test_the_first_fold_of_a_process_holds_up_no_loop_to_load_what_it_needs() -> None:
    """What a hit does without is loaded in another thread than that of the event loop."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_FOLD], capture_output=True, text=True, check=True
    )

    assert done.stdout == "performed [False]\n"
