"""
The sentences in which the user forbids, demands or prefers.

A rule is told to the assistant: a sentence that opens with an order or a prohibition, or that says
what its writer wants or what something should be. What only holds such a word is none: a report ("I
don't have the number"), a question ("what if we don't stream?"), a line of pasted code or of a log.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, groupby, zip_longest

from foldline.providers.digest.outline import Item
from foldline.providers.digest.prose import lines_of, sentence_in
from foldline.providers.digest.span import Speech
from foldline.providers.digest.text import ELLIPSIS, batches, distinct, letters_in, untypeset


__all__ = ["is_rule", "offer_rules"]


_MOST_RULES = 200
_LENGTHS = range(8, 241)
# A person types less; what is longer was pasted, and its sentences tell of other things.
_TYPED = 1_500

# Before Python 3.11.5 a group that is repeated without giving back (`*+`) loses its place, so that
# is written as: no further one follows.
_FIRST = (
    r"(?:(?:/\w{1,12}|and|also|but|so|then|no|ok|okay|yes|please|remember(?: to)?|note|rules?|important"
    r"|in particular|in general|from now on|for now|however|again|just|try to|let['’]?s|i said|actually"
    r"|really|that)\b[,:!]? +)"
)
_LEAD = rf"{_FIRST}*(?!{_FIRST})"
# When and where the rule holds.
_CASE = (
    r"(?:(?:when|whenever|if|before|after|for|unless|until|while|once|in|on|as)\b"
    r"[^.?!]{1,160}?[,:] (?:then )?)?"
)
_VERB = (
    r"(?:use|change|edit|touch|modify|run|write|add|read|do|send|call|show|answer|reply|return|fix|work"
    r"|look|include|output|respond|commit|test|delete|remove|create|import|accept|pay|book)\b"
)
_NOT = r"(?:do not|don['’]?t|dont)"
_REPORT = (
    r"(?:know|think|worry|mind|care|have|see|remember|understand|recall|believe|feel|seem|work|like|get"
    r"|exist|appear)\b"
)
_ORDER = (
    rf"(?:{_NOT} (?!{_REPORT})\w|never (?!mind|seen|been|had|heard|tried)\w|always \w|prefer\b|avoid\b"
    rf"|make (?:very )?sure\b|be sure\b|be careful\b|ensure\b|must not\b|only {_VERB}|{_VERB} only\b"
    r"|instead of\b|stop \w+ing\b|call me (?!a\b|at\b|back\b|if\b|later\b|on\b|when\b)\w"
    # "Use pnpm, not npm", "We don't use semicolons"
    rf"|{_VERB} [^,;:?!]{{1,80}}, not (?!because\b|just\b|only\b|sure\b|that\b|yet\b)\w"
    rf"|we (?:{_NOT}|always|never|only) (?:allow|commit|deploy|log|merge|mix|mock|push|share|ship|store"
    r"|use|write)\b(?! (?:it|that|the|these|this|those)\b)|you (?:are not|aren['’]t) allowed\b"
    r"|you (?:must|should|shall|may|have to|need to)(?: not| only| always| never)\b|you can only\b"
    r"|you (?:must|should|have to|cannot|can['’]?t|mustn['’]?t|shouldn['’]?t) (?!have\b|be\b|see\b))"
)
_MUCH = r"(?: (?:would|really|actually|still|definitely|just|also|much)|['’]d)"
_WANT = (
    r"(?:^|[,;:(-] ?|\b(?:and|but|as|since|because|so|that|no) )(?:i|we)"
    rf"{_MUCH}*(?!{_MUCH}) (?:prefer\b|rather\b|insist\b"
    rf"|(?:only|always|never|{_NOT}) (?:actually |really |even )?(?:want|need)\b"
    r"(?! to (?:know|wait|worry|do|make sure)\b)(?! (?:it|that|this|them|these|those)\W*$)"
    r"|(?:hate|dislike|can(?:no|['’]?)t stand) (?!how\b|it\b|that\b|this\b|to\b|when\b|you\b)\w"
    r"|(?:like|want|expect) (?:to (?:get|have|see) )?(?:all|each|every|everything) "
    r"(?!\d|four\b|my\b|of\b|the\b|these\b|this\b|those\b|three\b|to (?:be|pass|run|work)\b)\w)"
)
_PLACED = r"(?:the|this|that|these|those|it|they|all|every|each|everything|nothing|any|users?)"
_WISH = (
    r"(?:use \S{1,60} instead|keep (?!going|on\b|it up|trying|in mind))\b"
    # What something is to be: "The list should be sorted", "This plan must hold"
    rf"|(?:{_PLACED} )?(?:(?!(?:what|where|which|how|who|why|there)\b)[\w`'\"./()<>-]{{1,60}} ){{1,5}}"
    r"should (?!now\b|work\b|pass\b|have\b|be (?:fixed|fine|good|ok|okay|there|done|ready|able)\b)|"
    + _PLACED
    + r" (?:[\w`'\"./-]{1,60} ){0,4}must\b"
)
# The simplest marks of other languages.
_ABROAD = (
    r"(?:bitte |s['’]il (?:te|vous) pla[iî]t,? |por favor,? |per favore,? |пожалуйста,? )?(?:"
    r"niemals|immer |nie |auf keinen fall|vermeide|achte darauf|du darfst|sie dürfen|ich bevorzuge"
    r"|ich (?:will|möchte) (?:nicht|kein)|jamais|toujours|évite[rz]?\b|n['’]\w+ (?:pas|jamais|plus)"
    r"|ne (?:\w+ ){1,2}(?:pas|jamais|plus)|je préfère|je ne veux pas|nunca|siempre|jamás|evita\b|prefiero"
    r"|no (?:quiero|uses|hagas|toques|borres|cambies|modifiques|escribas|olvides)\b"
    r"|sempre|evite\b|prefiro|não \w+|mai |preferisco|non \w+(?:are|ere|ire)\b"
    r"|non voglio|никогда|всегда|не \w+(?:й|йте|ь|ьте)\b)"
)
_STRICT = re.compile(rf"{_LEAD}{_CASE}{_LEAD}{_ORDER}|{_ABROAD}", re.IGNORECASE).match
# What begins inside a sentence.
_INSIDE = re.compile(
    rf"(?:[(;–—-] ?|, (?:but|and) (?:please )?)(?:{_NOT} (?!{_REPORT})\w|never |always )",
    re.IGNORECASE,
).search
_ANYWHERE = re.compile(
    r"\b(?:from now on|under no circumstances?)\b"
    r"|(?:^|[,;:–—-] )(?:and |just |please |so )*be (?:as |very )?(?:brief|concise|polite|terse)\b"
    r"|\b(?:nicht|niemals|keine?n?)\b[^,]*!$"
    r"|不要|不得|禁止|必须|必須|务必|请勿|請勿|一定要|ないで|てはいけない|必ず|常に|絶対に"
    r"|하지 ?마|마세요|항상|반드시|절대",
    re.IGNORECASE,
).search
_PREFERENCE = re.compile(rf"{_LEAD}{_CASE}{_LEAD}(?:{_WISH})", re.IGNORECASE).match
_WANTED = re.compile(_WANT, re.IGNORECASE).search
# What is about the writer tells, and does not ask.
_OWN = re.compile(r"\b(?:i|my|me|we|our)\b", re.IGNORECASE).search
# One of these is in every English sentence that a pattern here takes, and in most others written
# without accents; all of them are whole words.
_SIGNS = frozenset(
    re.findall(
        r"\w+",
        # Some write them without the apostrophe; with it the sign is the `t`.
        "all allowed always avoid brief call cannot can't careful circumstance circumstances concise dislike don't each ensure every"
        " everything hate have insist instead keep may must mustn't need never not now only polite"
        " prefer rather shall should shouldn't stand stop sure t terse want"
        " achte auf bevorzuge darfst evita evite ich immer jamais kein keine keinen keinn mai n ne"
        " nicht nie niemals no non nunca preferisco prefiero prefiro sempre siempre toujours"
        " vermeide vermeiden".replace("'", ""),
    )
)
# Signs that are none without a word beside them, and those words.
_WEAK = re.findall(
    r"\w+",
    "all allowed auf call cannot can't each have ich may mustn't need no not shall shouldn't t"
    " want".replace("'", ""),
)
_BESIDE = re.findall(
    r"\w+",
    "borres cambies do don escribas expect hagas like me modifiques olvides quiero toques use uses"
    " want you",
)
_FIRST_SIGNS = _SIGNS.difference(_WEAK).union(_BESIDE)
# Most sentences have none of the signs of a pattern that searches them whole.
_NOWHERE = frozenset(
    re.findall(
        r"\w+",
        "brief circumstance circumstances concise kein keine keinen keinn nicht niemals now polite"
        " terse",
    )
)
_WANTS = frozenset(
    re.findall(
        r"\w+", "all dislike each every everything hate insist need prefer rather stand want"
    )
)
_WISHES = frozenset(["instead", "keep", "must", "should"])
_QUOTED = re.compile(r"(?m)^[ \t]*>.*$")
_CODE = re.compile(r"[;{}]$|=>|\);|^\W*\d+[:\s]|\w(?:Error|Exception):|\x1b")


def is_rule(sentence: str) -> bool:
    """Whether the user asks in *sentence* that something be done always, never or in a certain way."""
    return len(sentence) in _LENGTHS and any(_is_asked(*one) for one in _signed([sentence]))


def _is_asked(sentence: str, signs: AbstractSet[str]) -> bool:
    if sentence.endswith(("?", "？", ELLIPSIS)):
        return False
    is_asked = _is_strict(sentence, signs) or (signs & _WANTS and _WANTED(sentence))
    is_wished = not is_asked and signs & _WISHES and _PREFERENCE(sentence)
    return bool(is_asked or (is_wished and not _OWN(sentence))) and not _CODE.search(sentence)


def _signed(lines: Sequence[str]) -> Iterator[tuple[str, AbstractSet[str]]]:
    """Yield those of *lines* that may be rules, and their signs; beyond ASCII each may be there."""
    joined = untypeset("\n".join(lines))
    letters = letters_in(joined).split("\n")
    for line, plain, read in zip(lines, joined.split("\n"), letters, strict=True):
        words = read.split()
        if not plain.isascii():
            yield line, _SIGNS
        elif not _FIRST_SIGNS.isdisjoint(words) and (signs := _SIGNS.intersection(words)):
            yield line, signs


def _is_strict(sentence: str, signs: AbstractSet[str]) -> bool:
    return bool(
        _STRICT(sentence) or _INSIDE(sentence) or (signs & _NOWHERE and _ANYWHERE(sentence))
    )


def offer_rules(
    speeches: Iterable[Speech], *, prior: Sequence[str], asked: Iterable[str]
) -> list[Item]:
    """
    Offer the rules of the user, the strict ones first.

    Of equally strict ones the newest and the oldest alternate: a rule holds until it is withdrawn.
    """
    new = (speech.text for speech in speeches if speech.role == "user")
    texts = distinct([*_rules(asked), *filter(is_rule, prior), *_rules(new)])
    strict = [place for place, text in enumerate(texts) if _is_strict(text, _SIGNS)]
    others = sorted(set(range(len(texts))).difference(strict))
    ranked = _from_both_ends(strict) + _from_both_ends(others)
    return [Item(texts[place], place) for place in ranked[:_MOST_RULES]]


def _rules(texts: Iterable[str]) -> Iterator[str]:
    for is_typed, alike in groupby(texts, key=lambda text: len(text) <= _TYPED):
        few = (_signed(lines_of(map(_unquoted, batch))) for batch in batches(alike))
        for line, signs in chain.from_iterable(few):
            sentence = sentence_in(line, _LENGTHS)
            is_asked = sentence and _is_asked(sentence, signs)
            if is_asked and (is_typed or _is_strict(sentence, signs)):
                yield sentence


def _unquoted(text: str) -> str:
    return _QUOTED.sub("", text) if ">" in text else text


def _from_both_ends(places: Sequence[int]) -> list[int]:
    pairs = zip_longest(reversed(places), places)
    return list(dict.fromkeys(place for pair in pairs for place in pair if place is not None))
