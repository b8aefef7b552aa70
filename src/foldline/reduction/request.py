"""What a strategy asks of a summarizer."""

from msgspec import Struct

from foldline.history.messages import Message


__all__ = ["SummaryFailure", "SummaryRequest"]


class SummaryRequest(Struct, frozen=True, kw_only=True):
    """
    One text that a strategy needs.

    The text has to stand for everything in *earlier* and *messages* together.
    """

    messages: tuple[Message, ...]
    """The newly aged messages, oldest first; empty when only *earlier* texts are merged."""

    earlier: tuple[str, ...] = ()
    """Summaries that the text replaces, oldest first: none, the previous one, or layers."""

    prompt: str
    """The instruction for a summarizer that takes one."""

    budget: int
    """The tokens to keep to; a text that is a quarter longer is still taken, one beyond that is not."""

    defects: tuple[str, ...] = ()
    """What was wrong with the text of the attempt before, one sentence each; empty at first."""

    summarizer: int = 0
    """The place, in the chain of summarizers, of the one that is asked."""


# The reason alone is given by position.
class _Failure(Struct, frozen=True):
    reason: str
    """The kind of the failure, never its message: that may quote the conversation."""


class SummaryFailure(_Failure, frozen=True, kw_only=True):
    """What a driver sends into a strategy instead of a text, when a summarizer failed."""

    defect: str = ""
    """What the summarizer is told to do better, in one sentence without text of the conversation."""
