"""What the package promises: every public name, found, sorted and described."""

import ast
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import ModuleType

import foldline


Block = ast.Module | ast.ClassDef

FACES = [
    f"foldline{room}"
    for room in ("", ".errors", ".events", ".formats", ".messages", ".models", ".storage")
]


def _order(name: str) -> tuple[bool, bool, str]:
    return (not name.isupper(), not name[:1].isupper(), name)


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return [node.name]
    targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
    inner = (name for target in targets for name in ast.walk(target))
    return [name.id for name in inner if isinstance(name, ast.Name)]


def _public(block: Block) -> Iterator[tuple[str, ast.stmt, str | None]]:
    after = [*block.body, None][1:]
    for node, following in zip(block.body, after, strict=True):
        for name in _names(node):
            if not name.startswith("_"):
                yield name, node, _docstring(node, following)


def _docstring(node: ast.stmt, following: ast.stmt | None) -> str | None:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return ast.get_docstring(node)
    if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
        return str(following.value.value)
    return None


def _is_overload(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(
        ast.unparse(decorator) == "overload" for decorator in node.decorator_list
    )


def _is_option(node: ast.stmt) -> bool:
    """Whether *node* is an option of a command, which its help describes."""
    return (
        isinstance(node, ast.AnnAssign)
        and re.search(
            r"typer\.(Option|Argument)\(.*help=|^\w+(Argument|Option)$",
            ast.unparse(node.annotation),
            re.DOTALL,
        )
        is not None
    )


def test_the_face_shows_what_it_promises() -> None:
    """Every name of `foldline.__all__` can be loaded, and they are sorted."""
    assert foldline.__all__ == sorted(foldline.__all__)
    assert set(foldline.__all__) <= set(dir(foldline))
    assert all(getattr(foldline, name) is not None for name in foldline.__all__)


def test_the_face_is_small() -> None:
    """The top of the package has the names that a first program needs, at most 70."""
    assert len(foldline.__all__) <= 70


def test_a_module_that_lists_its_names_lists_all(
    trees: Mapping[str, ast.Module], modules: Mapping[str, ModuleType]
) -> None:
    """An `__all__` beside definitions has all public ones and no others."""
    wrong = {
        path: names ^ set(exported)
        for path, tree in trees.items()
        if not path.endswith(("__init__.py", "__main__.py"))
        # Each of these needs a framework.
        if not path.startswith("integrations/")
        for names in [{name for name, _, _ in _public(tree)}]
        for exported in [getattr(modules[_dotted(path)], "__all__", names)]
        if names and names ^ set(exported)
    }

    assert wrong == {}


def test_every_list_is_sorted_and_true(modules: Mapping[str, ModuleType]) -> None:
    """Every `__all__` is sorted and names only what is there."""
    wrong = [
        name
        for name, module in modules.items()
        for exported in [list(getattr(module, "__all__", []))]
        if exported != sorted(exported, key=_order)
        or not all(hasattr(module, item) for item in exported)
    ]

    assert wrong == []


def test_every_room_says_what_it_is_for(modules: Mapping[str, ModuleType]) -> None:
    """Every room has a docstring."""
    silent = [
        name for name, module in modules.items() if name.count(".") < 2 and not module.__doc__
    ]

    assert silent == []


def test_every_public_name_is_described(trees: Mapping[str, ast.Module]) -> None:
    """Every public class, function, constant and type has a docstring."""
    silent = [
        f"{path} {name}"
        for path, tree in trees.items()
        for name, node, docstring in _public(tree)
        if not docstring and not _is_overload(node)
    ]

    assert silent == []


def test_every_member_of_a_public_class_is_described(trees: Mapping[str, ast.Module]) -> None:
    """Every member has its sentence, but a field whose name says it only in what strangers import."""
    shown = {face: vars(import_module(face)) for face in FACES}
    faces = {name for names in shown.values() for name in names.get("__all__", names)}
    silent = [
        f"{path} {owner}.{name}"
        for path, tree in trees.items()
        for owner, block, _ in _public(tree)
        if isinstance(block, ast.ClassDef)
        for name, node, docstring in _public(block)
        if not docstring and not _is_overload(node) and not _is_option(node)
        if (path, name) != ("errors.py", "code")
        if not isinstance(node, ast.AnnAssign) or owner in faces
    ]

    assert silent == []


def _dotted(path: str) -> str:
    return "foldline." + path.removesuffix(".py").replace("/", ".")
