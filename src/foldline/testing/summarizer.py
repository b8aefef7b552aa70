"""A summarizer that answers from a script."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from foldline.reduction.request import SummaryRequest
from foldline.testing.script import Script


__all__ = ["ScriptedSummarizer", "Step"]


Step: TypeAlias = str | Exception | Callable[[SummaryRequest], str]
"""One answer: a text, an error to raise, or a function of the request."""


class ScriptedSummarizer(Script[Step]):
    """
    A `Summarizer` that gives the answers it was told to, and remembers what it was asked.

    As a context manager it fails at the end where it was asked too often or too seldom: a reducer
    outlives a failing summarizer, so a surprise would otherwise pass unseen.
    """

    def __init__(
        self,
        steps: Iterable[Step] = (),
        *,
        repeat: Step | None = None,
        name: str = "scripted",
    ) -> None:
        """
        Answer with *steps*, one after the other, then with *repeat* for ever.

        Args:
            steps: The answers.
            repeat: What to answer when the steps are used up; None makes that a surprise.
            name: The identity of the summarizer.
        """
        super().__init__(steps, repeat, of="summarizer")
        self._name = name
        self.requests: list[SummaryRequest] = []
        """What was asked, in order."""

    @property
    def name(self) -> str:
        """The identity of the summarizer."""
        return self._name

    async def summarize(self, request: SummaryRequest) -> str:
        """
        Return the next answer of the script.

        Raises:
            Exception: The script says so, or has ended.
        """
        self.requests.append(request)
        step = self._next()
        if isinstance(step, Exception):
            raise step
        return step if isinstance(step, str) else step(request)
