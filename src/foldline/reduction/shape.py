"""
Whether a text has the shape of a summary of its source.

Nothing is asked for that a summary of some kind would not have: words of what it stands for, of the
newest messages as of the summaries before them; more than stretches of the source; no sentences
again and again, nor those of its instruction; an end; a language of its source or of its instruction.
What is said of few words may be said in other words: with a source of fewer than twenty different words of
meaning only what says nothing of it is told (`sparse`). Of up to eighty it has to have a tenth of the text's words, and of 120 and more
four tenths, and five of them; more than half if nothing in the text says that somebody said something.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import compress, count

from foldline.history.parts import TextPart
from foldline.reduction.language import (
    DANGLING,
    TELLING,
    Profile,
    content,
    is_foreign,
    is_unspaced,
    may_ask_for_any,
    names_language,
    profile,
    words,
)
from foldline.reduction.record import Section, SummaryRecord
from foldline.reduction.request import SummaryRequest
from foldline.reduction.sources import texts_of
from foldline.reduction.sparse import (
    COPIED,
    ELSEWHERE,
    EMPTY,
    FOREIGN,
    HOLLOW,
    REPEATED,
    is_blank,
    says_nothing,
    sparse_defects,
)
from foldline.reduction.speech import retells
from foldline.reduction.statements import is_labelled, is_listed, statements


# A source with fewer different words of meaning is not compared with, or not but for a few words; nor is
# a part of it with fewer own ones.
_LEAST_COMPARED = 20
_LEAST_JUDGED = 80
_LEAST_OF_PART = 40
# A few messages of small talk have as many words as a summary, and need not be told.
_LEAST_SAID = 60
_LEFT_OUT = "The text leaves out an earlier summary."
_STALE = "The text leaves out all newly aged messages: it is no newer than what it replaces."
# A text has at least so many, or a share of those of a short source.
_LEAST_CONTENT = 5
_SHARE_OF_SHORT = 0.05
_LEAST_OVERLAP = 0.4
# A text that names nobody who said something is told from an answer by its words. In a language of
# which a text has fewer little words, how one tells is not known, or it is no prose.
_LEAST_OVERLAP_UNTOLD = 0.55
_LEAST_LITTLE = 0.12
_LEAST_OVERLAP_OF_SHORT = 0.1
# What has a smaller part of the little words of a language is in another one.
_LEAST_SPOKEN = 0.05
# A text that refuses, or fits any conversation, has fewer words of a long source than this, by chance.
_LEAST_TOLD = 4
_ACROSS_WORDS = 0.25
# From so many more words on, the whole share is asked for.
_LONG = 40
_LEAST_SHARED = 2
# Stretches of so many words are compared.
_STRETCH = 5
_LEAST_STRETCHES = 3
# So many words are copied of a source however short.
_LEAST_COPIED = 40
_MOST_COPIED = 0.65
_LEAST_REPEATING = 60
_LEAST_DIFFERENT = 0.6
# No full stop is written in Thai.
_ENDED = re.compile(
    r"[.!?…。！？｡\u0e00-\u0e7f؟\u06d4।॥။៕|`)\]}»”\"'>](?:[*_\"'”’»)\]]|\s)*\Z"
).search
_STOPPED = re.compile(r"[.!?…。！？｡؟\u06d4।॥።៕][*_\"'”’»)\]]*\s*\Z").search
_IS_NONE = re.compile(
    r"\b(?:none|nothing|n/?a|keine|nichts|rien|nada|nulla)[*_]*\Z", re.IGNORECASE
).search
_OPEN_BRACKET = re.compile(r"\([^()]*\Z").search
_OPEN_QUOTE = re.compile(r"(?<=[\s(:])[\"'“„«‘`]+\s*\Z").search
_FIGURES = re.compile(r"\d+(?:[.,]\d+)*").findall
_IS_FILE = re.compile(r"[\w~.:/\\@+-]*\w\.[A-Za-z]\w{0,4}|\w+://\S+").fullmatch
# Nobody writes so many empty cells of a table in a row: a model that loops does.
_LOOPS_CELLS = re.compile(r"(?:\|[^\S\n]*){24}").search
_IS_BARE_LABEL = re.compile(r"[^\n:]{1,60}:[*_\s]*\Z").match
_IS_HEADING = re.compile(r"#{1,6}\s").match
_HAS_HEAD = re.compile(r"\s*(?:\*\*[^*\n]{1,60}\*\*|[A-Z][A-Z ]{1,40} [—–-]\s)").match
_LEAST_LINE = 8
_LONG_LINE = 20
_LEAST_OF_SENTENCE = 6
_LEAST_ITEMS = 3
_MOST_ENDED = 0.8


def shape_defects(
    text: str, request: SummaryRequest, *, has_code: bool, merges: bool = False
) -> Iterator[str]:
    """
    Yield what *text* is instead of a summary of what *request* gives to read.

    Args:
        text: The summary.
        request: What was asked.
        has_code: Whether a code or a number of the source is in *text*.
        merges: Whether code carries on what records in the earlier texts list.
    """
    found = words(_without_headings(text))
    said = words("\n".join(texts_of(request.messages)))
    parts = [said, *map(words, request.earlier)]
    meant = [content(one) for one in parts]
    size = len(set[str]().union(*meant))
    if size >= _LEAST_COMPARED:
        own = content(one for one in found if one not in TELLING) - HOLLOW
        least = min(_LEAST_CONTENT, _SHARE_OF_SHORT * size)
        if len(own) + _figures(text, request, own) < least or is_blank(text):
            yield EMPTY
            return
        own_profile, profiles = profile(found), [profile(one) for one in parts]
        yield from _language_defects(own_profile, profiles, request)
        # Beside much code and JSON, what was said in words tells the language.
        talk = profiles[0] if _is_talk(request) else profile(words(_talk_of(request)))
        known = (profiles, [talk] if talk.count >= _LEAST_COMPARED else profiles)
        is_translated = _is_translated(own_profile, talk, request.instruction)
        if not (is_translated or any(is_foreign(own_profile, *ones, least=1) for ones in known)):
            is_prose = max(own_profile.languages.values()) >= _LEAST_LITTLE
            is_told = not is_prose or retells(text)
            share = _LEAST_OVERLAP if is_told else _LEAST_OVERLAP_UNTOLD
            is_hollow = size < _LEAST_JUDGED and says_nothing(text, own, set[str]().union(*meant))
            if is_hollow or _is_elsewhere(own, meant, size, share):
                yield ELSEWHERE
            elif size >= _LEAST_JUDGED:
                yield from _missing_parts(own, meant, request, merges=merges)
    else:
        meaning = set[str]().union(*meant)
        yield from sparse_defects(text, request, meant=meaning, has_code=has_code)
    if (size >= _LEAST_JUDGED or len(found) >= _LEAST_COPIED) and _is_copy(found, said):
        yield COPIED
    if _is_copy(found, words(_without_headings(request.prompt))):
        yield "The text repeats its instruction."
    if size >= _LEAST_COMPARED and (_repeats(found) or _LOOPS_CELLS(text)):
        yield REPEATED
    if _is_cut(text, is_sparse=size < _LEAST_COMPARED):
        yield "The text ends before it is complete."


def _figures(text: str, request: SummaryRequest, own: set[str]) -> int:
    """Return how many figures of the source are in a *text* of few words."""
    if len(own) >= _LEAST_CONTENT:
        return 0
    said = {*_FIGURES("\n".join(texts_of(request.messages)))}
    return len(said.intersection(_FIGURES(text)))


def _is_talk(request: SummaryRequest) -> bool:
    """Whether all that *request* gives to read of its messages was said in words, by nobody with a name."""
    return request.parsed == request.messages and all(
        one.role != "tool" and not one.name and all(type(part) is TextPart for part in one.parts)
        for one in request.messages
    )


def _talk_of(request: SummaryRequest) -> str:
    return "\n".join(one.text for one in request.parsed if one.role != "tool")


def _is_elsewhere(own: set[str], meant: Sequence[set[str]], size: int, share: float) -> bool:
    """Whether a text with the stems *own* has less than a *share* of the *meant* ones, *size* in all."""
    shared = sum(any(stem in part for part in meant) for stem in own)
    growth = min(1.0, max(0, size - _LEAST_JUDGED) / _LONG)
    least = _LEAST_OVERLAP_OF_SHORT + growth * (share - _LEAST_OVERLAP_OF_SHORT)
    # Where no spaces are written, the pairs across two words are others in every sentence.
    least *= 1 - _ACROSS_WORDS * sum(map(is_unspaced, own)) / max(1, len(own))
    return len(own) >= _LEAST_CONTENT and shared < max(1, growth * _LEAST_TOLD, least * len(own))


def _without_headings(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if not line.lstrip().startswith("#"))


def _language_defects(
    own: Profile, known: Sequence[Profile], request: SummaryRequest
) -> Iterator[str]:
    asked = profile(words(request.instruction))
    if not may_ask_for_any(request.instruction) and is_foreign(own, asked, *known):
        yield FOREIGN


def _is_translated(own: Profile, talk: Profile, instruction: str) -> bool:
    """Whether a text has no words of the language of the *talk*, and *instruction* asks for none."""
    code = max(talk.languages, key=talk.languages.__getitem__)
    asked = profile(words(instruction)).languages[code]
    asks_other = names_language(instruction) or asked < _LEAST_SPOKEN
    return (
        asks_other and own.languages[code] < _LEAST_SPOKEN and talk.languages[code] >= _LEAST_LITTLE
    )


def _missing_parts(
    own: set[str], meant: Sequence[set[str]], request: SummaryRequest, *, merges: bool
) -> Iterator[str]:
    """Yield which part, long enough, a text with the stems *own* says nothing of."""
    counts = Counter(stem for part in meant for stem in part)
    for place, part in enumerate(meant):
        unique = {stem for stem in part if counts[stem] == 1}
        least = _LEAST_OF_PART if place else _LEAST_SAID
        if len(own & unique) >= _LEAST_SHARED:
            continue
        if len(unique & content(words(_telling(request, place, merges=merges)))) >= least:
            yield _LEFT_OUT if place else _STALE
            return


def _telling(request: SummaryRequest, place: int, *, merges: bool) -> str:
    """Return what a model has to tell: of the messages, or to carry on of the earlier summary at a *place*."""
    if not place:
        # What a tool has answered may say nothing that matters later.
        return "\n".join(texts_of(one for one in request.parsed if one.role != "tool"))
    text = request.earlier[place - 1]
    # Of a record code carries on the rest.
    record = SummaryRecord.read(text) if merges else None
    if record is None:
        return text
    return "\n".join((*record.lines(Section.SAID), *record.lines(Section.LAST)))


def _stretches(found: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(found[start:] for start in range(_STRETCH)), strict=False)


def _is_copy(found: Sequence[str], said: Sequence[str]) -> bool:
    """Whether most of a text stands in its source, stretch by stretch."""
    grams = set(_stretches(found))
    return len(_copied(grams, said)) >= max(_LEAST_STRETCHES, _MOST_COPIED * len(grams))


def _copied(grams: Collection[tuple[str, ...]], said: Sequence[str]) -> set[tuple[str, ...]]:
    """Return those of *grams* that are in *said*."""
    # A long word is in few places: only the stretches around one are looked at.
    offsets: defaultdict[str, set[int]] = defaultdict(set)
    for gram in grams:
        longest = max(gram, key=len)
        offsets[longest].add(gram.index(longest))
    found = compress(count(), map(offsets.__contains__, said))
    starts = {at - offset for at in found for offset in offsets[said[at]]}
    return {tuple(said[at : at + _STRETCH]) for at in starts}.intersection(grams)


def _repeats(found: Sequence[str]) -> bool:
    grams = list(_stretches(found))
    return len(grams) >= _LEAST_REPEATING and len(set(grams)) < _LEAST_DIFFERENT * len(grams)


def _is_cut(text: str, *, is_sparse: bool) -> bool:
    lines = [line for line in text.split("\n") if line.strip()]
    last, said = lines[-1], words(lines[-1])
    is_open_json = text.startswith("{") and not text.endswith("}")
    is_label = _IS_BARE_LABEL(last) or (len(lines) > 1 and _IS_HEADING(last))
    if text.count("```") % 2 or is_open_json or _OPEN_QUOTE(last) or is_label:
        return True
    # Few words again and again are no sentence that could have an end.
    is_short = is_sparse and len({*words(text)}) < _LEAST_OF_SENTENCE
    is_other = last.lstrip().startswith(("#", "|", "```"))
    if not said or is_short or is_other or _ENDED(last) or _IS_NONE(last):
        return False
    is_figure = any(map(str.isdigit, last.split()[-1]))
    if (said[-1] in DANGLING and not is_figure) or _OPEN_BRACKET(last) or last.count("`") % 2:
        return True
    # Nobody writes a full stop after a file or an address.
    if _IS_FILE(last.split()[-1]):
        return False
    if _is_item(last):
        others = [bool(_STOPPED(line)) for line in lines[:-1] if _is_item(line)]
        return len(others) >= _LEAST_ITEMS and sum(others) >= _MOST_ENDED * len(others)
    has_ends = any(not is_listed(one) and _ENDED(one) for one in statements(text)[:-1])
    return len(said) >= (_LEAST_LINE if has_ends else _LONG_LINE)


def _is_item(line: str) -> bool:
    is_alone = len(statements(line)) == 1
    return is_listed(line) or (is_alone and (is_labelled(line) or _HAS_HEAD(line) is not None))
