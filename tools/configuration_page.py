"""Writes `docs/configuration.md`, every field of a configuration, from the docstrings."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec

from foldline.agent.config import AgentConfig, AgentOptions
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig, ProviderConfig


PAGE = Path(__file__).parent.parent / "docs" / "configuration.md"
KINDS: tuple[type[Any], ...] = (
    HistoryReductionConfig,
    AgentRunConfig,
    AgentOptions,
    AgentConfig,
    ProviderConfig,
)
WIDTH = 100
FRONT = """\
<!-- Made by `make docs` from the docstrings; edit those instead. -->

# Every field of a configuration

A wrong value is a `ConfigError` that names the field, the value and what is expected.

`config_from_json`, `config_from_toml` and `--config FILE` read fields in snake_case, camelCase or
PascalCase, and so do the choices of a field. Files written for the documented original load as they
are: `TargetMessageCount` is `target_count`; `TargetTokenCount` and `ThresholdTokenCount` are
`target_token_budget` and `token_budget_threshold`; the strategy `TokenBased` is `summarizing` with
the unit `tokens`.
"""


def page() -> str:
    """Return the page, in Markdown."""
    return "\n".join([FRONT, *(part for kind in KINDS for part in _kind(kind))])


def _kind(kind: type[Any]) -> Iterator[str]:
    hints = get_type_hints(kind)
    yield f"## `{kind.__name__}`\n"
    yield f"{inspect.cleandoc(kind.__doc__ or '').partition('Raises:')[0].strip()}\n"
    told = _docstrings(kind)
    for field in msgspec.structs.fields(kind):
        default = "needed" if field.required else f"default `{_shown(field)}`"
        choices = " or ".join(f"`{one}`" for one in _choices(hints[field.name]))
        meaning = " ".join(told[field.name].split())
        text = f"- `{field.name}` ({default}): {f'{choices}. ' if choices else ''}{meaning}"
        yield textwrap.fill(
            text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
    yield ""


def _shown(field: msgspec.structs.FieldInfo) -> str:
    default = field.default
    if default is msgspec.NODEFAULT:
        default = field.default_factory()
    is_nested = isinstance(default, msgspec.Struct)
    return f"{type(default).__name__}()" if is_nested else repr(default)


def _choices(hint: Any) -> tuple[str, ...]:
    """Return the names that a field of the type *hint* takes, if it takes names."""
    flat = [one for part in get_args(hint) for one in (part, *get_args(part))]
    return tuple(one for one in flat if isinstance(one, str))


def _docstrings(kind: type[Any]) -> dict[str, str]:
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    told: dict[str, str] = {}
    for before, after in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name):
            assert isinstance(after, ast.Expr), before.target.id
            told[before.target.id] = str(ast.literal_eval(after.value))
    return told


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
