"""The pure rooms get times, ids and files as arguments."""

import ast
from collections.abc import Iterator, Mapping, Sequence


Nodes = Mapping[str, Sequence[ast.AST]]

PURE_ROOMS = ("history/", "logs/", "reduction/")

IMPURE_CALLS = {
    "__import__",
    "breakpoint",
    "date.today",
    "datetime.now",
    "datetime.today",
    "datetime.utcnow",
    "eval",
    "exec",
    "input",
    "open",
    "print",
}


def _pure(nodes: Nodes) -> Iterator[tuple[str, ast.AST]]:
    return (
        (path, node)
        for path, found in nodes.items()
        if path.startswith(PURE_ROOMS)
        for node in found
    )


def _name(function: ast.expr) -> str:
    return ".".join(ast.unparse(function).split(".")[-2:])


def test_pure_rooms_exist(nodes: Nodes) -> None:
    """The contract below reads real files of every pure room."""
    rooms = {path.partition("/")[0] + "/" for path, _ in _pure(nodes)}

    assert rooms == set(PURE_ROOMS)


def test_pure_rooms_call_no_clock_and_no_file(nodes: Nodes) -> None:
    """Nothing in the pure rooms asks for the time, opens a file, prints or runs text as code."""
    impure = [
        f"{path}:{node.lineno} {_name(node.func)}"
        for path, node in _pure(nodes)
        if isinstance(node, ast.Call) and _name(node.func) in IMPURE_CALLS
    ]

    assert impure == []


def test_pure_rooms_keep_no_global_state(nodes: Nodes) -> None:
    """No function of the pure rooms rebinds a name of its module."""
    rebinding = [
        f"{path}:{node.lineno}" for path, node in _pure(nodes) if isinstance(node, ast.Global)
    ]

    assert rebinding == []
