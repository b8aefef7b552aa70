"""What a tool may know of the call that it answers."""

from msgspec import Struct


__all__ = ["ToolContext"]


class ToolContext(Struct, frozen=True, kw_only=True):
    """
    The call that a tool answers.

    A parameter with this annotation is filled in by the agent; the model does not see it.
    """

    call_id: str
    """The id of the call."""

    name: str
    """The name by which the tool was called."""

    idempotency_key: str = ""
    """The same each time that this call runs: what it does twice under one key should count once."""

    thread_id: str = ""
    """The thread of the conversation."""

    tenant: str = ""
    """Whose thread it is."""

    run_id: str = ""
    """The run that asks."""

    iteration: int = 0
    """The model call of the run that asked for it."""

    attempt: int = 1
    """How often this call has been begun, this time included: more than 1 after a crash."""
