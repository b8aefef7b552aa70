"""
How vendors say that a request is longer than the window.

Source: the error references of the vendors, and the texts of vLLM, llama.cpp, LM Studio and Ollama.
Numbers are read from the text; the text itself is not kept.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from foldline.history.formats.fields import Object, maybe_count


__all__ = ["Overflow", "read_overflow"]


_CODES = frozenset(
    {
        "context_length_exceeded",
        "context_window_exceeded",
        "exceed_context_size_error",
        "model_context_window_exceeded",
        "request_too_large",
    }
)
_TOO_LARGE = 413
_UNRELATED = frozenset({401, 402, 403, 404, 429})
"""Statuses of other failures, such as a rate limit in tokens."""

_N = r"(?:about )?(\d[\d,]{0,14})"
_TOKENS_FIRST = tuple(
    re.compile(text, re.IGNORECASE | re.DOTALL)
    for text in (
        rf"prompt is too long: {_N}(?: tokens > |, model maximum context length: ){_N}",
        rf"input token count \(?{_N}\)? exceeds the maximum number of tokens allowed \(?{_N}",
        rf"request \({_N} tokens\) exceeds the available context size \({_N} tokens",
        rf"prompt \(length {_N}\) is longer than the maximum model length of {_N}",
        rf"prompt contains {_N} tokens.{{0,60}} too large for model with {_N} maximum",
        rf"current length is {_N} while limit is {_N}",
        rf"keep the first {_N} tokens when context.{{0,120}}context length of only {_N}",
    )
)
_WINDOW_FIRST = tuple(
    re.compile(text, re.IGNORECASE | re.DOTALL)
    for text in (
        rf"maximum context length is {_N} tokens.{{0,80}}(?:in|requested|has) {_N} (?:input )?tokens",
        rf"maximum prompt length is {_N} but the request contains {_N} tokens",
        rf"max input tokens: {_N}, request input token count: {_N}",
        rf"cannot exceed {_N} - received {_N}",
        rf"must be <= {_N}\. given: {_N}",
    )
)
_SUM = re.compile(rf"exceed context limit: {_N} \+ {_N} > {_N}", re.IGNORECASE)
_NUMBERLESS = re.compile(
    r"prompt is too long|prompt too long|input is too long for requested model"
    r"|exceeds? the (?:available )?context (?:size|window|length)|maximum context length"
    r"|exceed(?:ed|s)? (?:the )?max(?:imum)? context length|too many input tokens"
    r"|exceeds the maximum number of (?:input )?tokens|context window exceeds limit",
    re.IGNORECASE,
)


class Overflow(Struct, frozen=True, kw_only=True):
    """What a vendor said about a request that was too long."""

    window: int | None = None
    """The context window in tokens, if it said so."""

    tokens: int | None = None
    """The size of the request in tokens, if it said so."""


def read_overflow(*, status: int | None, codes: tuple[str, ...], error: Object) -> Overflow | None:
    """Return what *error*, the vendor's own, says about an overflow; None for other failures."""
    if status in _UNRELATED:
        return None
    message = error.get("message")
    found = _from_text(message if isinstance(message, str) else "")
    if found is None and (status == _TOO_LARGE or not _CODES.isdisjoint(codes)):
        found = Overflow()
    if found is None or found.window is not None:
        return found
    # llama.cpp names both beside its text.
    window, tokens = maybe_count(error.get("n_ctx")), maybe_count(error.get("n_prompt_tokens"))
    return Overflow(window=window or None, tokens=tokens or None)


def _from_text(text: str) -> Overflow | None:
    for tokens, window in _pairs(text):
        return Overflow(window=window, tokens=tokens)
    return Overflow() if _NUMBERLESS.search(text) else None


def _pairs(text: str) -> Iterator[tuple[int, int]]:
    for pattern in _TOKENS_FIRST:
        if found := pattern.search(text):
            yield _number(found[1]), _number(found[2])
    for pattern in _WINDOW_FIRST:
        if found := pattern.search(text):
            yield _number(found[2]), _number(found[1])
    if found := _SUM.search(text):
        yield _number(found[1]) + _number(found[2]), _number(found[3])


def _number(text: str) -> int:
    return int(text.replace(",", ""))
