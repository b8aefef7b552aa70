"""
The offline digest: the summarizer that always works, without model, network or key.

Code extracts what matters in a conversation of an agent: what the user asked and forbade, which
tools were called and which failed, every identifier that was used or seen, and the sentences
that say the most. Nothing is reworded, so nothing can be made up; and a digest that the next one absorbs is
merged item by item, so an identifier survives many folds.
"""

import asyncio
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from itertools import chain

from msgspec import Struct

from foldline.history.tokens import MESSAGE_TOKENS, TokenCounter, TokenEstimator
from foldline.providers.digest.ledger import build_ledger, offer_entries
from foldline.providers.digest.offers import offer_calls
from foldline.providers.digest.outline import (
    Counts,
    CountTokens,
    Earlier,
    Item,
    Outline,
    Section,
    brief,
    header,
    lay_out,
    read_earlier,
    render,
    share_out,
)
from foldline.providers.digest.prose import focused, offer_quotes, offer_sentences, words_of
from foldline.providers.digest.requests import offer_requests, offer_tail
from foldline.providers.digest.rules import offer_rules
from foldline.providers.digest.span import Span, read_span
from foldline.providers.digest.text import ELLIPSIS, clean, one_line
from foldline.reduction.request import SummaryRequest


__all__ = ["DigestSummarizer", "write_digest"]


_LEAST_DETAIL = 80
_MOST_DETAIL = 600
_WORD_FOR_WORD = 32
_SMALL = 64
_IDENTIFIERS = 800
_FACTS = (Section.RULES, Section.USED, Section.SEEN, Section.TOOLS)
# The share of a budget that the roles in the first line may have.
_ROLES_PART = 8


_ESTIMATOR = TokenEstimator()


class DigestSummarizer(Struct, frozen=True, kw_only=True):
    """
    The summarizer that needs no model, network or key.

    It works in a thread, so the event loop stays free. Of each text longer than 100,000 characters
    it reads the beginning and the end, so the work for one message has a limit.
    """

    name: str = "digest"
    """The identity of the summarizer."""

    counter: TokenCounter = _ESTIMATOR
    """Counts tokens, in a worker thread; the budget of a request is kept by this count."""

    async def summarize(self, request: SummaryRequest) -> str:
        """Return the digest of *request*; the same request always gives the same text."""
        return await asyncio.to_thread(write_digest, request, count=self.counter.count)


def write_digest(request: SummaryRequest, *, count: CountTokens = _ESTIMATOR.count) -> str:
    """
    Write the digest of *request*: never empty, and of at most `request.budget` tokens by *count*.

    Earlier digests are merged item by item, so what they hold is dropped or kept, never reworded.
    Everything but headings and counts is in the sources verbatim.
    """
    count = cache(count)
    earlier = read_earlier(request.earlier)
    if not request.messages and len(request.earlier) == len(earlier.outlines) == 1:
        text = render(earlier.outlines[0])
        if count(text) <= request.budget:
            return text
    span = read_span(request.messages)
    counts = sum((outline.counts for outline in earlier.outlines), span.roles)
    budget = _worthwhile(span, earlier, count, most=request.budget)
    shown = frozenset(one_line(clean(text)) for text in request.shown)
    focus = words_of(request.focus)
    offers = _offer(span, earlier, budget=budget, focus=focus, shown=shown, count=count)
    if count(header(counts)) * _ROLES_PART > budget:
        counts = brief(counts)
    text = _word_for_word(counts, offers, budget=budget, count=count)
    text = text or _fit(counts, offers, budget=budget, count=count)
    return text or _shortest(header(counts), budget=request.budget, count=count)


def _offer(
    span: Span,
    earlier: Earlier,
    *,
    budget: int,
    focus: AbstractSet[str],
    shown: AbstractSet[str],
    count: CountTokens,
) -> dict[Section, Sequence[Item]]:
    prior, ledger = earlier.lines, build_ledger(span, earlier)
    # What the view shows is not repeated. Rules are: they hold when it is shown no longer.
    speeches = (
        [one for one in span.speeches if one_line(one.text) not in shown]
        if shown
        else span.speeches
    )
    asked = [line for line in prior(Section.REQUESTS) if line not in shown]
    requests = offer_requests(speeches, prior=asked, room=_room(span, earlier, budget), count=count)
    detail = min(max(budget * 2 // 3, _LEAST_DETAIL), _MOST_DETAIL)
    tail = offer_tail(speeches, prior=prior(Section.LAST), detail=detail)
    rules = offer_rules(span.speeches, prior=prior(Section.RULES), asked=asked)
    known = [item.text for item in (*requests[:2], *rules[:4], *tail[:2])]
    said = [*prior(Section.SAID), *prior(Section.LAST)]
    offers: dict[Section, Sequence[Item]] = {
        Section.REQUESTS: requests,
        Section.RULES: rules,
        Section.USED: offer_entries(ledger.used),
        Section.SEEN: offer_entries(ledger.seen),
        Section.TOOLS: offer_calls(span, prior=prior(Section.TOOLS)),
        Section.EARLIER: offer_quotes(earlier.foreign, prior=prior(Section.EARLIER)),
        Section.SAID: offer_sentences(speeches, prior=said, shown=known, focus=focus),
        Section.LAST: tail,
    }
    return (
        {section: focused(items, focus) for section, items in offers.items()} if focus else offers
    )


def _room(span: Span, earlier: Earlier, budget: int) -> int:
    """Return how many tokens the newest and the first request may have: identifiers come first."""
    most = budget * 3 // 5
    if span.calls or earlier.lines(Section.TOOLS):
        return max(min(most, budget - _IDENTIFIERS), budget // 10)
    return most


def _worthwhile(span: Span, earlier: Earlier, count: CountTokens, *, most: int) -> int:
    """Return how many tokens, at most *most*, a digest may have to be worth more than its sources."""
    known = sum(map(count, earlier.texts))
    arguments = (argument.value for call in span.calls for argument in call.arguments)
    told = (one.text for one in chain(span.speeches, span.results))
    new = 0
    for text in chain(told, arguments):
        new += count(text)
        if known + new * 3 // 4 >= most:
            # A long source is not counted to its end.
            return most
    # A short source may be worth keeping whole.
    whole = new + MESSAGE_TOKENS * span.roles.total() - 1
    return min(most, known + max(new * 3 // 4, min(whole, _SMALL)))


def _word_for_word(
    counts: Counts, offers: Mapping[Section, Sequence[Item]], *, budget: int, count: CountTokens
) -> str:
    """Return what was asked verbatim, if it is so short that headings would cost more."""
    if budget > _SMALL:
        return ""
    asked = lay_out(offers[Section.REQUESTS])
    text = render(Outline(counts, {Section.REQUESTS: asked}))
    if not asked or count(text) > min(budget, _WORD_FOR_WORD):
        return ""
    is_cut = any(item.endswith(ELLIPSIS) for item in asked)
    facts = (item.text for section in _FACTS for item in offers[section])
    return text if not is_cut and all(fact in text for fact in facts) else ""


def _fit(
    counts: Counts, offers: Mapping[Section, Sequence[Item]], *, budget: int, count: CountTokens
) -> str:
    # The parts may count less than the whole, so the excess is taken off and it is tried again.
    limit = budget - count(header(counts))
    while limit > 0:
        lines = share_out(offers, budget=limit, count=count)
        text = render(Outline(counts, lines))
        excess = count(text) - budget
        if excess <= 0:
            return text
        limit -= excess + limit // 64
    return ""


def _shortest(text: str, *, budget: int, count: CountTokens) -> str:
    # Whole words only: the beginning of a number is another number.
    words = text.split(" ")
    while len(words) > 1 and count(" ".join(words)) > budget:
        words.pop()
    first = " ".join(words)
    return first if count(first) <= budget else first[:1]
