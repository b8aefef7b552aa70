"""
Whether a statement permits what the user has ruled out.

A rule is read clause by clause, for whether it is denied or permitted, and whether somebody has to be asked
before. A statement in the words of a rule that permits it, or does it without asking, lifts the rule,
unless somebody said it so. Who tells what happened restates no rule.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from foldline.reduction.meaning import KIND, negations, stems_in
from foldline.reduction.provenance import folded
from foldline.reduction.statements import statements


_CHECK = (
    r"(?:confirm|approv|permission|consent|ask(?:s|ed|ing)?\b|agree|say-?so|go-?ahead|zustimm|zugestimmt|einverst|freigab|freigegeb|genehmig"
    r"|bestätig|rückfrag|nachfrag|gefragt|zu fragen|fragt\b|demand|accord|autoris|pregunt|autoriz|permiso|confirmad)\w*"
)
_CHECKS = re.compile(rf"\b{_CHECK}")
_CHECKS_UNSPACED = re.compile("確認|許可|承認|相談|同意|批准|询问")
_WITHOUT = r"without|ohne|sans|senza|unless|except (?:if|when)|es sei denn|sin(?= (?:que|la|el|mi|tu|su|\w+[aei]r\b))"
_UNTIL = r"before|until|till|bevor|bis|ehe|avant|antes|hasta"
_CONDITION = re.compile(
    rf"\b(?:{_WITHOUT}|{_UNTIL}|only (?:if|when|after|once|with)|if|once|erst wenn|nur (?:wenn|nach|mit)|wenn|sobald)\b"
).search
_IS_WITHOUT = re.compile(rf"\b(?:{_WITHOUT}|(?:{_UNTIL}) (?:[^\s,]+ ){{0,3}}(?=ask\b))").findall
_IS_UNTIL = re.compile(rf"\b(?:{_UNTIL})\b|まで").findall
# What happened, and how somebody tells it; who allows or wants something tells of what is to be.
_HAPPENED = re.compile(
    r"\b(?:was|were|been|has|have|had|did|wurden?|worden|war|waren|hat|haben)\b(?! (?:to|zu)\b)|\b(?:already|yet|bereits|schon)\b"
    r"|\A\W*(?:the )?(?:(?:assistant|agent|i|we) )?(?!need)[a-z]{2,}ed\b|\b(?:i|he|she|they) (?!need)[a-z]{2,}ed\b|(?:た|だ|ている|てある|済み?)(?:\W|\Z)"
).search
_WANTS = re.compile(
    r"\b(?:the )?(?:users?|customers?|he|she|they|you|nutzer(?:in)?|kund(?:e|in)|usuari[oa]|utilisat\w+) (?:(?:also|has|have|had|hat|ha|a) )?"
    r"(?:asked|asks|requested|said|says|told|wants|wanted|insist(?:s|ed)|allow(?:s|ed)|permit(?:s|ted)|agree[sd]|forbade|forbids"
    r"|decided|will|wollte|möchte|bat|sagte|erlaubt|gebeten|pidió|quiere|veut|demande)\b(?: (?:the )?assistant\b)?(?: (?:that|to|for|it|dass))?"
    r"|(?:と|ように|よう)(?:述べ|言っ|指示|依頼|希望|求め)\w*"
).search
_ALLOWS = re.compile("allow|permit|agree|erlaub").search
_PERMITS = re.compile(
    r"\b(?:may|can|allow\w*|permit\w*|fine|okay|ok|welcome|free to|darf|dürfen|kann|erlaubt|puede|peut)\b|(?:ても?|で)(?:よい|良い|いい)|許可|可能"
).search
_BETWEEN = re.compile(
    rf"[;:.!]\s+(?!\d)|[。、]|,\s+(?!(?:{_WITHOUT}|{_UNTIL}|except|nachdem|after|wenn|if|once|then|dann)\b)|\s(?=(?:and|but|und|aber|sondern|y|et|so that|because|since|weil|damit|denn)\s)"
).split
_LABEL = re.compile(r"[\W_]*[^:\n]{1,40}:").match
_BAN = re.compile(r"[\W_]{0,12}[\w'’]{1,20}(?: [\w'’]{1,20})?[*_]{0,3}:").match
_NAMES = re.compile(r"(?<![\w./-])/?[\w-]{1,60}(?:[./][\w-]{1,60}){1,12}")
_IS_REASON = re.compile(r"(?:so that|because|since|weil|damit|denn)\b|.*(?:ので|から)\Z").match
_LEAST = 2
_SAME = 0.66


class _Clause(Struct, frozen=True, kw_only=True):
    """Which way one clause goes."""

    stems: frozenset[str]
    plain: frozenset[str]
    """Those that are not of a name, such as a path."""

    is_denied: bool
    permits: bool
    depends: frozenset[str] = frozenset()
    """What it depends on; empty if on nothing."""

    demands: bool = False
    """Whether that has to be, and is not left out."""

    @property
    def frees(self) -> bool:
        """Whether it permits something, or does it without asking."""
        return (self.permits and not self.is_denied) or ("ask" in self.depends and not self.demands)

    def agrees(self, other: "_Clause") -> bool | None:
        """Whether a clause about the same goes the same way; None if that cannot be told."""
        if self.depends & other.depends:
            return self.demands == other.demands
        if self.depends or other.depends:
            # What is permitted without something is permitted; what may be with a check is not.
            is_free = self.permits if not self.depends else not (self.is_denied or self.demands)
            return False if is_free and other.is_denied else None
        is_about_all = _shared(self.stems, other.stems) == len(self.stems)
        # A name alone is no rule.
        if not (is_about_all and _shared(self.plain, other.plain)):
            return None
        return self.is_denied == other.is_denied


class _Text:
    """A text of the conversation, which is read once it has words in common with a clause."""

    def __init__(self, text: str, *, rules: bool) -> None:
        self.rules = rules
        self._text = text

    def has_of(self, words: frozenset[str], least: float) -> bool:
        """Whether a clause of it may have *least* of *words*."""
        return len(words & self._words) >= least

    @cached_property
    def _words(self) -> frozenset[str]:
        # A check is read as "ask".
        return _with_kinds(stems_in(folded(self._text))) | {"ask"}

    @cached_property
    def clauses(self) -> list[tuple[_Clause, bool]]:
        """Its clauses, and whether each rules: a question does not."""
        return [
            (one, self.rules and not part.rstrip().endswith(("?", "？")))
            for part in statements(self._text)
            for one in _clauses(part)
        ]


class Rules:
    """What the user has typed, and what else was said, as rules."""

    def __init__(self, said: Sequence[tuple[str, bool]]) -> None:
        """Take what was *said*, oldest first, and whether it rules: a user typed it, or the system."""
        self._said = [_Text(text, rules=rules) for text, rules in said]
        self._rules = [one for one in self._said if one.rules]

    @staticmethod
    def are_listed_under(label: str) -> bool:
        """Whether *label* stands above what must not be."""
        return bool(negations(folded(label).replace("_", " ")))

    def are_lifted_by(self, statement: str) -> bool:
        """Whether *statement* permits what was last ruled out, and nobody has since."""
        return any(one.frees and self._is_lifted(one) for one in _clauses(statement))

    @classmethod
    def are_labelled_in(cls, statement: str) -> bool:
        """Whether *statement* begins with such a label of its own."""
        label = _BAN(statement)
        return label is not None and cls.are_listed_under(label[0])

    def _is_lifted(self, one: _Clause) -> bool:
        if not any(one.agrees(rule) is False for rule, rules in _about(one, self._rules) if rules):
            return False
        is_lifted = False
        for rule, rules in _about(one, self._said):
            agrees = one.agrees(rule)
            if agrees or (rules and agrees is False):
                is_lifted = not agrees
        return is_lifted


def _about(one: _Clause, texts: Iterable[_Text]) -> Iterator[tuple[_Clause, bool]]:
    least = max(_LEAST, _SAME * len(one.stems))
    words = _with_kinds(one.stems)
    for text in texts:
        if text.has_of(words, least):
            yield from (each for each in text.clauses if _shared(one.stems, each[0].stems) >= least)


def _with_kinds(stems: frozenset[str]) -> frozenset[str]:
    return stems | {f"={KIND[one]}" for one in stems if one in KIND}


def _shared(stems: frozenset[str], others: frozenset[str]) -> int:
    """Return how many words are common, or do the same to something."""
    left, right = (
        {KIND[one] for one in each if one in KIND} for each in (stems - others, others - stems)
    )
    return len(stems & others) + len(left & right)


def _clauses(statement: str) -> Iterator[_Clause]:
    said = folded(statement)
    wish = _WANTS(said)
    text = _CHECKS_UNSPACED.sub(
        " ask ", _CHECKS.sub("ask", said[: wish.start()] + said[wish.end() :] if wish else said)
    )
    # Who does something once the user has agreed has not been allowed to.
    is_allowed = (
        wish is not None and bool(_ALLOWS(wish[0])) and not _CONDITION(said[: wish.start()])
    )
    label = _LABEL(text)
    if label and negations(label[0]):
        return
    for part in _BETWEEN(text):
        if _IS_REASON(part):
            continue
        found = _clause(part, is_allowed=is_allowed)
        if len(found.stems) >= _LEAST and (wish or not _HAPPENED(_main_part(part))):
            yield found


def _main_part(clause: str) -> str:
    condition = _CONDITION(clause)
    return (condition and clause[: condition.start()]) or clause


def _clause(text: str, *, is_allowed: bool) -> _Clause:
    denied = len(negations(text))
    condition = _CONDITION(text)
    without = len(_IS_WITHOUT(text)) or (bool(denied) and len(_IS_UNTIL(text)))
    depends = frozenset(("ask",) if re.search(r"\bask\b", text) else ())
    if condition:
        depends |= stems_in(text[condition.end() :])
    return _Clause(
        stems=stems_in(text),
        plain=stems_in(_NAMES.sub(" ", text)),
        is_denied=denied % 2 == 1,
        permits=is_allowed or _PERMITS(text) is not None,
        depends=depends,
        demands=(denied + without) % 2 == 0,
    )
