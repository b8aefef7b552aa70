"""The single statements of a text: each line of a list, each sentence of prose, and what asks."""

import re
from collections.abc import Callable
from typing import NamedTuple, Self

from msgspec import Struct


# A line that is one statement, whatever it holds: of a list, a table or a quotation, or a heading.
_IS_WHOLE = re.compile(r"\s*(?:\*(?!\*)|[-+•‣◦–—#>|]|\d{1,3}[.)]\s|```|~~~)").match
# What may end a sentence, before what may begin one; no space is needed where none is written.
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+\s++(?=[^\s\Wa-z]|[\"'“‘«(\[])|[。！？｡]")
_HAS_WORD = re.compile(r"\w").search
SHORTENED = frozenset(
    re.findall(
        r"\w+",
        "no art max min abs kap kl ver page prof rev gen col capt hon etc inc co corp ave approx est dept ext"
        " incl ed eds al vol fig sec sc ca evtl inkl exkl usw geb allg sog dipl ing abt tel aufl ziff einschl mio"
        " mme mlle env av tél srta sra dña ud uds avda núm pág sta sto sig sigra avv arch dott geom ecc mevr enz"
        " bijv eks ul os godz inż itd itp św im např atd apod mudr nám ул им проф гг тел др пр руб тыс стр млн"
        " млрд doç cad sok mah",
    )
)
"""Words in lower case that are written for longer ones, and a full stop after them."""

CONSONANTS = "b-df-hj-np-tv-xz"
"""The letters of which a word without a vowel is, as ranges of a pattern."""

# The last word before a full stop, and what is hardly ever the last one of a sentence: a word without
# a vowel, a count of kings, or one that is shortened. What is no word either way is not looked for.
_BREAK = re.compile(r"[\s(\[\"'“„«/]").split
_CLIPPED = re.compile(
    rf"[A-Z]?[{CONSONANTS}]{{1,4}}|[IVXL]{{2,5}}|.{{3,16}}str", re.ASCII
).fullmatch
_LONGEST = 16
_ORDINAL_DIGITS = 2
_QUOTES = '"“”„«»`'
# A line as long as that was wrapped where the next one goes on, by its first letter.
_WRAPPED_LOWER = 40
_WRAPPED = 60
_IS_FIRST = re.compile(r"\s*1[.)]").match
_CLOSING = " \t\r\"'”’»)]*_`"
_ENDING = frozenset(".!?…:;|>}。！？｡")
# What is longer says something, and so do figures, dates, addresses, paths and names in code.
_LONGEST_ASKED = 300
_ASKS = ("?", "？", "؟")
_HAS_FACT = re.compile(r"[\d@_/\\`]").search
# A greeting at the end, and a name.
_SIGNED = re.compile(
    r"(?:lg|vg|mfg|best|cheers|thanks|thx|gru(?:ß|ss)|saludos|cordialement"
    r"|(?:kind |best |warm )?regards|(?:viele |liebe )?gr[uü](?:ß|ss)e)\b[,.! ]{0,3}\w{0,20}[.!]?",
    re.IGNORECASE,
).fullmatch
_IS_LABEL = re.compile(r"\W{0,12}[^\W\d_][\w '/()&-]{0,40}[*_\"]{0,3}:(?:[\s*_]|\Z)").match


class Kept(Struct, frozen=True, kw_only=True):
    """What is left of a text without some of its statements."""

    text: str
    statements: int
    """How many there were."""

    dropped: int
    """How many of them are gone."""


def is_listed(line: str) -> bool:
    """Whether *line* is one of a list, a table, a quotation or code, or a heading."""
    return bool(_IS_WHOLE(line))


def is_labelled(line: str) -> bool:
    """Whether *line* begins with what it is about, and a colon."""
    return bool(_IS_LABEL(line))


def statements(text: str) -> list[str]:
    """Return the statements of *text* in their order; what has no word is none."""
    return [one for block in _blocks(text) for one in _of_block(block) if _HAS_WORD(one)]


def kept(text: str, is_bad: Callable[[str], bool]) -> Kept:
    """Return *text* without the statements that are bad; a line that has no other goes whole."""
    left: list[str] = []
    total = dropped = 0
    for block in _blocks(text):
        pieces = _of_block(block)
        good = [one for one in pieces if not (_HAS_WORD(one) and is_bad(one))]
        total += sum(bool(_HAS_WORD(one)) for one in pieces)
        dropped += len(pieces) - len(good)
        if good or not pieces:
            left.append("".join(good) if len(good) == len(pieces) else "".join(good).rstrip())
    return Kept(text="\n".join(left).strip(), statements=total, dropped=dropped)


def unasked(text: str) -> str:
    """Return *text* without its questions; one that names a figure, an address or an id is kept."""
    if len(text) > _LONGEST_ASKED or not any(mark in text for mark in _ASKS):
        return text
    return "\n".join(one for one in statements(text) if _HAS_FACT(one) or not _only_asks(one))


def _only_asks(statement: str) -> bool:
    said = statement.strip()
    after = said[1 + max(map(said.rfind, _ASKS)) :]
    is_aside = said.startswith("(") and said.endswith(")")
    return not _HAS_WORD(after) or is_aside or _SIGNED(said) is not None


def _blocks(text: str) -> list[str]:
    """Return the lines of *text*, those that were wrapped as one."""
    first, *others = text.split("\n")
    blocks, opened = [[first]], _Opened().after(first)
    for line in others:
        if _runs_on(blocks[-1][-1], line, is_open=opened.is_open):
            blocks[-1].append(line)
        else:
            blocks.append([line])
            opened = _Opened()
        opened = opened.after(line)
    return ["\n".join(block) for block in blocks]


class _Opened(NamedTuple):
    """The marks of quotations and the brackets up to a place."""

    quotes: int = 0
    brackets: int = 0

    @property
    def is_open(self) -> bool:
        return bool(self.quotes % 2 or self.brackets)

    def after(self, text: str) -> Self:
        brackets = text.count("(") + text.count("[") - text.count(")") - text.count("]")
        quotes = self.quotes + sum(map(text.count, _QUOTES))
        return self._replace(quotes=quotes, brackets=max(0, self.brackets + brackets))


def _runs_on(line: str, following: str, *, is_open: bool) -> bool:
    """Whether a sentence of *line* is not over before the *following* one."""
    first = following.lstrip()[:1]
    if not first or _IS_LABEL(following) or line.lstrip().startswith("#"):
        return False
    # An ordinal may have come to the beginning of a line, but a list begins with one.
    is_ordinal = first.isdigit() and not _IS_WHOLE(line) and _IS_FIRST(following) is None
    if _IS_WHOLE(following) and not is_ordinal:
        return False
    # A value of JSON ends with a comma.
    is_quote = first in _QUOTES and not line.rstrip().endswith(",")
    begins = first.isupper() or first.isdigit() or first == "(" or is_quote
    if not first.islower() and not (begins and len(line) >= _WRAPPED):
        return False
    left = line.rstrip(_CLOSING)
    is_over = left[-1:] in _ENDING and not (left[-1:] == "." and _is_short(left[:-1]))
    return len(line) >= _WRAPPED_LOWER and (is_open or not is_over)


def _of_block(block: str) -> list[str]:
    if _IS_WHOLE(block):
        return [block]
    pieces: list[str] = []
    start = seen = 0
    opened = _Opened()
    for match in _END.finditer(block):
        opened = opened.after(block[seen : match.end()])
        seen = match.end()
        # In doubt a sentence goes on: half of one may say the contrary.
        is_clipped = match[0].rstrip() == "." and _is_short(
            block[max(start, match.start() - _LONGEST) : match.start()]
        )
        if not (opened.is_open or is_clipped):
            pieces.append(block[start:seen])
            start = seen
    return [*pieces, block[start:]] if start < len(block) else pieces


def _is_short(before: str) -> bool:
    """Whether a full stop after *before* counts or shortens a word, as in "3. May" or "Dr. Lee"."""
    word: str = _BREAK(before[-_LONGEST:])[-1]
    last = word.rpartition(".")[2].lstrip("–-")
    if last.isdigit():
        return len(last) <= _ORDINAL_DIGITS
    if not last.isalpha():
        return False
    return (
        len(last) == 1
        or last.casefold() in SHORTENED
        or (word == last and _CLIPPED(last) is not None)
    )
