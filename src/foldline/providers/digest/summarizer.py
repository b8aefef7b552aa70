"""
The offline digest: the summarizer that always works, without model, network or key.

Code extracts what matters in a conversation of an agent: what the user asked and forbade, which
tools were called and which failed, every identifier that was used or seen, and the sentences
that say the most. Nothing is reworded, so nothing can be made up; and a digest that the next one absorbs is
merged item by item, so an identifier survives many folds.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

from msgspec import Struct

from foldline.history.tokens import TokenCounter, TokenEstimator
from foldline.providers.digest import DIGEST
from foldline.providers.digest.material import SMALL, Material, read_material
from foldline.providers.digest.outline import (
    FIRST,
    TIGHT,
    CountTokens,
    Earlier,
    Item,
    lay_out,
    newest_first,
    read_earlier,
    share_out,
)
from foldline.providers.digest.prose import (
    focused,
    offer_quotes,
    offer_sentences,
    said_before,
    words_of,
)
from foldline.providers.digest.requests import asks, offer_requests, offer_tail
from foldline.providers.digest.span import Span
from foldline.providers.digest.tables import is_table
from foldline.providers.digest.text import ELLIPSIS, bare
from foldline.providers.digest.tool_use import Extractor
from foldline.providers.digest.work import EXTRACTORS
from foldline.reduction.evicted import LEAST_BUDGET, Lines, evicted, noted
from foldline.reduction.questions import unasked
from foldline.reduction.record import Counts, Section, SummaryRecord, brief, header
from foldline.reduction.request import SummaryRequest


__all__ = ["DigestSummarizer", "read_record", "write_digest"]


_LEAST_DETAIL = 80
_MOST_DETAIL = 600
_WORD_FOR_WORD = 32
_IDENTIFIERS = 800
# The newest and the very first request; where the view shows the newest, long ones alone.
_WHOLE_REQUESTS = 2
_SHORT = 200
# Per cent of a budget that code has beside a model.
_BESIDE = 60
_LEAST_BESIDE = 32
# Below that it holds nothing but what must not be lost.
_WHOLE_BESIDE = 120
# What only a model writes; a digest keeps it.
_WRITTEN = (Section.DECISIONS, Section.FAILED, Section.NARRATIVE)
_FACTS = (Section.RULES, Section.USED, Section.SEEN, Section.TOOLS)
# The share of a budget that the roles in the first line may have.
_ROLES_PART = 8


# Seconds that the thread of a digest sleeps after each stretch of text, a twentieth of its time.
_REST = 0.00005
_ESTIMATOR = TokenEstimator()


class DigestSummarizer(Struct, frozen=True, kw_only=True):
    """
    The summarizer that needs no model, network or key.

    It works in a thread, so the event loop stays free. Of each text longer than 100,000 characters
    it reads the beginning and the end, so the work for one message has a limit.
    """

    name: str = DIGEST
    """The identity of the summarizer."""

    counter: TokenCounter = _ESTIMATOR
    """Counts tokens, in a worker thread; the budget of a request is kept by this count."""

    extractors: tuple[Extractor, ...] = EXTRACTORS
    """Read what calls of tools did; put your own in front of the built-in ones."""

    async def summarize(self, request: SummaryRequest) -> str:
        """Return the digest of *request*; the same request always gives the same text."""
        return await asyncio.to_thread(
            write_digest,
            request,
            count=self.counter.count,
            extractors=self.extractors,
            rest=_rest,
        )

    async def material(self, request: SummaryRequest) -> Material:
        """Return what code reads from *request*, for records that stand beside a model's text."""
        return await asyncio.to_thread(
            read_material,
            request,
            count=self.counter.count,
            extractors=self.extractors,
            rest=_rest,
        )

    async def record(self, material: Material, *, text: str | None = None) -> SummaryRecord:
        """Return the record of *material* that stands beside the *text* of a model."""
        return await asyncio.to_thread(read_record, material, text=text, count=self.counter.count)


def _rest() -> None:
    # A thread that wakes up, such as that of the event loop, waits 5 ms for the interpreter if nobody
    # gives it up. In a sleep of no time it is taken back before the other is awake.
    time.sleep(_REST)


def write_digest(
    request: SummaryRequest,
    *,
    count: CountTokens = _ESTIMATOR.count,
    extractors: Sequence[Extractor] = EXTRACTORS,
    rest: Callable[[], None] | None = None,
) -> str:
    """
    Write the digest of *request*: never empty, and of at most `request.budget` tokens by *count*.

    Earlier digests are merged item by item, so what they hold is dropped or kept, never reworded.
    Everything but headings and counts is in the sources verbatim. *rest* is called now and then.
    """
    count = cache(count)
    if not request.messages and len(request.earlier) == 1:
        texts = [record.render() for record in read_earlier(request.earlier).records]
        if texts and count(texts[0]) <= request.budget:
            return texts[0]
    material = read_material(request, count=count, extractors=extractors, rest=rest)
    counts, budget = material.counts, material.most
    offers = _offer(material, budget=budget, count=count)
    if count(header(counts)) * _ROLES_PART > budget:
        counts = brief(counts)
    text = _word_for_word(counts, offers, budget=budget, count=count)
    shared = partial(_shared, offers, material, budget=budget, count=count)
    if not text and (record := _fit(counts, shared, budget=budget, count=count)):
        text = record.render()
    return text or _shortest(header(counts), budget=request.budget, count=count)


def read_record(
    material: Material, *, text: str | None = None, count: CountTokens = _ESTIMATOR.count
) -> SummaryRecord:
    """
    Return what code has read as *material*; without sections if there is no room.

    It takes what the *text* of a model leaves of the budget; before there is one, a part of it.
    """
    count = cache(count)
    counts, most = material.counts, material.most
    kept = [line for section in _WRITTEN for line in material.earlier.lines(section)]
    carried = sum(count(one.render()) for one in material.earlier.records)
    budget = max(most * _BESIDE // 100, min(carried, _WHOLE_BESIDE, most * 3 // 4))
    if text is not None:
        budget = max(budget, most - count("\n".join([text, *kept])) * 9 // 8 - SMALL)
    if budget < _LEAST_BESIDE:
        return SummaryRecord(counts, {})
    if count(header(counts)) * _ROLES_PART > budget:
        counts = brief(counts)
    # A view that quotes no request is not meant to.
    is_quoted = bool(material.request.shown)
    requests = _requests(material, budget=budget, count=count) if is_quoted else ()
    found = {Section.REQUESTS: requests, **material.sections}
    if budget < _WHOLE_BESIDE:
        found = {section: items if section in FIRST else () for section, items in found.items()}
    offers = _focused(found, material.request)
    shared = partial(_shared, offers, material, budget=budget, count=count)
    record = _fit(counts, shared, budget=budget, count=count) if any(offers.values()) else None
    return record or SummaryRecord(counts, {})


def _shared(
    offers: Mapping[Section, Sequence[Item]],
    material: Material,
    limit: int,
    *,
    budget: int,
    count: CountTokens,
) -> Lines:
    """Return what *limit* tokens are shared out to, and how much was left out."""
    first = offers.get(Section.REQUESTS, ())[:_WHOLE_REQUESTS]
    if material.is_shown:
        # Of a long one the view has only the ends.
        first = [item for item in first if len(item.text) > _SHORT]
    elif budget <= TIGHT:
        first = [item for item in first if not _only_asks(item)]
    lines = share_out(offers, budget=limit, count=count, first=first)
    gone = evicted(offers, lines, before=material.earlier.records)
    return noted(lines, gone, material.request.recallable if budget >= LEAST_BUDGET else None)


def _offer(
    material: Material, *, budget: int, count: CountTokens
) -> Mapping[Section, Sequence[Item]]:
    prior, speeches = material.earlier.lines, material.speeches
    requests = _requests(material, budget=budget, count=count)
    detail = min(max(budget * 2 // 3, _LEAST_DETAIL), _MOST_DETAIL)
    tail = offer_tail(speeches, prior=material.earlier.said(Section.LAST), detail=detail)
    rules = material.sections[Section.RULES]
    # For a table there may be no room at the end; what has been said before it may show it then.
    last = [item for item in tail if not is_table(bare(item.text))]
    known = [item.text for item in (*requests[:2], *rules[:4], *last[:2])]
    focus = words_of(material.request.focus)
    offers: dict[Section, Sequence[Item]] = {
        Section.REQUESTS: requests,
        **material.sections,
        **{section: newest_first(prior(section)) for section in _WRITTEN},
        Section.EARLIER: offer_quotes(material.earlier.foreign, prior=prior(Section.EARLIER)),
        Section.SAID: offer_sentences(
            speeches,
            prior=said_before(material.earlier),
            shown=known,
            budget=budget,
            focus=focus,
            calling={call.position for call in material.span.calls},
        ),
        Section.LAST: tail,
    }
    return _focused(offers, material.request)


def _focused(
    offers: Mapping[Section, Sequence[Item]], request: SummaryRequest
) -> Mapping[Section, Sequence[Item]]:
    focus = words_of(request.focus)
    if not focus:
        return offers
    return {section: focused(items, focus) for section, items in offers.items()}


def _requests(material: Material, *, budget: int, count: CountTokens) -> Sequence[Item]:
    room = _room(material.span, material.earlier, budget)
    asked = offer_requests(material.speeches, prior=material.asked, room=room, count=count)
    # A question had its answer, or is shown.
    return asked if budget > TIGHT else sorted(asked, key=_only_asks)


def _only_asks(item: Item) -> bool:
    said = unasked(item.text)
    return said != item.text and not asks(said)


def _room(span: Span, earlier: Earlier, budget: int) -> int:
    """Return how many tokens the newest and the first request may have: identifiers come first."""
    most = budget * 3 // 5
    if span.calls or earlier.lines(Section.TOOLS):
        return max(min(most, budget - _IDENTIFIERS), budget // 10)
    return most


def _word_for_word(
    counts: Counts, offers: Mapping[Section, Sequence[Item]], *, budget: int, count: CountTokens
) -> str:
    """Return what was asked verbatim, if it is so short that headings would cost more."""
    if budget > SMALL:
        return ""
    asked = lay_out(offers[Section.REQUESTS])
    text = SummaryRecord(counts, {Section.REQUESTS: asked}).render()
    if not asked or count(text) > min(budget, _WORD_FOR_WORD):
        return ""
    is_cut = any(item.endswith(ELLIPSIS) for item in asked)
    facts = (item.text for section in _FACTS for item in offers[section])
    return text if not is_cut and all(fact in text for fact in facts) else ""


def _fit(
    counts: Counts, shared: Callable[[int], Lines], *, budget: int, count: CountTokens
) -> SummaryRecord | None:
    # The parts may count less or more than the whole: one more try has what is left over.
    limit = budget - count(header(counts))
    found, left = _within(counts, shared, limit=limit, budget=budget, count=count)
    if found is None or left <= budget // 32:
        return found
    more, unused = _within(counts, shared, limit=limit + left, budget=budget, count=count)
    return more if unused < left else found


def _within(
    counts: Counts,
    shared: Callable[[int], Lines],
    *,
    limit: int,
    budget: int,
    count: CountTokens,
) -> tuple[SummaryRecord | None, int]:
    while limit > 0:
        found = SummaryRecord(counts, shared(limit))
        excess = count(found.render()) - budget
        if excess <= 0:
            return found, -excess
        limit -= excess + limit // 64
    return None, budget


def _shortest(text: str, *, budget: int, count: CountTokens) -> str:
    # Whole words only: the beginning of a number is another number.
    words = text.split(" ")
    while len(words) > 1 and count(" ".join(words)) > budget:
        words.pop()
    first = " ".join(words)
    return first if count(first) <= budget else first[:1]
