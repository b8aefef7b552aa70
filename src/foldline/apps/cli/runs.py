"""
What `reduce` and `plan` begin with.
"""

from pathlib import Path

from msgspec import Struct

from foldline.apps.cli.options import RunOptions
from foldline.apps.cli.sources import configured, one_session, read_config, read_state
from foldline.errors import UsageError
from foldline.history.formats.importer import Session
from foldline.history.history import History
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.run_config import AgentRunConfig
from foldline.reduction.state import HistoryReductionState


__all__ = ["Run", "begin"]


class Run(Struct, frozen=True, kw_only=True):
    """
    Everything that a reducer is given.
    """

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
    base = None if options.config is None else read_config(options.config)
    config = configured(options, base)
    state = None
    if options.state is not None and Path(options.state).exists():
        state = read_state(options.state)
    session = one_session(options)
    return Run(
        session=session,
        history=History(session.messages),
        config=config,
        state=state,
        overrides=AgentRunConfig(
            skip_history_reduction=options.skip, trigger_history_reduction=options.force
        ),
    )
