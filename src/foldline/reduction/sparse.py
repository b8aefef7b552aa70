"""
What a text is instead of a summary of a source of so few words that they cannot be compared.

Such a source is one sentence with another number each time. A summary of it may have words of its own, so
only a text that says nothing of it is told: it has none of its words and names no side, and denies,
announces, holds a place or has many other words.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from msgspec import structs

from foldline.reduction.language import (
    TELLING,
    Profile,
    content,
    is_strange,
    may_ask_for_any,
    profile,
    words,
)
from foldline.reduction.request import SummaryRequest
from foldline.reduction.sources import texts_of
from foldline.reduction.statements import is_labelled, statements


EMPTY = "The text says too little to stand for the conversation."
"""What is said of a text that has nothing in it."""

ELSEWHERE = "The text is about something else than the conversation."
"""What is said of a text that tells of other things, or of none."""

FOREIGN = "The text is in another language than the conversation and its instruction."
"""What is said of a text in a wrong language."""

COPIED = "The text copies messages word for word instead of summarizing the conversation."
"""What is said of a stretch of the source."""

REPEATED = "The text says the same again and again."
"""What is said of a text with the same stretches again and again."""

HOLLOW = content(
    words(
        "goal goals progress context critical overview background current state status decision decisions key"
        " next step steps action items open tasks done pending remaining work working continue continued going"
        " several various some made taken were above below important information details things points none"
        " concise comprehensive brief complete essential relevant necessary preserve capture include contain"
        " another reader pick seamlessly previous primary request requests intent technical concepts files code sections"
        " problem solving messages optional session artifacts"
    )
)
"""The stems of what a summary may say of any conversation."""

# Who says that nothing was done of what was asked for names no word of it.
_SAID_OF_ALL = content(words("done made taken request requests progress session previous"))
# Who refuses, fails, denies that there is anything or announces a summary says one of these.
_SAYING_NOTHING = frozenset(
    words(
        "no not none nothing never empty cannot can't couldn't won't unable sorry refuse decline declined denied refused rejected blocked violate"
        " impossible violates error failed exceeded timeout timed limit following follows insert lorem"
        " nicht nichts kein keine keinen leider ne pas rien aucun aucune désolé nada ningún ninguna siento"
        " lamento non niente nessun nessuna dispiace spiace não nenhum nenhuma desculpe niet niets geen helaas"
        " inte inget tyvärr ikke intet desværre nie nic przepraszam niestety değil yok maalesef üzgünüm özür не нет ничего извините"
    )
)
# Who speaks of a conversation need not know it.
_TELLING = TELLING - frozenset(
    words(
        "conversation summary summarized discussion discussed meeting record gespräch unterhaltung zusammenfassung résumé"
        " conversación resumen conversazione riassunto conversa resumo gesprek samenvatting rozmowa rozmowy konuşma разговор разговора"
    )
)
# What stands in the place of a text, alone or under headings.
_VOID = frozenset(
    words(
        "ok okay none nothing no na n a null nil nan true false yes undefined todo tbd string empty xxx placeholder sure thing refused declined"
        " keine nichts rien nada nulla niets ничего"
    )
)
# What stands where a value is still to be written.
_BLANK = _VOID | {
    *words(
        "recorded noted given found available applicable see above to be filled fill in here yet"
    )
}
_LEAST_BLANK = 3
_HAS_DIGIT = re.compile(r"\d").search
_IS_TEMPLATE = re.compile(
    r"\{[^\n{}\":]*\}|\{\{[^\n{}]*\}\}|(?:<[^\n<>]*>\s*+)+|[$%]\w+|\[[\W\d_]*\]|(?:[^\s:][^\n:]{0,39}+: *+\[[^\n\]\d]*+\]\s*+){2,}"
).fullmatch
_REFUSES = re.compile(
    r"(?:^|[.!?] )(?:as an ai\b|(?:unable|not able) to (?:comply|help|assist|summari[sz]e|fulfil|process|provide|produce)"
    r"|no summary\b|summari[sz]ation (?:is|was) not\b"
    r"|(?:this|the|your) (?:request|message|content|input|prompt) (?:can(?:no|['’])t|could not|violates|(?:was|is|has been) (?:blocked|denied))"
    r"|(?:i|we)(?:['’]m| am| are)? (?:cannot|can(?:['’]| no)t|will not|won['’]t|unable|not able|must decline|refuse))\b",
    re.IGNORECASE,
).search
_ANNOUNCES = re.compile(
    r"\W*(?:here(?:['’]s| is| are)|below is|this is|i(?:['’]ve| have)? summari[sz]ed)\b|.*\b(?:goes|text|summary) here\W*\Z",
    re.IGNORECASE,
).match
_LABEL = re.compile(r"^[ \t]*#.*|^[^\n.!?]{1,60}[:\uff1a][*_ ]*$", re.MULTILINE)
_LABELLED = re.compile(r"^[ \t]*#.*|^[^\n.!?:\uff1a]{1,60}[:\uff1a]", re.MULTILINE)
_SIDE = re.compile(
    r"^[^\w\n]*(?:user|human|assistant|ai)[^\w\n]{0,3}:", re.IGNORECASE | re.MULTILINE
)
_LEAST_OTHER = 6
# Who names a side tells of some conversation, and may do so in other words.
_LEAST_OTHER_TOLD = 9
_LEAST_COPIED = 2
_LEAST_REPEATED = 4
_MOST_DIFFERENT = 0.5


def sparse_defects(
    text: str, request: SummaryRequest, *, meant: set[str], has_code: bool
) -> Iterator[str]:
    """
    Yield what *text* is instead of a summary of the few words of a source.

    Args:
        text: The summary.
        request: What was asked.
        meant: The stems of the source.
        has_code: Whether a code or a number of the source is in *text*.
    """
    found = words(_LABEL.sub("", text))
    own = content(one for one in found if one not in TELLING)
    # One of them may be a plural.
    known = meant - _SAID_OF_ALL
    shared = [one for one in known if any(_are_alike(one, other) for other in own)]
    said = words("\n".join((*texts_of(request.messages), *request.earlier)))
    has_most = len(shared) * 2 > len(meant)
    if _is_foreign(found, profile(said), request.instruction, has_most=has_most):
        yield FOREIGN
    is_void = _VOID.issuperset(words(_LABELLED.sub("", text))) and not _HAS_DIGIT(text)
    is_elsewhere = not (shared or has_code or _may_tell(text, found, len(own - HOLLOW), said))
    if is_void or _IS_TEMPLATE(text.strip()):
        yield EMPTY
    elif is_elsewhere or _REFUSES(text):
        yield ELSEWHERE
    if _is_copied(text, request):
        yield COPIED
    if _repeats(text):
        yield REPEATED


def is_blank(text: str) -> bool:
    """Whether *text* has labels, and nothing under any of them."""
    values = [one.partition(":")[2] for one in text.split("\n") if is_labelled(one)]
    values = [one for one in values if words(one)]
    return len(values) >= _LEAST_BLANK and all(
        _BLANK.issuperset(words(one)) and not _HAS_DIGIT(one) for one in values
    )


def says_nothing(text: str, own: Iterable[str], meant: Iterable[str]) -> bool:
    """Whether a *text* with the stems *own* has none of those *meant*, and denies, refuses or announces."""
    is_shared = any(_are_alike(one, other) for one in meant for other in own)
    return not is_shared and (_REFUSES(text) is not None or _denies(text))


def _are_alike(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _denies(text: str) -> bool:
    """Whether *text*, which tells of nobody, denies something in most of its statements or announces."""
    units = [words(one) for one in statements(text)]
    if not _TELLING.isdisjoint(chain.from_iterable(units)):
        return False
    denied = sum(not _SAYING_NOTHING.isdisjoint(one) for one in units)
    return denied * 2 >= len(units) or _ANNOUNCES(text) is not None


def _may_tell(text: str, found: Sequence[str], size: int, said: Sequence[str]) -> bool:
    """Whether a *text* with so many stems may tell of what was *said* with none of its words."""
    if _denies(text):
        return False
    # In another language than the source, it has none of its words.
    is_free = not _TELLING.isdisjoint(found) or is_strange(said, profile(found))
    return size < (_LEAST_OTHER_TOLD if is_free else _LEAST_OTHER)


def _is_foreign(found: Sequence[str], source: Profile, instruction: str, *, has_most: bool) -> bool:
    """Whether the words *found*, with or without most of the *source*, are in a language nobody asked for."""
    if may_ask_for_any(instruction):
        return False
    own, known = profile(found), [source, profile(words(instruction))]
    script = max(own.scripts, key=own.scripts.__getitem__, default="")
    scripts = {name for one in known for name in one.scripts} or {script}
    if script and script not in scripts:
        return True
    # A source without little words may be in any language, but then its words are in the text.
    if has_most and not any(source.languages.values()):
        known.append(structs.replace(own, scripts={}))
    return is_strange(found, *known)


def _is_copied(text: str, request: SummaryRequest) -> bool:
    """Whether *text* is one stretch of the messages, but for the names of the sides."""
    copied = _SIDE.sub("", text).split()
    talk = (one.text for one in request.messages if one.role != "tool")
    sources = (" ".join(" ".join(texts).split()) for texts in (texts_of(request.messages), talk))
    stretch = f" {' '.join(copied)} "
    return len(copied) >= _LEAST_COPIED and any(stretch in f" {said} " for said in sources)


def _repeats(text: str) -> bool:
    """Whether *text* has the same statements again and again."""
    found = [one.strip() for one in statements(text)]
    return len(found) >= _LEAST_REPEATED and len(set(found)) < _MOST_DIFFERENT * len(found)
