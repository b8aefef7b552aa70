"""The options of the commands, as records: what several commands take is written once."""

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import Annotated, Any, TypeVar, get_type_hints

import msgspec
import typer
from msgspec import Struct


__all__ = [
    "ConfigOptions",
    "JsonOption",
    "RunOptions",
    "SourceOptions",
    "parameters_of",
    "signed",
    "takes",
]


_Options = TypeVar("_Options", bound=Struct)

JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON document and nothing else."),
]
"""The option that every command has."""


def _setting(name: str, metavar: str, meaning: str) -> Any:
    return typer.Option(name, metavar=metavar, help=meaning)


class SourceOptions(Struct, frozen=True, kw_only=True):
    """Which conversation to read."""

    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A recorded conversation; - is the standard input."),
    ]
    """The file, or `-`."""

    format: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The format of FILE, where it is not found out; `foldline formats` lists them.",
        ),
    ] = None
    """The name of the format."""

    session: Annotated[
        str | None,
        typer.Option(
            metavar="ID|N", help="The session, by its id or number, where FILE holds several."
        ),
    ] = None
    """The session."""


class ConfigOptions(SourceOptions, frozen=True, kw_only=True):
    """How to reduce it; each option wins over the same field of a configuration file."""

    strategy: Annotated[
        str | None,
        _setting(
            "--strategy",
            "NAME",
            "summarizing (the default without --config) or message-counting (that of a --config "
            "which names none).",
        ),
    ] = None
    """The strategy."""

    unit: Annotated[
        str | None,
        _setting("--unit", "UNIT", "What is counted: exchanges (the default), messages or tokens."),
    ] = None
    """The counting unit."""

    target: Annotated[
        int | None, _setting("--target", "N", "How many units a fold keeps; 20 by default.")
    ] = None
    """The target."""

    threshold: Annotated[
        int | None,
        _setting("--threshold", "N", "How many more may gather before a fold; 5 by default."),
    ] = None
    """The threshold."""

    layers: Annotated[
        bool | None,
        typer.Option(
            "--layers/--single",
            help="Summaries in layers, or a single rolling one (the default).",
        ),
    ] = None
    """Whether summaries stand in layers."""

    token_target: Annotated[
        int | None,
        _setting("--token-target", "N", "With tokens: how many a fold keeps; 4000 by default."),
    ] = None
    """The target in tokens."""

    token_threshold: Annotated[
        int | None,
        _setting(
            "--token-threshold", "N", "With tokens: how many more may gather; 1000 by default."
        ),
    ] = None
    """The threshold in tokens."""

    behavior: Annotated[
        str | None,
        _setting(
            "--behavior",
            "NAME",
            "What follows a fold: continue (the default) or circuit-breaker, which ends the turn.",
        ),
    ] = None
    """The behavior."""


class RunOptions(ConfigOptions, frozen=True, kw_only=True):
    """What to do with it this once."""

    config: Annotated[
        # Two are an error, and what takes one silently takes the last.
        list[str] | None,
        _setting("--config", "FILE", "A configuration in JSON or TOML; only one."),
    ] = None
    """The configuration file."""

    state: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="The reduction of the call before; it may not exist yet."
        ),
    ] = None
    """The file of the state."""

    force: Annotated[bool, typer.Option("--force", help="Fold now, whatever has gathered.")] = False
    """Whether to fold in any case."""

    skip: Annotated[bool, typer.Option("--skip", help="Show the full history.")] = False
    """Whether not to reduce."""


def takes(options: type[_Options]) -> Callable[[Callable[[_Options], None]], Callable[..., None]]:
    """
    Make a command of a function that takes a record: each field of *options* becomes an option.
    """
    parameters = parameters_of(options)

    def decorate(run: Callable[[_Options], None]) -> Callable[..., None]:
        def command(**values: Any) -> None:
            run(options(**values))

        return signed(command, run, parameters)

    return decorate


def parameters_of(options: type[Struct]) -> list[Parameter]:
    """Return the fields of *options* as parameters of a command."""
    hints = get_type_hints(options, include_extras=True)
    return [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.required else field.default,
            annotation=hints[field.name],
        )
        for field in msgspec.structs.fields(options)
    ]


def signed(
    command: Callable[..., None], run: Callable[..., None], parameters: Sequence[Parameter]
) -> Callable[..., None]:
    """Return *command* under the name of *run*, which it runs, as a function of *parameters*."""
    command.__name__ = run.__name__
    command.__doc__ = run.__doc__
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    # The documented way to give a function another signature than its own.
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return command
