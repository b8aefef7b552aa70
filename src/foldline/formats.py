"""Messages from and to the formats of vendors; same format in, same format out is byte-equal."""

from foldline.history.formats.anthropic import from_anthropic, to_anthropic
from foldline.history.formats.openai_chat import from_openai_chat, to_openai_chat
from foldline.history.formats.openai_responses import from_openai_responses, to_openai_responses
from foldline.history.formats.otel import from_otel, to_otel
from foldline.history.formats.renderings.anthropic import render_anthropic
from foldline.history.formats.renderings.openai_chat import render_openai_chat
from foldline.history.formats.renderings.openai_responses import render_openai_responses
from foldline.history.messages import NativeFormat


__all__ = [
    "NativeFormat",
    "from_anthropic",
    "from_openai_chat",
    "from_openai_responses",
    "from_otel",
    "render_anthropic",
    "render_openai_chat",
    "render_openai_responses",
    "to_anthropic",
    "to_openai_chat",
    "to_openai_responses",
    "to_otel",
]
