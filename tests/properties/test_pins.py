"""Random conversations, pins and configurations: every pin is in every view, or was named."""

from collections.abc import Iterator
from random import Random

import pytest

from foldline.agent.reduced import ReducedHistory
from foldline.agent.reducer import HistoryReducer
from foldline.errors import RequestTooLargeError
from foldline.history.messages import Message
from foldline.history.parts import BlobPart, FilePart, Part, UriPart
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.sendable import sendable
from foldline.reduction.state import HistoryReductionState
from tests.depth import by_depth
from tests.histories import legal_history


LONG = 3_000
FILES: set[type] = {BlobPart, UriPart, FilePart}


def words(message: Message) -> Iterator[str]:
    """Give what is said in *message*, and what its tools answered."""
    answers = (answer.response for answer in message.tool_call_responses)
    for text in (message.text, *(one for one in answers if isinstance(one, str))):
        yield sendable(text).strip()


def media(message: Message) -> Iterator[Part]:
    """Give the parts of *message*, and those of what its tools answered."""
    yield from message.parts
    for answer in message.tool_call_responses:
        yield from () if isinstance(answer.response, str) else answer.response


def drawn(random: Random) -> HistoryReducer:
    """Return a reducer of any strategy and unit, with a small window."""
    limits = random.choice(
        [
            {},
            {"target_count": random.randint(1, 6), "summarization_threshold": 3},
            {"counting_unit": "messages", "target_count": random.randint(1, 9)},
            {"target_token_budget": random.randint(100, 600), "token_budget_threshold": 200},
        ]
    )
    strategy = random.choice(["summarizing", "summarizing", "clearing", "message_counting"])
    layers = {"use_single_summary": random.random() < 0.5} if strategy == "summarizing" else {}
    config = HistoryReductionConfig(strategy=strategy, **limits, **layers)  # type: ignore[arg-type]
    return HistoryReducer(config, window=random.choice([4_000, 8_000, 32_000]))


def calls(
    reducer: HistoryReducer, random: Random
) -> Iterator[tuple[list[Message], set[int], ReducedHistory[Message]]]:
    """Give the messages, the pins and what is sent, before each model call of a conversation."""
    state: HistoryReductionState | None = None
    pins: set[int] = set()
    history = legal_history(random, exchanges=24)
    for stop in range(1, len(history) + 1):
        said = [one for one in history[:stop] if one.role != "system"]
        if not said or said[-1].role == "assistant":
            continue
        if random.random() < 0.3:
            pins.symmetric_difference_update({random.randrange(len(said))})
        try:
            reduced = reducer.reduce_sync(history[:stop], state=state, pins=sorted(pins))
        except RequestTooLargeError:
            return
        state = reduced.state
        yield said, pins, reduced


@pytest.mark.parametrize("seed", range(by_depth(6, 150)))
def test_pins_are_in_every_view(seed: int) -> None:
    """What was pinned is shown word for word, whatever the strategy, the unit and the window."""
    random = Random(seed)
    named: set[int] = set()
    for said, pins, reduced in calls(drawn(random), random):
        event, state = reduced.event, reduced.state
        named |= {int(one.split()[1]) for one in event.left_out}
        shown = "\n".join(text for one in reduced.messages for text in words(one))
        short = {at for at in pins - named if all(len(one) < LONG for one in words(said[at]))}
        lost = [at for at in short if any(one not in shown for one in words(said[at]))]
        # What a tool answered may have been cleared before it was pinned.
        cut = 0 if state is None else state.summarized_up_to_index
        seen = {at for at in pins - named if at < cut or said[at].role == "user"}
        files = {at for at in seen if FILES & {*map(type, media(said[at]))}}

        assert lost == []
        assert [at for at in files if said[at] not in reduced.messages] == []
        assert event.request_tokens <= event.ceiling
