"""A script, and a summarizer that answers from one."""

from collections.abc import Callable, Iterable
from typing import Generic, Self, TypeAlias, TypeVar

from foldline.reduction.request import SummaryRequest


Step: TypeAlias = str | Exception | Callable[[SummaryRequest], str]
"""One answer: a string, an error to raise, or a function of the request."""

_Step = TypeVar("_Step")


class Script(Generic[_Step]):
    """Steps that are taken one after the other, and how often one was wanted after the last."""

    def __init__(self, steps: Iterable[_Step], repeat: _Step | None, *, of: str) -> None:
        """Take *steps*, then *repeat* for ever; None makes that a surprise."""
        self._steps = list(steps)
        self._repeat = repeat
        self._of = of
        self.surprises = 0
        """How often it was asked after the script had ended."""

    def check(self) -> None:
        """Raise AssertionError unless it was asked exactly as often as its script says."""
        if self.surprises or self._steps:
            message = f"{self.surprises} unexpected requests, {len(self._steps)} steps left over"
            raise AssertionError(message)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.check()

    def _next(self) -> _Step:
        step = self._steps.pop(0) if self._steps else self._repeat
        if step is None:
            self.surprises += 1
            raise AssertionError(f"the script of the {self._of} has ended")
        return step


class ScriptedSummarizer(Script[Step]):
    """
    A `Summarizer` that gives the answers of a script, and remembers what it was asked.

    As a context manager it fails at the end if it was asked too often or too seldom: a reducer
    survives a failing summarizer, so a surprise would otherwise pass unseen.
    """

    def __init__(
        self, steps: Iterable[Step] = (), *, repeat: Step | None = None, name: str = "scripted"
    ) -> None:
        """
        Answer with *steps*, one after the other, then with *repeat* for ever.

        Args:
            repeat: What to answer when the steps are used up; None makes that a surprise.
        """
        super().__init__(steps, repeat, of="summarizer")
        self.name = name
        """The identity of the summarizer."""
        self.requests: list[SummaryRequest] = []
        """What was asked, in order."""

    async def summarize(self, request: SummaryRequest) -> str:
        """Return the next answer of the script, or raise it if it is an error."""
        self.requests.append(request)
        step = self._next()
        if isinstance(step, Exception):
            raise step
        return step if isinstance(step, str) else step(request)
