"""
Text cleaned for a digest: without secrets of a known shape, and cut between words.

A rule is tried only if one of its hints, a literal that every match contains, is in the text; so
text without secrets costs a few substring searches. A pattern holds up the other threads of the
process while it searches, so a long text is searched in pieces.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from string import ascii_letters, digits

from msgspec import Struct

from foldline.reduction.provenance import REDACTED
from foldline.reduction.sources import as_shown


class _Rule(Struct, frozen=True):
    """One shape of secret; the hints are in lower case, and a group called `keep` is kept."""

    hints: frozenset[str]
    pattern: re.Pattern[str]
    marker: str


def _rule(name: str, hints: str, pattern: str) -> _Rule:
    compiled = re.compile(pattern)
    keep = r"\g<keep>" if "keep" in compiled.groupindex else ""
    return _Rule(frozenset(hints.split()), compiled, keep + REDACTED.format(name))


# A quote may be that of JSON inside of JSON.
_MARK = r"\\{0,7}[\"']"
_QUOTE = rf"(?:{_MARK})?"
# What stands between the word for a password and the password, and the password.
_IS = (
    r"(?: (?:for|of|to|on|für|vo[mn]|zu[mr]?|pour|del?|du|para|voor)(?: [^\s:]{1,40}){1,3}?)?"
    r"(?:\s?:| (?:is|ist|lautet|est|es))\s{1,3}[\"'„“”«`]?"
)
_SAID = r"(?=\S{0,80}\d)[^\s\[]{6,80}"
_OPTIONS = r"\b(?:[^\n|;&]|&(?!&)|\\\n){0,200}?\s"
# What tokens begin with that go on with twenty letters and digits or more.
_SOLID = (
    "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ hf_ npm_ gsk_ xai- pplx- r8_ csk- tvly- tvly-dev- jina_ pcsk_"
    " lsv2_pt_ lsv2_sk_ e2b_ dop_v1_ doo_v1_ dor_v1_ lin_api_ lin_oauth_ shpat_ shpca_ shppa_ shpss_"
    " ntn_ glsa_ glc_ sbp_ rubygems_ nfp_ nrak- pmak- xkeysib- pul- sqp_ squ_ dp.pt. dp.st. sntrys_"
    " sntryu_ rdme_ hrku- phx_ sk_live_ sk_test_ pk_live_ pk_test_ rk_live_ rk_test_ whsec_"
)


REDACTION_RULES = (
    _rule(
        "private key",
        "-----begin",
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?s:.*?)(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    ),
    # The lookahead reads a run of characters once, however many tokens could begin inside it.
    _rule(
        "json web token",
        "eyj",
        r"(?P<keep>(?<![\w-])(?=[\w-]*+\.[\w-]{8,}+\.)[\w-]*?\b)eyJ[\w-]{8,}+\.[\w-]{8,}+\.[\w-]*+",
    ),
    _rule("anthropic key", "sk-ant-", r"sk-(?<!\w...)ant-[\w-]{16,}"),
    _rule("openai key", "sk-", r"sk-(?<!\w...)[\w-]{20,}"),
    _rule("aws key id", "akia asia", r"A(?<!\w.)(?:KIA|SIA)[A-Z0-9]{16}\b"),
    _rule("gitlab token", "glpat-", r"\bglpat-[\w-]{16,}"),
    _rule("slack token", "xox", r"\bxox[abeoprs]-[\w-]{10,}"),
    _rule("slack webhook", "hooks.slack.com", r"\bhooks\.slack\.com/services/[\w/]{16,}"),
    _rule("google key", "aiza", r"\bAIza[\w-]{35}"),
    _rule("google token", "ya29.", r"\bya29\.[\w.-]{20,}"),
    _rule("sendgrid key", "sg.", r"SG\.(?<!\w...)[\w-]{16,}\.[\w-]{16,}"),
    _rule("twilio key", "sk", r"SK(?<!\w..)[0-9a-f]{32}\b"),
    _rule(
        "token",
        _SOLID,
        rf"\b(?i:{'|'.join(map(re.escape, _SOLID.split()))})[A-Za-z0-9]{{20}}[\w-]*",
    ),
    _rule(
        "token",
        "hv figd_ tskey- nvapi- age-secret-key- dckr_ xapp- pypi- sb_secret_ atatt3 dapi",
        r"\b(?:(?:hv[sbr]\.|figd_|tskey-|nvapi-|AGE-SECRET-KEY-|dckr_[a-z]{3}_|xapp-"
        r"|pypi-|sb_secret_|ATATT3)(?=[\w.=-]{0,80}\d)[\w.=-]{20,}|dapi[0-9a-f]{32}\b)",
    ),
    _rule("telegram token", ":aa", r"\b\d{8,10}:AA[\w-]{32,}"),
    _rule(
        "authorization",
        "bearer authorization:",
        r"(?P<keep>[AaBb][EeUu](?<!\w..)(?i:(?<=be)arer|(?<=au)thorization:\s{0,8}basic)\s{1,8})"
        r"[\w.~+/-]{16,}=*",
    ),
    _rule("password", "://", r"(?P<keep>://[^\s/:@]{0,80}:)[^\s/@]{1,200}(?=@)"),
    _rule(
        "password",
        "passw kennwort contrase",
        rf"(?i)(?P<keep>\b(?:passw(?:or)?[dt]|kennwort|contrase(?:ñ|n\u0303?)a){_IS}){_SAID}",
    ),
    # A word that ends so: most texts have one such as "passed".
    _Rule(
        frozenset({"passe ", "passe:"}),
        re.compile(rf"(?P<keep>ot de passe(?i:{_IS})){_SAID}"),
        r"\g<keep>" + REDACTED.format("password"),
    ),
    _rule(
        "password",
        "curl sshpass mysql redis-cli docker",
        r"(?P<keep>[cdmrs](?<!\w.)(?:(?<=s)shpass\s{1,3}-p"
        rf"|(?<=c)url{_OPTIONS}(?:-u|--(?:proxy-)?user)[\s=]?{_QUOTE}[^\s:\"'\\]{{1,80}}:"
        rf"|(?<=m)ysql\w{{0,8}}{_OPTIONS}-p(?=[^\s\d]|\d++[^:\d])"
        rf"|(?<=r)edis-cli{_OPTIONS}-a|(?<=d)ocker\s{{1,3}}login{_OPTIONS}-p)\s?{_QUOTE})"
        r"[^\s\"'\\\[$<][^\s\"'\\]{2,200}",
    ),
    _rule(
        "cookie",
        "cookie",
        rf"(?P<keep>[Cc](?i:ookie)(?:{_QUOTE}\s{{0,3}}[:=]\s{{0,3}}\[?|(?<=--cookie)[\s=]){_QUOTE})"
        r"[\w.-]{1,80}=[^\s\"'\\;,]{1,4000}(?:;\s?[\w.-]{1,80}=[^\s\"'\\;,]{1,4000})*",
    ),
    _rule(
        "secret",
        "passw passph secret token api_key api-key apikey access_key private_key",
        # It begins with characters, since that is searched many times as fast.
        r"(?P<keep>[AaPpSs\u017fTt][AaCcEeOoPpRr](?i:(?<=pa)ss(?:wo?r?[dt]|phrase)|(?<=pr)ivate_key"
        r"|(?<=se)c(?:ret)|(?<=to)(?<![a-z]..)ken|(?<=ap)i[_-]?key|(?<=ac)cess_key)"
        rf"(?:{_MARK}\s{{0,3}}:\s{{0,3}}|\s{{0,3}}[=:]\s{{0,3}}(?={_MARK})|=)"
        rf"(?P<quote>(?P<esc>\\{{0,7}})[\"'])?)(?!{_MARK})"
        r"(?:(?!(?P=quote))(?:(?P=esc)\\(?P=esc)[\"']|\\.|[^\s\"'\[\\,;&])){6,400}",
    ),
    # Without quotes what stands after a name is a secret only if it has a digit, and is no code.
    _rule(
        "secret",
        "passw _pass -pass secret token api_key api-key apikey access_key accesskey account_key accountkey",
        r"(?P<keep>[AaPpSsTt_-][AaCcEeOoPp](?i:(?<=pa)ssw(?:or)?[dt]|(?<=[_-]p)ass"
        r"|(?<=se)c(?:ret)(?:_?key)?|(?<=to)ken|(?<=ap)i[_-]?key"
        rf"|(?<=ac)c(?:ess|ount)_?key){_QUOTE}(?:\s{{0,3}}[:=]\s{{0,3}}|\s){_QUOTE})"
        r"(?=[^\s\"'\\,;&(){}<>]{0,80}\d)(?!\[)[^\s\"'\[\\,;&(){}<>]{8,400}",
    ),
)
"""The shapes, in the order in which they are tried."""

# A private key goes over many lines, so it is looked for in the whole text.
_KEY = REDACTION_RULES[0]
_RUN = re.compile(r"[K_.-](?<![^S]K)[A-Za-z0-9]{20}").finditer
_PREFIXES = ("sk", *_SOLID.split())
_LONGEST_PREFIX = max(map(len, _PREFIXES))
_OTHERS = frozenset[str]().union(*(rule.hints for rule in REDACTION_RULES)).difference(_PREFIXES)
# What several hints have in common is in few texts, so it is looked for first.
_COMMON = ("key", "pass", "secret", "api", "sk-")
_ALONE = sorted(hint for hint in _OTHERS if not any(common in hint for common in _COMMON))
_HINTS = tuple(
    (common, tuple(sorted(hint for hint in _OTHERS if common in hint)))
    for common in (*_COMMON, *_ALONE)
)
# What may follow these at once: "tokens" has no value.
_NAMES = frozenset(
    {"_pass", "-pass", "access_key", "accesskey", "account_key", "accountkey"}
    | {"api-key", "api_key", "apikey", "private_key", "token"}
)
_SIGNS = " \"'\\:="
# A pattern that begins with characters is searched several times as fast as with a condition.
_CARD = re.compile(r"[3-6](?<![\w.-].)\d{3}(?:[ -]?\d{2,6}){2,4}(?![\w-])")
_CARD_LENGTHS = range(13, 20)
_NO_DIGITS = bytes(set(range(256)).difference(digits.encode()))

PIECE = 16_384
"""How many characters of a text a pattern searches at once, if it can be cut there."""

# Where the end of a piece is looked for; how near to it the hint of what goes over it would be.
_CUTS = 1_024
_BEFORE, _AFTER = 128, 16


def hints_in(text: str) -> list[str]:
    """Return what is in *text* that hints at a secret; card numbers have no hint."""
    lowered = text.lower()
    likely = chain.from_iterable(few for common, few in _HINTS if common in lowered)
    return [hint for hint in likely if hint in lowered] + list(_prefixes_in(text))


def has_value(hint: str, word: str) -> bool:
    """Whether a secret can be where *word*, in lower case, has *hint*: there, or after it."""
    return hint not in _NAMES or any(f"{hint}{sign}" in f"{word} " for sign in _SIGNS)


def _prefixes_in(text: str) -> Iterator[str]:
    for found in _RUN(text):
        end = found.start() + 1
        before = text[max(end - _LONGEST_PREFIX, 0) : end].lower()
        if before.endswith(_PREFIXES):
            yield from filter(before.endswith, _PREFIXES)


def redact(text: str, hints: Collection[str] | None = None) -> str:
    """Return *text* with a marker in place of each secret; its *hints* are looked for, or given."""
    hints = hints_in(text) if hints is None else hints
    rules = [rule for rule in REDACTION_RULES if not rule.hints.isdisjoint(hints)] if hints else []
    if _KEY in rules:
        text = _KEY.pattern.sub(_KEY.marker, text)
        rules.remove(_KEY)
    if len(text) > PIECE:
        return "".join([_redacted(piece, rules) for piece in pieces(text)])
    return _redacted(text, rules)


def _redacted(text: str, rules: Iterable[_Rule]) -> str:
    for rule in rules:
        text = rule.pattern.sub(rule.marker, text)
    # A count costs much less than a search.
    count = len(text.encode(errors="replace").translate(None, _NO_DIGITS))
    return text if count < _CARD_LENGTHS.start else _CARD.sub(_card_marker, text)


def batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield *texts* in lists that have about `PIECE` characters each, or one long text."""
    batch: list[str] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= PIECE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def may_have_card(text: str) -> bool:
    """Whether *text* has what looks like the number of a card; it may be another number."""
    return _CARD.search(text) is not None


def pieces(text: str) -> Iterator[str]:
    """Yield *text* in pieces of at most `PIECE` characters; longer where a cut may hit a secret."""
    start, end = 0, PIECE
    while end < len(text):
        cut = next((place for place in range(end, end - _CUTS, -1) if _is_safe(text, place)), 0)
        if cut:
            yield text[start:cut]
        start, end = cut or start, (cut or end) + PIECE
    yield text[start:]


def _is_safe(text: str, place: int) -> bool:
    """Whether *text* can be cut before the white space at *place*: no secret is around it."""
    if not text[place].isspace() or text[place - 1] == "\\":
        return False
    if text[place - 1].isdigit() and text[place + 1 : place + 2].isdigit():
        return False
    return not hints_in(text[place - _BEFORE : place + _AFTER])


def _card_marker(match: re.Match[str]) -> str:
    number = [int(char) for char in match[0] if char.isdigit()]
    is_card = len(number) in _CARD_LENGTHS and sum(_luhn(number)) % 10 == 0
    return REDACTED.format("card number") if is_card else match[0]


def _luhn(number: list[int]) -> Iterator[int]:
    for place, digit in enumerate(reversed(number)):
        doubled = digit * 2 if place % 2 else digit
        yield doubled % 10 + doubled // 10


ELLIPSIS = "…"
"""What marks where text was cut off."""

ENDS = ".!?।؟۔。！？"  # noqa: RUF001 - signs of other scripts
"""What ends a sentence."""

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
_CONTROLS = bytes([*range(0x09), *range(0x0E, 0x20), 0x7F])


def clean(text: str) -> str:
    """Return *text* without secrets and without characters that UTF-8 or a model cannot take."""
    return redact(printable(text))


def printable(text: str) -> str:
    """Return *text* with spaces in place of the characters that UTF-8 or a model cannot take."""
    if is_printable(text):
        return text
    return "".join(_UNPRINTABLE.sub(" ", piece) for piece in pieces(as_shown(text)))


def is_printable(text: str, *, nulls: int = 0) -> bool:
    """Whether *text* has none of those characters, but for so many *nulls*."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return False
    # A count costs much less than a search.
    return len(data) - len(data.translate(None, _CONTROLS)) == nulls == data.count(0)


# JSON may write what is not ASCII so; what it has to write so stays, but for a terminal's escapes.
_ESCAPED = re.compile(
    r"(?<!\\)\\++u(?!00(?!1[bB])[0-7])(?:([dD][89abAB][0-9a-fA-F]{2})\\++u([dD][c-fC-F][0-9a-fA-F]{2})"
    r"|([0-9a-fA-F]{4}))"
)
_PLANE, _HIGH, _LOW, _HALF = 0x10000, 0xD800, 0xDC00, 10


def unescaped(text: str) -> str:
    """Return *text* with the characters that JSON has escaped, such as umlauts."""
    return _ESCAPED.sub(_character, text) if "\\u" in text else text


def _character(found: re.Match[str]) -> str:
    if found[3]:
        return chr(int(found[3], 16))
    high, low = int(found[1], 16) - _HIGH, int(found[2], 16) - _LOW
    return chr(_PLANE + (high << _HALF) + low)


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
    key = _KEY_REST(tail) if "-----END " in tail else None
    return f"{head}\n{tail[key.end() :] if key else tail}"


def one_line(text: str) -> str:
    """Return *text* with every run of white space, line breaks included, as one space."""
    if text.isprintable() and "  " not in text:
        # No white space but single spaces, as in most texts.
        return text.strip()
    return " ".join(text.split())


_WORDS = re.compile(r"[^\W_]+")
# The most frequent characters beyond ASCII are none of either.
_TYPESET = "‘’“”–—…•→"
_KEPT = (ascii_letters + digits + "\n").encode()
_LETTERS = bytes([code if code in _KEPT else ord(" ") for code in range(256)]).lower()


def untypeset(text: str) -> str:
    """Return *text* with spaces in place of the quotes and dashes that ASCII does not have."""
    if not text.isascii():
        for mark in _TYPESET:
            text = text.replace(mark, " ")
    return text


def letters_in(text: str) -> str:
    """Return *text* in lower case, with spaces for all but ASCII letters, digits and line breaks."""
    return text.encode("ascii", "replace").translate(_LETTERS).decode()


def words_in(text: str) -> list[str]:
    """Return the runs of letters and digits in *text*, in lower case."""
    text = untypeset(text)
    # The first is the same as the second, and four times as fast.
    return letters_in(text).split() if text.isascii() else _WORDS.findall(text.lower())


def shorten(text: str, *, limit: int) -> str:
    """
    Return the beginning of *text*, at most *limit* characters, never cut inside an ASCII word.

    So no identifier comes out as another, shorter one. The result is empty if its first word alone
    is longer.
    """
    if len(text) <= limit:
        return text
    end = max(limit - 2, 0)
    head = text[: end + 1]
    if head.isascii():
        kept = head[:-1] if head[-1].isspace() else "".join(head.rsplit(None, 1)[:-1])
    else:
        while end and _is_inside_word(text, end):
            end -= 1
        kept = text[:end]
    kept = kept.rstrip().removesuffix(ELLIPSIS).rstrip()
    return f"{kept} {ELLIPSIS}" if kept else ""


def _is_inside_word(text: str, index: int) -> bool:
    before, after = text[index - 1], text[index]
    return before.isascii() and after.isascii() and not (before.isspace() or after.isspace())


def attribute(role: str, text: str) -> str:
    """Return *text* after who said it."""
    return f"{role}{_SAYS}{text}"


BY_USER = (attribute("user", ""), "user (")
"""How a text of the user begins, who may have a name."""


def bare(text: str) -> str:
    """Return *text* without who said it."""
    return text.partition(_SAYS)[2] or text


def distinct(texts: Iterable[str]) -> list[str]:
    """Keep the last of equal *texts*, in order."""
    return list(dict.fromkeys(reversed([text for text in texts if text])))[::-1]
