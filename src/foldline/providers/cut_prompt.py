"""
A prompt of which a server has read only the end, without saying so.

Ollama does that with what is longer than its `num_ctx` (4,096 tokens on most machines): it leaves out
the oldest messages of a chat, and of what is still longer it reads half of that window. The count of
its answer is all that tells (ollama issues 3839, 17427 and 17889).
"""

import re

from foldline.history.messages import Usage
from foldline.history.parts import TextPart, ToolCallPart, ToolCallResponsePart
from foldline.history.tokens import TokenCounter
from foldline.providers.book import is_own
from foldline.providers.model import ChatRequest
from foldline.reduction.speech import unannounced


CUT = (
    "%s has read %d of some %d tokens and left out the beginning, so its window seems to be %d: set "
    "num_ctx or OLLAMA_CONTEXT_LENGTH of the server, and %s to the same"
)
"""What a log says of it."""

# Half of the smallest window that a server has by default.
_LEAST = 1_000
# Of a window, a multiple of 1,024, it reads the first four tokens and half of the others.
_HALF_STEP, _BESIDES = 512, 2
# How much a count of new tokens alone differs from the estimate of them.
_OFF = 0.3
# Those of vendors that refuse what is too long, also behind a proxy.
_REFUSES = re.compile(r"claude|gemini|(?:^|[:/])(?:gpt-\d|chatgpt|o\d)").search


def cut_window(
    request: ChatRequest,
    usage: Usage,
    *,
    model: str,
    counter: TokenCounter,
    estimated: int | None = None,
    taken: int = 0,
    fresh: int | None = None,
) -> int | None:
    """
    Return the window of a server that has read less than half of *request*; None if it read more.

    Chinese is the text that other vocabularies than OpenAI's write with the fewest tokens, 0.58 of the
    estimate at least. *estimated* is the whole request, with its tools, of which *fresh* were not in the
    request before; of that the server has *taken* so much.
    """
    name, read = model.strip().lower(), usage.input_tokens
    # Some proxies do not count what came from a cache.
    if read < max(_LEAST, usage.cache_read_tokens + usage.cache_write_tokens):
        return None
    if _REFUSES(name) or not (is_own(name) or ":" not in name):
        return None
    # Nor did Ollama before 0.3, and its 0.30.0 (issues 3427 and 16414).
    if fresh is not None and fresh != estimated and abs(read - fresh) <= fresh * _OFF:
        return None
    is_half = read % _HALF_STEP == _BESIDES
    if estimated is None or (read * 2 < estimated and not is_half):
        estimated = _text_tokens(request, counter)
    # What it took before fits, and of more it would read at least half of that.
    if read * 2 >= estimated or read * 2 < taken:
        return None
    return max(taken, (read - _BESIDES) * 2 if is_half else read)


def _text_tokens(request: ChatRequest, counter: TokenCounter) -> int:
    # What every server counts alike: images cost what each of them likes, some proxies count no
    # tools, and templates leave earlier thoughts out.
    total = 0
    for part in (part for message in request.messages for part in message.parts):
        match part:
            case TextPart(content=text):
                total += counter.count(unannounced(text))
            case ToolCallPart(arguments=text) | ToolCallResponsePart(response=str() as text):
                total += counter.count(text)
            case _:
                pass
    return total
