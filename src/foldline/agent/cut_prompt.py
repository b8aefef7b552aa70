"""
The window of a server that has read only the end of a prompt.

What is counted low for another reason must not be taken for that: Ollama before 0.3 and some 0.30
counted only what was not in its cache (issues 3427 and 16414), as a model of one's own may, and some
vendors edit requests themselves.
"""

from msgspec import Struct

from foldline.agent.config import vendor_edits
from foldline.agent.events import RequestSentEvent
from foldline.history.tokens import TokenCounter
from foldline.providers.cut_prompt import READ_SHARE, cut_text
from foldline.providers.model import ChatRequest, ChatResponse
from foldline.threads.loop_state import SentRequest


# How much a count of new tokens alone differs from the estimate of them.
_OFF = 0.3
# Windows are multiples of this; the count of the half that was read is a few tokens above it.
_STEP, _KEPT = 1_024, 8


class Counted(Struct, frozen=True, kw_only=True):
    """A request and what its vendor counted."""

    request: ChatRequest
    response: ChatResponse
    event: RequestSentEvent
    before: SentRequest
    """The request before this one."""

    estimated: int
    """The tokens of the whole request, whatever the vendor counted for one before."""

    @property
    def read(self) -> int:
        """What the vendor counted; 0 if it did not."""
        return 0 if self.response.usage is None else self.response.usage.input_tokens

    def window(self, counter: TokenCounter) -> int | None:
        """Return the window of a server that has read only the end; None if it read all, or may have."""
        read, event = self.read, self.event
        if read >= self.estimated * READ_SHARE or event.is_delta:
            return None
        taken = self.before.counted if self.before.model == event.model else 0
        # What it took before fits, and of more it would read at least half of that.
        if read * 2 < taken or self._is_uncached(read) or self._is_changed():
            return None
        if cut_text(self.request, read, model=event.model, counter=counter) <= taken:
            return None
        return max(taken, read, _doubled(read))

    def _is_uncached(self, read: int) -> bool:
        fresh = self.event.fresh_tokens * self.estimated // max(self.event.tokens, 1)
        return self.event.kept_tokens > 0 and abs(read - fresh) <= fresh * _OFF

    def _is_changed(self) -> bool:
        is_held = self.response.service_thread_id or self.request.service_thread_id
        return bool(is_held or vendor_edits(self.request.settings))


def _doubled(read: int) -> int:
    half = read // (_STEP // 2) * (_STEP // 2)
    return 2 * half if read - half <= _KEPT else 0
