"""
Whether somebody in a conversation said what an order is about, or wished what a statement says.

An order that stays in a summary is read as one of the user's, so most of its words have to be in what
the user or the assistant said in one place: not only in what tools answered, and not nowhere. Nor is
what only a page or a file says a wish of the user, who has said nothing in its words.
"""

import re
from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.history.reminders import without_reminders
from foldline.reduction.commands import Order, is_lasting, skips_check
from foldline.reduction.corrected import Corrected
from foldline.reduction.language import (
    TELLING,
    Profile,
    content,
    is_foreign,
    profile,
    words,
)
from foldline.reduction.meaning import (
    EFFECTS,
    ITEM,
    KIND,
    LIGHT,
    LONGEST_STEM,
    WATCHING,
    meaning,
    stem_of,
)
from foldline.reduction.orders import imitates, is_order, is_reported
from foldline.reduction.planted import Planted, tells_of_text
from foldline.reduction.provenance import folded
from foldline.reduction.quotes import TYPED
from foldline.reduction.record import Section, SummaryRecord
from foldline.reduction.request import SummaryRequest
from foldline.reduction.rules import Rules
from foldline.reduction.sources import texts_of
from foldline.reduction.statements import statements


# What forbids, and what may have been said where somebody forbade it.
_BAN = (
    r"no|not|cannot|never|none|nobody|nothing|nor|without|avoid|refus\w*|kein\w*|nicht|nie|niemals|ohne|pas|jamais"
    r"|sans|nunca|sin|non(?!-)|mai|senza|não|sem|niet|nooit|geen|zonder|inte|aldrig|utan|bez|не|нет|без|никогда"
)
_BANS = re.compile(rf"\b(?:{_BAN})\b|n['’]t\b").search
_DENIES = re.compile(
    rf"\b(?:{_BAN}|only|stop|except|instead|leave|keep|unchanged|limit\w*|forbid\w*|nur)\b|n['’]t\b"
).search
_WANT = r"(?:want|ask|request|decid|demand|instruct|order|agree|approv|wish|would like"
_WISHES = re.compile(
    r"\b(?:users?|customers?|clients?|humans?|operators?|owner|boss|manager|team)\b[^.,\n]{0,40}?"
    rf"\b{_WANT}|need|prefer|confirm)"
    rf"|\b(?:he|she|they|we|you|everyone|everybody|somebody)\b[^.\n]{{0,20}}?\b{_WANT})"
    rf"|\b(?:as|was|were|been|is|are|it) {_WANT}|confirm)\w*d\b|\b(?:agreed|approved|requested) (?:to|that)\b"
    r"|\b(?:nutzer(?:in)?|benutzer(?:in)?|kund(?:e|in)) [^.\n]{0,20}?\b(?:will|wollte|möchte|wünscht|verlangt|bittet|bat)"
    r"|\b(?:utilisat\w+|clients?) [^.\n]{0,20}?\b(?:veut|voulait|souhaite|demande|exige)"
    r"|\b(?:usuari[oa]|utente|client[ea]) [^.\n]{0,20}?\b(?:quiere|quer|queria|quería|desea|deseja|pide|pede|vuole|chiede|exige)"
    r"|\b(?:пользовател\w+|клиент\w*) [^.\n]{0,20}?(?:хоч|хот|прос|требу)\w+",
    re.IGNORECASE,
).search
_CHECKS = re.compile(
    r"\b(?:confirm|approv|permi[st]|consent|review|verif|check(?!s?um)|ask|prüf|nachfrag|rückfrag|bestätig|zustimm|freigab|genehmig"
    r"|pregunt|autori[sz]|demand|accord|chied|conferm|pergunt|vrag|toestemm)"
).search
_NAMES = re.compile(r"[\w-]{1,80}(?:[./_][\w-]{1,80}){1,12}/?|[\w.-]{2,80}/").findall
# What somebody else is told to have said.
_QUOTED = re.compile(r"(?<!\w)[\"'“„«‘]([^\"“”«»\n]{8,400}?)[\"'”“»’](?!\w)").finditer
_BEFORE_QUOTE = 80
_CODE = re.compile(r"[a-z][\w-]{0,60}(?:[._][a-z][\w-]{1,60}){1,6}").findall
_LEAST_OF_WISH = 3
_OF_TOOL = 0.7
_OF_USER = 0.5
_CLAUSES = re.compile(r"[,;:]\s").split
_HAS_DIGIT = re.compile(r"\d").search
# So many statements are one place.
_PLACE = 3
# A ban begins with what forbids.
_BEGINNING = 8
# A ban stands so many words before what it forbids.
_NEXT_WORDS = 3
_SAMPLE = 20_000
# Of a value in the JSON of a call.
_NEXT_LINES = re.compile(r"(?<!\\)\\n(?:[^\"\\]|\\.)*", re.DOTALL)
_OF_TELLING = content(TELLING)
# What code wrote into a record from the answers of tools.
_OF_TOOLS = frozenset({Section.TOOLS, Section.VALUES, Section.SEEN})


class Said:
    """What the user and the assistant said in the sources of a summary."""

    def __init__(self, request: SummaryRequest) -> None:
        """Take what *request* gives to read."""
        self._request = request

    def has(self, order: Order) -> bool:
        """Whether somebody said what *order* is about; true where that cannot be told by its words."""
        if order.is_permit and skips_check(order.text) and not self._may_skip:
            return False
        if any(len(name) > LONGEST_STEM and not self._is_named(name) for name in _CODE(order.text)):
            return False
        if _BANS(order.text) and self._is_forbidden(order.text):
            return True
        parts = _CLAUSES(order.text)
        # Bans, and what stands beside them, may have been said apart.
        apart = parts if len(parts) > 1 and any(map(_BANS, parts)) else ()
        each = [self._has(order._replace(text=part)) for part in apart]
        return self._has(order) or (bool(each) and all(each))

    @cached_property
    def _may_skip(self) -> bool:
        """Whether anybody said that something goes without a question or a check."""
        said = (folded(one) for text in self.texts for one in statements(text))
        return any(skips_check(one) or (_BANS(one) and _CHECKS(one)) for one in said)

    def _is_forbidden(self, ban: str) -> bool:
        """Whether the user forbade what *ban* names, or does, but for one word of it."""
        names, meant = [*map(str.lower, _NAMES(ban))], {*meaning(ban)}
        return any(
            any(name in one for name in names)
            or (meant & said & EFFECTS and len(meant - said) <= 1)
            for one, said in self._forbidden
        )

    def _has(self, order: Order) -> bool:
        wanted = _wanted(order)
        if wanted.is_vague or (not order.is_permit and self._is_about(wanted)):
            return True
        # A number or an id was said if it was said anywhere: it may be about something said elsewhere.
        left = [one for one in wanted.stems if not (_HAS_DIGIT(one) and self._was_named(one))]
        wanted = replace(
            wanted, stems=left, size=len(left) if wanted.has_effect else len(wanted.stems)
        )
        return any(
            wanted.may_be_in(plain) and wanted.is_in(text)
            for text, plain in zip(self.texts, self._folded, strict=True)
        )

    def _is_about(self, wanted: "_Wanted") -> bool:
        """Whether most words of *wanted* were said; those of a ban in one text that forbids something."""
        told = self._forbidding if wanted.is_ban else [self._all_meant]
        found = (len(one.intersection(wanted.stems)) for one in told)
        return bool(wanted.stems) and max(found, default=0) >= _OF_TOOL * len(wanted.stems)

    @cached_property
    def _meant(self) -> list[set[str]]:
        return [{*meaning(one)} for one in self.texts]

    @cached_property
    def _all_meant(self) -> set[str]:
        return set[str]().union(*self._meant)

    @cached_property
    def _forbidding(self) -> list[set[str]]:
        return [one for one, text in zip(self._meant, self._folded, strict=True) if _DENIES(text)]

    def is_typed(self, order: str) -> bool:
        """Whether *order* is in the words that the user typed."""
        told = content(words(order))
        return bool(told) and any(len(told & one) >= _OF_TOOL * len(told) for one in self._typed)

    def is_in_words(self, statement: str) -> bool:
        """Whether most words of *statement* are in one thing that the user or the assistant said."""
        told = content(words(statement))
        return any(len(told & one) >= _OF_TOOL * len(told) for one in self._contents)

    def is_of_user(self, statement: str) -> bool:
        """Whether most words of *statement* are among those that the user typed."""
        told = content(words(statement)) - _OF_TELLING
        typed = set[str]().union(*self._typed)
        return len(told & typed) >= _OF_TOOL * len(told)

    def is_foreign(self, statement: str) -> bool:
        """Whether *statement* tells as the user's wish what only an answer of a tool says."""
        wish = _WISHES(statement)
        if wish is None or tells_of_text(folded(statement)):
            return False
        told = content(words(statement.replace(wish[0], " "))) - _OF_TELLING
        if len(told) < _LEAST_OF_WISH or not self._has_tools:
            return False
        if len(told & self._of_user) >= _OF_USER * len(told):
            return False
        return any(len(told & line) >= _OF_TOOL * len(told) for line in self._of_tools)

    def _is_named(self, name: str) -> bool:
        return any(name in plain for plain in self._folded) or name in self._answered

    @cached_property
    def _answered(self) -> str:
        return folded(
            "\n".join(texts_of(one for one in self._request.parsed if one.role == "tool"))
        )

    def _was_named(self, stem: str) -> bool:
        return any(stem in plain for plain in self._folded)

    def is_in_another_language(self, text: str) -> bool:
        """Whether *text* is in a language in which nobody has talked."""
        return is_foreign(profile(words(text)), self.languages)

    @cached_property
    def rules(self) -> Rules:
        """What the user and the system want, and do not want."""
        request = self._request
        before = [*map(_told, request.earlier), *request.quoted]
        said = [
            (without_reminders(one.text), one.is_from_user or one.role == "system")
            for one in request.parsed
            if one.role != "tool"
        ]
        return Rules(
            [
                *((one, True) for one in before),
                *((one, is_rule and len(one) <= TYPED) for one, is_rule in said),
            ]
        )

    @cached_property
    def planted(self) -> Planted:
        """What only tools say to a model, or for a person."""
        return Planted(self._request.parsed, [*self._by_user, *self.texts])

    @cached_property
    def corrected(self) -> Corrected:
        """What the user has corrected."""
        return Corrected(self._by_user)

    @cached_property
    def has_lasting(self) -> bool:
        """Whether anybody said what is to hold always, never or from now on."""
        return any(map(is_lasting, self._folded))

    @cached_property
    def languages(self) -> Profile:
        """The languages in which they talked."""
        sample = ""
        for one in self._texts():
            sample += f"{folded(one)}\n"
            if len(sample) > _SAMPLE:
                break
        return profile(words(sample[:_SAMPLE]))

    @cached_property
    def texts(self) -> list[str]:
        """What they said: one text each, after what was said before."""
        return [*self._texts()]

    def _texts(self) -> Iterator[str]:
        request = self._request
        yield from (request.focus, *request.quoted, *map(_told, request.earlier))
        for one in request.parsed:
            if one.role in {"user", "assistant", "system"}:
                yield _without_told_orders("\n".join(texts_of([_spoken(one)])))

    @cached_property
    def _typed(self) -> list[set[str]]:
        return [content(words(text)) for text in self._by_user]

    @cached_property
    def _user_said(self) -> list[str]:
        return [folded(one) for text in self._by_user for one in statements(text)]

    @cached_property
    def _by_user(self) -> list[str]:
        """What users have typed: what the view shows word for word, then what is summarized."""
        users = (without_reminders(one.text) for one in self._request.parsed if one.is_from_user)
        return [text for text in (*self._request.quoted, *users) if len(text) <= TYPED]

    @cached_property
    def _forbidden(self) -> list[tuple[str, set[str]]]:
        return [(one, {*meaning(one)}) for one in self._user_said if _BANS(one)]

    @cached_property
    def _contents(self) -> list[set[str]]:
        return [content(words(one)) for one in self.texts]

    @cached_property
    def _of_user(self) -> set[str]:
        request = self._request
        users = texts_of(one for one in request.parsed if one.is_from_user)
        # The assistant, too, may tell what a page wants.
        told = (request.focus, *request.quoted, *map(_told, request.earlier), *users)
        return content(words("\n".join(told)))

    @cached_property
    def _has_tools(self) -> bool:
        return any(one.role == "tool" for one in self._request.parsed)

    @cached_property
    def _of_tools(self) -> list[set[str]]:
        answers = texts_of(one for one in self._request.parsed if one.role == "tool")
        return [content(words(line)) for text in answers for line in statements(text)]

    @cached_property
    def _folded(self) -> list[str]:
        return [*map(folded, self.texts)]


class _Wanted(Struct, frozen=True, kw_only=True):
    """The words that have to stand in one place."""

    stems: list[str]
    size: int
    """How many there are, with those that may be anywhere if it does no harm."""

    verb: str
    """What has to be among them; empty if any may be missing."""

    is_ban: bool
    is_light: bool
    """Whether it does no harm, whatever it is about."""

    is_idle: bool
    """Whether it forbids what does no harm."""

    has_effect: bool
    """Whether it changes something."""

    @property
    def is_vague(self) -> bool:
        """Whether that is too little to tell, and harmless."""
        return self.is_idle or len(self.stems) <= (not self.has_effect and not self.is_ban)

    @property
    def _most(self) -> int:
        return (self.size - (not self.is_light)) // 2 if self.size > 1 else 0

    def may_be_in(self, plain: str) -> bool:
        found = sum(stem in plain or stem in KIND for stem in self.stems)
        return found >= len(self.stems) - self._most

    def is_in(self, text: str) -> bool:
        pieces = [{*meaning(one)} for one in self._pieces(text)]
        size = 1 if self.is_ban else _PLACE
        return any(
            self._is_among(set[str]().union(*pieces[at : at + size])) for at in range(len(pieces))
        )

    def _pieces(self, text: str) -> Iterator[str]:
        for one in map(folded, statements(text)):
            if self.is_ban:
                yield from [one] if _DENIES(one) else ()
            else:
                yield " ".join(part for part in _CLAUSES(one) if not self._is_banned(part))

    def _is_banned(self, clause: str) -> bool:
        """Whether *clause* forbids to do it, and not what it names before or after that."""
        ban = _BANS(clause) if self.verb else None
        after = clause[ban.end() :].split(maxsplit=_NEXT_WORDS)[:_NEXT_WORDS] if ban else ()
        return self.verb in meaning(" ".join(after))

    def _is_among(self, found: set[str]) -> bool:
        left = [one for one in self.stems if one not in found]
        # Another verb may stand for one that does no harm, where all else was said.
        if self.verb in left and (self.has_effect or self._most == 0):
            return False
        return len(left) <= self._most


def _wanted(order: Order) -> _Wanted:
    stems = meaning(order.text)
    verb, is_ban = next(iter(stems), ""), _BANS(order.text) is not None
    effect = next((one for one in stems if one in EFFECTS), "")
    first = next(map(stem_of, ITEM.findall(order.text)), "")
    is_light = {first, verb} & LIGHT and not (is_ban and {first, verb} & WATCHING)
    stems = [one for one in stems if order.is_permit or not is_light or one not in LIGHT]
    return _Wanted(
        stems=stems,
        size=len(stems),
        verb=effect if order.is_permit else "" if is_light or is_ban else verb,
        is_ban=is_ban,
        is_light=bool(is_light) and not order.is_permit and not is_ban,
        is_idle=bool(is_light and _BANS(order.text[:_BEGINNING])),
        has_effect=not is_ban and (order.is_permit or verb in EFFECTS),
    )


def _without_told_orders(text: str) -> str:
    """Return *text* without what it quotes of somebody else, where that is an order."""
    kept, last = "", 0
    for quote in _QUOTED(text):
        before = folded(text[max(0, quote.start() - _BEFORE_QUOTE) : quote.start()])
        if is_reported(before) and (imitates(quote[1]) or is_order(quote[1])):
            kept += text[last : quote.start()]
            last = quote.end()
    return kept + text[last:]


def _spoken(message: Message) -> Message:
    """Return *message* with the first line of each argument: what is in a file that it writes, nobody said."""
    if not message.tool_calls:
        return message
    parts = tuple(
        replace(one, arguments=_NEXT_LINES.sub("", one.arguments))
        if isinstance(one, ToolCallPart)
        else one
        for one in message.parts
    )
    return replace(message, parts=parts)


def _told(text: str) -> str:
    """Return an earlier summary without what code took into it from the answers of tools."""
    record = SummaryRecord.read(text)
    if record is None:
        return text
    return "\n".join(
        line
        for section, lines in record.sections.items()
        if section not in _OF_TOOLS
        for line in lines
    )
