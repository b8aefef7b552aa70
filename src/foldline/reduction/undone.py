"""
Which statements of a summary say that something is done that nobody can have done.

What the last message orders was answered by nobody. What was left open in words after the last call that
changed something is still open, unless words after it say that it is done.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from foldline.history.messages import Message
from foldline.history.reminders import without_reminders
from foldline.reduction.commands import orders_in
from foldline.reduction.evidence import has_failed, is_left_open, says_done
from foldline.reduction.language import content, words
from foldline.reduction.quotes import TYPED
from foldline.reduction.sources import texts_of
from foldline.reduction.sparse import HOLLOW
from foldline.reduction.statements import is_listed, statements
from foldline.reduction.tools import shows


_LEAST_SHARED = 2
_LEAST_SHARE = 0.5
_MOST_OF_CLAIM = 0.75
# So many words before one that stands for them tell what it is.
_LEAST_MEANT = 6
# What was not done to one thing.
_MOST_DENIED = 2
_CLAUSES = re.compile(r"[,;:]\s|\s(?:(?:and|und|et|y|e|en)|\d{1,2}[.)])\s").split
# Who tells what was done says it with a verb in the past, of himself or of what it was done to.
_CLAIMS = re.compile(
    r"\b(?:(?:was|were)(?! (?:an?|the|in|on|at|due|because|about|only|from)\b)|been|(?:is|are) now|wurden?|worden|fue(?:ron)?|été|foi|foram|stat[oaie]|werd(?:en)?)\b"
    r"|\b(?:i|we|assistant)(?:['’]ve| have| has)? (?:(?:also|then|now) )?(?:[a-z]{2,}ed|wrote|made|sent|built|put)\b"
    r"|\b(?:is|are|has|have|had) [a-z]{3,}ed\b|\b(?:approved|confirmed|granted|accepted|signed)\b|\bse [a-záéíóú]{2,}(?:ó|aron|ieron)\b|\bya est[áa]n? |\A\W{0,5}\[x\]|[✓✔☑✅]",
    re.IGNORECASE,
).search
# What was said of it is no claim, nor what somebody means to do.
_IS_OTHER = re.compile(
    r"\b(?:agreed that|(?:it was|they|we|all|both) agreed|later|announced|considered|decided|drafted|expected|intended|mentioned|noted|offered|planned"
    r"|prepared|promised|recommended|scheduled|chosen|proposed|suggested|discussed|said|told|explained|nothing|nichts|rien|nada|niente|niets|geplant|vereinbart"
    r"|beschlossen|besprochen|vorbereitet|entworfen|preparad[oa]|acordad[oa]|previst[oa]|prévu\w*)\b",
    re.IGNORECASE,
).search
_DONE_LABEL = re.compile(
    r"\W{0,9}(?:[\w']{1,20} )?(?:done|completed?|finished|accomplished|erledigt\w*|fertig|terminé\w*|hecho|fatto"
    r"|feito|gedaan|klart|zrobione|tamamlanan\w*|сделано)(?: (?:so far|tasks?|items?|work|steps?|aufgaben))?[\s:*_]{0,6}",
    re.IGNORECASE,
).fullmatch
_IS_LABEL = re.compile(r"\s{0,9}#|[^\n]{0,80}:[\s*_\[{]{0,6}\Z").match
_LITTLE = HOLLOW | content(
    words(
        "nothing nobody anything until still missing fehlt fehlen then also some have having later please want wants know need needs habe haben nichts queda quedan falta faltan nada reste rien resta manca niente"
    )
)
_IS_PRONOUN = re.compile(
    r"\W*(?:(?:but|and|aber|und) )?(?:they|he|she|it|that|this|these|those|sie|er|es|das|dies)\b",
    re.IGNORECASE,
).match
_ENDING = re.compile(r"(?<=...)(?:ed|es|e|s)\Z")
_JOINED = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NAMED = re.compile(r"(?<![\w./-])[\w-]{1,60}(?:[./_][\w-]{1,60}){1,12}")
_PARTS = re.compile(
    r"[,;:]\s|\s(?:and|but|und|aber|sondern|et|mais|y|pero|e|ma|mas|en|maar)\s|\.\s(?=(?:I|We|Ich|Wir)\b)"
).split
_IS_AHEAD = re.compile(
    r"\b(?:i|we)(?:['’]ll| will| shall|['’](?:m|re) going to| am going to)\b|\bnext\b|\bpending\b|\bawait\w*"
    r"|\bnot yet\b|\byet to\b|\b(?:is|are) missing\b|\bstill (?:to|open|missing|needs?|has to|have to|waiting)\b"
    r"|(?:\b(?:has|have|had|is|are|was|were) not|n['’]t) (?:been |yet )?[a-z]{2,}(?:ed|en|un|ne|nt|de)\b|\b(?:not|n['’]t)\b[^.\n]{0,40}\byet\b"
    r"|\b(?:nothing|nichts|rien|nada|niente|niets|ничего)\b|\bnoch (?:nicht|zu|offen|aus)\b|\bfehl(?:t|en)\b|\bals nächstes\b|\bqueda(?:n)?\b|\bfalta(?:n)?\b"
    r"|\b(?:todavía|aún) no\b|\bpas encore\b|\b(?:il )?reste à\b|\bnon ancora\b|\bainda não\b|\bnog niet\b"
    r"|\b(?:sin|sans|senza|sem) [a-zà-ÿ]{2,20}(?:[aei]r|re)\b",
    re.IGNORECASE,
).search
# What another one has to do first; no call does it.
_WAITS = re.compile(
    r"\b(?:has|have|needs?|must) (?:to )?(?:be )?(?:confirm|approv|agree|sign|consent|decid)\w*|\bneeds? [^.\n]{0,20}(?:approval|confirmation|consent)\b"
    r"|\b(?:subject to|waiting for|until) [^.\n]{0,40}\b(?:confirm|approv|agree|sign|consent|decid)\w*"
    r"|\b(?:muss|müssen|bis|sobald)\b[^.\n]{0,60}(?:zustimm|zugestimmt|bestätig|genehmig|entscheid|unterschr)\w*"
    r"|\b(?:tiene que|debe|hasta que)\b[^.\n]{0,60}(?:confirm|aprob|autoriz|acept)\w*|\b(?:doit|jusqu['’]à)\b[^.\n]{0,60}(?:confirm|approuv|accept|valid)\w*",
    re.IGNORECASE,
).search
_IS_WISH = re.compile(
    r"\b(?:please|can you|could you|wants?|needs?|would like|i['’]d like|bitte|möchte|brauche|quiero|necesito|por favor"
    r"|je veux|voudrais|vorrei|quero|preciso)\b",
    re.IGNORECASE,
).search
_DENIES_ALL = re.compile(
    r"\b(?:nothing|none|nichts|rien|nada|niente|nulla|niets|ничего|not|never|nicht|nie|missing|fehl(?:t|en)|falta(?:n)?|manquent?|manca(?:no)?|ontbreekt)\b|n['’]t\b",
    re.IGNORECASE,
).search


class _Open(Struct, frozen=True, kw_only=True):
    """What is not done."""

    stems: set[str]
    """Those of the statement."""

    new: set[str]
    """Those of the part that leaves it open."""

    is_denied: bool
    """Whether it was denied as a whole."""

    def is_told(self, told: set[str]) -> bool:
        """Whether a claim with the stems *told* is about it."""
        shared = len(self.new & told)
        if self.is_denied and shared:
            return len(self.new) == 1 or shared >= _LEAST_SHARE * len(told)
        if not shared:
            return False
        most = len(self.stems & told)
        return (
            shared >= max(_LEAST_SHARED, _LEAST_SHARE * len(self.new))
            or most >= max(_LEAST_SHARED, _LEAST_SHARE * len(self.stems))
            or most >= max(_LEAST_SHARED, _MOST_OF_CLAIM * len(told))
        )


def undone(found: Iterable[str], messages: Sequence[Message]) -> frozenset[str]:
    """Return those of *found* that tell as done what the last ones of *messages* order or leave open."""
    wishes, left = [*_wishes(messages)], _left(messages)
    if not (wishes or left):
        return frozenset()
    bad: set[str] = set()
    is_listed_done = False
    for one in found:
        if is_label(one):
            is_listed_done = _DONE_LABEL(one) is not None
            continue
        is_item = is_listed_done and is_listed(one)
        parts = _CLAUSES(one)
        if any(
            _claims(part, wishes) or _claims_open(part, left, is_item=is_item) for part in parts
        ):
            bad.add(one)
    return frozenset(bad)


def is_label(statement: str) -> bool:
    """Whether *statement* stands above a list."""
    return _IS_LABEL(statement) is not None


def _wishes(messages: Sequence[Message]) -> Iterator[tuple[set[str], set[str]]]:
    """Yield the stems of each order that nobody can have followed yet, and which of them are new."""
    if not messages or not messages[-1].is_from_user:
        return
    text = without_reminders(messages[-1].text)
    if len(text) > TYPED:
        return
    wishes = [content(words(order.text)) for one in statements(text) for order in orders_in(one)]
    # What was spoken of before may have been done before.
    known = content(words("\n".join(texts_of(messages[:-1])))) if wishes else set[str]()
    for wish in wishes:
        if wish - known:
            yield wish, wish - known


def _left(messages: Sequence[Message]) -> list[_Open]:
    """Return what was left open in words since a call last changed something, or waits for somebody."""
    left: list[_Open] = []
    start = _after_work(messages)
    for at, message in enumerate(messages if start else ()):
        text = without_reminders(message.text) if message.role in {"user", "assistant"} else ""
        is_after = at >= start
        # Most of what was said before leaves nothing open, and tells of nothing that is.
        if len(text) > TYPED or not (is_after or _WAITS(text) or _is_named(left, text.casefold())):
            continue
        for one in statements(text):
            if left and says_done(one):
                stems = _stems(one)
                left = [each for each in left if len(each.new & stems) <= len(each.new) / 2]
            elif (is_after or _WAITS(one)) and not says_done(one):
                left += _left_in(one, is_of_user=message.is_from_user)
    return left


def _is_named(left: Iterable[_Open], said: str) -> bool:
    return any(stem in said for one in left for stem in one.new)


def _left_in(statement: str, *, is_of_user: bool) -> Iterator[_Open]:
    stems = _stems(statement)
    for part in _PARTS(statement):
        new = stems if len(stems) >= _LEAST_MEANT and _IS_PRONOUN(part) else _stems(part)
        is_ahead = _IS_AHEAD(part) or (is_of_user and _IS_WISH(part))
        if new and (is_ahead or _WAITS(part)):
            is_denied = _DENIES_ALL(part) is not None and len(new) <= _MOST_DENIED
            yield _Open(stems=stems, new=new, is_denied=is_denied)


def _stems(text: str) -> set[str]:
    """Return what *text* is about: the file that something is done in is not what is done."""
    plain = _JOINED.sub(" ", _NAMED.sub(" ", text))
    stems = content(word for word in words(plain) if "'" not in word) - _LITTLE
    return {_ENDING.sub("", one) for one in stems}


def _after_work(messages: Sequence[Message]) -> int:
    """Return where the messages begin since a call last changed something; 0 if none ever did."""
    calls = {call.id: call for message in messages for call in message.tool_calls}
    for at in range(len(messages), 0, -1):
        for part in messages[at - 1].tool_call_responses:
            call = calls.get(part.id)
            if not ((call is not None and shows(call)) or has_failed(part)):
                return at
    return 0


def _claims_open(clause: str, left: Iterable[_Open], *, is_item: bool) -> bool:
    if not (is_item or _CLAIMS(clause)) or _IS_OTHER(clause) or is_left_open(clause):
        return False
    told = _stems(clause)
    return any(one.is_told(told) for one in left)


def _claims(clause: str, wishes: Iterable[tuple[set[str], set[str]]]) -> bool:
    if not _CLAIMS(clause) or is_left_open(clause):
        return False
    told = content(words(clause))
    return any(
        new & told and len(wish & told) >= max(_LEAST_SHARED, _LEAST_SHARE * len(wish))
        for wish, new in wishes
    )
