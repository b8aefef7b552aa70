"""A reduction is used exactly where it stands for what it was made of."""

from datetime import UTC, datetime
from random import Random

import pytest

from foldline.agent.reducer import HistoryReducer
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.state import HistoryReductionState
from foldline.testing.summarizer import ScriptedSummarizer
from tests.depth import by_depth
from tests.histories import legal_history, text


ROUNDS = 10_000
SHARE = by_depth(40, 1)
NOW = datetime(2026, 11, 21, tzinfo=UTC)
CONFIG = HistoryReductionConfig(
    enabled=True,
    strategy="summarizing",
    counting_unit="messages",
    target_count=4,
    summarization_threshold=10_000,
    # Nothing folds because of the ceiling, however long a drawn text is.
    context_window_size=10_000_000,
    ceiling=1.0,
)


def edit(random: Random, messages: list[Message], low: int, high: int) -> str:
    """Change one place in [low, high) for good, in place; return what was done."""
    at = random.randrange(low, high)
    kind = random.choice(("edit", "insert", "delete", "swap", "rewind"))
    if kind == "edit":
        messages[at] = Message.user(text(random) + "!edited")
    elif kind == "insert":
        messages.insert(at, Message.user("!inserted"))
    elif kind == "delete":
        del messages[at]
    elif kind == "swap":
        other = random.randrange(low, high)
        messages[at], messages[other] = messages[other], messages[at]
    else:
        del messages[at:]
    return kind


def reduced(random: Random, reducer: HistoryReducer) -> tuple[list[Message], HistoryReductionState]:
    """Make a history and a reduction of it, whole, that has messages on both sides of its cut."""
    while True:
        messages = [m for m in legal_history(random) if m.role != "system"]
        cut = random.randint(1, max(1, len(messages) - 1))
        if next(History(messages).whole_indexes(cut, cut - 1), None) is None:
            continue
        state = HistoryReductionState.create(
            messages,
            "summary",
            cut,
            target_count=1,
            reduction_threshold=1,
            message_count_at_reduction=len(messages),
            created_at=NOW,
            counting_unit="messages",
            config_fingerprint=reducer.config_fingerprint,
        )
        if state.summarized_up_to_index < len(messages):
            return messages, state


def said(messages: list[Message]) -> list[tuple[str, object]]:
    """Return what the digest covers: an empty message of an assistant says nothing."""
    return [(m.role, m.parts) for m in messages if m.parts or m.role != "assistant"]


@pytest.mark.parametrize("inside", [True, False])
def test_a_change_before_the_cut_is_a_miss_and_after_it_a_hit(*, inside: bool) -> None:
    """Ten thousand edits, inserts, deletes, swaps and rewinds: never the wrong way round."""
    reducer = HistoryReducer(CONFIG, summarizer=ScriptedSummarizer())
    random, kinds = Random(20_261_121 + inside), set()
    for _ in range(ROUNDS // 2 // SHARE):
        messages, state = reduced(random, reducer)
        cut = state.summarized_up_to_index
        changed = list(messages)
        kinds.add(edit(random, changed, *((0, cut) if inside else (cut, len(messages)))))
        served = reducer.reduce_sync(changed, state=state)
        verdict = served.verdict
        hit = len(changed) >= cut and said(changed[:cut]) == said(messages[:cut])
        # At the very cut a reduction needs a user message to show with it.
        hit = hit and (len(changed) > cut or any(m.role == "user" for m in changed))
        assert (verdict.kind == "hit") == hit
        assert any(m.is_summary for m in served.messages) == hit
        assert inside or hit or len(changed) == cut

    assert kinds == {"edit", "insert", "delete", "swap", "rewind"}


def test_after_a_change_the_longest_reduction_that_still_fits_is_used() -> None:
    """Of a chain of folds, an edit leaves exactly those whose whole prefix lies before it."""
    config = HistoryReductionConfig(
        enabled=True, strategy="summarizing", counting_unit="messages", target_count=2,
        summarization_threshold=2,
    )  # fmt: skip
    reducer = HistoryReducer(config, summarizer=ScriptedSummarizer(repeat="short summary"))
    random = Random(7)
    for _ in range(200 // SHARE):
        history, state, cuts = History(), None, [0]
        for number in range(24):
            words = f"{number} " + "word " * 40
            history.append(Message.user(words) if number % 2 == 0 else Message.assistant(words))
            state = reducer.reduce_sync(history, state=state).state
            if state is not None and state.summarized_up_to_index != cuts[-1]:
                cuts.append(state.summarized_up_to_index)
        place = random.randrange(len(history))
        changed = list(history)
        changed[place] = Message.user("changed")
        found = reducer.plan(changed, state=state).state

        assert (found.summarized_up_to_index if found else 0) == max(
            cut for cut in cuts if cut <= place
        )
