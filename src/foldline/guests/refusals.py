"""What follows when a vendor refuses a view as too long."""

from collections.abc import Generator
from contextlib import contextmanager

from foldline.agent.arguments import by_refusal
from foldline.errors import ContextOverflowError
from foldline.history.formats.wire import maybe_count, maybe_object
from foldline.providers.vendors.failure import error_of, model_error
from foldline.reduction.config import AgentRunConfig


# As often as an agent of ours: a window may be far smaller than the one that is assumed.
_MOST = 3


class Refusals:
    """The refusals of one call of a model, each of which is answered by a view of a quarter."""

    def __init__(self) -> None:
        """Begin with none."""
        self._sent: list[int] = []
        self.sent = 0
        """The tokens of the view that was sent last."""
        self.overrides: AgentRunConfig | None = None
        """The overrides for the next view."""
        self.is_over = False
        """Whether a piece of the answer was shown, after which nothing is asked again."""

    def after(self, sent: int) -> AgentRunConfig | None:
        """
        Return the overrides for the next view, since that of *sent* tokens was refused.

        None if it came to be no smaller than the one before, or was refused too often.
        """
        before = self._sent[-1] if self._sent else sent + 1
        self._sent.append(sent)
        again = sent < before and len(self._sent) <= _MOST
        self.overrides = by_refusal(sent) if again else None
        return self.overrides

    def answers(self, error: Exception) -> bool:
        """Whether to ask again after *error*, which may be a refusal of the last view."""
        return not self.is_over and is_too_long(error) and self.after(self.sent) is not None

    @contextmanager
    def asking(self) -> Generator[None]:
        """Go on behind the block if the last view is refused in it and to be made smaller."""
        try:
            yield
        except Exception as error:
            if not self.answers(error):
                raise


def is_too_long(error: BaseException | None) -> bool:
    """Whether *error*, or what it was raised from, is a vendor's refusal of a request as too long."""
    while error is not None:
        if isinstance(error, ContextOverflowError):
            return True
        status = maybe_count(getattr(error, "status_code", None)) or None
        body = getattr(error, "body", None)
        said = {"message": f"{error}", **(error_of(body) or maybe_object(body))}
        if isinstance(model_error("", status=status, error=said), ContextOverflowError):
            return True
        error = error.__cause__
    return False
