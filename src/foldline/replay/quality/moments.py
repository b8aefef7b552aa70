"""What the model sees at each of its calls, when a recording is played."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from msgspec import Struct

from foldline.agent.reducer import HistoryReducer
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.tokens import TokenCounter, count_message
from foldline.providers.digest.summarizer import DigestSummarizer
from foldline.providers.model import Summarizer
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.state import HistoryReductionState
from foldline.replay.player import ReadingLog
from foldline.replay.quality.identifiers import last_word, said, spelled_out
from foldline.replay.tape import Tape


class Transcript:
    """All that was said in a session, as one text in which each message has its place."""

    def __init__(self, tape: Tape) -> None:
        """Lay out the messages of *tape* but the system messages, which no fold takes away."""
        self.messages = tuple(one for one in tape.messages if one.role != "system")
        self.texts = tuple(map(said, self.messages))
        self.text = "\n".join(self.texts)
        self.starts = (0, *accumulate(len(text) + 1 for text in self.texts))
        """Where each message begins in the text, and where one after the last would."""
        self.sizes = tuple(map(tape.size, self.messages))
        self.tokens = (0, *accumulate(self.sizes))
        """The tokens before each message, and those of all."""

    def last_mention(self, value: str, end: int) -> int | None:
        """Return the last of the first *end* messages in which *value* stands as a whole word."""
        at = last_word(self.text, value, self.starts[end])
        return None if at < 0 else bisect_right(self.starts, at) - 1


class Moment(Struct, frozen=True, kw_only=True):
    """One model call of a session that is played."""

    # Which call it is, counted from 1.
    number: int
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
) -> Iterator[Moment]:
    """Yield each model call of *tape*: one before every message of the assistant."""
    given: Sequence[Summarizer] = () if summarizer is None else (summarizer,)
    if config.prices is not None and not given:
        # A fold has the price of its summary, as in a replay.
        log = ReadingLog(DigestSummarizer(counter=tape.counter))
        for message in tape.messages:
            log.follow(message)
        given = (log,)
    reducer = HistoryReducer(
        config,
        summarizer=given,
        counter=tape.counter,
        summary_budget=budget,
        clock=lambda: tape.clock(0),
    )
    history, state = History(counter=tape.counter), None
    for number, position in enumerate(model_turns(tape), start=1):
        tape.fill(history, position)
        reduced = reducer.reduce_sync(history, state=state)
        folded = reduced.event.status == "performed"
        if reduced.termination_reason is not None:
            reduced = reducer.reduce_sync(history, state=reduced.state)
        state = reduced.state
        is_answered = position < len(tape.messages)
        yield Moment(
            number=number,
            index=len(history),
            answer=tape.messages[position] if is_answered else None,
            view=tuple(reduced.messages),
            state=state,
            folded=folded,
        )


def model_turns(tape: Tape) -> tuple[int, ...]:
    """Return how many messages had been said before each message of the assistant, or each call."""
    said_before = (at for at, one in enumerate(tape.messages) if one.role == "assistant")
    return tuple(sorted({*said_before, *tape.calls}))


def text_of_all(messages: Sequence[Message]) -> str:
    """Return all that stands in *messages*, directories of a digest spelled out."""
    return spelled_out("\n".join(map(said, messages)))


def tokens_of(messages: Sequence[Message], counter: TokenCounter) -> int:
    """Return the tokens of *messages*."""
    return sum(count_message(one, counter) for one in messages)
