"""Judges of requests: what each vendor refuses, written apart from what renders."""

from foldline.testing.grammars.anthropic import check_anthropic
from foldline.testing.grammars.openai_chat import check_openai_chat
from foldline.testing.grammars.openai_responses import check_openai_responses
from foldline.testing.grammars.violations import Rule, Violation


__all__ = ["Rule", "Violation", "check_anthropic", "check_openai_chat", "check_openai_responses"]
