"""
Making the messages after a cut smaller until they fit: clearing first, then clipping.

Old tool results are cleared together, never one per call, since each change costs the vendor's
prompt cache. What is shortened once stays as it is shown until it is shortened further.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import product

from foldline.history.history import History
from foldline.history.parts import ToolCallPart
from foldline.reduction.budget import Budget
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.quotes import tool_names
from foldline.reduction.shortening import Shortened, bare, clear, clip


# A note of some identifiers is not much shorter.
_LEAST_RESULT = 120
_LEAST_ARGUMENTS = 500
_LEAST_CLIP = 48
# Whether media are shown, and whether only an outline is: what is tried one after the other.
_SHAPES = ((True, False), (False, False), (False, True))


def saved(history: History, entries: Iterable[Shortened]) -> int:
    """Return how many tokens *entries* take out of a view."""
    return sum(history.tokens(one.index, one.index + 1) - one.tokens for one in entries)


def clipped(
    history: History,
    entries: Sequence[Shortened],
    *,
    indexes: Iterable[int],
    limit: int,
    budget: Budget,
    media: bool = True,
) -> tuple[Shortened, ...]:
    """
    Return *entries* and those that show the messages at *indexes* in at most *limit* tokens each.

    With *media*, what is not text stays, and so do the calls of an open exchange and a message that
    cannot be made so short. Without, that one is made as short as it can be, its media first.
    """
    known = {one.index: one for one in entries}
    if media:
        indexes = [at for at in indexes if not _is_open_call(history, at)]
    for at, (shows_media, outline) in product(indexes, _SHAPES[:1] if media else _SHAPES):
        now = known[at].tokens if at in known else history.tokens(at, at + 1)
        # Calls without arguments are the last resort.
        if outline and history[at].tool_calls:
            continue
        if now > limit and not _is_cleared(known.get(at)):
            shorter = clip(
                history, at, limit=limit, recall=budget.recall, media=shows_media, outline=outline
            )
            if shorter is not None and shorter.tokens < (limit + 1 if media else now):
                known[at] = shorter
    return tuple(known[at] for at in sorted(known))


def clearable(
    history: History,
    entries: Sequence[Shortened],
    *,
    cut: int,
    keep: int,
    whole: AbstractSet[int],
    config: HistoryReductionConfig,
) -> dict[int, str]:
    """
    Return the old tool results and long arguments after *cut* that may be cleared, with their names.

    The newest *keep* tokens stay as they are, but for results that a later call with the same
    arguments repeats, and for tools whose rule says so. Those at *whole* and those that no model has
    seen yet stay too.
    """
    known, unread = {one.index: one for one in entries}, _unread(history)
    large = (at for at in history.tools(_LEAST_RESULT, cut) if at not in whole and at < unread)
    found = [at for at in large if not _is_cleared(known.get(at))]
    if not found:
        return {}
    old = history.index_keeping("tokens", keep)
    newest = history.last_user()
    newest = old if newest is None else max(old, newest)
    # What is older is cleared in any case.
    repeated = _repeated(history, max(cut, old))
    names: dict[int, str] = {}
    for at in found:
        name = _clearable(history, at, config, is_old=at < old, is_earlier=at < newest)
        if name is None and at in repeated:
            name = _clearable(history, at, config, is_old=True, is_earlier=True)
        if name is not None:
            names[at] = name
    return names


def cleared(
    history: History, entries: Sequence[Shortened], names: Mapping[int, str], budget: Budget
) -> tuple[Shortened, ...]:
    """Return *entries* and those that clear the messages at *names*, if their notes are shorter."""
    known = {one.index: one for one in entries}
    for at, name in names.items():
        shorter = clear(history, at, name=name, recall=budget.recall)
        if shorter is not None:
            known[at] = shorter
    return tuple(known[at] for at in sorted(known))


def squeezed(
    history: History,
    entries: Sequence[Shortened],
    *,
    cut: int,
    pinned: int | None,
    excess: int,
    whole: AbstractSet[int],
    config: HistoryReductionConfig,
    budget: Budget,
) -> tuple[Shortened, ...]:
    """
    Return *entries* and more of them, until they save *excess* tokens more, if that can be reached.

    Args:
        history: The full history.
        entries: What is shortened already.
        cut: Where the messages of the view begin.
        pinned: A user message before it that the view shows too.
        excess: How many tokens have to leave the view.
        whole: Pins and user messages, which are clipped last.
        config: The rules for single tools.
        budget: The request.
    """
    wanted, keep = saved(history, entries) + excess, budget.results
    names = clearable(history, entries, cut=cut, keep=keep, whole=whole, config=config)
    less = _Squeezing(history, cleared(history, entries, names, budget), budget)
    words = whole if pinned is None else whole | {pinned}
    rest, most = [at for at in range(cut, len(history)) if at not in words], budget.limit // 4
    calls = {at for at in rest if _is_open_call(history, at) and history.tokens(at, at + 1) <= most}
    limit = max(_LEAST_CLIP, budget.limit // 8)
    for indexes in ([at for at in rest if at not in calls], sorted(calls)):
        less.narrow(indexes, limit, wanted)
    # Not much smaller than it has to be, since this leaves out most; and what tools have answered is
    # worth more than the middle of a long text.
    now = {one.index: one.tokens for one in less.found}
    size = sum(now.get(at, history.tokens(at, at + 1)) for at in rest)
    less.outline(rest, min(wanted - (budget.full - budget.relieved), less.saved + size - most))
    less.say_less(words, wanted)
    fitting = wanted - (budget.fitted - budget.relieved)
    less.outline(rest, fitting)
    # In the end no more of a message than that tools were called.
    less.shorten(partial(bare, history), [*rest, *sorted(words)], fitting)
    return less.found


class _Squeezing:
    """What a view shows shortened, and more of it with each step that is needed."""

    def __init__(self, history: History, found: tuple[Shortened, ...], budget: Budget) -> None:
        self._history, self._budget = history, budget
        self.found = found

    @property
    def saved(self) -> int:
        return saved(self._history, self.found)

    def say_less(self, words: AbstractSet[int], wanted: int) -> None:
        """Clip the user's *words*, if the request does not fit with them."""
        history, budget = self._history, self._budget
        fitting = wanted - (budget.fitted - budget.relieved)
        last = history.last_user()
        # Where tools go on answering, there is room for the next answers.
        goes_on = last is not None and last < len(history) - 1
        least = wanted - (budget.full - budget.relieved) if goes_on else fitting
        # What they said last is shown before all else.
        newest = [] if last is None or last not in words else [last]
        for indexes in ([at for at in sorted(words) if at not in newest], newest):
            if self.saved < fitting:
                sizes = [history.tokens(at, at + 1) for at in indexes]
                self.narrow(indexes, _level(sizes, least - self.saved), least)
        self.outline(sorted(words), fitting)

    def narrow(self, indexes: Sequence[int], limit: int, wanted: int) -> None:
        """Show the messages at *indexes* in *limit* tokens, or fewer until *wanted* are saved."""
        media = True
        while indexes and self.saved < wanted and limit >= _LEAST_CLIP:
            self.found = clipped(
                self._history,
                self.found,
                indexes=indexes,
                limit=limit,
                budget=self._budget,
                media=media,
            )
            # Texts give way first.
            limit, media = limit // 2 if not media else limit, False

    def outline(self, indexes: Iterable[int], wanted: int) -> None:
        """Show outlines of the largest of *indexes* until *wanted* tokens are saved."""
        recall = self._budget.recall
        shorten = partial(
            clip, self._history, limit=_LEAST_CLIP, recall=recall, media=False, outline=True
        )
        self.shorten(shorten, indexes, wanted)

    def shorten(
        self, shorten: Callable[[int], Shortened | None], indexes: Iterable[int], wanted: int
    ) -> None:
        """Have *shorten* show the largest of *indexes* until *wanted* tokens are saved."""
        history, known = self._history, {one.index: one for one in self.found}
        left = wanted - self.saved

        def size(at: int) -> int:
            return known[at].tokens if at in known else history.tokens(at, at + 1)

        for at in sorted(indexes, key=size, reverse=True):
            shorter = shorten(at) if left > 0 else None
            if shorter is not None and shorter.tokens < size(at):
                left -= size(at) - shorter.tokens
                known[at] = shorter
        self.found = tuple(known[at] for at in sorted(known))


def _level(sizes: Iterable[int], left: int) -> int:
    """Return the most tokens that each of *sizes* may have if together they are to lose *left*."""
    level, count = 0, 0
    for size in sorted(sizes, reverse=True):
        if count and left <= (level - size) * count:
            break
        left -= (level - size) * count
        level, count = size, count + 1
    return max(_LEAST_CLIP, level - -(-left // max(1, count)))


def _is_open_call(history: History, at: int) -> bool:
    """Whether the newest exchange calls tools at *at*: its vendor may want that item back."""
    user = history.last_user()
    return (user is None or at > user) and bool(history[at].tool_calls)


def _unread(history: History) -> int:
    """Return the index of the first of the results at the end, which no model has seen yet."""
    at = len(history)
    while at > history.start and history[at - 1].role == "tool":
        at -= 1
    return at


def _is_cleared(entry: Shortened | None) -> bool:
    return entry is not None and not entry.head


def _clearable(
    history: History, at: int, config: HistoryReductionConfig, *, is_old: bool, is_earlier: bool
) -> str | None:
    """Return what the note calls the message; None if it is not to be cleared."""
    if not is_earlier:
        return None
    message, tokens = history[at], history.tokens(at, at + 1)
    if message.role == "tool" and tokens >= _LEAST_RESULT:
        names = tool_names(history, at)
        rules = {config.tool_rules.get(name) for name in names}
        if rules & {"keep", "never_summarize"} or not (is_old or "clear" in rules):
            return None
        return f"Result of {', '.join(sorted(names))}" if names else "Result"
    is_long = message.role == "assistant" and is_old and tokens >= _LEAST_ARGUMENTS
    if is_long and not _is_open_call(history, at):
        calls = message.tool_calls
        named = sorted({one.name for one in calls if len(one.arguments) > _LEAST_ARGUMENTS})
        # The words of the assistant are no arguments.
        if named and not message.text:
            return f"Arguments of {', '.join(named)}"
    return None


def _repeated(history: History, cut: int) -> set[int]:
    """Return the results after *cut* whose call was made again later, with the same arguments."""
    last: dict[object, int] = {}
    found: set[int] = set()
    for at, message in enumerate(history[cut:], cut):
        if message.role == "tool" and history.reach(at) < at:
            calls: Sequence[ToolCallPart] = history[history.reach(at)].tool_calls
            if len(calls) > 1:
                answers = {answer.id for answer in message.tool_call_responses}
                calls = [call for call in calls if call.id in answers]
            key = tuple([(call.name, call.arguments) for call in calls])
            if key in last:
                found.add(last[key])
            last[key] = at
    return found
