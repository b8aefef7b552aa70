"""What `foldline chat` takes: its own options, those of a store, and those of a reduction."""

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
import typer

from foldline.apps.cli.options import ConfigOptions, parameters_of, signed
from foldline.apps.cli.stores import VARIABLE, TenantOptions
from foldline.reduction.config import HistoryReductionConfig


__all__ = [
    "DEFAULT_STORE",
    "DEFAULT_THREAD",
    "ChatConfigOptions",
    "ChatOptions",
    "chat_reduction",
    "takes_chat",
]


DEFAULT_STORE = "chat.db"
"""The store where nothing names one: a file in the current folder."""

DEFAULT_THREAD = "chat"
"""The thread where none is named."""


_TARGET = 40
_THRESHOLD = 20


class ChatOptions(TenantOptions, frozen=True, kw_only=True):
    """Who answers, on which thread, and what is said."""

    model: Annotated[
        str | None,
        typer.Option(
            metavar="VENDOR:MODEL",
            help="Who answers, as in openai:gpt-5-mini; the key comes from the environment. "
            "scripted:FILE says again what the assistant says in a recorded conversation, without "
            "a key or a network; scripted:demo does so with the session that comes with foldline.",
        ),
    ] = None
    """The model."""

    base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The address of a server that speaks like the vendor."),
    ] = None
    """The address."""

    thread: Annotated[
        str,
        typer.Option(
            metavar="ID",
            help=f"The thread to go on with, made where there is none; {DEFAULT_THREAD} by default.",
            show_default=False,
        ),
    ] = DEFAULT_THREAD
    """The id of the thread."""

    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="PATH|URL",
            help="The file of a SQLite store, made where there is none, or a postgresql:// or "
            f"redis:// address; by default what the environment variable {VARIABLE} says, else "
            f"{DEFAULT_STORE} in this folder.",
            envvar=VARIABLE,
            show_envvar=False,
        ),
    ] = None
    """The path or the address."""

    instructions: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT|@FILE", help="What the model is told in front of every conversation."
        ),
    ] = None
    """The instructions, or the file that holds them."""

    config: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="An agent in JSON or TOML: its provider, instructions, options and history "
            "reduction; every option here wins over it.",
        ),
    ] = None
    """The file of the agent."""

    message: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Say this, print the answer and exit; what is piped into the standard input is "
            "said in the same way.",
        ),
    ] = None
    """The one thing that is said."""

    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run that was interrupted, first of all.")
    ] = False
    """Whether an interrupted run is taken up."""

    delay: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0,
            max=3600,
            help="With scripted: how long to wait before each answer and each piece of it.",
        ),
    ] = None
    """The pause of a scripted model."""

    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print one JSON object a line for each event, and the result or the error last.",
        ),
    ] = False
    """Whether to print JSON lines."""


class ChatConfigOptions(ConfigOptions, frozen=True, kw_only=True):
    """
    How to reduce a chat: an exchange may hold hundreds of tool calls there, so messages are counted.
    """

    unit: Annotated[
        str | None,
        typer.Option(
            metavar="UNIT",
            help="What is counted: messages (the default of a chat), exchanges (that of a --config "
            "with a history reduction) or tokens.",
        ),
    ] = None
    """The counting unit."""

    target: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help=f"How many units a fold keeps; {_TARGET} messages by default, or 20 exchanges.",
        ),
    ] = None
    """The target."""

    threshold: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help=f"How many more may gather before a fold; {_THRESHOLD} messages by default, or 5 "
            "exchanges.",
        ),
    ] = None
    """The threshold."""


def chat_reduction(flags: ConfigOptions) -> HistoryReductionConfig:
    """
    Return how a chat is reduced where no configuration says so, for the unit that *flags* name.
    """
    if flags.unit is not None and flags.unit.lower() != "messages":
        return HistoryReductionConfig(enabled=True, strategy="summarizing")
    return HistoryReductionConfig(
        enabled=True,
        strategy="summarizing",
        counting_unit="messages",
        target_count=_TARGET,
        summarization_threshold=_THRESHOLD,
    )


def takes_chat(
    run: Callable[[ChatOptions, ConfigOptions], None],
) -> Callable[..., None]:
    """
    Make a command of *run*, which is given its own options and those of a recording's reduction.

    The reduction's have no file yet.
    """
    own = parameters_of(ChatOptions)
    inherited = {field.name for field in msgspec.structs.fields(TenantOptions)}
    own.sort(key=lambda one: one.name in inherited)
    others = [one for one in parameters_of(ChatConfigOptions) if one.name != "file"]

    def command(**values: Any) -> None:
        options = ChatOptions(**{one.name: values[one.name] for one in own})
        run(options, ChatConfigOptions(file="", **{one.name: values[one.name] for one in others}))

    return signed(command, run, [*own, *others])
