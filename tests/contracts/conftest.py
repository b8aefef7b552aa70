"""The source of the package, as the contracts read it."""

import ast
import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

import pytest

import foldline


@pytest.fixture(scope="session")
def package() -> Path:
    """Return the folder of the package, which may be an installed wheel."""
    return Path(foldline.__file__).parent


@pytest.fixture(scope="session")
def trees(package: Path) -> Mapping[str, ast.Module]:
    """Return the syntax tree of every file of the package, by its path inside it."""
    return {
        path.relative_to(package).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(package.rglob("*.py"))
    }


@pytest.fixture(scope="session")
def nodes(trees: Mapping[str, ast.Module]) -> Mapping[str, Sequence[ast.AST]]:
    """Return all nodes of each tree."""
    return {path: list(ast.walk(tree)) for path, tree in trees.items()}


@pytest.fixture(scope="session")
def modules() -> Mapping[str, ModuleType]:
    """Return every module of the package that needs no foreign framework, imported, by its name."""
    found = pkgutil.walk_packages(foldline.__path__, "foldline.")
    own = (module.name for module in found)
    names = ["foldline", *(name for name in own if not name.startswith("foldline.integrations."))]
    return {name: importlib.import_module(name) for name in names if "__main__" not in name}
