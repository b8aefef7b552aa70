"""What follows when a vendor refuses a view as too long."""

from foldline.agent.arguments import by_refusal
from foldline.reduction.config import AgentRunConfig


# As often as an agent of ours: a window may be far smaller than the one that is assumed.
_MOST = 3


class Refusals:
    """The refusals of one call of a model, each of which is answered by a view of a quarter."""

    def __init__(self) -> None:
        """Begin with none."""
        self._sent: list[int] = []

    def after(self, sent: int) -> AgentRunConfig | None:
        """
        Return the overrides for the next view, since that of *sent* tokens was refused.

        None if it came to be no smaller than the one before, or was refused too often.
        """
        before = self._sent[-1] if self._sent else sent + 1
        self._sent.append(sent)
        return by_refusal(sent) if sent < before and len(self._sent) <= _MOST else None
