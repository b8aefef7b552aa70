"""The options of the commands as records: what several commands take is written once."""

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from types import MappingProxyType
from typing import Annotated, Any, get_type_hints

import msgspec
import typer
from msgspec import Struct

from foldline.apps.cli.terminal import name_flags


def option(metavar: str, meaning: str, **more: Any) -> Any:
    """Return the description of an option with a value, for typer."""
    return typer.Option(metavar=metavar, help=meaning, **more)


def flag(names: str, meaning: str) -> Any:
    """Return the description of an option without a value, for typer."""
    return typer.Option(names, help=meaning)


def argument(metavar: str, meaning: str, **more: Any) -> Any:
    """Return the description of an argument, for typer."""
    return typer.Argument(metavar=metavar, help=meaning, **more)


JsonOption = Annotated[bool, flag("--json", "Print one JSON document and nothing else.")]
"""The option that every command has."""

FormatOption = Annotated[
    str | None,
    option("NAME", "The format of FILE if it is not detected; `foldline formats` lists them."),
]
"""The option of what reads a recorded conversation."""

ModelOption = Annotated[
    str | None,
    option(
        "NAME",
        "The model that the requests are for, such as anthropic:claude-sonnet-4-6: its window "
        "counts, and no model is called.",
    ),
]
"""The option of what prepares requests and sends none."""

WindowOption = Annotated[
    int | None,
    option(
        "N",
        "The model's window in tokens; else that of the model that is named, --model before "
        "--prices; 128000 if it is not known.",
        min=1,
    ),
]
"""The option of what must know how much fits."""

HtmlOption = Annotated[str | None, option("FILE", "Write a page with pictures to this file.")]
"""The option of what replays a session."""


PricesOption = Annotated[
    str | None,
    option(
        "MODEL|LIST",
        "The name of a model, such as anthropic:claude-sonnet-4-6, or dollars for a million "
        "tokens: input=3,output=15,cached_read=0.3,cache_write=3.75,lifetime=300.",
    ),
]
"""The option of what folds by prices, or shows amounts."""


class SourceOptions(Struct, frozen=True, kw_only=True):
    """Which conversation to read."""

    file: Annotated[str, argument("FILE", "A recorded conversation; - is the standard input.")]
    format: FormatOption = None
    session: Annotated[
        str | None,
        option(
            "N|ID",
            "The session, if FILE holds several: its number in the list of `foldline formats "
            "FILE`, which goes first, or its id.",
        ),
    ] = None


class ConfigOptions(SourceOptions, frozen=True, kw_only=True):
    """How to reduce it; each option wins over the same field of a configuration file."""

    strategy: Annotated[
        str | None, option("NAME", "summarizing (the default), clearing or message-counting.")
    ] = None
    unit: Annotated[
        str | None,
        option(
            "UNIT",
            "What --target and --threshold count: exchanges (the default) or messages; tokens "
            "with --token-target.",
        ),
    ] = None
    target: Annotated[
        int | None,
        option(
            "N",
            "How many units a fold keeps; 20 with --threshold or --unit, else a quarter of "
            "the ceiling.",
        ),
    ] = None
    threshold: Annotated[
        int | None,
        option(
            "N",
            "How many more may gather before a fold; 5 with --target or --unit, else what fits "
            "below the ceiling.",
        ),
    ] = None
    layers: Annotated[
        bool | None,
        flag("--layers/--single", "Summaries in layers, or a single rolling one (the default)."),
    ] = None
    token_target: Annotated[
        int | None, option("N", "How many tokens a fold keeps, in place of --target.")
    ] = None
    token_threshold: Annotated[
        int | None, option("N", "With --token-target: how many more may gather; 1000 by default.")
    ] = None
    behavior: Annotated[
        str | None,
        option(
            "NAME",
            "What follows a fold: continue (the default) or circuit-breaker, which ends the turn.",
        ),
    ] = None
    trigger: Annotated[
        str | None,
        option(
            "NAME",
            "What calls for a fold below the ceiling: count or balance, which needs prices and "
            "is the default with them if no threshold is given.",
        ),
    ] = None
    loss_cost: Annotated[
        float | None,
        option("USD", "The damage of one fold beside its price, in US dollars; 0 by default."),
    ] = None
    window: WindowOption = None
    ceiling: Annotated[
        float | None,
        option(
            "N",
            "The most tokens of a request, or, up to 1, its share of the window; 0.7 of it "
            "and at most 64000 by default.",
        ),
    ] = None


class RunOptions(ConfigOptions, frozen=True, kw_only=True):
    """Overrides for this run."""

    config: Annotated[
        # A list, because the last of two values would silently win over the first.
        list[str] | None, option("FILE", "A configuration in JSON or TOML; only one.")
    ] = None
    model: ModelOption = None
    prices: PricesOption = None
    state: Annotated[
        str | None, option("FILE", "The reduction of the previous call; it may not exist yet.")
    ] = None
    force: Annotated[
        bool, flag("--force", "Fold now, down to the target, however little is beyond it.")
    ] = False
    skip: Annotated[bool, flag("--skip", "Show the full history.")] = False
    json: JsonOption = False


def takes(
    *records: type[Struct], fixed: Mapping[str, object] = MappingProxyType({})
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function: each field of *records* is an option, unless it is *fixed*."""
    groups = [_parameters(kind) for kind in records]
    parameters = [one for group in groups for one in group if one.name not in fixed]

    def decorate(run: Callable[..., None]) -> Callable[..., None]:
        def command(**given: Any) -> None:
            name_flags([one.name for one in parameters])
            values = {**given, **fixed}
            made = [
                kind(**{one.name: values[one.name] for one in group})
                for kind, group in zip(records, groups, strict=True)
            ]
            run(*made)

        command.__name__ = run.__name__
        command.__doc__ = run.__doc__
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        # The documented way to give a function another signature than its own.
        command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        return command

    return decorate


def _parameters(record: type[Struct]) -> list[Parameter]:
    hints = get_type_hints(record, include_extras=True)
    return [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.required else field.default,
            annotation=hints[field.name],
        )
        for field in msgspec.structs.fields(record)
    ]
