"""What the model sees at each of its calls, when a recording is played."""

import re
from array import array
from bisect import bisect, bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, takewhile

from msgspec import Struct

from foldline.agent.request import RECALL
from foldline.history.messages import Message
from foldline.providers.model import Summarizer
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.event import Reason
from foldline.reduction.state import HistoryReductionState
from foldline.replay.player import Player
from foldline.replay.quality.identifiers import (
    Pattern,
    has_word,
    identifiers,
    said,
    spelled_out,
    wants,
)
from foldline.replay.tape import Tape
from foldline.threads.reader import words_of


_ASCII = re.compile(r"[A-Za-z0-9_]+")
# The table of verdicts comes to these only if nothing is refused and nothing new is made.
_FITTING = frozenset({Reason.DISABLED, Reason.BELOW_THRESHOLD, Reason.REDUCTION_VALID})


class Transcript:
    """All that was said in a session, and where in it each value stands."""

    def __init__(self, tape: Tape, pattern: Pattern = identifiers) -> None:
        """Lay out what was said on *tape*."""
        self.messages = tape.said
        self.texts = tuple(map(said, self.messages))
        self.size, self.counter = tape.size, tape.counter
        self.sizes = tuple(map(tape.size, self.messages))
        self.tokens = (0, *accumulate(self.sizes))
        """The tokens before each message, and those of all."""
        self._pattern = pattern
        # Where a value was found, and how many messages were searched.
        self._known: dict[str, tuple[int | None, int]] = {}

    @cached_property
    def _places(self) -> "dict[str, array[int]]":
        """In which messages each word of a value may stand that some call has in its arguments."""
        values = {value for one in self.messages for value in wants(one, self._pattern)}
        places = {word: array("I") for value in values for word in _words(value)}
        for index, (text, message) in enumerate(zip(self.texts, self.messages, strict=True)):
            # A search reads the arguments of a call as they are.
            found = _words(text).union(*(_words(call.arguments) for call in message.tool_calls))
            for word in found & places.keys():
                places[word].append(index)
        return places

    @cached_property
    def listing(self) -> dict[int, str]:
        """The texts of messages with lists of files such as a digest's, spelled out, by their places."""
        found = ((at, spelled_out(text)) for at, text in enumerate(self.texts) if "/: " in text)
        return {at: text for at, text in found if text != self.texts[at]}

    @cached_property
    def recalls(self) -> tuple[int, ...]:
        """Which messages call the tool `recall`."""
        calls = ((at, call.name) for at, one in enumerate(self.messages) for call in one.tool_calls)
        return tuple(at for at, name in calls if name == RECALL)

    def holding(self, words: Iterable[str], end: int) -> Iterator[int]:
        """Yield those of the first *end* messages that may have all of *words*, the newest first."""
        known = [self._places[word] for word in {*words} if word in self._places]
        rarest: Sequence[int] = min(known, key=len, default=range(end))
        found = (rarest[at] for at in range(bisect_left(rarest, end) - 1, -1, -1))
        return (at for at in found if all(bisect_left(one, at) < bisect(one, at) for one in known))

    def mentions(self, value: str, end: int) -> Iterator[int]:
        """Yield those of the first *end* messages where *value* is a whole word, the newest first."""
        return (at for at in self._near(value, end) if has_word(self.texts[at], value))

    def _near(self, value: str, end: int) -> Iterator[int]:
        return self.holding(map(str.lower, _ASCII.findall(value)), end)

    def is_said(self, value: str, end: int) -> bool:
        """Whether *value* is a whole word in one of the first *end* messages, or in their arguments."""
        found, tried = self._known.get(value, (None, 0))
        if found is None or found >= end:
            # What was not there is looked for in what came since; most is near the end.
            start = tried if found is None else 0
            places = takewhile(start.__le__, self._near(value, end))
            found = next((at for at in places if self._says(at, value)), found)
            self._known[value] = found, max(tried, end)
        return found is not None and found < end

    def _says(self, at: int, value: str) -> bool:
        # Names of arguments and numbers are in their JSON alone.
        texts = (self.texts[at], *(call.arguments for call in self.messages[at].tool_calls))
        return any(value in text and has_word(text, value) for text in texts)


def _words(text: str) -> set[str]:
    """Return the words in *text* that are looked for: runs of ASCII, and those that a search knows."""
    found = set(map(str.lower, _ASCII.findall(text)))
    other = () if text.isascii() else (one for one in text.split() if not one.isascii())
    return found.union(words_of(" ".join(other)))


class Moment(Struct, frozen=True, kw_only=True):
    """One model call of a session that is played."""

    # How many messages had been said, system messages not counted; the answer is the next one.
    index: int
    # None if the recording ends before.
    answer: Message | None
    # The request.
    view: tuple[Message, ...]
    # What represents the beginning of the history; None without a fold.
    state: HistoryReductionState | None
    # Whether a fold was made for this call.
    folded: bool

    @property
    def said(self) -> tuple[Message, ...]:
        """The request without system messages, which no fold takes away."""
        return tuple(one for one in self.view if one.role != "system")

    @property
    def cut(self) -> int:
        """How many of the messages are folded away."""
        return 0 if self.state is None else self.state.summarized_up_to_index

    @property
    def summaries(self) -> tuple[str, ...]:
        """The texts of the summaries as they were written, the oldest first."""
        if self.state is None:
            return ()
        return tuple(one.summary for one in self.state.layers) or (self.state.summary_content,)

    @property
    def front(self) -> tuple[Message, ...]:
        """What stands for the messages that are folded away: the summary and the quotes."""
        state = self.state
        size = 0 if state is None else len(state.front_messages()) + len(state.shown_pins)
        return self.said[:size]

    @property
    def retained(self) -> tuple[Message, ...]:
        """The messages that are not folded away, as they are shown."""
        return self.said[len(self.front) :]


def moments(
    tape: Tape,
    config: HistoryReductionConfig,
    *,
    summarizer: Summarizer | None = None,
    budget: int | None = None,
    on_call: Callable[[], None] | None = None,
) -> Iterator[Moment]:
    """Yield each model call of *tape*: one before every message of the assistant."""
    player = Player(tape, config, summarizer=summarizer, budget=budget)
    for position in model_turns(tape):
        first, request = player.call(position)
        is_answered = position < len(tape.messages)
        yield Moment(
            index=len(player.history),
            answer=tape.messages[position] if is_answered else None,
            view=tuple(request),
            state=player.state,
            folded=first.event.status == "performed",
        )
        if on_call is not None:
            on_call()


def folds(
    tape: Tape, config: HistoryReductionConfig, *, on_call: Callable[[], None] | None = None
) -> Iterator[HistoryReductionState]:
    """Yield the reduction that each fold before a call of *tape* makes, without making other views."""
    player = Player(tape, config)
    for position in model_turns(tape):
        verdict = player.verdict(position)
        if verdict.reason in _FITTING:
            player.state = verdict.state or player.state
        else:
            first, _ = player.call(position)
            if first.event.status == "performed" and player.state is not None:
                yield player.state
        if on_call is not None:
            on_call()


def model_turns(tape: Tape) -> tuple[int, ...]:
    """Return how many messages had been said before each message of the assistant, or each call."""
    said_before = (at for at, one in enumerate(tape.messages) if one.role == "assistant")
    return tuple(sorted({*said_before, *tape.calls}))


def text_of_all(messages: Sequence[Message]) -> str:
    """Return all that stands in *messages*, directories of a digest spelled out."""
    return spelled_out("\n".join(map(said, messages)))
