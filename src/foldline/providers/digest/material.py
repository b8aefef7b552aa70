"""What code reads of a request, before it is known how much room there is for it."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from foldline.history.tokens import MESSAGE_TOKENS
from foldline.providers.digest.calls import offer_calls
from foldline.providers.digest.identifiers import Finder
from foldline.providers.digest.ledger import build_ledger, offer_entries
from foldline.providers.digest.outline import TIGHT, CountTokens, Earlier, Item, read_earlier
from foldline.providers.digest.requests import requests_in
from foldline.providers.digest.rules import offer_rules
from foldline.providers.digest.span import Span, Speech, read_span
from foldline.providers.digest.text import one_line
from foldline.providers.digest.tool_use import Extractor, ToolUse, uses_of
from foldline.providers.digest.trail import offer_trail, trail_of
from foldline.providers.digest.work import facts_of
from foldline.reduction.call_counts import NOTHING, UNKNOWN, CallCounts, calls_of
from foldline.reduction.record import Counts, Section
from foldline.reduction.request import SummaryRequest


SMALL = 64
"""A budget of so many tokens or fewer, or a source, has room for little but what was said."""


# With a dictionary, since a record is made of it twice: before a model has written, and after.
class Material(Struct, frozen=True, kw_only=True, dict=True):
    """What code has read from a request, before it is known how much room there is for it."""

    request: SummaryRequest
    span: Span
    earlier: Earlier
    counts: Counts

    most: int
    """How many tokens a text may have and still have fewer than its sources."""

    speeches: Sequence[Speech]
    """What was said and is not shown word for word beside the text, where it would be repeated."""

    asked: Sequence[str]
    """The requests in earlier records that are not shown either."""

    is_shown: bool
    """Whether the view shows the newest request word for word."""

    sections: Mapping[Section, Sequence[Item]]
    """What is offered for the sections of code, the requests apart."""

    @cached_property
    def requests(self) -> Sequence[str]:
        """What users asked for, oldest first, each once."""
        return requests_in(self.speeches, prior=self.asked)


def read_material(
    request: SummaryRequest,
    *,
    count: CountTokens,
    extractors: Sequence[Extractor],
    rest: Callable[[], None] | None = None,
) -> Material:
    """Return what code reads from *request* for any room; *rest* is called now and then."""
    finder = Finder(rest)
    earlier = read_earlier(request.earlier)
    span = _with_gone(read_span(request.parsed, finder, request.earlier), request, finder)
    prior = earlier.lines
    shown = frozenset(map(one_line, finder.clean(request.shown)))
    # Rules hold when they are shown no longer.
    tight = shown if request.budget <= TIGHT else ()
    uses = uses_of(span)
    facts = facts_of(uses, extractors)
    trail = trail_of(earlier.records, facts)
    ledger = build_ledger(
        span,
        earlier,
        finder,
        shown="\n".join(sorted(shown)),
        listed=trail.files,
        replaced={value: uses[place].position for value, place in trail.replaced.items()},
    )
    counts = _counts(request, earlier, span.roles)
    called = _call_counts(uses, earlier, counts, span.roles)
    asked = tuple(line for line in prior(Section.REQUESTS) if line not in shown)
    return Material(
        request=request,
        span=span,
        earlier=earlier,
        counts=counts,
        most=_worthwhile(span, earlier, count, most=request.budget),
        speeches=[one for one in span.speeches if not shown or one_line(one.text) not in shown],
        asked=asked,
        is_shown=bool(shown) and _newest_of(span) in {"", *shown},
        sections={
            Section.RULES: offer_rules(
                span.speeches, prior=prior(Section.RULES), asked=asked, shown=tight
            ),
            Section.USED: offer_entries(ledger.used),
            Section.SEEN: offer_entries(ledger.seen),
            **offer_trail(trail),
            Section.TOOLS: offer_calls(
                uses, facts, prior=prior(Section.TOOLS), counts=called, budget=request.budget
            ),
        },
    )


def _newest_of(span: Span) -> str:
    """Return what a user said last, in one line."""
    return next((one_line(one.text) for one in reversed(span.speeches) if one.role == "user"), "")


def _with_gone(span: Span, request: SummaryRequest, finder: Finder) -> Span:
    """Return *span* with what the view does not show any more, as if it had just been said."""
    gone = (Speech(-1, "user", text) for text in finder.clean(request.gone))
    return replace(span, speeches=(*gone, *span.speeches))


def _counts(request: SummaryRequest, earlier: Earlier, roles: Counts) -> Counts:
    counts = sum((record.counts for record in earlier.records), roles)
    missing = request.stands_for - counts.total() if request.stands_for else 0
    # A text that is no record counts none, and each part of a message that is read in parts one.
    return counts + Counts({"other" if missing > 0 else next(iter(roles), "other"): missing})


def _call_counts(
    uses: Sequence[ToolUse], earlier: Earlier, counts: Counts, roles: Counts
) -> CallCounts:
    """Return how often each tool was called in all that *counts* has, as far as it is known."""
    before = sum(record.counts.total() for record in earlier.records)
    total = max(0, counts.total() - before)
    # A text that is no record may stand for messages, if there are any that nothing else stands for.
    records = iter(earlier.records)
    known = NOTHING
    for text in earlier.texts:
        if text not in earlier.foreign:
            known = known.then(calls_of([next(records)]))
        elif total > roles.total():
            known = UNKNOWN
    calls = Counter(use.name for use in uses if use.name)
    return known.then(CallCounts(calls=calls, messages=min(roles.total(), total)))


def _worthwhile(span: Span, earlier: Earlier, count: CountTokens, *, most: int) -> int:
    """Return how many tokens, at most *most*, a digest may have and still have fewer than its sources."""
    known = sum(map(count, earlier.texts))
    arguments = (argument.value for call in span.calls for argument in call.arguments)
    said = (speech.text for speech in span.speeches)
    told = (result.text for result in span.results)
    new = MESSAGE_TOKENS * span.roles.total() - 1
    for text in chain(said, told, arguments):
        new += count(text)
        if known + new >= most:
            # A long source is not counted to its end.
            return most
    return min(most, known + new)
