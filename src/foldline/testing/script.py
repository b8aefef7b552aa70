"""A script: what is answered, one step after the other."""

from collections.abc import Iterable
from types import TracebackType
from typing import Generic, Self, TypeVar


__all__ = ["Script"]


_Step = TypeVar("_Step")


class Script(Generic[_Step]):
    """Steps that are taken one after the other, and how often one was wanted after the last."""

    def __init__(self, steps: Iterable[_Step], repeat: _Step | None, *, of: str) -> None:
        """
        Take *steps*, then *repeat* for ever; None makes that a surprise for the script *of* somebody.
        """
        self._steps = list(steps)
        self._repeat = repeat
        self._of = of
        self.surprises = 0
        """How often it was asked after the script had ended."""

    def check(self) -> None:
        """
        Fail unless it was asked exactly as often as its script says.

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

    def _next(self) -> _Step:
        step = self._steps.pop(0) if self._steps else self._repeat
        if step is None:
            self.surprises += 1
            message = f"the script of the {self._of} has ended"
            raise AssertionError(message)
        return step
