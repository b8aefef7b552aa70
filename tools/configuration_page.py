"""Writes `docs/configuration.md`, every field of a configuration, from the docstrings."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec

from foldline.agent.config import AgentConfig, AgentOptions
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig
from foldline.reduction.prices import Prices, PriceTier
from foldline.reduction.provider import ProviderConfig


PAGE = Path(__file__).parent.parent / "docs" / "configuration.md"
KINDS: tuple[type[Any], ...] = (
    HistoryReductionConfig,
    AgentRunConfig,
    AgentOptions,
    AgentConfig,
    ProviderConfig,
    Prices,
    PriceTier,
)
WIDTH = 100
FRONT = """\
<!-- Made by `make docs` from the docstrings; edit those instead. -->

# Every field of a configuration

`HistoryReducer()`, `Agent(model)` and the commands share the defaults below. A wrong value, and a
value that has no effect beside the others, is a `ConfigError` that names the field.

`config_from_json`, `config_from_toml` and `--config FILE` read fields in snake_case, camelCase or
PascalCase, and so do the choices of a field. Files written for the documented original load as they
are: `TargetMessageCount` is `target_count`; `TargetTokenCount` and `ThresholdTokenCount` are
`target_token_budget` and `token_budget_threshold`; the strategy `TokenBased` is `summarizing` with
the unit `tokens`.
"""


def page() -> str:
    """Return the page, in Markdown."""
    first, *others = KINDS
    parts = [FRONT, *_kind(first), *_documented()]
    return "\n".join([*parts, *(part for kind in others for part in _kind(kind))])


def _documented() -> Iterator[str]:
    ours, theirs = HistoryReductionConfig(), HistoryReductionConfig.documented()
    yield "## `HistoryReductionConfig.documented()`\n"
    yield f"{inspect.cleandoc(HistoryReductionConfig.documented.__doc__ or '')}\n"
    for name in ours.__struct_fields__:
        value = getattr(theirs, name)
        if value != getattr(ours, name):
            yield f"- `{name}` is `{value!r}`"
    yield ""


def _kind(kind: type[Any]) -> Iterator[str]:
    hints = get_type_hints(kind)
    yield f"## `{kind.__name__}`\n"
    yield f"{inspect.cleandoc(kind.__doc__ or '').partition('Raises:')[0].strip()}\n"
    module = ast.parse(inspect.getsource(sys.modules[kind.__module__])).body
    classes = {one.name: one.body for one in module if isinstance(one, ast.ClassDef)}
    aliases, told = _docstrings(module), _docstrings(classes[kind.__name__])
    for field in msgspec.structs.fields(kind):
        default = "needed" if field.required else f"default `{_shown(field)}`"
        choices = " or ".join(f"`{one}`" for one in _choices(hints[field.name]))
        written, meaning = told[field.name]
        # An alias says after its first paragraph what each of its names means.
        meant = (aliases[name][1].partition("\n\n")[2] for name in aliases if name in written)
        words = " ".join((f"{choices}." if choices else "", meaning, *meant)).split()
        yield textwrap.fill(
            f"- `{field.name}` ({default}): {' '.join(words)}",
            WIDTH,
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
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


def _docstrings(body: Sequence[ast.stmt]) -> dict[str, tuple[str, str]]:
    """Return the annotation and the docstring of each name in *body* that has both."""
    return {
        before.target.id: (ast.unparse(before.annotation), str(after.value.value))
        for before, after in pairwise(body)
        if isinstance(before, ast.AnnAssign)
        if isinstance(before.target, ast.Name)
        if isinstance(after, ast.Expr)
        if isinstance(after.value, ast.Constant)
    }


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
