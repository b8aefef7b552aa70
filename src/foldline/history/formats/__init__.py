"""Converters between messages and the formats of others, and views as valid requests."""

from collections.abc import Mapping
from types import MappingProxyType

from foldline.history.formats.anthropic import ANTHROPIC
from foldline.history.formats.converter import Converter
from foldline.history.formats.openai_chat import OPENAI_CHAT
from foldline.history.formats.openai_responses import OPENAI_RESPONSES
from foldline.history.formats.otel import OTEL
from foldline.history.messages import NativeFormat


__all__ = ["CONVERTERS"]


CONVERTERS: Mapping[NativeFormat, Converter] = MappingProxyType(
    {one.format: one for one in (OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC, OTEL)}
)
"""The converter of each wire format."""
