"""
What a fold keeps word for word, as quotes beside the summary and not as turns.

The first request, every user message that is not too long, pinned messages, and the results of
tools that are never summarized. The quotes of a reduction are carried over by the next one.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import count
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import BlobPart, FilePart, ToolCallResponsePart, UriPart, texts_in
from foldline.history.reminders import is_reminder, without_reminders
from foldline.history.tokens import count_message
from foldline.reduction.budget import Budget
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.sendable import sendable
from foldline.reduction.shortening import clip_text, pointer


TYPED = 1_500
"""What has more characters was pasted: somebody else may have written it."""

QuoteKind: TypeAlias = Literal["first", "pin", "tool", "user"]
"""Why a message is quoted: the first request, a pin, a tool that is never summarized, a user message."""


class Weight(IntEnum):
    """What the user does in a message: quotes of less give way first."""

    QUESTION = 0
    """He only asks, or is polite."""

    PASTE = 1
    """He shows a text that is too long to be typed."""

    STATEMENT = 2
    """He states something."""

    FACT = 3
    """He states something that has a figure."""

    RULE = 4
    """He says what is to hold from now on."""


Pins: TypeAlias = Sequence[tuple[int, Message]]
"""Pinned messages, with their indexes."""

_HEADER = (
    "Quoted word for word ([n] is message n), the user's and tools' own words; the user's still apply, "
    "a later one over an earlier one:"
)
# What a tag and its line ends cost, and what is in front of a line.
_QUOTE_TOKENS = 16
_LINE_TOKENS = 7
_NAME_LENGTH = 80
# The part of the room for messages that pinned ones with files have: a fold keeps a quarter beside it.
_FILES_SHARE = 1 / 3
# With less room no message is read, and an older paste has such a part of what a quote may have.
_LEAST_QUOTE = 24
_SHORT_PART = 6
_END = r"(?i)</\s*(quote(?:-[0-9]{1,9})?)"


class Quote(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    A message of the folded part, word for word, or the head and tail of a long one.

    The text is empty if it did not fit, or the message itself is shown; then there is no quote to show.
    """

    index: int
    kind: QuoteKind
    role: str
    text: str
    tokens: int

    is_whole: bool = True
    """Whether nothing of the message is left out."""

    name: str = ""
    """The user's name, where the message has one: several may speak."""

    has_rule: bool = False
    """Whether the user says in it what holds from now on: it gives way after those that do not."""

    is_message: bool = False
    """Whether the view shows the message itself, since it has files, and no text of it."""

    only_asks: bool = False
    """Whether the user states nothing in it: it gives way before those that do."""

    @property
    def by(self) -> str:
        """Who said it."""
        return f"{self.role} ({self.name})" if self.name else self.role

    @property
    def may_change(self) -> bool:
        """Whether another fold may have more or less room for it."""
        return not self.text or (self.kind == "user" and not self.is_whole)

    @property
    def weight(self) -> Weight:
        """Which quotes give way before it: those that have less."""
        if self.has_rule:
            return Weight.RULE
        if not self.is_whole or len(self.text) > TYPED:
            return Weight.PASTE
        if self.only_asks:
            return Weight.QUESTION
        return Weight.FACT if _has_figure(self.text) else Weight.STATEMENT


def quoted(
    history: History,
    before: Sequence[Quote],
    *,
    aged: Collection[int],
    cut: int,
    pins: Pins | None,
    config: HistoryReductionConfig,
    budget: Budget,
    weigh: Callable[[str], Weight],
) -> tuple[Quote, ...]:
    """
    Return the quotes of a fold, oldest first.

    Of user messages those that fit, equal ones once: rules, statements, pastes, then questions, the newest first.

    Args:
        history: The full history.
        before: The quotes of the reduction from which the fold starts.
        aged: The messages that the fold takes out of the view.
        cut: The new cut.
        pins: Every pinned message; None if only those marked as pinned are.
        config: How long user messages may be, and which tools are never summarized.
        budget: The request.
        weigh: What the user does in a text.
    """
    known = {one.index: one for one in before if one.index < cut and not is_reminder(one.text)}
    taken: dict[int, tuple[QuoteKind, Message]] = {at: ("pin", one) for at, one in pins or ()}
    if pins is not None:
        taken = {**_unpinned(history, known, config), **taken}
        known = {at: one for at, one in known.items() if one.kind != "pin"}
    # What gave way or was clipped is read as it fits now, if the message is in memory.
    again = {at for at, one in known.items() if at >= history.start and one.may_change}
    taken = {**{at: (known[at].kind, history[at]) for at in again}, **taken}
    drops = config.strategy == "message_counting"
    quotes_users = config.quote_user_messages and not drops
    results = _results(history, aged) if quotes_users else frozenset[int]()
    for at in _quotable(history, aged, pins) if drops else aged:
        kind = _kind(history, at, config, pins)
        if kind and not (kind == "user" and at in results):
            taken.setdefault(at, (kind, history[at]))
    new = {at for at, (kind, _) in taken.items() if kind == "pin" or at not in known or at in again}
    known |= {at: _unread(at, *taken[at], weigh) for at in new if at < cut}
    room = _Room(budget, config.quote_user_messages)
    for at in sorted(known, reverse=True):
        one = known[at]
        if at in new:
            one = room.read(one, taken[at][1], history)
        known[at] = room.give(one)
    return within([known[at] for at in sorted(known)], budget.beside, "user")


class _Room:
    """What is left for quotes of users: those of a weight compete with those of as much or more."""

    def __init__(self, budget: Budget, most: int) -> None:
        self._budget, self._most = budget, most
        self._left, self._said = [budget.beside] * len(Weight), set[tuple[str, str]]()
        self._files = int(budget.room * _FILES_SHARE)

    def most(self, quote: Quote) -> int:
        """Return how many tokens *quote* may have; 0 if there is no room."""
        if quote.kind in {"pin", "tool"}:
            return self._budget.limit // 4
        weight = quote.weight
        left = self._left[weight]
        if quote.kind == "user" and left < _LEAST_QUOTE:
            return 0
        # A quarter of the room is for the newest pastes; of older ones more are begun.
        is_older = weight is Weight.PASTE and 4 * left < 3 * self._budget.beside
        return self._most // _SHORT_PART if is_older and quote.kind == "user" else self._most

    def read(self, unread: Quote, message: Message, history: History) -> Quote:
        """Return *unread* as *message* itself with its files, or with its words."""
        return self._whole(unread, message, history) or _read(
            unread, message, history, self._budget, self.most(unread)
        )

    def _whole(self, quote: Quote, message: Message, history: History) -> Quote | None:
        at, is_said = quote.index, quote.kind == "pin" and message.role == "user"
        if not is_said or message.tool_call_responses or not any(_files(message)):
            return None
        tokens = count_message(message, history.counter)
        if tokens > self._files or (at < history.start and at not in history.known):
            return None
        self._files -= tokens
        return replace(quote, is_message=True, tokens=tokens)

    def give(self, quote: Quote) -> Quote:
        """Return *quote*, without its text if a newer one has the same."""
        if quote.kind != "user":
            return quote
        said = quote.name, quote.text
        if not quote.text or said in self._said:
            return _emptied(quote)
        self._said.add(said)
        weight = quote.weight
        # A short one after one that does not fit may still fit; that pastes are read has to end.
        if quote.tokens <= self._left[weight] or weight is Weight.PASTE:
            for less in range(weight + 1):
                self._left[less] -= quote.tokens
        return quote


def _has_figure(text: str) -> bool:
    # A pattern is several times as fast, and takes a superscript for none.
    return bool(re.search(r"\d", text)) or (not text.isascii() and any(map(str.isdigit, text)))


def _quotable(history: History, aged: Iterable[int], pins: Pins | None) -> Sequence[int]:
    """Return those of *aged* that may be quoted where nothing but pins is."""
    start = history.start
    pinned = pins_after(history, start, None) if pins is None else ()
    return [at for at in aged if at in pinned or at < start] if pinned or start else ()


def _results(history: History, aged: Collection[int]) -> frozenset[int]:
    """Return those of *aged* that tools have answered in the user's place."""
    from foldline.reduction.text_calls import LEAD, text_results  # noqa: PLC0415 - a hit does without

    first, last = min(aged, default=0), max(aged, default=-1)
    start = max(history.start, first - LEAD)
    found = text_results(history[start : last + 1], is_first=start < first or not start)
    return frozenset(start + at for at in found)


def _unpinned(
    history: History, known: Mapping[int, Quote], config: HistoryReductionConfig
) -> dict[int, tuple[QuoteKind, Message]]:
    """Return the pinned ones of *known* as what they are if they are not pinned any more."""
    if config.strategy == "message_counting" or not config.quote_user_messages:
        return {}
    users = [at for at, one in known.items() if one.role == "user"]
    return {
        at: (
            "first" if at == min(users) else "user",
            history[at]
            if known[at].is_message
            else Message.user(known[at].text, name=known[at].name),
        )
        for at in users
        if known[at].kind == "pin"
    }


def _kind(
    history: History, at: int, config: HistoryReductionConfig, pins: Pins | None
) -> QuoteKind | None:
    message = history[at]
    if pins is None and message.is_pinned:
        return "pin"
    if config.strategy == "message_counting" or message.is_summary:
        return None
    if message.is_from_user and config.quote_user_messages:
        return "first" if history.exchanges(at) == history.exchanges(0) else "user"
    rules: Mapping[str, str] = config.tool_rules
    if rules and message.role == "tool":
        names = tool_names(history, at)
        return "tool" if any(rules.get(name) == "never_summarize" for name in names) else None
    return None


def kept_whole(history: History, cut: int, pins: Pins | None) -> frozenset[int]:
    """Return the pins and user messages after *cut*, which are shortened if nothing else helps."""
    return pins_after(history, cut, pins).union(history.users(cut))


def pins_after(history: History, cut: int, pins: Pins | None) -> frozenset[int]:
    """Return the pinned messages after *cut*."""
    if pins is None:
        return frozenset([at for at in history.marked(cut) if history[at].is_pinned])
    return frozenset([at for at, _ in pins if at >= cut])


def tool_names(history: History, at: int) -> set[str]:
    """Return the names of the tools whose results the message at *at* carries."""
    message, reach = history[at], history.reach(at)
    answers = {answer.id for answer in message.tool_call_responses}
    calls = history[reach].tool_calls if reach < at else ()
    names = {call.name for call in calls if call.id in answers}
    return names or ({message.name} if message.name else set())


def _read(unread: Quote, message: Message, history: History, budget: Budget, limit: int) -> Quote:
    """Return *unread* with the words of *message* in *limit* tokens; what has none is not counted."""
    if not limit:
        return _emptied(unread)
    counter = history.counter
    whole = sendable("\n".join(_words(message)))
    whole = without_reminders(whole) if unread.kind in {"first", "user"} else whole
    whole = whole if whole.strip() else ""
    note = f"\n[… {{count}} characters left out: {pointer(unread.index, recall=budget.recall)} …]\n"
    text = clip_text(whole, limit=limit, counter=counter, note=note)
    is_whole = text == whole and not (unread.kind == "pin" and any(_files(message)))
    quote = replace(unread, text=text, is_whole=is_whole)
    around = _LINE_TOKENS if _is_line(quote) else _QUOTE_TOKENS
    tokens = counter.count(text) + counter.count(quote.name) + around
    return replace(quote, tokens=tokens) if text else quote


def _unread(at: int, kind: QuoteKind, message: Message, weigh: Callable[[str], Weight]) -> Quote:
    text = without_reminders(message.text) if kind == "user" else ""
    weight = weigh(text) if kind == "user" else Weight.STATEMENT
    return Quote(
        index=at,
        kind=kind,
        role=message.role,
        text=text,
        tokens=0,
        name=_spoken_by(message),
        has_rule=weight is Weight.RULE,
        only_asks=weight is Weight.QUESTION,
    )


def _spoken_by(message: Message) -> str:
    """Return the name of the user who said *message* as a line and a tag take it."""
    name = sendable(message.name or "") if message.role == "user" else ""
    return " ".join(re.sub(r"""["'<>:()]""", " ", name).split())[:_NAME_LENGTH]


def _words(message: Message) -> Iterator[str]:
    if message.text:
        yield message.text
    for file in _files(message):
        yield f"[{file.modality} not shown]"
    for call in message.tool_calls:
        yield f"{call.name}({call.arguments})"
    for answer in message.tool_call_responses:
        yield from texts_in(answer)


def _files(message: Message) -> Iterator[BlobPart | UriPart | FilePart]:
    for part in message.parts:
        inner: Sequence[object] = (part,)
        if isinstance(part, ToolCallResponsePart) and not isinstance(part.response, str):
            inner = part.response
        for one in inner:
            if isinstance(one, BlobPart | UriPart | FilePart):
                yield one


def within(quotes: Sequence[Quote], room: int, *kinds: QuoteKind) -> tuple[Quote, ...]:
    """
    Return *quotes* without the text of those of *kinds* that do not fit into *room* tokens.

    Questions give way first, rules last, and the oldest of each before the newer ones; a short one
    stays where a longer one does not fit.
    """
    gone: set[int] = set()
    for one in sorted(quotes, key=lambda one: (one.weight, one.index), reverse=True):
        if one.kind in kinds:
            if one.tokens > room:
                gone.add(one.index)
            else:
                room -= one.tokens
    return tuple(_emptied(one) if one.index in gone else one for one in quotes)


def _emptied(quote: Quote) -> Quote:
    return replace(quote, text="", tokens=0, is_whole=False, is_message=False)


def _is_line(quote: Quote) -> bool:
    """Whether *quote* is written without a tag: a request of one line that cannot look like one."""
    is_said = quote.kind in {"first", "user"} and quote.is_whole
    return is_said and "<" not in quote.text and len(quote.text.splitlines()) == 1


def _rendered(quote: Quote) -> str:
    if _is_line(quote):
        return f"[{quote.index}] {quote.by}: {quote.text.strip()}"
    # A text that could end the quote, or seem to, gets a tag that it does not contain.
    taken = {one.lower() for one in re.findall(_END, quote.text)}
    tags = map("quote-{}".format, count(1))
    tag = next(one for one in tags if one not in taken) if taken else "quote"
    marks = {"first": ' first="yes"', "pin": ' pinned="yes"'}.get(quote.kind, "")
    return f'<{tag} message="{quote.index}" by="{quote.by}"{marks}>\n{quote.text}\n</{tag}>'


def joined(summary: str, quotes: Sequence[Quote]) -> str:
    """Return *summary* and *quotes* as one text."""
    texts, tagged = [summary] if summary else [], [_rendered(one) for one in quotes if one.text]
    if tagged:
        texts.append("\n".join([_HEADER, *tagged]))
    return "\n\n".join(texts)
