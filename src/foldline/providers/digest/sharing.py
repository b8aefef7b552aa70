"""
How a budget is divided among the sections.

Each section has a share; what it cannot use flows on to the others in a fixed order. A span with
tool calls lives from its identifiers, one without from what was said, so there are two tables.
Both were tuned with `bench/digest_quality.py`.
"""

from collections.abc import Mapping, Sequence

from foldline.providers.digest.document import Section, heading
from foldline.providers.digest.selection import Counter, Item, Selection, lay_out, select
from foldline.providers.digest.tail import attribute, bare
from foldline.providers.digest.text import ELLIPSIS


__all__ = ["share_out"]


# Per cent of the budget, in the order in which left-over tokens are offered.
_WORK_SHARES = {
    Section.USED: 24,
    Section.SEEN: 22,
    Section.SAID: 10,
    Section.REQUESTS: 14,
    Section.TOOLS: 8,
    Section.RULES: 6,
    Section.EARLIER: 8,
    Section.LAST: 8,
}
_TALK_SHARES = {
    Section.REQUESTS: 34,
    Section.SAID: 34,
    Section.SEEN: 10,
    Section.RULES: 4,
    Section.EARLIER: 8,
    Section.LAST: 10,
}


# What may say the same as a request.
_REPEATING = (Section.RULES, Section.LAST, Section.SAID)
# What must not be lost is served first, and in a small budget up to this many tokens each.
_LEAST = {Section.RULES: 32, Section.USED: 24, Section.SEEN: 24}
_LEAST_PART = 3


def share_out(
    offers: Mapping[Section, Sequence[Item]], *, budget: int, count: Counter
) -> dict[Section, tuple[str, ...]]:
    """
    Return the lines of each section that got any, all of them together within *budget* tokens.

    A rule, a sentence or an end that a request shows as well is said once.
    """
    is_work = bool(offers[Section.USED] or offers[Section.TOOLS])
    shares = _WORK_SHARES if is_work else _TALK_SHARES
    taken: dict[Section, Selection] = {}

    def pick(section: Section, limit: int, items: Sequence[Item]) -> None:
        others = sum(selection.cost for name, selection in taken.items() if name is not section)
        limit = min(limit, budget - others)
        taken[section] = select(items, title=heading(section), limit=limit, count=count)

    for section in dict.fromkeys((*_LEAST, *shares)):
        share = budget * shares.get(section, 0) // 100
        least = min(_LEAST.get(section, 0), budget // _LEAST_PART)
        pick(section, max(share, least), offers[section])
    left = [section for section in shares if section is not Section.RULES]
    for section in left:
        pick(section, budget, offers[section])
    # Only now is it certain which requests are shown; what they say is said nowhere else.
    shown = [item.text for item in taken[Section.REQUESTS].items]
    unsaid = {**offers, **{name: _unsaid(offers[name], shown, name) for name in _REPEATING}}
    pick(Section.RULES, budget, unsaid[Section.RULES])
    for section in (Section.LAST, Section.SAID):
        pick(section, taken[section].cost, unsaid[section])
    for section in left:
        if section is not Section.REQUESTS:
            pick(section, budget, unsaid[section])
    return {name: lay_out(selection.items) for name, selection in taken.items() if selection.items}


def _unsaid(items: Sequence[Item], shown: Sequence[str], section: Section) -> list[Item]:
    """Return those of *items* that say what none of the requests in *shown* says."""
    if section is Section.LAST:
        return [item for item in items if not _repeats(item.text, shown)]
    together = "\n".join(shown)
    is_rule = section is Section.RULES
    return [item for item in items if (item.text if is_rule else bare(item.text)) not in together]


def _repeats(text: str, shown: Sequence[str]) -> bool:
    # A short speech, as "ok", may begin a long one and still be another.
    said = text.removeprefix(attribute("user", ""))
    if said in shown:
        return True
    beginning = said.removesuffix(ELLIPSIS)
    return beginning != said and any(request.startswith(beginning) for request in shown)
