"""
A prompt of which a server has read only the end, without saying so.

Ollama does that with what is longer than its `num_ctx` (4,096 tokens on most machines): it reads half
of that window and answers. The count of its answer is all that tells (ollama issues 3839, 17427 and
17889).
"""

from typing import Final

from foldline.history.parts import TextPart, ToolCallPart, ToolCallResponsePart
from foldline.history.tokens import MESSAGE_TOKENS, TokenCounter
from foldline.providers.book import parted
from foldline.providers.model import ChatRequest


READ_SHARE: Final = 0.6
"""A count of less than this share of the text alone: the estimate of a text is hardly off by so much."""

# Half of the smallest window that a server has by default.
_LEAST = 1_000
# Vendors that refuse what is too long, or say that they cut it.
_REFUSE = frozenset({"anthropic", "azure", "bedrock", "google", "openai"})


def cut_text(request: ChatRequest, read: int, *, model: str, counter: TokenCounter) -> int:
    """Return the tokens of the text in *request* if far fewer were *read* where *model* runs; else 0."""
    vendor, name = parted(model)
    if read < _LEAST or (name and vendor in _REFUSE):
        return 0
    text = _text_tokens(request, counter)
    return text if read < text * READ_SHARE else 0


def _text_tokens(request: ChatRequest, counter: TokenCounter) -> int:
    # What every vendor counts alike: images cost what each of them likes, and templates leave
    # earlier thoughts out.
    total = MESSAGE_TOKENS * len(request.messages)
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, TextPart):
                total += counter.count(part.content)
            elif isinstance(part, ToolCallPart):
                total += counter.count(part.arguments)
            elif isinstance(part, ToolCallResponsePart) and isinstance(part.response, str):
                total += counter.count(part.response)
    return total
