"""What `reduce` and `plan` begin with."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from foldline.apps.cli.notes import tell, tell_of_sessions
from foldline.apps.cli.options import RunOptions
from foldline.apps.cli.sources import configured, one_session, read_config, read_state
from foldline.errors import UsageError
from foldline.history.history import History
from foldline.logs.importer import Session
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig
from foldline.reduction.state import HistoryReductionState


__all__ = ["Run", "begin", "messages_shown"]


class Run(Struct, frozen=True, kw_only=True):
    """Everything that a reducer is given."""

    session: Session
    """The conversation."""

    history: History
    """Its messages."""

    config: HistoryReductionConfig
    """How to reduce them."""

    state: HistoryReductionState | None
    """The reduction of the call before."""

    overrides: AgentRunConfig
    """What is different this once."""


def begin(options: RunOptions) -> Run:
    """
    Read everything that *options* name.

    Raises:
        UsageError: A file cannot be read, or the options exclude each other.
        FormatError: The file holds no conversation, or that of the state no reduction.
        ConfigError: The configuration is not allowed.
    """
    if options.force and options.skip:
        message = "--force and --skip exclude each other: leave one out"
        raise UsageError(message)
    name = _only(options.config)
    config = configured(options, None if name is None else read_config(name))
    if not config.enabled:
        tell(f"{name} says that reduction is disabled: the full history is sent")
    state = None
    if options.state is not None and Path(options.state).exists():
        state = read_state(options.state)
    session = one_session(options)
    tell_of_sessions([session])
    return Run(
        session=session,
        history=History(session.messages),
        config=config,
        state=state,
        overrides=AgentRunConfig(
            skip_history_reduction=options.skip, trigger_history_reduction=options.force
        ),
    )


def messages_shown(history: History) -> str:
    """Return how many messages *history* holds, in words."""
    return f"{len(history):,} messages + {len(history.system):,} system"


def _only(configs: Sequence[str] | None) -> str | None:
    if configs is not None and len(configs) > 1:
        message = (
            "--config was given more than once: give one here; `foldline replay` takes several"
        )
        raise UsageError(message)
    return configs[0] if configs else None
