"""
A digest as sections of one-line items: chosen within a budget, written to text, and read back.

Every line of the text is a heading, or an item after a fixed mark. Items hold no line break, so
nothing that was said in a conversation can open a section, however it is written.

A digest that is to be very short does not give the roles of its messages; if it has nothing but
what was asked, it has no heading either.

Each section has a share of the budget; what it cannot use goes to the others in a fixed order. A
span with tool calls depends on its identifiers, one without on what was said, so there are two
tables. Both were tuned with `bench/digest_quality.py`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldline.providers.digest.text import ELLIPSIS, attribute, bare, clean, shorten


__all__ = [
    "CountTokens",
    "Counts",
    "Earlier",
    "Item",
    "Outline",
    "Section",
    "brief",
    "header",
    "lay_out",
    "parse",
    "read_earlier",
    "render",
    "select",
    "share_out",
]


class Section(Enum):
    """The sections, in the order in which they are written: what changes least comes first."""

    REQUESTS = "Asked by the user"
    """User messages: the first and the newest whole, others shortened."""

    RULES = "Rules and wishes"
    """Sentences in which the user forbids, demands or prefers."""

    USED = "Ids used in calls"
    """Identifiers that were arguments of tool calls."""

    SEEN = "Ids seen"
    """Identifiers that were said, or that tools answered."""

    TOOLS = "Tool calls"
    """Counts, the last calls, and failures."""

    EARLIER = "Earlier summary"
    """Sentences of a summary by another summarizer."""

    SAID = "Said, in order"
    """The sentences that say the most."""

    LAST = "Last said"
    """How the span ends."""


Counts: TypeAlias = Counter[str]
"""How many messages of each role a digest represents."""


class Outline(Struct, frozen=True):
    """A digest before it is text: what it represents, and the items of each section."""

    counts: Counts
    sections: Mapping[Section, tuple[str, ...]]


_ROLES = ("user", "assistant", "tool", "system")
# The role of messages whose role the digest does not give.
_OTHER = "other"
_HEADER = re.compile(r"Digest of (\d{1,12}) messages?(?: \(([^)]*)\))?\.").fullmatch
_COUNT = re.compile(rf"({'|'.join(_ROLES)}) (\d{{1,12}})").findall
_HEADING = "## "
_ITEM = "- "
_BY_HEADING = {_HEADING + section.value: section for section in Section}


def brief(counts: Counts) -> Counts:
    """Return *counts* without the roles, which is shorter to write."""
    return Counter({_OTHER: counts.total()})


def render(outline: Outline) -> str:
    """Write *outline* as text; `parse` gives an equal one back."""
    lines = [header(outline.counts)]
    shown = [section for section in Section if outline.sections.get(section)]
    for section in shown:
        if shown != [Section.REQUESTS] or outline.counts != brief(outline.counts):
            lines.append(_HEADING + section.value)
        lines.extend(_ITEM + item for item in outline.sections[section])
    return "\n".join(lines)


def header(counts: Counts) -> str:
    """Write the first line of a digest."""
    detail = ", ".join(f"{role} {counts[role]}" for role in _ROLES if counts[role])
    noun = "message" if counts.total() == 1 else "messages"
    return f"Digest of {counts.total()} {noun}" + (f" ({detail})." if detail else ".")


def parse(text: str) -> Outline | None:
    """Read what `render` wrote; None if *text* is anything else."""
    first, *lines = text.split("\n")
    match = _HEADER(first)
    if match is None:
        return None
    counts = Counter({role: int(count) for role, count in _COUNT(match[2] or "")})
    counts[_OTHER] = max(int(match[1]) - counts.total(), 0)
    sections: dict[Section, list[str]] = {}
    section = Section.REQUESTS
    for line in lines:
        if line in _BY_HEADING:
            section = _BY_HEADING[line]
        else:
            sections.setdefault(section, []).append(line.removeprefix(_ITEM))
    outline = Outline(counts, {name: tuple(found) for name, found in sections.items()})
    # What differs from what would be written, in any line, was written by another.
    return outline if render(outline) == text else None


class Earlier(Struct, frozen=True):
    """The earlier summaries of a request, oldest first: all, digests, and *foreign* ones."""

    texts: tuple[str, ...]
    outlines: tuple[Outline, ...]
    foreign: tuple[str, ...]

    def lines(self, section: Section) -> list[str]:
        """Return the items that the digests have in *section*, oldest first."""
        return [line for outline in self.outlines for line in outline.sections.get(section, ())]


def read_earlier(texts: Iterable[str]) -> Earlier:
    """Read each of *texts* as a digest if it is one."""
    cleaned = tuple(map(clean, texts))
    read = tuple(map(parse, cleaned))
    foreign = (text for text, outline in zip(cleaned, read, strict=True) if outline is None)
    return Earlier(cleaned, tuple(filter(None, read)), tuple(foreign))


CountTokens: TypeAlias = Callable[[str], int]
"""Counts the tokens of a string."""

# Fewer characters per token than usual text has, so that what is cut also fits.
_CHARACTERS = 2
# A shorter beginning says nothing.
_SHORTEST_CUT = 24


class Item(Struct, frozen=True):
    """
    One line that a section could have, and its place among those shown; items are offered by rank.

    Items that share a group are written on one line after it.
    """

    text: str
    order: int
    group: str = ""


class _Selection(Struct, frozen=True):
    """The items of a section that fit, and their tokens, heading included; 0 if nothing fits."""

    items: tuple[Item, ...]
    cost: int


def select(items: Sequence[Item], *, title: str, limit: int, count: CountTokens) -> _Selection:
    """
    Take items by rank while they fit into *limit* tokens, under the heading *title*.

    An item that does not fit is skipped, so a shorter one after it may still be taken. Only the
    first is cut to fit, so that a small section has the beginning of what matters most.
    """
    spent = count(title) + 1
    taken: list[Item] = []
    groups: set[str] = set()
    for offered in items:
        if spent >= limit:
            break
        item = offered if taken else _cut(offered, room=limit - spent, count=count)
        cost = _cost(item, is_new=item.group not in groups, count=count)
        if item.text and spent + cost <= limit:
            spent += cost
            taken.append(item)
            groups.add(item.group)
    return _Selection(tuple(taken), spent if taken else 0)


def _cut(item: Item, *, room: int, count: CountTokens) -> Item:
    if item.group or _cost(item, is_new=True, count=count) <= room:
        return item
    text = shorten(item.text, limit=room * _CHARACTERS)
    return replace(item, text=text if len(text) >= _SHORTEST_CUT else "")


def _cost(item: Item, *, is_new: bool, count: CountTokens) -> int:
    if not item.group:
        return count(f"- {item.text}\n")
    lead = count(f"- {item.group}: \n") if is_new else 0
    return lead + count(f"{item.text}, ")


def lay_out(items: Sequence[Item]) -> tuple[str, ...]:
    """Write *items* in their order, those of one group on one line."""
    lines: dict[str, list[str]] = {}
    for place, item in enumerate(sorted(items, key=lambda item: item.order)):
        # A null in the key keeps the lines of ungrouped items apart; no text holds one.
        lines.setdefault(item.group or f"\0{place}", []).append(item.text)
    return tuple(
        texts[0] if key.startswith("\0") else f"{key}: {', '.join(texts)}"
        for key, texts in lines.items()
    )


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
    Section.SAID: 54,
    Section.REQUESTS: 14,
    Section.SEEN: 8,
    Section.RULES: 6,
    Section.EARLIER: 8,
    Section.LAST: 8,
}
# Sections that may repeat a request.
_REPEATING = (Section.RULES, Section.LAST, Section.SAID)
# What must not be lost comes first, even in a small budget with up to this many tokens each.
_LEAST = {Section.RULES: 32, Section.USED: 24, Section.SEEN: 24}
_LEAST_PART = 3
# The newest and the very first request are given what they take before anything else is.
_WHOLE_REQUESTS = 2


def share_out(
    offers: Mapping[Section, Sequence[Item]], *, budget: int, count: CountTokens
) -> dict[Section, tuple[str, ...]]:
    """
    Return the lines of each section that has any, together at most *budget* tokens.

    What a request and another section would both show is shown once.
    """
    is_work = bool(offers[Section.USED] or offers[Section.TOOLS])
    shares = _WORK_SHARES if is_work else _TALK_SHARES
    taken: dict[Section, _Selection] = {}

    def pick(section: Section, limit: int, items: Sequence[Item]) -> None:
        others = sum(selection.cost for name, selection in taken.items() if name is not section)
        limit = min(limit, budget - others)
        taken[section] = select(items, title=_HEADING + section.value, limit=limit, count=count)

    pick(Section.REQUESTS, budget, offers[Section.REQUESTS][:_WHOLE_REQUESTS])
    least = {name: min(tokens, budget // _LEAST_PART) for name, tokens in _LEAST.items()}
    least[Section.REQUESTS] = taken[Section.REQUESTS].cost
    for section in dict.fromkeys((*least, *shares)):
        limit = max(budget * shares.get(section, 0) // 100, least.get(section, 0))
        pick(section, limit, offers[section])
    left = [section for section in shares if section is not Section.RULES]
    for section in left:
        pick(section, budget, offers[section])
    # Only now is it certain which requests are shown; no other section repeats them.
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
    """Return those of *items* that no request in *shown* says."""
    if section is Section.LAST:
        return [item for item in items if not _repeats(item.text, shown)]
    together = "\n".join(shown)
    is_rule = section is Section.RULES
    return [item for item in items if (item.text if is_rule else bare(item.text)) not in together]


def _repeats(text: str, shown: Sequence[str]) -> bool:
    # A short message such as "ok" may begin a long one and still be another.
    said = text.removeprefix(attribute("user", ""))
    if said in shown:
        return True
    beginning = said.removesuffix(ELLIPSIS)
    return beginning != said and any(request.startswith(beginning) for request in shown)
