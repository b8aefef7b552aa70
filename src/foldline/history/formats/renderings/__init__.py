"""Views as valid requests: one module per vendor, and what they share."""

from foldline.history.formats.renderings.anthropic import AnthropicView, render_anthropic
from foldline.history.formats.renderings.openai_chat import render_openai_chat
from foldline.history.formats.renderings.openai_responses import render_openai_responses
from foldline.history.formats.renderings.sending import (
    EMPTY_NOTE,
    OPENING_NOTE,
    SUMMARY_HEADER,
    Original,
)


__all__ = [
    "EMPTY_NOTE",
    "OPENING_NOTE",
    "SUMMARY_HEADER",
    "AnthropicView",
    "Original",
    "render_anthropic",
    "render_openai_chat",
    "render_openai_responses",
]
