"""
A prompt of which a server has read only the end, without saying so.

Ollama does that with what is longer than its `num_ctx` (4,096 tokens on most machines): it reads half
of that window and answers. The count of its answer is all that tells (ollama issues 3839, 17427 and
17889). What is counted low for another reason must not be taken for it: Ollama before 0.3 and some
0.30 counted only what was not in its cache (issues 3427 and 16414), templates leave earlier thoughts
out, images cost what each vendor likes, and some vendors edit requests themselves.
"""

from msgspec import Struct

from foldline.agent.config import vendor_edits
from foldline.agent.events import RequestSentEvent
from foldline.history.parts import TextPart, ToolCallPart, ToolCallResponsePart
from foldline.history.tokens import MESSAGE_TOKENS, TokenCounter
from foldline.providers.book import parted
from foldline.providers.model import ChatRequest, ChatResponse
from foldline.threads.loop_state import SentRequest


# Vendors that refuse what is too long, or say that they cut it.
_REFUSE = frozenset({"anthropic", "azure", "bedrock", "google", "openai"})
# A count of less than this share of the text alone; the estimate of a text is hardly off by so much.
_READ_SHARE = 0.6
# Half of the smallest window that a server has by default.
_LEAST = 1_000
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
        if read < _LEAST or read >= self.estimated * _READ_SHARE or event.is_delta:
            return None
        taken = self.before.counted if self.before.model == event.model else 0
        # What it took before fits, and of more it would read at least half of that.
        if read * 2 < taken or self._is_uncached(read) or not self._may_cut():
            return None
        text = self._text_tokens(counter)
        if text <= taken or read >= text * _READ_SHARE:
            return None
        return max(taken, read, _doubled(read))

    def _is_uncached(self, read: int) -> bool:
        fresh = self.event.fresh_tokens * self.estimated // max(self.event.tokens, 1)
        return self.event.kept_tokens > 0 and abs(read - fresh) <= fresh * _OFF

    def _may_cut(self) -> bool:
        vendor, model = parted(self.event.model)
        is_held = self.response.service_thread_id or self.request.service_thread_id
        is_local = not model or vendor not in _REFUSE
        return is_local and not is_held and not vendor_edits(self.request.settings)

    def _text_tokens(self, counter: TokenCounter) -> int:
        """Return the tokens of what every vendor counts alike."""
        total = MESSAGE_TOKENS * len(self.request.messages)
        for message in self.request.messages:
            for part in message.parts:
                if isinstance(part, TextPart):
                    total += counter.count(part.content)
                elif isinstance(part, ToolCallPart):
                    total += counter.count(part.arguments)
                elif isinstance(part, ToolCallResponsePart) and isinstance(part.response, str):
                    total += counter.count(part.response)
        return total


def _doubled(read: int) -> int:
    half = read // (_STEP // 2) * (_STEP // 2)
    return 2 * half if read - half <= _KEPT else 0
