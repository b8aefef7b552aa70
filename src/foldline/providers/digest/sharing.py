"""
How a budget is divided among the sections.

Each section has a share; what it cannot use flows on to the others in a fixed order. A span with
tool calls lives from its identifiers, one without from what was said, so there are two tables.
Both were tuned with `bench/digest_quality.py`.
"""

from collections.abc import Mapping, Sequence

from foldline.providers.digest.document import Section, heading
from foldline.providers.digest.selection import Counter, Item, Selection, lay_out, select


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


def share_out(
    offers: Mapping[Section, Sequence[Item]], *, budget: int, count: Counter
) -> dict[Section, tuple[str, ...]]:
    """
    Return the lines of each section that got any, all of them together within *budget* tokens.
    """
    is_work = bool(offers[Section.USED] or offers[Section.TOOLS])
    shares = _WORK_SHARES if is_work else _TALK_SHARES

    def pick(section: Section, limit: int) -> Selection:
        return select(offers[section], title=heading(section), limit=limit, count=count)

    taken = {section: pick(section, budget * share // 100) for section, share in shares.items()}
    for section in shares:
        spare = budget - sum(selection.cost for selection in taken.values())
        taken[section] = pick(section, taken[section].cost + spare)
    return {name: lay_out(selection.items) for name, selection in taken.items() if selection.items}
