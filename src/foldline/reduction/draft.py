"""
What replaces the messages that are folded away: nothing, one summary, or layers of summaries.

With either kind of summary each newly aged message is given to a summarizer once. A rolling summary
is written from the summary before it and the newly aged messages. A layer is written from the newly
aged messages alone; the layers before it stay byte-identical until there are `MERGE_WIDTH` of one
level at the end, which are merged into one of the next level. So a message passes through a number
of summaries that grows with the logarithm of the history's length. Layers are also merged as soon
as they take more than their share of the ceiling.

What is longer than a summarizer can read at once is read in chunks, which end where a cut tears
nothing apart. A rolling summary is written again with each chunk, and each chunk is a layer. Where
the summarizers stop before the cut, what they have read stays as it is: either the fold ends there,
or a stopgap by the last summarizer, which is code, stands for the rest until the next call.
"""

from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.tokens import count_message
from foldline.reduction.budget import LEAST_BUDGET, Budget
from foldline.reduction.case import leaving_tokens
from foldline.reduction.pieces import chunk_end, slices, split
from foldline.reduction.quotes import TYPED, Pins, Quote, Weight
from foldline.reduction.request import Flow, SummaryRequest
from foldline.reduction.spans import SummaryLayer, join_layers
from foldline.reduction.state import HistoryReductionState, hash_of
from foldline.reduction.statements import unasked
from foldline.reduction.text_calls import LEAD
from foldline.reduction.writing import Writing, added, write


MERGE_WIDTH = 6
"""How many layers of one level are merged into one of the next."""

_LEAST_GROUP = 2
_UNLIMITED = 1 << 60
# What a summarizer is given to read at least, however small its window is said to be.
_LEAST_READING = 64
# A summary has a quarter of what is read at once, so that most of that is new.
_SUMMARY_PART = 4


class FoldOptions(Struct, frozen=True, kw_only=True):
    """
    What a fold needs besides the history, its verdict and its configuration.

    There are so many *summarizers* to ask, one after the other. The view has to fit *budget*. One
    summary is asked to keep to *summary_budget* tokens. A summarizer is given at most *window*
    tokens to read at once; *clean* takes secrets out of a text that is divided for that. *pins* are
    the pinned messages before the cut; None if only those marked as pinned are. *by_code* are the
    places of the summarizers that are code, which read everything at once. *has_rule* tells whether the
    user says in a text what is to hold from now on, and *tells* whether what is no question in it is more
    than polite. *model* is asked with the view, if that is known.
    """

    created_at: datetime
    config_fingerprint: str
    summarizers: int
    budget: Budget
    summary_budget: int
    window: int | None = None
    pins: Pins | None = None
    by_code: frozenset[int] = frozenset()
    clean: Callable[[str], str] = str
    has_rule: Callable[[str], bool] = lambda _: False
    tells: Callable[[str], bool] = bool
    model: str | None = None

    def weigh(self, text: str) -> Weight:
        """Return what the user does in *text*."""
        if len(text) > TYPED:
            return Weight.PASTE
        if self.has_rule(text):
            return Weight.RULE
        return Weight.STATEMENT if self.tells(unasked(text)) else Weight.QUESTION


# With a dictionary, so that what is asked for each chunk is worked out once.
class FoldTask(Struct, frozen=True, kw_only=True, dict=True):
    """One fold: from the reduction before it up to the new cut."""

    history: History

    active: HistoryReductionState | None
    """The reduction in force."""

    base: HistoryReductionState | None
    """What reading goes on from: the reduction in force, without a stopgap."""

    cut: int
    prompt: str
    focus: str
    is_single: bool
    options: FoldOptions

    quoted: int = 0
    """The tokens of the quotes that the fold adds: what replaces the messages has that much less room."""

    frame: int = 0
    """The tokens around them, if they are the first ones."""

    quotes: tuple[Quote, ...] | None = None
    """Those messages, if they are known for this cut."""

    shown: tuple[str, ...] = ()
    """The texts that the view shows word for word beside the summary."""

    gone: tuple[str, ...] = ()
    """Those of the user that it showed before, and has no room for any more."""

    @property
    def start(self) -> int:
        """Where the messages begin that are read now."""
        return 0 if self.base is None else self.base.summarized_up_to_index

    @property
    def above(self) -> int:
        """The cut of the reduction in force."""
        return 0 if self.active is None else self.active.summarized_up_to_index

    @property
    def pinned(self) -> int | None:
        """The last user message, if the cut passes it."""
        user = self.history.last_user()
        return user if user is not None and user < self.cut else None

    @property
    def readers(self) -> int:
        """How many summarizers are asked before the last resort."""
        return max(1, min(self.options.by_code, default=self.options.summarizers - 1))

    @cached_property
    def room(self) -> int:
        """How many tokens a summarizer reads at once beside its instruction."""
        count, window = self.history.counter.count, self.options.window
        if window is None:
            return _UNLIMITED
        return max(_LEAST_READING, window - count(self.prompt) - count(self.focus))

    @cached_property
    def replaced(self) -> int:
        """How many tokens all that is written may replace."""
        shortened = () if self.active is None else self.active.shortened
        room = leaving_tokens(self.history, self.start, self.cut, shortened)
        if self.is_single and self.base is not None:
            room += self.base.summary_tokens
        return max(room - self.quoted, min(room, LEAST_BUDGET))

    def _rooms(self, source: int) -> tuple[int, int]:
        # Quotes may give way to a model's text, which has read them. What code writes repeats none.
        room = min(source, self.replaced)
        return room, max(room - self.frame, min(room, LEAST_BUDGET))

    def _lead(self, start: int) -> tuple[Message, ...]:
        """Return the last messages in memory before *start*."""
        return tuple(self.history[max(self.history.start, start - LEAD) : start])

    def asked(
        self,
        messages: tuple[Message, ...],
        earlier: tuple[str, ...],
        *,
        span: tuple[int, int],
        source: int,
        before: int = 0,
        budget: int | None = None,
        places: range | None = None,
        room: int | None = None,
    ) -> Flow[Writing]:
        """Ask those at *places*, or all but the last resort, for one text of *span*; see `write`."""
        most = min(self.options.summary_budget, self.room // _SUMMARY_PART)
        request = SummaryRequest(
            messages=messages,
            lead=self._lead(span[1] - len(messages)) if messages else (),
            earlier=earlier,
            prompt=self.prompt,
            focus=self.focus,
            budget=most if budget is None else budget,
            shown=self.shown,
            gone=self.gone if span[1] == self.cut else (),
            stands_for=span[1] - span[0],
            recallable=(span[0], span[1] - 1) if self.options.budget.recall else None,
        )
        return write(
            request,
            count=self.history.counter.count,
            places=range(self.readers) if places is None else places,
            rooms=self._rooms(source) if room is None else (room, room),
            source=source,
            before=before,
            by_code=self.options.by_code,
        )


class Draft(Struct, frozen=True, kw_only=True):
    """What replaces the messages up to *end*: nothing, a summary, or layers; and what it has cost."""

    end: int = 0
    summary: str = ""
    tokens: int = 0
    layers: tuple[SummaryLayer, ...] = ()
    writing: Writing = Writing()


def unchanged(base: HistoryReductionState | None) -> Draft:
    """Return what *base* has in place of its messages."""
    if base is None:
        return Draft()
    return Draft(
        end=base.summarized_up_to_index,
        summary=base.summary_content,
        tokens=base.summary_tokens,
        layers=base.layers,
    )


def read(task: FoldTask) -> Flow[Draft]:
    """Have summarizers read chunk by chunk up to the cut, or as far as they come."""
    draft = unchanged(task.base)
    while draft.end < task.cut:
        earlier = Writing(text=draft.summary, tokens=draft.tokens) if task.is_single else Writing()
        room = max(task.room - earlier.tokens, task.room // 2)
        end = chunk_end(task.history, draft.end, task.cut, room)
        writing = yield from _read_chunk(task, draft.end, end, earlier)
        total = added(draft.writing, writing)
        if writing.text is None:
            return replace(draft, writing=replace(total, summarizer=draft.writing.summarizer))
        if task.is_single:
            draft = Draft(end=end, summary=writing.text, tokens=writing.tokens, writing=total)
        else:
            draft = yield from _with_layer(task, draft, total, end)
    return draft


def filled(task: FoldTask, draft: Draft) -> Flow[Draft]:
    """Have the last summarizer write what replaces the rest, beside what others have read."""
    history, last = task.history, task.options.summarizers
    has_read = draft.end > task.start
    if last == task.readers or (task.cut == task.above and not has_read):
        return draft
    is_stopgap = has_read or task.base is not task.active
    rolls = task.is_single and not is_stopgap
    before = draft.tokens if rolls else 0
    beside = max(task.options.budget.beside - draft.tokens, task.options.summary_budget // 2)
    writing = yield from task.asked(
        tuple(history[draft.end : task.cut]),
        (draft.summary,) if rolls and draft.summary else (),
        span=(0 if rolls else draft.end, task.cut),
        source=history.tokens(draft.end, task.cut) + before,
        before=before,
        budget=min(task.options.summary_budget, beside) if is_stopgap else None,
        places=range(task.readers, last),
    )
    total = added(draft.writing, writing)
    if writing.text is None:
        return replace(draft, writing=total)
    if rolls:
        return Draft(end=task.cut, summary=writing.text, tokens=writing.tokens, writing=total)
    if not is_stopgap:
        return (yield from _with_layer(task, draft, total, task.cut))
    read_part = draft.layers or (_layer(task, 0, draft.end, draft.summary, draft.tokens),)
    stopgap = _layer(task, draft.end, task.cut, writing.text, writing.tokens, is_stopgap=True)
    # The event and the record name who has read a part, if anybody has now.
    wrote = draft.writing.summarizer if has_read else writing.summarizer
    return _of_layers((*read_part, stopgap), replace(total, summarizer=wrote))


def _layer(
    task: FoldTask, start: int, end: int, summary: str, tokens: int, *, is_stopgap: bool = False
) -> SummaryLayer:
    return SummaryLayer(
        summary=summary,
        start=start,
        end=end,
        message_hash=hash_of(task.history, end),
        tokens=tokens,
        is_stopgap=is_stopgap,
    )


def _of_layers(layers: tuple[SummaryLayer, ...], writing: Writing) -> Draft:
    return Draft(
        end=layers[-1].end,
        summary=join_layers(layers),
        tokens=sum(layer.tokens for layer in layers),
        layers=layers,
        writing=writing,
    )


def _with_layer(task: FoldTask, draft: Draft, writing: Writing, end: int) -> Flow[Draft]:
    """Return *draft* with one more layer, up to *end*, after the merges that are due."""
    layer = _layer(task, draft.end, end, writing.text or "", writing.tokens)
    layers, total = yield from _merge(task, (*draft.layers, layer), writing)
    # A merge that failed is tried again by the next fold: the layers cover everything.
    return _of_layers(layers, total)


def _read_chunk(task: FoldTask, start: int, end: int, earlier: Writing) -> Flow[Writing]:
    """Have a chunk read, in several readings if nothing shorter can be cut off."""
    history, total = task.history, Writing()
    first = 0 if task.is_single else start
    while start < end:
        if earlier.tokens > task.room // 2:
            earlier = yield from _shorter(task, earlier, span=(first, start))
            total = added(total, earlier)
            if earlier.text is None:
                return total
        stop = min(end, history.index_within(start, task.room - earlier.tokens))
        for messages, tokens in _readings(task, start, stop, earlier.tokens):
            source = tokens + earlier.tokens
            before = (earlier.text,) if earlier.text else ()
            earlier = yield from task.asked(
                messages, before, span=(first, stop), source=source, before=earlier.tokens
            )
            total = added(total, earlier)
            if earlier.text is None:
                return total
        start = stop
    return total


def _readings(
    task: FoldTask, start: int, stop: int, earlier: int
) -> list[tuple[tuple[Message, ...], int]]:
    """Return the messages from *start* up to *stop* and their tokens; of one too long, its parts."""
    history = task.history
    tokens = history.tokens(start, stop)
    if tokens <= task.room - earlier:
        return [(tuple(history[start:stop]), tokens)]
    # What each part is read beside is known when the one before it was.
    room = min(task.room - earlier, task.room * 2 // 3)
    parts = split(history[start], room, history.counter, task.options.clean)
    return [((part,), count_message(part, history.counter)) for part in parts]


def _shorter(task: FoldTask, earlier: Writing, *, span: tuple[int, int]) -> Flow[Writing]:
    """Return an *earlier* summary that leaves too little room for anything else written shorter."""
    counter = task.history.counter
    total = made = Writing()
    for part in slices(earlier.text or "", task.room // 2, counter):
        texts = (made.text, part) if made.text else (part,)
        source = sum(map(counter.count, texts))
        made = yield from task.asked((), texts, span=span, source=source, room=source)
        total = added(total, made)
        if made.text is None:
            break
    return total


def _merge(
    task: FoldTask, layers: tuple[SummaryLayer, ...], total: Writing
) -> Flow[tuple[tuple[SummaryLayer, ...], Writing]]:
    while True:
        is_full = sum(layer.tokens for layer in layers) > task.options.budget.beside
        group = _group(layers, task.room, is_full=is_full)
        if len(group) < _LEAST_GROUP:
            return layers, total
        source = sum(layer.tokens for layer in group)
        texts = tuple(layer.summary for layer in group)
        # Only where there is no room for them does code merge what others have written.
        places = range(task.options.summarizers) if is_full else None
        span = (group[0].start, group[-1].end)
        writing = yield from task.asked(
            (), texts, span=span, source=source, room=source, places=places
        )
        total = replace(added(total, writing), summarizer=total.summarizer)
        if writing.text is None:
            return layers, total
        merged = replace(
            group[-1],
            summary=writing.text,
            start=group[0].start,
            tokens=writing.tokens,
            level=group[-1].level + 1,
        )
        at = layers.index(group[0])
        layers = (*layers[:at], merged, *layers[at + len(group) :])


def _group(
    layers: tuple[SummaryLayer, ...], readable: int, *, is_full: bool
) -> tuple[SummaryLayer, ...]:
    """
    Return the layers to merge: so many of the last level, or several if there is no room left.

    They are the oldest of them that are *readable* together.
    """
    levels = [tuple(run) for _, run in groupby(layers, key=lambda layer: layer.level)]
    group = levels[-1][-MERGE_WIDTH:] if len(levels[-1]) >= MERGE_WIDTH else ()
    if is_full:
        # Not always the newest layers: one of them would be written again at every fold.
        several = (run for run in reversed(levels) if len(run) >= _LEAST_GROUP)
        group = next(several, layers[-_LEAST_GROUP:])
    while len(group) > _LEAST_GROUP and sum(layer.tokens for layer in group) > readable:
        group = group[:-1]
    return group
