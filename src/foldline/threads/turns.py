"""
What is stored of a turn that has an id, so that the same turn is never run twice.

It is a document of the thread under the id of the turn, written with the first commit of the turn and
again with the last one. It names the rows of the turn by the epoch that wrote them: after a rewind,
an edit or a clear these rows are others, and the id is free.
"""

from collections.abc import Iterable
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from foldline.history.digest import message_digest
from foldline.history.messages import Message
from foldline.threads.row import Runs, origin_of


class TurnRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn that has an id, as its thread keeps it."""

    id: str
    """The id of the turn."""

    run_id: str = ""
    """The run that answered it, or does."""

    given: bytes = b""
    """A digest of its input; empty if it had none."""

    origin: bytes = b""
    """The epoch that wrote its messages."""

    start: int = 0
    """How many messages of any role came before it."""

    stop: int = 0
    """How many there were at its end; 0 before that."""

    reason: str = ""
    """Why it ended."""

    iterations: int = 0
    """How many model calls it made."""

    goes_on: bool = False
    """Whether further agents of a conversation may answer; what is noted of its end is so far."""

    @property
    def is_finished(self) -> bool:
        """Whether it has ended."""
        return self.stop > 0 and not self.goes_on

    def begun(self, *, run_id: str, origin: bytes, start: int) -> "TurnRecord":
        """Return the record of the turn that *run_id* begins after *start* messages."""
        return replace(self, run_id=run_id, origin=origin, start=start)

    def ended(self, *, stop: int, reason: str, iterations: int) -> "TurnRecord":
        """Return the record of the turn that ended with *stop* messages."""
        return replace(self, stop=stop, reason=reason, iterations=iterations)

    def reopened(self) -> "TurnRecord":
        """Return the record as if the turn had not ended."""
        return replace(self, stop=0, reason="", iterations=0)

    def is_there(self, *, epoch: bytes, count: int, runs: Runs | None) -> bool:
        """Whether its messages are those of a thread at *epoch* with *count* messages."""
        if count < max(self.start, self.stop):
            return False
        ends = {self.start, max(self.start, self.stop - 1)}
        if runs is None:
            # Of a thread of an old store it is unknown which epoch wrote what.
            return epoch == self.origin
        return all(
            self.origin == (origin_of(runs, end)[0] if end < count else epoch) for end in ends
        )


def digest_of_input(messages: Iterable[Message]) -> bytes:
    """Return a digest of *messages*, which are the input of a turn; empty if there are none."""
    hashed = b"".join(map(message_digest, messages))
    return sha256(hashed).digest()[:16] if hashed else b""
