"""
Secrets taken out of text before any of it can enter a digest.

A rule is tried only if one of its hints, a literal that every match contains, is in the text; so
text without secrets costs a few substring searches.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from foldline.reduction.contract import REDACTED


__all__ = ["REDACTION_RULES", "redact"]


class _RedactionRule(Struct, frozen=True):
    """
    One shape of secret, and what the marker in its place says.

    Every text that the pattern matches has one of the hints, in lower case. A group called `keep`
    before the secret stays.
    """

    name: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]


def _rule(name: str, hints: str, pattern: str) -> _RedactionRule:
    return _RedactionRule(name, tuple(hints.split()), re.compile(pattern))


REDACTION_RULES = (
    _rule(
        "private key",
        "private",
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?s:.*?)(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    ),
    # The lookahead reads a run of characters once, however many tokens could begin inside it.
    _rule(
        "json web token",
        "eyj",
        r"(?P<keep>(?<![\w-])(?=[\w-]*+\.[\w-]{8,}+\.)[\w-]*?\b)eyJ[\w-]{8,}+\.[\w-]{8,}+\.[\w-]*+",
    ),
    _rule("anthropic key", "sk-ant-", r"\bsk-ant-[\w-]{16,}"),
    _rule("openai key", "sk-", r"\bsk-[\w-]{20,}"),
    _rule("aws key id", "akia asia", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    _rule(
        "github token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"\b(?:gh[opusr]|github_pat)_\w{20,}",
    ),
    _rule("gitlab token", "glpat-", r"\bglpat-[\w-]{16,}"),
    _rule("slack token", "xox", r"\bxox[abeoprs]-[\w-]{10,}"),
    _rule("slack webhook", "hooks.slack.com", r"\bhooks\.slack\.com/services/[\w/]{16,}"),
    _rule("google key", "aiza", r"\bAIza[\w-]{35}"),
    _rule("google token", "ya29.", r"\bya29\.[\w.-]{20,}"),
    _rule("stripe key", "_live_ _test_ whsec_", r"\b(?:[psr]k_(?:live|test)|whsec)_\w{16,}"),
    _rule("huggingface token", "hf_", r"\bhf_[A-Za-z0-9]{20,}"),
    _rule("package token", "npm_ pypi-", r"\b(?:npm_[A-Za-z0-9]{30,}|pypi-[\w-]{40,})"),
    _rule("sendgrid key", "sg.", r"\bSG\.[\w-]{16,}\.[\w-]{16,}"),
    _rule("telegram token", ":aa", r"\b\d{8,10}:AA[\w-]{32,}"),
    _rule(
        "authorization",
        "bearer basic",
        r"(?i)(?P<keep>\b(?:bearer|authorization:\s*basic)\s+)[\w.~+/-]{16,}=*",
    ),
    _rule("password", "://", r"(?P<keep>://[^\s/:@]{0,80}:)[^\s/@]{1,200}(?=@)"),
    _rule(
        "password",
        "passw",
        r"(?i)(?P<keep>\bpassw(?:or)?d(?: is|:) )(?=\S{0,80}\d)[^\s\[]{6,80}",
    ),
    _rule(
        "secret",
        "passw secret token api_key api-key apikey access_key private_key",
        r"(?i)(?P<keep>(?:passwo?r?d|secret|(?<![a-z])token|api[_-]?key|access_key|private_key)"
        r"(?:[\"']\s{0,3}:\s{0,3}[\"']?|\s{0,3}[=:]\s{0,3}[\"']|=))"
        r"(?:\\.|[^\s\"'\[\\,;&]){6,400}",
    ),
)
"""The shapes, in the order in which they are tried."""

_CARD = re.compile(r"(?<![\w.-])[3-6]\d{3}(?:[ -]?\d{2,6}){2,4}(?![\w-])")
_CARD_LENGTHS = range(13, 20)


def redact(text: str) -> str:
    """Return *text* with a marker in place of every secret of a known shape."""
    lowered = text.lower()
    for rule in REDACTION_RULES:
        if any(hint in lowered for hint in rule.hints):
            text = rule.pattern.sub(_marker(rule), text)
    return _CARD.sub(_card_marker, text)


def _marker(rule: _RedactionRule) -> str:
    keep = r"\g<keep>" if "keep" in rule.pattern.groupindex else ""
    return keep + REDACTED.format(rule.name)


def _card_marker(match: re.Match[str]) -> str:
    digits = [int(char) for char in match[0] if char.isdigit()]
    is_card = len(digits) in _CARD_LENGTHS and sum(_luhn(digits)) % 10 == 0
    return REDACTED.format("card number") if is_card else match[0]


def _luhn(digits: list[int]) -> Iterator[int]:
    for place, digit in enumerate(reversed(digits)):
        doubled = digit * 2 if place % 2 else digit
        yield doubled % 10 + doubled // 10
