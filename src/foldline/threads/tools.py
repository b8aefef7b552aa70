"""A tool call between its intent and its answer."""

from datetime import datetime
from hashlib import sha256
from typing import Literal, TypeAlias

from msgspec import Struct

from foldline.history.messages import Message
from foldline.history.parts import ResponseContent, ToolCallPart, ToolCallResponsePart


ToolPolicy: TypeAlias = Literal["at_most_once", "idempotent", "manual"]
"""
What to do with a tool call that a crash interrupted.

`at_most_once`: it never runs again; its answer says that its outcome is unknown. `idempotent`: it
runs again under the same key. `manual`: the run waits for a decision.
"""

INTERRUPTED = (
    "[interrupted: this tool was running when the program stopped, so whether it took effect is "
    "unknown]"
)
"""The answer of a tool that a crash interrupted and that may run only once."""


class ToolRun(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    The intent to run a tool and, once it has run, its result.

    The intent is committed before the tool runs and the result as soon as it is known. Both are
    deleted when the answer is committed as a message.
    """

    call_id: str
    """The id of the call."""

    name: str
    """The tool."""

    policy: ToolPolicy = "at_most_once"
    """What to do with it after a crash."""

    key: str = ""
    """The idempotency key, the same each time that this call runs."""

    iteration: int = 0
    """The model call that asked for it."""

    place: int = 0
    """Its place among the calls that wait, from the oldest."""

    result: str | tuple[ResponseContent, ...] | None = None
    """What it answered; None before that."""

    is_error: bool = False
    """Whether that is a failure."""

    @property
    def is_finished(self) -> bool:
        """Whether the tool has run to its end."""
        return self.result is not None


def answer_of(run: ToolRun, moment: datetime) -> Message:
    """Return the answer of *run* as a message, if it is unknown one that says so."""
    result = INTERRUPTED if run.result is None else run.result
    return Message(
        role="tool",
        parts=(ToolCallResponsePart(run.call_id, result),),
        name=run.name,
        created_at=moment,
    )


def document_name(call_id: str) -> str:
    """Return the name under which the call *call_id*, any string, is stored: plain everywhere."""
    return sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def idempotency_key(*, thread_id: str, run_id: str, call: ToolCallPart) -> str:
    """Return the key under which *call* has one effect, also where a changed program resumes it."""
    arguments = sha256(call.arguments.encode("utf-8", "surrogatepass")).hexdigest()
    named = repr((thread_id, run_id, call.id, call.name, arguments))
    return sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:32]
