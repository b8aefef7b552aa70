"""
The token counts that vendors report, as one kind of record.

Vendors disagree on what the input count covers: OpenAI's includes what the cache served,
Anthropic's leaves it out. Here it is always included.
"""

from foldline.history.formats.fields import Object, maybe_count, maybe_object
from foldline.history.messages import Usage


__all__ = ["anthropic_usage", "openai_usage", "usage_or_none"]


def openai_usage(report: Object) -> Usage | None:
    """
    Return the counts of an OpenAI *report*, of Chat Completions or Responses; None without any.
    """
    read = report.get("prompt_tokens_details") or report.get("input_tokens_details")
    written = report.get("completion_tokens_details") or report.get("output_tokens_details")
    return usage_or_none(
        input_tokens=maybe_count(report.get("prompt_tokens", report.get("input_tokens"))),
        output_tokens=maybe_count(report.get("completion_tokens", report.get("output_tokens"))),
        cache_read_tokens=maybe_count(maybe_object(read).get("cached_tokens")),
        cache_write_tokens=maybe_count(maybe_object(read).get("cache_write_tokens")),
        reasoning_tokens=maybe_count(maybe_object(written).get("reasoning_tokens")),
    )


def anthropic_usage(report: Object) -> Usage | None:
    """Return the counts of an Anthropic *report*; None without any."""
    cache_read = maybe_count(report.get("cache_read_input_tokens"))
    cache_write = maybe_count(report.get("cache_creation_input_tokens"))
    written = maybe_object(report.get("output_tokens_details"))
    return usage_or_none(
        input_tokens=maybe_count(report.get("input_tokens")) + cache_read + cache_write,
        output_tokens=maybe_count(report.get("output_tokens")),
        cache_read_tokens=cache_read,
        cache_write_tokens=cache_write,
        reasoning_tokens=maybe_count(written.get("thinking_tokens")),
    )


def usage_or_none(**counts: int) -> Usage | None:
    """
    Return the *counts* as a usage; None where all are 0, which is a call that reported nothing.
    """
    return Usage(**counts) if any(counts.values()) else None
