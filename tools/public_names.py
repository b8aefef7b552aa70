"""Writes `docs/names.md`, every public name with its first sentence, and the stub of the face."""

import ast
import sys
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path

from foldline import HOMES, __all__


ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src"
PAGE = ROOT / "docs" / "names.md"
STUB = SOURCES / "foldline" / "__init__.pyi"
MODULES = ("events", "messages", "formats", "models", "storage", "guests", "errors")
FRONT = """\
<!-- Made by `make docs` from the docstrings; edit those instead. -->

# Every public name

A first program needs `from foldline import …`; the other modules hold what fewer programs need.
"""


def page() -> str:
    """Return the page, in Markdown."""
    tables = [_table("foldline", HOMES)]
    tables += [_table(f"foldline.{name}", _imported(name)) for name in MODULES]
    return FRONT + "".join(tables)


def stub() -> str:
    """Return what type checkers read in place of the lazy face."""
    lines = ["# Made by `make docs`: what `foldline.__getattr__` loads, for type checkers.\n"]
    lines.append("from collections.abc import Mapping\n\n")
    ordered = sorted(HOMES.items(), key=lambda item: (item[1], item[0]))
    for home, names in groupby(ordered, key=lambda item: item[1]):
        lines.append(f"from {home} import (\n")
        lines += [f"    {name} as {name},\n" for name, _ in names]
        lines.append(")\n")
    face = "".join(f'    "{name}",\n' for name in __all__)
    return "".join(
        [*lines, f"\n__all__ = [\n{face}]\n\nHOMES: Mapping[str, str]\n__version__: str\n"]
    )


def _table(module: str, homes: Mapping[str, str]) -> str:
    rows = "".join(f"| `{name}` | {_summary(homes[name], name)} |\n" for name in sorted(homes))
    return f"\n## `{module}`\n\n| name | what it is |\n|---|---|\n{rows}"


def _imported(name: str) -> dict[str, str]:
    module = SOURCES / "foldline" / f"{name}.py"
    file = module if module.exists() else module.with_suffix("") / "__init__.py"
    tree = ast.parse(file.read_text(encoding="utf-8"))
    imported = {
        alias.name: str(node.module)
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("foldline.")
        for alias in node.names
    }
    own = {node.name: f"foldline.{name}" for node in tree.body if isinstance(node, ast.ClassDef)}
    return imported | own


def _summary(module: str, name: str) -> str:
    place = SOURCES.joinpath(*module.split("."))
    path = place.with_suffix(".py") if not place.is_dir() else place / "__init__.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node, following in zip(tree.body, [*tree.body[1:], None], strict=True):
        if isinstance(node, ast.ImportFrom) and name in {one.name for one in node.names}:
            return _summary(str(node.module), name)
        if (
            isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name == name
        ):
            text = ast.get_docstring(node)
            if text:  # an overload has none
                return text.splitlines()[0]
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id == name:
            assert isinstance(following, ast.Expr)
            assert isinstance(following.value, ast.Constant)
            return str(following.value.value).strip().splitlines()[0]
    raise LookupError(name)


if __name__ == "__main__":
    made = {PAGE: page(), STUB: stub()}
    if "--check" in sys.argv:
        sys.exit(any(path.read_text(encoding="utf-8") != text for path, text in made.items()))
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
