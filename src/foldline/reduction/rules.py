"""
Whether a statement turns a rule of the user round.

A rule is read clause by clause, for what decides which way it goes: whether it is denied, what it depends
on, what comes first, and whether something is the only one or the one left out. A statement in the words
of a rule that goes the other way turns it round, unless somebody said it so. Who tells what happened
restates no rule.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from foldline.reduction.commands import is_lasting
from foldline.reduction.meaning import KIND, negations, stems_in
from foldline.reduction.provenance import folded
from foldline.reduction.statements import statements


_CHECK = (
    r"(?:confirm|approv|permission|consent|ask(?:s|ed|ing)?\b|agree|say-?so|go-?ahead|zustimm|zugestimmt|einverst|freigab|freigegeb|genehmig"
    r"|bestätig|rückfrag|nachfrag|gefragt|zu fragen|fragt\b|demand|accord|autoris|pregunt|autoriz|permiso|confirmad)\w*"
)
_CHECKS = re.compile(rf"\b{_CHECK}")
_CHECKS_UNSPACED = re.compile("確認|許可|承認|相談|同意|批准|询问")
# What is denied of the others is said of the one.
_OTHERS = re.compile(
    r"\b(?:not only|nicht nur|no problem)\b|\b(?:nobody|no one|nothing|none|anybody|anyone|anything|niemand\w*|nichts) (?:else|but|other|anderes?)\b"
    r"|\b(?:no|not) (?:later|more|longer|less|fewer) than\b"
)
_WITHOUT = r"without|ohne|sans|senza|unless|except (?:if|when)|es sei denn|sin(?= (?:que|la|el|mi|tu|su|\w+[aei]r\b))"
_UNTIL = r"before|until|till|bevor|bis|ehe|avant|antes|hasta"
_CONDITION = re.compile(
    rf"\b(?:{_WITHOUT}|{_UNTIL}|only (?:if|when|after|once|with)|if|once|erst wenn|nur (?:wenn|nach|mit)|wenn|sobald)\b"
).search
_IS_WITHOUT = re.compile(rf"\b(?:{_WITHOUT}|(?:{_UNTIL}) (?:[^\s,]+ ){{0,3}}(?=ask\b))").findall
_IS_UNTIL = re.compile(rf"\b(?:{_UNTIL})\b").findall
_ORDER = re.compile(
    r"(?P<not>\b(?:not|nicht) )?\b(?:(?P<before>before|until|prior to|bevor|vor|ehe|avant|antes)|(?P<after>after|once|following|nachdem|nach|sobald|après))\b"
).search
_SEQUENCE = re.compile(
    r"\b(?:first|(?:zu)?erst),? ([^.\n]{4,120}?),? (?:and |und )?(?:then|dann|danach)\b|\b(?:first|zuerst),? and\b|,? (?:and|und) (?:then|dann)\b"
)
_AFTER_THAT = re.compile(r"\b(?:after (?:that|it|this)|afterwards|danach)\b")
_IS_FIRM = re.compile(r"\b(?:must|every|each|muss|müssen|jede[nrsm]?)\b|必ず|常に").search
_ONLY = re.compile(r"\b(?:only|solely|exclusively|nur|ausschließlich)\b|だけ|のみ|只").search
_EXCEPT = re.compile(r"\b(?:except|other than|apart from|but not|außer)\b|以外|除了").search
# What happened, and how somebody tells it; who allows or wants something tells of what is to be.
_HAPPENED = re.compile(
    r"\b(?:was|were|been|has|have|had|did|wurden?|worden|war|waren|hat|haben)\b(?! (?:to|zu)\b)|\b(?:already|yet|bereits|schon)\b"
    r"|\A\W*(?:the )?(?:(?:assistant|agent|i|we) )?(?!need)[a-z]{2,}ed\b|(?:た|だ|ている|てある|済み?)(?:\W|\Z)"
).search
_WANTS = re.compile(
    r"\b(?:the )?(?:users?|customers?|he|she|they|you|nutzer(?:in)?|kund(?:e|in)|usuari[oa]|utilisat\w+) (?:(?:also|has|have|had|hat|ha|a) )?"
    r"(?:asked|asks|requested|said|says|told|wants|wanted|insist(?:s|ed)|allow(?:s|ed)|permit(?:s|ted)|agree[sd]|forbade|forbids"
    r"|decided|will|wollte|möchte|bat|sagte|erlaubt|gebeten|pidió|quiere|veut|demande)\b(?: (?:the )?assistant\b)?(?: (?:that|to|for|it|dass))?"
    r"|(?:と|ように|よう)(?:述べ|言っ|指示|依頼|希望|求め)\w*"
).search
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
_AND = re.compile(r"(?:and|und|y|et)\s").match
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

    first: frozenset[str] = frozenset()
    later: frozenset[str] = frozenset()
    scope: str = ""

    is_firm: bool = False
    """Whether it holds for good."""

    def agrees(self, other: "_Clause") -> bool | None:
        """Whether a clause about the same goes the same way; None if that cannot be told."""
        if self.first & other.later and self.later & other.first:
            return False
        if self.first & other.first and self.later & other.later:
            return True
        if self.scope and other.scope:
            return self.scope == other.scope
        if self.depends or other.depends:
            return self._agrees_if(other)
        is_about_all = _shared(self.stems, other.stems) == len(self.stems)
        # A wish may have been changed by another.
        is_wish = self.is_denied and not (other.is_denied or other.is_firm)
        if is_wish or not (is_about_all and _shared(self.plain, other.plain)):
            return None
        return self.is_denied == other.is_denied

    def _agrees_if(self, other: "_Clause") -> bool | None:
        if self.depends & other.depends:
            return self.demands == other.demands
        # What is permitted without something is permitted; what may be with a check is not.
        is_free = self.permits if not self.depends else not (self.is_denied or self.demands)
        return False if is_free and other.is_denied else None


class _Text:
    """A text of the conversation, of which no more is read than has words in common with a clause."""

    def __init__(self, text: str, *, rules: bool) -> None:
        self.rules = rules
        self._text = text
        self._clauses: dict[str, list[_Clause]] = {}

    def clauses(self, words: frozenset[str], least: float) -> Iterator[tuple[_Clause, bool]]:
        """Yield the clauses that may have *least* of *words*, and whether each rules."""
        if len(words & self._words) < least:
            return
        for part, held in self._parts:
            if len(words & held) < least:
                continue
            if part not in self._clauses:
                self._clauses[part] = [*_clauses(part)]
            rules = self.rules and not part.rstrip().endswith(("?", "？"))
            yield from ((one, rules) for one in self._clauses[part])

    @cached_property
    def _words(self) -> frozenset[str]:
        return _words(self._text)

    @cached_property
    def _parts(self) -> list[tuple[str, frozenset[str]]]:
        return [(part, _words(part)) for part in statements(self._text)]


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

    def are_turned_by(self, statement: str) -> bool:
        """Whether *statement* says the contrary of what was last ruled, and nobody said it so since."""
        return any(self._is_turned(one) for one in _clauses(statement))

    @classmethod
    def are_labelled_in(cls, statement: str) -> bool:
        """Whether *statement* begins with such a label of its own."""
        label = _BAN(statement)
        return label is not None and cls.are_listed_under(label[0])

    def _is_turned(self, one: _Clause) -> bool:
        if not any(one.agrees(rule) is False for rule, rules in _about(one, self._rules) if rules):
            return False
        is_turned = False
        for rule, rules in _about(one, self._said):
            agrees = one.agrees(rule)
            if agrees or (rules and agrees is False):
                is_turned = not agrees
        return is_turned


def _about(one: _Clause, texts: Iterable[_Text]) -> Iterator[tuple[_Clause, bool]]:
    least = max(_LEAST, _SAME * len(one.stems))
    words = _with_kinds(one.stems)
    for text in texts:
        for each in text.clauses(words, least):
            if _shared(one.stems, each[0].stems) >= least:
                yield each


def _words(text: str) -> frozenset[str]:
    """Return all that clauses of *text* can have in common with others; a check is read as "ask"."""
    return _with_kinds(stems_in(folded(text))) | {"ask"}


def _with_kinds(stems: frozenset[str]) -> frozenset[str]:
    return stems | {f"={KIND[one]}" for one in stems if one in KIND}


def _shared(stems: frozenset[str], others: frozenset[str]) -> int:
    """Return how many words are common, or do the same to something."""
    left, right = (
        {KIND[one] for one in each if one in KIND} for each in (stems - others, others - stems)
    )
    return len(stems & others) + len(left & right)


def _clauses(statement: str) -> Iterator[_Clause]:
    text = _AFTER_THAT.sub(" ", folded(statement))
    text = _SEQUENCE.sub(lambda found: f"{found[1] or ''} before ", text)
    wish = _WANTS(text)
    text = _CHECKS_UNSPACED.sub(
        " ask ", _CHECKS.sub("ask", text[: wish.start()] + text[wish.end() :] if wish else text)
    )
    was_denied = False
    label = _LABEL(text)
    if label and negations(label[0]):
        return
    for part in _BETWEEN(text):
        if _IS_REASON(part):
            continue
        found = _clause(_OTHERS.sub("only", part))
        # What is denied before it may be denied with it.
        is_in_doubt = was_denied and _AND(part) is not None and not found.is_denied
        was_denied = found.is_denied
        if (
            len(found.stems) >= _LEAST
            and not is_in_doubt
            and (wish or not _HAPPENED(_main_part(part)))
        ):
            yield found


def _main_part(clause: str) -> str:
    at = min((found.start() for one in (_CONDITION, _ORDER) if (found := one(clause))), default=0)
    return clause[:at] or clause


def _clause(text: str) -> _Clause:
    denied = len(negations(text))
    condition, order = _CONDITION(text), _ORDER(text)
    without = len(_IS_WITHOUT(text)) or (bool(denied) and len(_IS_UNTIL(text)))
    depends = frozenset(("ask",) if re.search(r"\bask\b", text) else ())
    if condition:
        depends |= stems_in(text[condition.end() :])
    first = later = frozenset[str]()
    if order:
        before, after = text[: order.start()], text[order.end() :]
        if not before.strip():
            after, _, before = after.partition(",")
        first, later = stems_in(before), stems_in(after)
        # What is not done until something else is, comes after it.
        is_denied = order["not"] or (_IS_UNTIL(text) and negations(before))
        if bool(order["after"]) != bool(is_denied):
            first, later = later, first
    scope = "except" if _EXCEPT(text) else "only" if _ONLY(text) else ""
    return _Clause(
        stems=stems_in(text),
        plain=stems_in(_NAMES.sub(" ", text)),
        is_denied=denied % 2 == 1,
        permits=_PERMITS(text) is not None,
        depends=depends,
        demands=(denied + without) % 2 == 0,
        first=first,
        later=later,
        scope=scope,
        is_firm=bool(scope) or is_lasting(text) or _IS_FIRM(text) is not None,
    )
