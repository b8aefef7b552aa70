"""A model that counts cache reads as vendors do, from the bytes that they would be sent."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Literal

from foldline.history.codec import encode_json
from foldline.history.formats import CONVERTERS
from foldline.history.messages import Message, NativeFormat, Usage
from foldline.history.tokens import TokenEstimator, count_message
from foldline.providers.model import ChatRequest, ChatResponse


BLOCK = 128
MINIMUM = 1_024
_LOOKBACK = 20
_ESTIMATOR = TokenEstimator()

Piece = tuple[bytes, int]
"""The bytes of the tools or of one message, and their tokens."""


class CachingVendor:
    """
    Answers with *answer*, and reports what its prompt cache served.

    `openai` serves the longest beginning that any request before had, in whole blocks. `anthropic`
    serves up to a breakpoint of a request before; breakpoints are after the tools and the first
    system messages, and after the last message.
    """

    def __init__(
        self,
        answer: Callable[[ChatRequest], Message],
        *,
        like: Literal["openai", "anthropic"] = "openai",
        name: str = "caching",
    ) -> None:
        self.name = name
        self._answer = answer
        self._like = like
        self._seen: list[list[Piece]] = []
        self._written: set[tuple[bytes, ...]] = set()

    async def respond(self, request: ChatRequest) -> ChatResponse:
        # A request that fails is not cached.
        said, pieces = self._answer(request), self._pieces(request)
        tokens = sum(size for _, size in pieces)
        served = (
            self._openai(pieces) if self._like == "openai" else self._anthropic(pieces, request)
        )
        usage = Usage(input_tokens=tokens, cache_read_tokens=served if served >= MINIMUM else 0)
        return ChatResponse(
            messages=(said,),
            usage=usage,
            model=self.name,
            finish_reason="tool_call" if said.tool_calls else "stop",
        )

    def forget(self) -> None:
        """Drop everything from the cache."""
        self._seen.clear()
        self._written.clear()

    def _pieces(self, request: ChatRequest) -> list[Piece]:
        native = {"openai": NativeFormat.OPENAI_CHAT, "anthropic": NativeFormat.ANTHROPIC}
        converter = CONVERTERS[native[self._like]]
        schemas = [encode_json(tool).decode() for tool in request.tools]
        pieces = [("".join(schemas).encode(), sum(map(_ESTIMATOR.count, schemas)))]
        for message in request.messages:
            items: list[dict[str, Any]] = converter.items([message])
            pieces.append((encode_json(items), count_message(message, _ESTIMATOR)))
        return pieces

    def _openai(self, pieces: list[Piece]) -> int:
        most = max((_common(one, pieces) for one in self._seen), default=0)
        self._seen.append(pieces)
        return most // BLOCK * BLOCK

    def _anthropic(self, pieces: list[Piece], request: ChatRequest) -> int:
        front = next(at for at, one in enumerate(request.messages, 1) if one.role != "system")
        parts, sums = [part for part, _ in pieces], [*accumulate(size for _, size in pieces)]
        breakpoints = (front, len(pieces))
        served = 0
        for end in breakpoints:
            for length in range(end, max(0, end - _LOOKBACK), -1):
                if tuple(parts[:length]) in self._written:
                    served = max(served, sums[length - 1])
                    break
        self._written.update(tuple(parts[:end]) for end in breakpoints)
        return served


def _common(before: Sequence[Piece], after: Sequence[Piece]) -> int:
    total = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            break
        total += one[1]
    return total
