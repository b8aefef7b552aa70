"""What a strategy works with and what it comes back with."""

from msgspec import Struct

from foldline.history.history import History
from foldline.reduction.state import HistoryReductionState, SummaryLayer


__all__ = ["Draft", "Task", "Writing"]


class Task(Struct, frozen=True, kw_only=True):
    """A fold to make."""

    history: History
    """All that was said."""

    base: HistoryReductionState | None
    """The reduction in force, which the fold goes on from."""

    cut: int
    """The cut to move to."""

    leaving: int
    """The tokens of the messages that leave the view; a summary has to be smaller."""

    prompt: str
    """The instruction for summarizers."""

    summarizers: int
    """How many summarizers there are to ask, one after the other."""

    summary_budget: int
    """The tokens that one summary is asked to keep to."""

    window: int | None = None
    """The most tokens that a summarizer may be given to read at once; None is any number."""

    @property
    def start(self) -> int:
        """The index of the first message that is newly aged."""
        return 0 if self.base is None else self.base.summarized_up_to_index


class Writing(Struct, frozen=True, kw_only=True):
    """What asking for one text cost, and the text where there is one."""

    text: str | None = None
    """The text; None where every summarizer failed."""

    tokens: int = 0
    """Its estimated tokens."""

    summarizer: int | None = None
    """The place in the chain of who wrote it."""

    calls: int = 0
    """How often a summarizer was asked."""

    tokens_read: int = 0
    """The tokens that were given to read, over all calls."""

    failures: tuple[str, ...] = ()
    """What went wrong on the way: kinds of errors, and defects of texts."""


class Draft(Struct, frozen=True, kw_only=True):
    """What takes the place of the messages, before it is judged."""

    written: bool = True
    """Whether there is a draft at all; every summarizer failed where there is none."""

    summary: str = ""
    """The summary; empty where messages are dropped."""

    tokens: int = 0
    """Its estimated tokens."""

    layers: tuple[SummaryLayer, ...] = ()
    """The summaries one by one, where there are layers."""

    merged: bool = False
    """Whether layers were merged, which makes the layers before no longer a part of these."""

    writing: Writing = Writing()
    """What it cost, the text of the last call, and who wrote it."""
