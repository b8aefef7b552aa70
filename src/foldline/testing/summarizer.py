"""
A summarizer that answers from a script.
"""

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self, TypeAlias

from foldline.reduction.request import SummaryRequest


__all__ = ["ScriptedSummarizer", "Step"]


Step: TypeAlias = str | Exception | Callable[[SummaryRequest], str]
"""One answer: a text, an error to raise, or a function of the request."""


class ScriptedSummarizer:
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
        self._steps = list(steps)
        self._repeat = repeat
        self._name = name
        self.requests: list[SummaryRequest] = []
        """What was asked, in order."""
        self.surprises = 0
        """How often it was asked after the script had ended."""

    @property
    def name(self) -> str:
        """
        The identity of the summarizer.
        """
        return self._name

    async def summarize(self, request: SummaryRequest) -> str:
        """
        Return the next answer of the script.

        Raises:
            Exception: The script says so, or has ended.
        """
        self.requests.append(request)
        step = self._steps.pop(0) if self._steps else self._repeat
        if step is None:
            self.surprises += 1
            message = "the script of the summarizer has ended"
            raise AssertionError(message)
        if isinstance(step, Exception):
            raise step
        return step if isinstance(step, str) else step(request)

    def check(self) -> None:
        """
        Fail unless the summarizer was asked exactly as often as its script says.

        Raises:
            AssertionError: It was asked after its end, or steps are left over.
        """
        if self.surprises or self._steps:
            message = f"{self.surprises} unexpected requests, {len(self._steps)} steps left over"
            raise AssertionError(message)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.check()
