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
from functools import cache
from itertools import pairwise
from typing import TypeAlias, TypeVar

from msgspec import Struct

from foldline.history.tokens import TokenCounter, TokenEstimator
from foldline.providers.digest import DIGEST
from foldline.providers.digest.material import SMALL, Material, read_material
from foldline.providers.digest.outline import (
    FIRST,
    TIGHT,
    CountTokens,
    Item,
    lay_out,
    newest_first,
    read_earlier,
    share_out,
    untold,
)
from foldline.providers.digest.prose import (
    focused,
    offer_quotes,
    offer_sentences,
    said_before,
    words_of,
)
from foldline.providers.digest.requests import asks, offer_requests, offer_tail
from foldline.providers.digest.tables import is_table
from foldline.providers.digest.text import ELLIPSIS, bare
from foldline.providers.digest.tool_use import Extractor
from foldline.providers.digest.work import EXTRACTORS
from foldline.reduction.evicted import LEAST_BUDGET, Lines, evicted, noted
from foldline.reduction.record import Counts, Section, SummaryRecord, brief, header
from foldline.reduction.request import SummaryRequest
from foldline.reduction.statements import unasked


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
# In a talk the messages of each side differ by at most such a part of all.
_TALK_PART = 8
# The share of a budget that the roles in the first line may have.
_ROLES_PART = 8


# Seconds that the thread of a digest sleeps after each stretch of text, a twentieth of its time.
_REST = 0.00005
_ESTIMATOR = TokenEstimator()
_Made = TypeVar("_Made")
_Offers: TypeAlias = Mapping[Section, Sequence[Item]]


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
        return await self._in_thread(write_digest, request)

    async def material(self, request: SummaryRequest) -> Material:
        """Return what code reads from *request*, for records that stand beside a model's text."""
        return await self._in_thread(read_material, request)

    async def record(self, material: Material, *, text: str | None = None) -> SummaryRecord:
        """Return the record of *material* that stands beside the *text* of a model."""
        return await asyncio.to_thread(read_record, material, text=text, count=self.counter.count)

    async def _in_thread(self, work: Callable[..., _Made], request: SummaryRequest) -> _Made:
        how = {"count": self.counter.count, "extractors": self.extractors, "rest": _rest}
        return await asyncio.to_thread(work, request, **how)


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
    page = _page(material, material.most, count)
    offers = page.offered()
    text = page.word_for_word(offers)
    if not text and (record := page.fitted(offers)):
        text = record.render()
    return text or _shortest(header(page.counts), budget=request.budget, count=count)


def read_record(
    material: Material, *, text: str | None = None, count: CountTokens = _ESTIMATOR.count
) -> SummaryRecord:
    """
    Return what code has read as *material*; without sections if there is no room.

    It takes what the *text* of a model leaves of the budget; before there is one, a part of it.
    """
    count, most = cache(count), material.most
    kept = [line for section in _WRITTEN for line in material.earlier.lines(section)]
    carried = sum(count(one.render()) for one in material.earlier.records)
    budget = max(most * _BESIDE // 100, min(carried, _WHOLE_BESIDE, most * 3 // 4))
    if text is not None:
        budget = max(budget, most - count("\n".join([text, *kept])) * 9 // 8 - SMALL)
    if budget < _LEAST_BESIDE:
        return SummaryRecord(material.counts, {})
    page = _page(material, budget, count)
    # A view that quotes no request is not meant to.
    found: _Offers = {
        Section.REQUESTS: page.requests() if material.request.shown else (),
        **material.sections,
    }
    if budget < _WHOLE_BESIDE:
        found = {section: items if section in FIRST else () for section, items in found.items()}
    offers = page.focused(found)
    record = page.fitted(offers) if any(offers.values()) else None
    return record or SummaryRecord(page.counts, {})


class _Page(Struct, frozen=True):
    """The room for what was read: so many tokens by *count*, and *counts* for the first line."""

    material: Material
    counts: Counts
    budget: int
    count: CountTokens

    @property
    def has_tools(self) -> bool:
        """Whether tools were called, now or before."""
        return bool(self.material.span.calls or self.material.earlier.lines(Section.TOOLS))

    def offered(self) -> _Offers:
        """Return what each section could have, that of a model too."""
        material, budget = self.material, self.budget
        prior, requests = material.earlier.lines, self.requests()
        detail = min(max(budget * 2 // 3, _LEAST_DETAIL), _MOST_DETAIL)
        said = material.earlier.said({Section.LAST})
        tail = offer_tail(material.speeches, prior=said, detail=detail)
        rules = material.sections[Section.RULES]
        # For a table there may be no room at the end; what has been said before it may show it then.
        last = [item for item in tail if not is_table(bare(item.text))]
        return self.focused(
            {
                Section.REQUESTS: requests,
                **material.sections,
                **{section: newest_first(prior(section)) for section in _WRITTEN},
                Section.EARLIER: offer_quotes(
                    material.earlier.foreign, prior=prior(Section.EARLIER)
                ),
                Section.SAID: offer_sentences(
                    material.speeches,
                    prior=said_before(material.earlier),
                    shown=[item.text for item in (*requests[:2], *rules[:4], *last[:2])],
                    budget=budget,
                    is_talk=self._is_talk(),
                    focus=words_of(material.request.focus),
                    calling={call.position for call in material.span.calls},
                ),
                Section.LAST: tail,
            }
        )

    def requests(self) -> Sequence[Item]:
        """Offer what was asked; where tools were called, identifiers come before it."""
        material, room = self.material, self.budget * 3 // 5
        if self.has_tools:
            room = max(min(room, self.budget - _IDENTIFIERS), self.budget // 10)
        asked = offer_requests(material.requests, room=room, count=self.count)
        # A question had its answer, or is shown.
        return asked if self.budget > TIGHT else sorted(asked, key=_only_asks)

    def focused(self, offers: _Offers) -> _Offers:
        """Return *offers*, in each section first what the request wants kept above all."""
        focus = words_of(self.material.request.focus)
        if not focus:
            return offers
        return {section: focused(items, focus) for section, items in offers.items()}

    def word_for_word(self, offers: _Offers) -> str:
        """Return what was asked verbatim, if it is so short that headings would cost more."""
        if self.budget > SMALL:
            return ""
        asked = lay_out(offers[Section.REQUESTS])
        text = SummaryRecord(self.counts, {Section.REQUESTS: asked}).render()
        if not asked or self.count(text) > min(self.budget, _WORD_FOR_WORD):
            return ""
        is_cut = any(item.endswith(ELLIPSIS) for item in asked)
        facts = (item.text for section in _FACTS for item in offers[section])
        return text if not is_cut and all(fact in text for fact in facts) else ""

    def fitted(self, offers: _Offers) -> SummaryRecord | None:
        """Return the record of what fits of *offers*; None if nothing does."""
        # The parts may count less or more than the whole: one more try has what is left over, and the
        # room of what is named twice.
        limit = self.budget - self.count(header(self.counts))
        found, left = self._within(offers, limit)
        if found is None:
            return None
        fewer = untold(offers, found.sections, budget=limit)
        if fewer is offers and left <= self.budget // 32:
            return found
        more, unused = self._within(fewer, limit + left)
        return more if more is not None and (unused < left or fewer is not offers) else found

    def _within(self, offers: _Offers, limit: int) -> tuple[SummaryRecord | None, int]:
        while limit > 0:
            found = SummaryRecord(self.counts, self._shared(offers, limit))
            excess = self.count(found.render()) - self.budget
            if excess <= 0:
                return found, -excess
            limit -= excess + limit // 64
        return None, self.budget

    def _shared(self, offers: _Offers, limit: int) -> Lines:
        """Return what *limit* tokens are shared out to, and how much was left out."""
        material, first = self.material, self._first(offers, limit)
        lines = share_out(offers, budget=limit, count=self.count, first=first)
        gone = evicted(offers, lines, before=material.earlier.records)
        is_noted = self.budget >= LEAST_BUDGET
        return noted(lines, gone, material.request.recallable if is_noted else None)

    def _first(self, offers: _Offers, limit: int) -> Sequence[Item]:
        """Return the requests that are given what they take before all else."""
        material, asked = self.material, offers.get(Section.REQUESTS, ())
        first = asked[:_WHOLE_REQUESTS]
        if material.is_shown:
            # Of a long one the view has only the ends. The oldest says what all is for, and is
            # quoted where others are.
            is_alone = len(material.request.shown) == 1
            return [one for one in first if len(one.text) > _SHORT or (is_alone and one.order == 0)]
        if self.budget <= TIGHT:
            return [item for item in first if not _only_asks(item)]
        # Nothing else says what the user of a talk has said, and an answer can be made again.
        cost = sum(self.count(f"- {item.text}\n") for item in asked)
        return asked if cost <= limit // 2 and self._is_for_most_of_a_talk() else first

    def _is_talk(self) -> bool:
        """Whether a user and one other take turns, by how many messages each has."""
        counts = self.counts
        apart = abs(counts["user"] - counts["assistant"])
        return not self.has_tools and apart * _TALK_PART <= counts.total()

    def _is_for_most_of_a_talk(self) -> bool:
        """Whether a user talks to one other, and at least half of it has room, by the new messages."""
        said = self.material.speeches
        if self.has_tools or any(one.role == other.role for one, other in pairwise(said)):
            return False
        tokens = sum(self.count(one.text) for one in said)
        return 0 < tokens * self.counts.total() <= 2 * self.budget * len(said)


def _only_asks(item: Item) -> bool:
    said = unasked(item.text)
    return said != item.text and not asks(said)


def _page(material: Material, budget: int, count: CountTokens) -> _Page:
    counts = material.counts
    if count(header(counts)) * _ROLES_PART > budget:
        counts = brief(counts)
    return _Page(material, counts, budget, count)


def _shortest(text: str, *, budget: int, count: CountTokens) -> str:
    # Whole words only: the beginning of a number is another number.
    words = text.split(" ")
    while len(words) > 1 and count(" ".join(words)) > budget:
        words.pop()
    first = " ".join(words)
    return first if count(first) <= budget else first[:1]
