"""Who writes summaries."""

from typing import Protocol, runtime_checkable

from foldline.reduction.request import SummaryRequest


__all__ = ["Summarizer"]


@runtime_checkable
class Summarizer(Protocol):
    """
    Whatever turns a prefix of a history into text: a model, or the offline digest.

    It is not promised that a request comes only once: what fails, or breaks the contract of a
    summary, is asked again.
    """

    @property
    def name(self) -> str:
        """The identity of the summarizer; a reduction made by another name is not reused."""
        ...

    async def summarize(self, request: SummaryRequest) -> str:
        """
        Return a text that stands for the request's earlier summaries and messages.

        Raises:
            Exception: Any failure; the reducer asks again, then asks the next in its chain.
        """
        ...
