"""What the user asked for, and what was said last."""

import re
from collections.abc import Iterable, Sequence
from itertools import chain, groupby, islice

from msgspec.structs import replace

from foldline.providers.digest.outline import STRIDE, CountTokens, Item
from foldline.providers.digest.prose import (
    LONGEST,
    current,
    is_data_line,
    longest_of_strata,
    most_telling,
)
from foldline.providers.digest.span import Speech
from foldline.providers.digest.tables import apart, table_lines
from foldline.providers.digest.text import (
    ELLIPSIS,
    attribute,
    distinct,
    one_line,
    shorten,
    words_in,
)


_MOST_REQUESTS = 200
# How many of the others are ranked by what they say: many more than there is room for.
_LEAST_RANKED, _MOST_RANKED = 100, 400
_SHORT_TOKENS, _RANKED_FOR_ONE = 4, 4
_MOST_LAST = 6
# What the newest and the very first request may have each.
_WHOLE_TOKENS = 600
# Characters of each of the others.
_DETAIL = 200
# As much of data as is shown.
_BEGINNING = 80
# As much of a text as mostly decides.
_FEW_WORDS = 24
# What only agrees, refuses, thanks or stops for breath.
_SMALL_TALK = frozenset(
    re.findall(
        r"\w+",
        "a absolutely ah aha ahead alright all and awesome aye bye cheers cool correct course do done"
        " exactly fine for go good goodbye got great ha hello hey hi hm hmm huh i is it k kay know mean"
        " mhm mhmm mm mmhm mmhmm mmm my nah nice no nope oh ok okay oops ooh on perfect please really"
        " right see so sounds sorry sure sweet thank thanks that the then there this uh uhhuh um very"
        " much well wow s t ya yay yea yeah yep yes you yup"
        " appreciate appreciated haha helpful helped helps helping lol lovely many thx top ty"
        " bitte das danke dank gerne genau gut hilft hat geholfen klar mir nein prima sehr super vielen"
        " accord beaucoup bien bon d merci non oui parfait très"
        " bien gracias muchas perfecto si vale grazie mille perfetto hai ja obrigado spasibo да нет спасибо"
        " はい いいえ 谢谢 好的 是的 네 예",
    )
)


def asks(text: str) -> bool:
    """Whether *text* says more than that its writer agrees, refuses or is polite."""
    # The last word of a beginning may be the half of another.
    return not (
        _SMALL_TALK.issuperset(words_in(text[:_FEW_WORDS])[:-1])
        and _SMALL_TALK.issuperset(words_in(text))
    )


def requests_in(speeches: Iterable[Speech], *, prior: Sequence[str]) -> list[str]:
    """Return what users asked for in *prior* requests and in *speeches*, oldest first, each once."""
    new = [_typed(speech.text) for speech in speeches if speech.role == "user"]
    return distinct(text for text in [*prior, *new] if asks(text))


def offer_requests(texts: Sequence[str], *, room: int, count: CountTokens) -> list[Item]:
    """
    Offer the requests *texts*: the newest and the very first whole, then those that say most, shortened.

    The first two may have *room* tokens together.
    """
    if not texts:
        return []
    newest, oldest = texts[-1], texts[0]
    second = min(room // 2, _WHOLE_TOKENS, count(oldest)) if len(texts) > 1 else 0
    newest = _within(newest, min(room - second, _WHOLE_TOKENS), count)
    oldest = _within(oldest, min(room - count(newest), _WHOLE_TOKENS), count)
    # What repeats others comes last, the newest of it first.
    places: Sequence[int] = range(1, len(texts) - 1)
    most = min(_MOST_RANKED, max(room // _SHORT_TOKENS, _LEAST_RANKED))
    if len(places) > most:
        places = longest_of_strata(places, most, key=lambda place: len(texts[place]))
    others = [shorten(texts[place], limit=_DETAIL) for place in places]
    best = [places[index] for index in most_telling(others, most=most // _RANKED_FOR_ONE)]
    best.sort(key=lambda place: is_data_line(texts[place][:_DETAIL]))
    ranked = dict.fromkeys([*best, *range(len(texts) - 2, 0, -1)])
    items = [
        Item(newest, len(texts) - 1),
        *([Item(oldest, 0)] if len(texts) > 1 else []),
        *(
            Item(shorten(texts[place], limit=_DETAIL), place)
            for place in islice(ranked, _MOST_REQUESTS)
        ),
    ]
    return [item for item in items if item.text]


def _typed(text: str) -> str:
    """Return *text* in one line; of data that is pasted beside words, the beginning."""
    whole = one_line(text)
    if len(whole) <= _DETAIL or "\n" not in text:
        return whole
    parts = [
        ("\n".join(lines), is_data) for is_data, lines in groupby(text.split("\n"), is_data_line)
    ]
    if not asks(" ".join([part for part, is_data in parts if not is_data])):
        return whole
    shown = (
        shorten(one, limit=_BEGINNING) or ELLIPSIS if is_data else one for one, is_data in parts
    )
    return one_line("\n".join(shown))


def _within(text: str, limit: int, count: CountTokens) -> str:
    while text and (tokens := count(text)) > limit:
        text = shorten(text, limit=min(len(text) * limit // tokens, len(text) - 1))
    return text


def offer_tail(speeches: Sequence[Speech], *, prior: Sequence[Item], detail: int) -> list[Item]:
    """Offer the beginnings of the last messages that say something, or of *prior* ones."""
    told = ((speech, said) for speech in reversed(speeches) if (said := _told(speech.text)))
    new = [
        Item(attribute(speech.by, text), speech.position * STRIDE + place)
        for speech, said in reversed([*islice(told, _MOST_LAST)])
        for place, text in enumerate(said)
    ]
    # Of one message the text comes before its tables.
    last = sorted(current(new), key=lambda item: (-(item.order // STRIDE), item.order))
    last = last or list(reversed(prior[-_MOST_LAST:]))
    newest = last[0].order // STRIDE if last else 0
    items = (
        replace(item, text=_begun(item.text, limit=detail if is_new else detail // 2))
        for item in last
        for is_new in [item.order // STRIDE == newest]
    )
    return [item for item in items if item.text]


def _begun(text: str, *, limit: int) -> str:
    """Return the beginning of *text*: its whole sentences, if half of *limit* has some."""
    beginning = shorten(text, limit=limit)
    end = beginning.rfind(". ") + 1 if beginning != text else 0
    return f"{text[:end]} {ELLIPSIS}" if 2 * end > limit else beginning


def _told(text: str) -> list[str]:
    """Return what *text* says in one line, and each table in it in lines of its own."""
    parts = list(apart(text)) if "|" in text else [(False, [text])]
    said = " ".join(
        ELLIPSIS if is_table else one_line("\n".join(lines)) for is_table, lines in parts
    )
    tables = (table_lines(lines, longest=LONGEST) for is_table, lines in parts if is_table)
    return [*([said] if asks(said) else []), *chain.from_iterable(tables)]
