"""Writes `docs/names.md`: every public name of `foldline`, with what its docstring says first."""

import ast
import sys
from pathlib import Path


ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "names.md"
SOURCES = ROOT / "src"
FRONT = """\
<!-- Made by `make docs` from the docstrings; edit those instead. -->

# Every name of `foldline`

| name | what it is |
|---|---|
"""


def page() -> str:
    """Return the page, in Markdown."""
    face = ast.parse((SOURCES / "foldline" / "__init__.py").read_text(encoding="utf-8"))
    homes = {
        alias.name: str(node.module)
        for node in face.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    return FRONT + "".join(f"| `{name}` | {_said(homes[name], name)} |\n" for name in sorted(homes))


def _said(module: str, name: str) -> str:
    place = SOURCES.joinpath(*module.split("."))
    path = place.with_suffix(".py") if not place.is_dir() else place / "__init__.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node, following in zip(tree.body, [*tree.body[1:], None], strict=True):
        if isinstance(node, ast.ImportFrom) and name in {one.name for one in node.names}:
            return _said(str(node.module), name)
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            said = ast.get_docstring(node)
            if said:  # an overload has none
                return said.splitlines()[0]
        target = getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id == name:
            assert isinstance(following, ast.Expr)
            assert isinstance(following.value, ast.Constant)
            return str(following.value.value).strip().splitlines()[0]
    raise LookupError(name)


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
