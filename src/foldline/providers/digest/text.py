"""
Text cleaned for a digest: without secrets of a known shape, and cut between words.

A rule is tried only if one of its hints, a literal that every match contains, is in the text; so
text without secrets costs a few substring searches.
"""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from foldline.reduction.provenance import REDACTED


__all__ = [
    "ELLIPSIS",
    "MOST_READ",
    "REDACTION_RULES",
    "attribute",
    "bare",
    "clean",
    "distinct",
    "ends",
    "one_line",
    "redact",
    "shorten",
]


class _Rule(Struct, frozen=True):
    """One shape of secret; the hints are in lower case, and a group called `keep` is kept."""

    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    marker: str


def _rule(name: str, hints: str, pattern: str) -> _Rule:
    compiled = re.compile(pattern)
    keep = r"\g<keep>" if "keep" in compiled.groupindex else ""
    return _Rule(tuple(hints.split()), compiled, keep + REDACTED.format(name))


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
        "password", "passw", r"(?i)(?P<keep>\bpassw(?:or)?d(?: is|:) )(?=\S{0,80}\d)[^\s\[]{6,80}"
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

_HINTS = tuple(dict.fromkeys(hint for rule in REDACTION_RULES for hint in rule.hints))
_DIGITS = "0123456789"
# A pattern that begins with characters is searched several times as fast as with a condition.
_CARD = re.compile(r"[3-6](?<![\w.-].)\d{3}(?:[ -]?\d{2,6}){2,4}(?![\w-])")
_CARD_LENGTHS = range(13, 20)


def redact(text: str) -> str:
    """Return *text* with a marker in place of every secret of a known shape."""
    lowered = text.lower()
    if [hint for hint in _HINTS if hint in lowered]:
        for rule in REDACTION_RULES:
            if any(hint in lowered for hint in rule.hints):
                text = rule.pattern.sub(rule.marker, text)
    # A count costs much less than a search.
    if sum(map(text.count, _DIGITS)) < _CARD_LENGTHS.start:
        return text
    return _CARD.sub(_card_marker, text)


def _card_marker(match: re.Match[str]) -> str:
    digits = [int(char) for char in match[0] if char.isdigit()]
    is_card = len(digits) in _CARD_LENGTHS and sum(_luhn(digits)) % 10 == 0
    return REDACTED.format("card number") if is_card else match[0]


def _luhn(digits: list[int]) -> Iterator[int]:
    for place, digit in enumerate(reversed(digits)):
        doubled = digit * 2 if place % 2 else digit
        yield doubled % 10 + doubled // 10


ELLIPSIS = "…"
"""What marks where text was cut off."""

MOST_READ = 100_000
"""How many characters of one text a digest reads; of a longer one, its beginning and its end."""

_SAYS = ": "
_HEAD = MOST_READ * 2 // 3
_TAIL = MOST_READ - _HEAD
_EDGES = " \n\t\"',;"
# A private key whose beginning was left out.
_KEY_REST = re.compile(
    r"(?s:(?!-----BEGIN ).)*?-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
).match
_UNPRINTABLE = re.compile("[\ud800-\udfff\x00-\x08\x0e-\x1f\x7f]")


def clean(text: str) -> str:
    """Return *text* without secrets and without characters that UTF-8 or a model cannot take."""
    return redact(text if text.isprintable() else _UNPRINTABLE.sub(" ", text))


def ends(text: str) -> str:
    """
    Return *text*, or the beginning and the end of one that is longer than `MOST_READ`.

    It is cut between words, so that no half of a secret or of an identifier remains.
    """
    if len(text) <= MOST_READ:
        return text
    head, tail = text[:_HEAD], text[-_TAIL:]
    head = head[: 1 + max(map(head.rfind, _EDGES))] or head
    tail = tail[min((place for place in map(tail.find, _EDGES) if place >= 0), default=0) :]
    key = _KEY_REST(tail)
    return f"{head}\n{tail[key.end() :] if key else tail}"


def one_line(text: str) -> str:
    """Return *text* with every run of white space, line breaks included, as one space."""
    return " ".join(text.split())


def shorten(text: str, *, limit: int) -> str:
    """
    Return the beginning of *text*, at most *limit* characters, never cut inside an ASCII word.

    So no identifier comes out as another, shorter one. The result is empty if its first word alone
    is longer.
    """
    if len(text) <= limit:
        return text
    end = max(limit - 2, 0)
    while end and _is_inside_word(text, end):
        end -= 1
    kept = text[:end].rstrip().removesuffix(ELLIPSIS).rstrip()
    return f"{kept} {ELLIPSIS}" if kept else ""


def _is_inside_word(text: str, index: int) -> bool:
    before, after = text[index - 1], text[index]
    return before.isascii() and after.isascii() and not (before.isspace() or after.isspace())


def attribute(role: str, text: str) -> str:
    """Return *text* after who said it."""
    return f"{role}{_SAYS}{text}"


def bare(text: str) -> str:
    """Return *text* without who said it."""
    return text.partition(_SAYS)[2] or text


def distinct(texts: Iterable[str]) -> list[str]:
    """Keep the last of equal *texts*, in order."""
    return list(dict.fromkeys(reversed([text for text in texts if text])))[::-1]
