"""What a file of the project looks like."""

import ast
import gzip
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path


LONGEST_FILE = 500
LONGEST_FUNCTION = 50

VAGUE_NAMES = {"base", "common", "helper", "helpers", "manager", "misc", "util", "utils"}

CATCHERS = {
    "agent/background.py",  # a fold that nobody waits for must not be told to nobody
    "agent/telemetry/spans.py",  # marks the span of what has failed, and raises again
    "agent/tools/running.py",  # a tool may fail in any way, and the model is told
    "agent/bounded.py",  # hands what any work raises to its caller
    "apps/cli/main.py",  # a program ends with one line, not with a traceback
    "apps/cli/worker.py",  # a program of a user may end in any way, and is told where
    "guests/refusals.py",  # a framework passes a vendor's refusal on in any form; others are raised again
    "integrations/google_adk.py",  # what is asked again may be refused again; others are raised again
    "providers/digest/work.py",  # an extractor of a user may fail, and the summary stays
    "providers/worker.py",  # hands what any work raises to its caller
    "testing/guests.py",  # whatever a codec raises is what a check has shown
    "threads/store.py",  # closes what it has opened, and raises again
    "threads/stores/sqlite/file.py",  # undoes what it began, and raises again
    "threads/stores/sqlite/inline_read.py",  # what fails here is read by the reader thread
    "threads/stores/sqlite/store.py",  # closes what it has opened, and raises again
    "threads/stores/line.py",  # hands what a job raises to the task that waits for it
    "threads/stores/sqlite/worker.py",  # undoes, and hands what a job raises to who waits for it
    "workers/tasks.py",  # says how an attempt has failed, and raises again
}

LATE = {
    "workers/__init__.py",  # the queue loads procrastinate, the coroutines load nothing
    "agent/reducer.py",  # a fold loads asyncio, the digest and what reviews summaries; a hit does not
    "agent/wire.py",  # an error that names another module loads the readers of logs
    "reduction/quotes.py",  # what a fold reads of calls in texts; a hit does not
    "reduction/request.py",  # the same
    "reduction/state.py",  # a summary is read as a record for who asks for that; a hit does not
    "agent/request.py",  # tools as objects load threads, a cut prompt its check; others do not
}

ANY_READERS = (
    "agent/blocks.py",  # copies the items of any vendor
    "agent/config.py",  # reads configuration that may hold anything
    "agent/folding.py",  # gives back the items of any vendor
    "agent/reduced.py",  # gives back the items of any vendor
    "agent/reducer.py",  # takes and gives back the items of any vendor
    "agent/tools/",  # reads annotations of any type, and what a model wrote
    "agent/wire.py",  # reads them
    "agent/writers.py",  # writes them
    "agent/writing.py",  # writes them
    "agent/written_view.py",  # holds them
    "apps/cli/",  # reads files that may hold anything
    "guests/blocks.py",  # takes blocks as a vendor writes them
    "history/codec.py",  # turns JSON into values
    "history/digest.py",  # hashes any JSON value
    "history/formats/",  # reads the wire formats of vendors
    "integrations/",  # speaks with other frameworks
    "logs/",  # reads the logs of other programs
    "providers/vendors/",  # speaks with the clients of vendors
    "reduction/config_reader.py",  # reads configuration that may hold anything
    "testing/guests.py",  # judges codecs of any framework
    "testing/grammars/",  # judges requests that may hold anything
    "threads/loop_state.py",  # tells msgspec how a field of its own looks as JSON
    "threads/original.py",  # reads documents of another program
    "threads/snapshot.py",  # reads documents of other programs
    "threads/stores/postgres/",  # rows of a database have no type
    "threads/stores/redis/",  # the same
    "threads/stores/sqlite/",  # the same
)

BANNER = re.compile(r"^\s*#\s*[-=#*~_]{3,}|^\s*#.*[-=#*~_]{4,}\s*$")

Nodes = Mapping[str, Sequence[ast.AST]]


def _imported(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the column and the name of each import."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.col_offset, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.col_offset, "." * node.level + (node.module or "")


def _is_own(name: str) -> bool:
    return name.startswith(".") or name.partition(".")[0] == "foldline"


def _caught(node: ast.ExceptHandler) -> set[str]:
    if node.type is None:
        return {"BaseException"}
    return {name.id for name in ast.walk(node.type) if isinstance(name, ast.Name)}


def _files(folder: Path, ignored: list[str]) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if any(path.match(pattern) for pattern in ignored):
            continue
        if path.is_dir():
            yield from _files(path, ignored)
        else:
            yield path


def _content(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def test_files_are_short(root: Path) -> None:
    """No Python file of the project is longer than 500 lines."""
    too_long = [
        path.relative_to(root).as_posix()
        for folder in ("src", "tests", "bench", "tools")
        for path in (root / folder).rglob("*.py")
        if len(path.read_text(encoding="utf-8").splitlines()) > LONGEST_FILE
    ]

    assert too_long == []


def test_functions_are_short(nodes: Nodes) -> None:
    """No function of the package is longer than 50 lines, its docstring included."""
    too_long = [
        f"{path}:{node.lineno} {node.name}"
        for path, found in nodes.items()
        for node in found
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION
    ]

    assert too_long == []


def test_modules_are_named_for_what_they_hold(trees: Mapping[str, ast.Module]) -> None:
    """No module or package has a name that fits anything."""
    vague = [path for path in trees if VAGUE_NAMES & set(Path(path).with_suffix("").parts)]

    assert vague == []


def test_own_modules_are_imported_at_the_top(nodes: Nodes) -> None:
    """No function imports a module of the package but where a start would pay for what it leaves."""
    late = [
        f"{path}: {name}"
        for path, found in nodes.items()
        for column, name in _imported(found)
        if column and _is_own(name) and path not in LATE
    ]

    assert late == []


def test_rooms_do_not_import_the_face(nodes: Nodes) -> None:
    """Modules import each other by full names, never through `foldline` itself or relatively."""
    indirect = [
        f"{path}: {name}"
        for path, found in nodes.items()
        if not path.startswith(("apps/", "integrations/"))
        for _, name in _imported(found)
        if name == "foldline" or name.startswith(".")
    ]

    assert indirect == []


def test_few_places_catch_everything(nodes: Nodes) -> None:
    """`except Exception` stands only where the list above gives a reason."""
    greedy = [
        f"{path}:{node.lineno}"
        for path, found in nodes.items()
        if path not in CATCHERS
        for node in found
        if isinstance(node, ast.ExceptHandler)
        if {"BaseException", "Exception"} & _caught(node)
    ]

    assert greedy == []


def test_any_stays_where_the_outside_is_read(nodes: Nodes) -> None:
    """`Any` is used only where JSON or a vendor's format is read or written."""
    loose = [
        f"{path}:{node.lineno}"
        for path, found in nodes.items()
        if not path.startswith(ANY_READERS)
        for node in found
        if isinstance(node, ast.Name) and node.id == "Any"
    ]

    assert loose == []


def test_comments_are_no_banners(package: Path) -> None:
    """No comment is a rule or a headline between rules."""
    banners = [
        f"{path.relative_to(package)}:{number}"
        for path in sorted(package.rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if BANNER.search(line)
    ]

    assert banners == []


def test_no_file_names_a_machine(root: Path) -> None:
    """No file, unpacked if compressed, holds a path of this machine or a registry's host."""
    home, prefix = Path.home(), Path(sys.base_prefix)
    places = [f"{root}", f"{root.parent / 'shared'}"]
    places += [f"{home}/"] if home.name else []
    places += [f"{prefix}"] if not prefix.is_relative_to("/usr") else []
    # Written in two pieces, so that this file passes its own test.
    hosts = ["pypi" + ".org", "python" + "hosted.org", "npmjs" + ".org", "npmjs" + ".com"]
    needles = [needle.encode() for needle in (*places, *hosts)]

    ignored = [".git", *(root / ".gitignore").read_text(encoding="utf-8").split()]

    named = [
        f"{path.relative_to(root)}: {needle.decode()}"
        for path in _files(root, ignored)
        for content in [_content(path)]
        for needle in needles
        if needle in content
    ]

    assert named == []
