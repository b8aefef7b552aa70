"""Writes `docs/names.md`, the pages in `docs/api`, and the stub of the face."""

import ast
import sys
from collections.abc import Mapping
from importlib import import_module
from itertools import groupby
from pathlib import Path

from foldline import HOMES, __all__, errors


ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src"
PAGE = ROOT / "docs" / "names.md"
API = ROOT / "docs" / "api"
STUB = SOURCES / "foldline" / "__init__.pyi"
MODULES = ("events", "messages", "formats", "models", "storage", "guests", "errors", "workers")
MADE = "<!-- Made by `make docs` from the docstrings; edit those instead. -->\n"
FRONT = """
# Every public name

A first program needs `from foldline import …`; the other modules hold what fewer programs need. Each
name leads to its docstrings.
"""
# What has a page of its own, which says more than a docstring.
ELSEWHERE = {
    "foldline.agent.config": "configuration.md#{}",
    "foldline.errors": "errors.md#{}",
    "foldline.reduction.config": "configuration.md#{}",
    "foldline.reduction.prices": "configuration.md#{}",
    "foldline.reduction.provider": "configuration.md#{}",
}


def pages() -> dict[Path, str]:
    """Return the table of all names, and the docstrings of each module, by the paths of the pages."""
    modules = {"foldline": HOMES} | {f"foldline.{name}": _imported(name) for name in MODULES}
    places: dict[str, str] = {}
    tables, made = "", {}
    for module, homes in modules.items():
        shown = []
        for name, home in sorted(homes.items()):
            if f"{home}.{name}" in places:
                continue  # a module before this one shows it
            place = ELSEWHERE.get(home, f"api/{module}.md#{module}.{name}")
            code = getattr(getattr(errors, name, None), "code", name)
            places[f"{home}.{name}"] = place.format(code.lower()).removesuffix("#foldline")
            shown += [] if home in ELSEWHERE else [f"\n::: {module}.{name}\n"]
        if shown:
            made[API / f"{module}.md"] = f"{MADE}\n# `{module}`\n{''.join(shown)}"
        tables += _table(module, homes, places)
    return {PAGE: f"{MADE}{FRONT}{tables}", **made}


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


def _table(module: str, homes: Mapping[str, str], places: Mapping[str, str]) -> str:
    rows = "".join(
        f"| [`{name}`]({places[f'{home}.{name}']}) | {_summary(home, name)} |\n"
        for name, home in sorted(homes.items())
    )
    return f"\n## `{module}`\n\n| name | what it is |\n|---|---|\n{rows}"


def _imported(name: str) -> dict[str, str]:
    module = SOURCES / "foldline" / f"{name}.py"
    file = module if module.exists() else module.with_suffix("") / "__init__.py"
    tree = ast.parse(file.read_text(encoding="utf-8"))
    # What is loaded late is imported for type checkers.
    late = [inner for node in tree.body if isinstance(node, ast.If) for inner in node.body]
    imported = {
        alias.name: str(node.module)
        for node in [*tree.body, *late]
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("foldline.")
        for alias in node.names
    }
    own = {node.name: f"foldline.{name}" for node in tree.body if isinstance(node, ast.ClassDef)}
    promised = getattr(import_module(f"foldline.{name}"), "__all__", own)
    return {one: home for one, home in (imported | own).items() if one in promised}


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
    texts = {**pages(), STUB: stub()}
    if "--check" in sys.argv:
        there = {path: path.read_text(encoding="utf-8") for path in [PAGE, STUB, *API.iterdir()]}
        sys.exit(there != texts)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
