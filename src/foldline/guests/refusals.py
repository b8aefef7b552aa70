"""What follows when a vendor refuses a view as too long."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from contextlib import AsyncExitStack, contextmanager
from typing import TypeVar

from foldline.agent.arguments import RequestOptions, by_refusal
from foldline.agent.reduced import ReducedHistory
from foldline.errors import ContextOverflowError
from foldline.history.formats.wire import maybe_count, maybe_object
from foldline.providers.vendors.failure import error_of, model_error
from foldline.reduction.config import AgentRunConfig
from foldline.reduction.state import HistoryReductionState


_Object = TypeVar("_Object")

# As often as an agent of ours: a window may be far smaller than the one that is assumed.
_MOST = 3


def is_too_long(error: BaseException | None) -> bool:
    """Whether *error*, or what it was raised from, is a vendor's refusal of a request as too long."""
    # `raise error from error` makes a ring.
    seen = list[BaseException]()
    while error is not None and error not in seen:
        if isinstance(error, ContextOverflowError):
            return True
        status = maybe_count(getattr(error, "status_code", None)) or None
        body = getattr(error, "body", None)
        said = {"message": f"{error}", **(error_of(body) or maybe_object(body))}
        if isinstance(model_error("", status=status, error=said), ContextOverflowError):
            return True
        seen.append(error)
        error = error.__cause__
    return False


class Refusals:
    """The refusals of one call of a model, each of which is answered by a view of a quarter."""

    def __init__(self, is_one: Callable[[Exception], bool] = is_too_long) -> None:
        """Begin with none; *is_one* says whether an error is one."""
        self._is_one = is_one
        self._refused: list[int] = []
        self._sent = 0
        self._state: HistoryReductionState | None = None
        self.overrides: AgentRunConfig | None = None
        """The overrides for the next view."""
        self.is_over = False
        """Whether a piece of the answer was shown, after which nothing is asked again."""

    def shown(self, reduced: ReducedHistory[_Object]) -> list[_Object]:
        """Return the view of *reduced*, which is sent now."""
        self._sent, self._state = reduced.event.reduced_tokens, reduced.state
        return reduced.messages

    def over(self, facts: RequestOptions) -> RequestOptions:
        """Return *facts* for the next view, which goes on from the fold of one that was refused."""
        # Without a state the reducer remembers that fold itself, also for the next call.
        state = facts.get("state") and self._state
        return {**facts, "state": state, "overrides": self.overrides} if self.overrides else facts

    def begin(self) -> None:
        """Forget those of the call before."""
        self._refused.clear()

    def fold(self) -> bool:
        """
        Set the overrides for the next view, since the last one was refused.

        False if that came to be no smaller than the one before, or too many were refused.
        """
        before = self._refused[-1] if self._refused else self._sent + 1
        self._refused.append(self._sent)
        again = self._sent < before and len(self._refused) <= _MOST
        self.overrides = by_refusal(self._sent) if again else None
        return again

    def answers(self, error: Exception) -> bool:
        """Whether to ask again after *error*, which may be a refusal of the last view."""
        return not self.is_over and self._is_one(error) and self.fold()

    @contextmanager
    def asking(self) -> Generator[None]:
        """Go on behind the block if the last view is refused in it and to be made smaller."""
        try:
            yield
        except Exception as error:
            if not self.answers(error):
                raise

    async def stream(
        self,
        ask: Callable[[], Awaitable[AsyncIterator[_Object]]],
        *,
        openings: frozenset[str] = frozenset(),
    ) -> AsyncGenerator[_Object]:
        """
        Yield the pieces of the stream that *ask* returns, which asks again while it is refused.

        Pieces whose `type` is one of the *openings* come before a vendor has judged the request. Closing
        this closes the stream.
        """
        while True:
            async with AsyncExitStack() as stack:
                stack.enter_context(self.asking())
                pieces = await ask()
                if isinstance(pieces, AsyncGenerator):
                    stack.push_async_callback(pieces.aclose)
                async for one in pieces:
                    self.is_over |= getattr(one, "type", None) not in openings
                    yield one
                return
