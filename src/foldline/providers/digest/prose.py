"""
The sentences of what was said, those first that say the most.

A sentence is worth the words that those chosen before it lack, for its length: a weighted cover,
chosen greedily. A word weighs more the more sentences have it, and the longer it is, as short ones
mean least, and a number beside new words is a fact however short it is. So "Okay." is never chosen, nothing is said twice,
and no language needs a list, though the most frequent English words are left out. All weights are
whole numbers, so the order is the same everywhere.

Time is linear in the length of the text: of more than a digest's budget can tell of, the longest speech
of each of equal strata is read, and at most `_MOST_OFFERED` sentences are chosen.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from heapq import heapify, heappop, heapreplace
from itertools import pairwise, takewhile
from typing import TypeVar

from foldline.providers.digest.outline import STRIDE, Earlier, Item
from foldline.providers.digest.span import Speech
from foldline.providers.digest.tables import apart, is_table, subject_of, table_lines
from foldline.providers.digest.text import (
    BY_USER,
    ELLIPSIS,
    ENDS,
    MOST_READ,
    attribute,
    bare,
    one_line,
    words_in,
)
from foldline.reduction.code_lines import is_code
from foldline.reduction.statements import CONSONANTS, SHORTENED


_T = TypeVar("_T")

# Characters that are read for each token of the budget, at least and at most.
_READ_A_TOKEN = 50
_LEAST_READ, _MOST_READ = 60_000, 300_000
_MOST_OFFERED = 200
LONGEST = 600
"""How many characters a sentence has at most, and a table in one line."""

_LENGTHS = range(8, LONGEST + 1)
_ANY_LENGTH = range(8, MOST_READ + 1)
_SIGNS = b'0123456789"#$%&()*+-/:;<=>@[\\]^_`{|}~'
_JSON = ('{"', '[{"', '["')
# Of data more than this share are signs.
_LEAST_OF_DATA = 0.3
# Characters of each part of a longer one, and what it ends with: no space follows where none is written.
_PART = 200
_BREAKS = " 。！？"
_MARKUP = " \t#>*-•|"
_BOLD = "**"
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_SHORTEST_WORD, _LONGEST_WORD = 3, 40
_STOPWORDS = frozenset(
    re.findall(
        r"\w+",
        "about after all also and any are because been but can could did does doing done don for"
        " from get gets going gonna got had has have having here hmm how into its just kind know"
        " let like look mean more much not now okay one our out really right said say see should"
        " some something sort than that the their them then there these they thing things think"
        " this those uhhuh very want wanted was way well were what when where which who will with"
        " would yeah yep yes you your",
    )
)
# What a longer word is more than this adds nothing.
_LONG_WORD, _LONG_NUMBER = 8, 3
# What a number adds to new words, as much as these at most.
_NUMBER = 24
_DIGIT = re.compile(r"\d").search
# Texts whose worth for their length is in one of these grades say equally much.
_GRADES = 256
# Multiples of the golden ratio of a turn lie evenly around it.
_GOLDEN, _TURN = 0x9E3779B1, 1 << 32
# The length that a sentence costs beside its own characters: a few long ones read better than many.
_OVERHEAD = 40
# Per cent of that for what is favored: of a talk what its user said, since an answer can be made again.
_FAVOR = 67
# Where a source has so few characters for each token of the budget, all of it may fit.
_FIT_A_TOKEN = 5
# What says the same with other numbers has two words of the other or more, and is not so many times as long.
_ALIKE, _TIMES_AS_LONG = 2, 3


def _short_words(length: int) -> str:
    """Return a pattern of the words of *length* that are shortened, have no vowel or count kings."""
    listed = "|".join(sorted(word for word in SHORTENED if len(word) == length))
    clipped = rf"(?<![./-])[A-Z{CONSONANTS}][{CONSONANTS}]{{{length - 1}}}"
    return rf"(?i:{listed})|{clipped}|[IVXL]{{{length}}}"


# What begins a sentence in English, and follows no number of a day.
_BEGINS = "Also|Always|And|Ask|But|Do|Don|If|It|I|Make|Never|No|Not|Only|Please|So|That|The|Then|This|Use|We|You"
# A full stop after a letter alone, a short word, or the number of a day or of a step ("21. März",
# "2. Call them") ends no sentence. It stands first, as a pattern that begins so is searched fast.
_NO_END = re.compile(
    r"\. (?:(?<=(?<![\w'’])[^\W\d_]\. )"
    + "".join(
        rf"|(?<=(?<![\w'’])(?:{_short_words(length)})\. )"
        for length in range(2, max(map(len, SHORTENED)) + 1)
    )
    + "".join(
        rf"|(?<=(?<![^\n])\d{{{length}}}\. )(?=\w)"
        rf"|(?<=(?<![\w.,:/$€£-])\d{{{length}}}\. )(?=\w)(?!(?:{_BEGINS})\b)"
        for length in (1, 2)
    )
    + ")"
)
# No text has one.
_NULL = "\0"


def split_sentences(text: str, *, lengths: range = _LENGTHS) -> Iterator[str]:
    """Yield the sentences and tables of *text* that have one of *lengths*, without code."""
    if "|" not in text:
        lines = lines_of([text])
    else:
        parts = apart(_without_code(text))
        lines = [
            line
            for are_rows, found in parts
            for line in (table_lines(found, longest=LONGEST) if are_rows else lines_of(found))
        ]
    for line in lines:
        if said := sentence_in(line, lengths):
            yield said


def lines_of(texts: Iterable[str]) -> list[str]:
    """Return *texts* without code, in lines of one sentence at most."""
    text = "\n".join(map(_without_code, texts))
    if ". " in text:
        text = _NO_END.sub(f".{_NULL}", text)
    # Many times as fast as a pattern.
    for mark in ENDS:
        if mark in text:
            text = text.replace(f"{mark} ", f"{mark}\n")
    return text.replace(_NULL, " ").split("\n")


def _without_code(text: str) -> str:
    return _FENCE.sub("\n", text) if "```" in text else text


def sentence_in(line: str, lengths: range) -> str:
    """Return the sentence in *line* if it has one of *lengths*, else nothing."""
    if len(line) < lengths.start:
        return ""
    begun = line.lstrip(_MARKUP)
    said = begun.rstrip(_MARKUP)
    if _BOLD in said:
        # The partner of one of these marks is stripped.
        if line[: len(line) - len(begun)].endswith(_BOLD):
            said = said.replace(_BOLD, "", 1)
        if begun.rstrip().endswith(_BOLD):
            said = "".join(said.rsplit(_BOLD, 1))
    said = one_line(said)
    return said if len(said) in lengths else ""


def words_of(text: str) -> set[str]:
    """Return the words of *text* that say what it is about, in lower case."""
    return {word for word in _content(text) if len(word) >= _SHORTEST_WORD}


def _content(text: str) -> set[str]:
    """Return the words of *text* but the most frequent ones, however short."""
    words = set(words_in(text)) - _STOPWORDS
    if not text.isascii() and max(map(len, words), default=0) > _LONGEST_WORD:
        # Where no spaces are written, a run of letters is many words.
        starts = ((word, start) for word in words for start in range(0, len(word), _LONGEST_WORD))
        words = {word[start : start + _LONGEST_WORD] for word, start in starts} - _STOPWORDS
    return words


def most_telling(
    texts: Sequence[str], *, known: Iterable[str] = (), most: int, favored: Collection[int] = ()
) -> list[int]:
    """
    Return the indexes of at most *most* of *texts*: the most telling first, the *favored* sooner.

    What says nothing that the ones before it, and the *known* words, do not say, is left out.
    """
    said = [_content(text) for text in texts]
    places = _places(said)
    numbers = set(filter(_DIGIT, places))
    weights = _weights(places, known)
    # What the words of each text that nothing before it says weigh: whole numbers, in any order.
    lacking = [0] * len(texts)
    for word, weight in weights.items():
        for index in places[word]:
            lacking[index] += weight
    prices = _prices(texts, favored)
    most_more = [0 if numbers.isdisjoint(words) else _NUMBER for words in said]

    def rank_of(index: int) -> int:
        more = min(lacking[index], most_more[index])
        return -(lacking[index] + more) * _GRADES // prices[index]

    # Of those that say equally much the first and the newest come first, then some from everywhere.
    order = [index * _GOLDEN % _TURN for index in range(len(texts))]
    order[-1:] = [0]
    heap = [(rank_of(index), order[index], index) for index in range(len(texts))]
    heapify(heap)
    chosen: list[int] = []
    while heap and len(chosen) < most and heap[0][0] < 0:
        # What was worth most may be worth less now; nothing is ever worth more than before.
        value, place, index = heap[0]
        now = rank_of(index)
        if now > value:
            heapreplace(heap, (now, place, index))
            continue
        newer = _renewed(index, texts, said, places, numbers)
        chosen.append(newer if lacking[newer] else index)
        if chosen[-1] == index:
            heappop(heap)
        for word in weights.keys() & said[chosen[-1]]:
            weight = weights.pop(word)
            for other in places[word]:
                lacking[other] -= weight
    return chosen


def _prices(texts: Sequence[str], favored: Collection[int]) -> list[int]:
    prices = [len(text) + _OVERHEAD for text in texts]
    for index in favored:
        prices[index] = prices[index] * _FAVOR // 100
    return prices


def _places(said: Iterable[Iterable[str]]) -> dict[str, list[int]]:
    places: defaultdict[str, list[int]] = defaultdict(list)
    for index, words in enumerate(said):
        for word in words:
            places[word].append(index)
    return places


def _weights(places: Mapping[str, Sequence[int]], known: Iterable[str]) -> dict[str, int]:
    """Return what each word weighs that is not *known*, by the *places* that have it."""
    weights = {
        word: len(uses).bit_length()
        * min(len(word), _LONG_NUMBER if word.isdigit() else _LONG_WORD)
        for word, uses in places.items()
        if len(word) >= _SHORTEST_WORD
    }
    for word in known:
        weights.pop(word, None)
    return weights


def _renewed(
    index: int,
    texts: Sequence[str],
    said: Sequence[AbstractSet[str]],
    places: Mapping[str, Sequence[int]],
    numbers: AbstractSet[str],
) -> int:
    """Return the newest of *texts* that says what the one at *index* does with other numbers, or *index*."""
    if numbers.isdisjoint(said[index]):
        return index
    words = {word for word in said[index] - numbers if len(word) >= _SHORTEST_WORD}
    if len(words) < _ALIKE:
        return index
    rarest = min(words, key=lambda word: (len(places[word]), word))
    longest = _TIMES_AS_LONG * len(texts[index])
    return next(
        (
            at
            for at in takewhile(lambda at: at > index, reversed(places[rarest]))
            if words <= said[at] and len(texts[at]) <= longest and not numbers.isdisjoint(said[at])
        ),
        index,
    )


def focused(items: Sequence[Item], focus: AbstractSet[str]) -> list[Item]:
    """Return *items* with those first that have the most words of *focus*."""
    return sorted(items, key=lambda item: -len(focus & words_of(item.text)))


def current(items: Sequence[Item]) -> list[Item]:
    """Return *items*, oldest first, without those that a later one repeats or replaces."""
    newest: dict[str, int] = {}
    kept: dict[str, Item] = {}
    for item in reversed(items):
        source, subject = item.order // STRIDE, subject_of(item.text)
        is_newest = not subject or newest.setdefault(subject, source) == source
        if is_newest:
            kept.setdefault(item.text, item)
    cut = [text for text in kept if text.endswith(ELLIPSIS)]
    texts = sorted(kept) if cut else []
    for text in cut:
        beginning = text.removesuffix(ELLIPSIS).rstrip()
        place = bisect_left(texts, beginning)
        # What begins so stands together, with the one that is cut.
        if sum(one.startswith(beginning) for one in texts[place : place + 2]) > 1:
            del kept[text]
    return [*kept.values()][::-1]


def said_before(earlier: Earlier) -> list[Item]:
    """Return the sentences and tables that the *earlier* records have, in their places."""
    return [
        Item(attribute(by, said), line.order + place)
        for line in earlier.said()
        for by, _, text in [line.text.partition(": ")]
        for place, said in _parts(text)
    ]


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of what was said in one line, after their places; what is short is one."""
    if is_table(text):
        yield 1, text
        return
    place = 0
    for part in text.split(f" {ELLIPSIS} "):
        # Something stood there.
        place += 1
        for said in list(split_sentences(part)) or [part]:
            place += 1
            yield place, said


def offer_sentences(
    speeches: Sequence[Speech],
    *,
    prior: Sequence[Item],
    shown: Iterable[str],
    budget: int,
    is_talk: bool = False,
    focus: AbstractSet[str] = frozenset(),
    calling: AbstractSet[int] = frozenset(),
) -> list[Item]:
    """
    Offer new and *prior* sentences, the most telling first, beside what is *shown* elsewhere.

    In a talk of one user and one other, what a user of few words said is preferred. Sentences with
    words of *focus* come before all, and last those of messages that are *calling* tools: they say
    what is done next, and answers what was found. The more tokens the *budget* has, the more is read.
    """
    most = min(max(budget * _READ_A_TOKEN, _LEAST_READ), _MOST_READ)
    said = (
        Item(attribute(speech.by, sentence), speech.position * STRIDE + place)
        for speech in _sampled(speeches, most)
        for place, sentence in enumerate(_spoken(speech.text), start=1)
    )
    items, told = current([*prior, *said]), "\n".join(shown)
    wanted = [item for item in items if focus & words_of(item.text)] if focus else []
    telling = most_telling(
        [bare(item.text) for item in items],
        known=words_of(told),
        most=_MOST_OFFERED,
        favored=_of_less_spoken_user(items) if is_talk else (),
    )
    if not prior and sum(len(item.text) for item in items) <= budget * _FIT_A_TOKEN:
        # All may fit, so what adds nothing comes last.
        rest = (place for place, item in enumerate(items) if bare(item.text) not in told)
        telling = list(dict.fromkeys([*telling, *rest]))
    ranked = sorted(
        (items[index] for index in telling), key=lambda item: item.order // STRIDE in calling
    )
    most_offered = max(_MOST_OFFERED, len(telling))
    return list(dict.fromkeys([*focused(wanted, focus), *ranked]))[:most_offered]


def _of_less_spoken_user(items: Sequence[Item]) -> list[int]:
    """Return the indexes of what the user says in *items*, if others say more."""
    by_user = [place for place, item in enumerate(items) if item.text.startswith(BY_USER)]
    size = sum(len(items[place].text) for place in by_user)
    return by_user if 2 * size <= sum(len(item.text) for item in items) else []


def is_data_line(line: str) -> bool:
    """Whether *line* is JSON, or has so many signs and digits that it is no sentence."""
    if line.startswith(_JSON):
        return True
    written = line.encode("ascii", "ignore")
    signs = len(written) - len(written.translate(None, _SIGNS))
    return signs > _LEAST_OF_DATA * len(line)


def _spoken(text: str) -> Iterator[str]:
    """Yield the sentences of *text*, and parts of one too long, such as speech without full stops."""
    for sentence in split_sentences(text, lengths=_ANY_LENGTH):
        if is_code(sentence):
            continue
        if len(sentence) <= LONGEST:
            yield sentence
        elif not is_data_line(sentence):
            yield from _parts_of(sentence)


def _parts_of(sentence: str) -> Iterator[str]:
    start, end = 0, len(sentence)
    while end - start > _PART:
        stop = 1 + max(sentence.rfind(mark, start, start + _PART) for mark in _BREAKS)
        if not stop:
            # What has no words is data.
            return
        yield sentence[start:stop].rstrip()
        start = stop
    yield sentence[start:]


def _sampled(speeches: Sequence[Speech], most: int) -> Sequence[Speech]:
    size = sum(len(speech.text) for speech in speeches)
    if size <= most:
        return speeches
    strata = max(len(speeches) * most // size, 1)
    return longest_of_strata(speeches, strata, key=lambda one: len(one.text))


def longest_of_strata(items: Sequence[_T], strata: int, *, key: Callable[[_T], int]) -> list[_T]:
    """Return the longest by *key* of each of so many equal *strata* of *items*."""
    edges = [stratum * len(items) // strata for stratum in range(strata + 1)]
    return [max(items[start:end], key=key) for start, end in pairwise(edges)]


def offer_quotes(foreign: Iterable[str], *, prior: Sequence[str]) -> list[Item]:
    """Offer the sentences of *foreign* summaries in their order, after the *prior* quotes."""
    quoted = [sentence for text in foreign for sentence in split_sentences(text)]
    texts = list(dict.fromkeys([*prior, *quoted]))[:_MOST_OFFERED]
    return [Item(text, place) for place, text in enumerate(texts)]
