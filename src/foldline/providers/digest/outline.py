"""
The items that each section of a record offers, and the choice among them within a budget.

Each section has a share of the budget; what it cannot use goes to the others in a fixed order. A
span with tool calls depends on its identifiers, one without on what was said, so there are two
tables. Both are measured by `python -m bench quality`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from string import punctuation
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldline.providers.digest.tables import is_table
from foldline.providers.digest.text import BY_USER, ELLIPSIS, ENDS, attribute, bare, clean, shorten
from foldline.reduction.record import Section, SummaryRecord


FAILED = "failed: "
"""What the line of a call that failed begins with."""

_HEADING, _SAYS = "## ", ": "
# What a day is called if nothing names it.
_DAYS = "dates"
# What stands around a word and is no part of it.
_AROUND = punctuation + "“”„‘’«»…–—·。，、；：！？（）「」"  # noqa: RUF001 - signs of other scripts

STRIDE = 1 << 32
"""How far the places of one message are from those of the next; more than it has sentences."""

_SPOKEN = (Section.SAID, Section.LAST)
# As far are the lines of a record; it comes before all messages, as one.
_LINE = 1 << 12


class Earlier(Struct, frozen=True):
    """The earlier summaries of a request, oldest first: all, records, and *foreign* ones."""

    texts: tuple[str, ...]
    records: tuple[SummaryRecord, ...]
    foreign: tuple[str, ...]

    def lines(self, section: Section) -> list[str]:
        """Return the items that the records have in *section*, oldest first."""
        return [line for record in self.records for line in record.lines(section)]

    def said(self, sections: Collection[Section] = _SPOKEN) -> "list[Item]":
        """Return the lines of *sections* among all that was said before, in their places."""
        return [
            Item(line, (place - len(self.records)) * STRIDE + row * _LINE)
            for place, record in enumerate(self.records)
            for row, (name, line) in enumerate(
                (name, line) for name in _SPOKEN for line in record.lines(name)
            )
            if name in sections
        ]


def read_earlier(texts: Iterable[str]) -> Earlier:
    """Read each of *texts* as a record if it is one."""
    cleaned = tuple(map(clean, texts))
    read = tuple(map(SummaryRecord.read, cleaned))
    foreign = (text for text, record in zip(cleaned, read, strict=True) if record is None)
    return Earlier(cleaned, tuple(filter(None, read)), tuple(foreign))


CountTokens: TypeAlias = Callable[[str], int]
"""Counts the tokens of a string."""

# Fewer characters per token than usual text has, so that what is cut also fits.
_CHARACTERS = 2
# A shorter beginning says nothing.
_SHORTEST_CUT = 48
# What one speaker said in several messages shares a line of at most so many characters.
_LONGEST_LINE = 600


class Item(Struct, frozen=True):
    """
    One line that a section could have, and its place among those shown; items are offered by rank.

    Items that share a group are written on one line after it. A weak one has what nothing else needs,
    and one that is listed comes after these.
    """

    text: str
    order: int
    group: str = ""
    is_weak: bool = False
    is_listed: bool = False


def newest_first(lines: Sequence[str]) -> list[Item]:
    """Offer *lines*, the last one first."""
    return [Item(lines[place], place) for place in range(len(lines) - 1, -1, -1)]


class _Selection(Struct, frozen=True):
    """The items of a section that fit, and their tokens, heading included; 0 if nothing fits."""

    items: tuple[Item, ...]
    cost: int

    @property
    def texts(self) -> list[str]:
        return [item.text for item in self.items]


_NOTHING = _Selection((), 0)


def select(
    items: Sequence[Item], *, title: str, limit: int, count: CountTokens, is_spoken: bool = False
) -> _Selection:
    """
    Take items by rank while they fit into *limit* tokens, under the heading *title*.

    An item that does not fit is skipped, so a shorter one after it may still be taken. Only the
    first is cut to fit, so that a small section has the beginning of what matters most.
    """
    spent = count(title) + 1
    taken: list[Item] = []
    groups: set[str | int] = set()
    for offered in items:
        if spent >= limit:
            break
        item = offered if taken else _cut(offered, room=limit - spent, count=count)
        # What is said in one message stands in one line.
        group = item.order // _LINE if is_spoken else item.group
        cost = _cost(item, is_new=group == "" or group not in groups, count=count)
        if item.text and spent + cost <= limit:
            spent += cost
            taken.append(item)
            groups.add(group)
    return _Selection(tuple(taken), spent if taken else 0)


def _cut(item: Item, *, room: int, count: CountTokens) -> Item:
    if item.group or _cost(item, is_new=True, count=count) <= room:
        return item
    text = shorten(item.text, limit=room * _CHARACTERS)
    return replace(item, text=text if len(text) >= _SHORTEST_CUT else "")


def _cost(item: Item, *, is_new: bool, count: CountTokens) -> int:
    if not item.group:
        return count(f"- {item.text}\n" if is_new else f" {bare(item.text)}")
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
    Section.EDITED: 25,
    Section.CREATED: 8,
    Section.DELETED: 4,
    Section.COMMITS: 13,
    Section.USED: 30,
    Section.SEEN: 13,
    Section.OPEN: 6,
    Section.RULES: 6,
    Section.DECISIONS: 6,
    Section.FAILED: 4,
    Section.VALUES: 4,
    Section.SAID: 15,
    Section.TOOLS: 8,
    Section.REQUESTS: 10,
    Section.READ: 5,
    Section.NARRATIVE: 8,
    Section.EARLIER: 6,
    Section.DONE: 4,
    Section.CLAIMED: 4,
    Section.LAST: 4,
}
_TALK_SHARES = {
    Section.SAID: 54,
    Section.REQUESTS: 14,
    Section.OPEN: 8,
    Section.DECISIONS: 8,
    Section.NARRATIVE: 20,
    Section.SEEN: 8,
    Section.RULES: 20,
    Section.FAILED: 4,
    Section.DONE: 4,
    Section.CLAIMED: 4,
    Section.EARLIER: 8,
    Section.LAST: 8,
}
_WORK = (Section.USED, Section.TOOLS, Section.EDITED, Section.CREATED, Section.READ)
# With fewer tokens a sentence is worth less to an agent than the ids in its place.
_LEAST_SAID = 700
# For so many tokens of a budget one weak identifier keeps its place; others come after all else.
_FOR_A_WEAK = 25
TOLD = (Section.REQUESTS, Section.RULES, *_SPOKEN)
"""Sections of whole sentences; what they name needs no line of its own."""

# Sections that may repeat a request.
_REPEATING = (Section.RULES, Section.LAST, Section.SAID)
FIRST = (Section.RULES, Section.EDITED, Section.CREATED, Section.DELETED, Section.COMMITS)
"""What comes before all else: rules, and the work itself, not given up for what was only named."""

# What must not be lost comes first, with up to this many tokens each.
_LEAST = {Section.RULES: 56, Section.USED: 24, Section.SEEN: 24, Section.TOOLS: 24}
TIGHT = 300
"""A budget of so many tokens or fewer is for what the user has to rely on."""

_LEAST_OF_SMALL = {**dict.fromkeys(FIRST, 24), **_LEAST, Section.RULES: 96, Section.TOOLS: 48}


def share_out(
    offers: Mapping[Section, Sequence[Item]],
    *,
    budget: int,
    count: CountTokens,
    first: Sequence[Item] = (),
) -> dict[Section, tuple[str, ...]]:
    """
    Return the lines of each section that has any, together at most *budget* tokens.

    What a request and another section would both show is shown once. The requests that come *first*
    are given what they take first; if none does, ids come before requests.
    """
    shares = _shares(offers, budget)
    late, offers = _late(offers, budget)
    taken: dict[Section, _Selection] = {}
    pick = partial(_pick, taken, budget, count)
    pick(Section.REQUESTS, budget, first)
    asked = taken[Section.REQUESTS].cost
    least = {**(_LEAST if budget > TIGHT else _LEAST_OF_SMALL), Section.REQUESTS: asked}
    offers[Section.TOOLS] = _failure_first(offers[Section.TOOLS], budget)
    sections = dict.fromkeys((*FIRST, *least, *shares))
    if Section.USED in shares and not first:
        del sections[Section.REQUESTS]
    for section in sections:
        limit = max((budget - asked) * shares.get(section, 0) // 100, least.get(section, 0))
        pick(section, limit, offers[section])
    for section in (left := [one for one in shares if one is not Section.RULES]):
        pick(section, budget, offers[section])
    # Only now is it certain which requests are shown; no other section repeats them.
    shown = taken[Section.REQUESTS].texts
    unsaid = {**offers, **{name: _unsaid(offers[name], shown, name) for name in _REPEATING}}
    pick(Section.RULES, budget, unsaid[Section.RULES])
    for section in (Section.LAST, Section.SAID):
        pick(section, taken[section].cost, unsaid[section])
    # What was said last may have more at the end of it.
    for section in (*left, Section.SAID):
        if section is Section.SAID:
            unsaid[section] = _unsaid(unsaid[section], taken[Section.LAST].texts, section)
        if section is not Section.REQUESTS:
            pick(section, budget, unsaid[section])
    late = {Section.REQUESTS: _with_rest(offers[Section.REQUESTS], taken), **late}
    for section, items in late.items():
        pick(section, budget, items)
    return _laid_out({name: selection.items for name, selection in taken.items()})


def _pick(
    taken: dict[Section, _Selection],
    budget: int,
    count: CountTokens,
    section: Section,
    limit: int,
    items: Sequence[Item],
) -> None:
    if not items:
        taken[section] = _NOTHING
        return
    others = sum(one.cost for one in taken.values()) - taken.get(section, _NOTHING).cost
    title, is_spoken = _HEADING + section.value, section in _SPOKEN
    room = min(limit, budget - others)
    taken[section] = select(items, title=title, limit=room, count=count, is_spoken=is_spoken)


def untold(
    offers: Mapping[Section, Sequence[Item]],
    lines: Mapping[Section, Sequence[str]],
    *,
    budget: int,
) -> Mapping[Section, Sequence[Item]]:
    """
    Return *offers* without the days and weak identifiers that sentences in *lines* name.

    Where no tool was called the others, that a call would need whole, are left out as well.
    """
    shares = _shares(offers, budget)
    seen = offers.get(Section.SEEN, ())
    giving_way = seen if shares is _TALK_SHARES else list(filter(_gives_way, seen))
    if not (giving_way and shares[Section.SAID]):
        return offers
    told = "\n".join(line for section in TOLD for line in lines.get(section, ()))
    told = f" {' '.join(word.strip(_AROUND) for word in told.split())} "
    gone = {one for one in giving_way if f" {one.text} " in told}
    if not gone:
        return offers
    return {**offers, Section.SEEN: [one for one in seen if one not in gone]}


def _gives_way(item: Item) -> bool:
    return item.is_weak or item.group == _DAYS


def _with_rest(items: Sequence[Item], taken: Mapping[Section, _Selection]) -> Sequence[Item]:
    """Return the requests *taken*, and those of *items* that nothing else shows."""
    told = "\n".join(text for selection in taken.values() for text in selection.texts)
    asked = taken[Section.REQUESTS].items
    return [*asked, *(item for item in items if item.text not in told)]


def _laid_out(found: Mapping[Section, Sequence[Item]]) -> dict[Section, tuple[str, ...]]:
    return {
        name: (_together if name in _SPOKEN else lay_out)(items)
        for name, items in _in_order(found).items()
        if items
    }


def _together(items: Sequence[Item]) -> tuple[str, ...]:
    """Write what was said in its order, that of one message, and of one speaker if short, on one line."""
    lines: list[str] = []
    before = None
    for item in sorted(items, key=lambda item: item.order):
        if before is not None and _goes_on(before, item, lines[-1]):
            is_next = item.order == before.order + 1 and before.text.endswith(tuple(ENDS))
            lines[-1] += f"{' ' if is_next else f' {ELLIPSIS} '}{bare(item.text)}"
        else:
            lines.append(item.text)
        before = item
    return tuple(lines)


def _goes_on(before: Item, item: Item, line: str) -> bool:
    if item.order // _LINE != before.order // _LINE:
        speaker = attribute(before.text.partition(_SAYS)[0], "")
        if len(line) + len(item.text) > _LONGEST_LINE or not item.text.startswith(speaker):
            return False
    return not (is_table(bare(before.text)) or is_table(bare(item.text)))


def _in_order(found: Mapping[Section, Sequence[Item]]) -> Mapping[Section, Sequence[Item]]:
    """Return *found* with what was said after the oldest of the last messages among these."""
    said, last = found[Section.SAID], found[Section.LAST]
    if not last:
        return found
    oldest = min(item.order for item in last)
    later = [item for item in said if item.order > oldest]
    # What was cut stands there whole.
    last = [item for item in last if not any(map(partial(_is_cut_of, item.text), later))]
    before = [item for item in said if item.order <= oldest]
    return {**found, Section.SAID: before, Section.LAST: [*last, *later]}


def _is_cut_of(text: str, item: Item) -> bool:
    beginning = text.removesuffix(ELLIPSIS).rstrip()
    return beginning != text and item.text.startswith(beginning)


def _shares(offers: Mapping[Section, Sequence[Item]], budget: int) -> Mapping[Section, int]:
    if not any(offers.get(section) for section in _WORK):
        return _TALK_SHARES
    if budget >= _LEAST_SAID:
        # What holds comes before what was only seen.
        order = (*FIRST, Section.USED, Section.VALUES, *_WORK_SHARES)
        return {section: _WORK_SHARES[section] for section in order}
    return {**_WORK_SHARES, Section.SAID: 0, Section.VALUES: 2}


def _late(
    offers: Mapping[Section, Sequence[Item]], budget: int
) -> tuple[Mapping[Section, Sequence[Item]], dict[Section, Sequence[Item]]]:
    """Return what is offered once more after all else, and *offers* without the weak of that."""
    now = {section: offers.get(section, ()) for section in Section}
    seen, rules = now[Section.SEEN], now[Section.RULES]
    listed = sum(item.is_listed for item in seen)
    weak = sum(item.is_weak for item in seen) - listed
    now[Section.SEEN] = seen[: len(seen) - listed - max(0, weak - budget // _FOR_A_WEAK)]
    now[Section.RULES] = [one for one in rules if not one.is_weak]
    late = {Section.SEEN: seen}
    return (late if len(now[Section.RULES]) == len(rules) else {**late, Section.RULES: rules}), now


def _failure_first(items: Sequence[Item], budget: int) -> Sequence[Item]:
    if budget > TIGHT:
        return items
    # A refusal that is not known is worse than a call that is not.
    failed = [item for item in items if item.text.startswith(FAILED)][:1]
    return list(dict.fromkeys((*failed, *items)))


def _unsaid(items: Sequence[Item], shown: Sequence[str], section: Section) -> list[Item]:
    """Return those of *items* that no request in *shown* says."""
    if section is Section.LAST:
        return [item for item in items if not _repeats(item.text, shown)]
    together = "\n".join(shown)
    if section is Section.RULES:
        return [item for item in items if item.text not in together]
    return [item for item in items if bare(item.text) not in together]


def _repeats(text: str, shown: Sequence[str]) -> bool:
    # A short message such as "ok" may begin a long one and still be another.
    said = bare(text) if text.startswith(BY_USER) else text
    if said in shown:
        return True
    beginning = said.removesuffix(ELLIPSIS)
    return beginning != said and any(request.startswith(beginning) for request in shown)
