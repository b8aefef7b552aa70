"""A kept moment of a thread."""

from datetime import datetime
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from foldline.errors import StoreCorruptError
from foldline.threads.loop_state import AgentLoopState


__all__ = [
    "Checkpoint",
    "CheckpointRetention",
    "CheckpointSource",
    "decode_checkpoint",
    "encode_checkpoint",
]


CheckpointRetention: TypeAlias = Literal["latest", "full"]
"""Whether the last checkpoint alone is kept, or every one."""

CheckpointSource: TypeAlias = Literal["root", "input", "loop", "fork"]
"""What a checkpoint was made after: nothing yet, an input, a step of the loop, a fork."""


class Checkpoint(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A position of a thread and the execution state there; never a copy of its messages."""

    id: str
    """The id within the thread."""

    created_at: datetime
    """When it was made."""

    source: CheckpointSource
    """What it was made after."""

    step: int
    """The iteration of the state; -1 for the root."""

    message_index: int
    """How many messages the thread held; -1 for the root."""

    head: bytes = b""
    """The head of the thread at that moment; empty for the root."""

    state: str | None = None
    """The execution state as JSON; None for the root."""

    def execution_state(self) -> AgentLoopState | None:
        """Return the execution state of that moment."""
        return None if self.state is None else AgentLoopState.from_json(self.state)


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Checkpoint)


def encode_checkpoint(checkpoint: Checkpoint) -> bytes:
    """Write *checkpoint*."""
    return _ENCODER.encode(checkpoint)


def decode_checkpoint(data: bytes) -> Checkpoint:
    """
    Read what `encode_checkpoint` wrote.

    Raises:
        StoreCorruptError: It is not a checkpoint.
    """
    try:
        return _DECODER.decode(data)
    except msgspec.MsgspecError as error:
        message = "a checkpoint cannot be read: `foldline verify` names what is damaged"
        raise StoreCorruptError(message) from error
