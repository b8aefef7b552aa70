"""How often summaries are written, and who reads what."""

import json
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest

from foldline.agent.reducer import HistoryReducer
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.history.units import CountingUnit
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.state import HistoryReductionState
from foldline.testing.summarizer import ScriptedSummarizer
from tests.depth import by_depth


TEXT = "so many words were said about the weather in the north and the south " * 3
TURNS = by_depth(150, 600)


def turn(number: int, size: int) -> tuple[Message, list[Message]]:
    """Make one turn of *size* messages: the question, and what the agent adds to it."""
    question = Message.user(f"u{number} {TEXT}")
    rest: list[Message] = []
    for step in range((size - 2) // 2):
        call = ToolCallPart(f"c{number}-{step}", "look_up", "{}")
        rest += [
            Message.assistant(tool_calls=[call]),
            Message.tool(call.id, f"r{number}-{step} {TEXT}"),
        ]
    return question, [*rest, Message.assistant(f"a{number} {TEXT}")]


def play(
    config: HistoryReductionConfig, size: int, *, folds: int | None = None
) -> tuple[list[int], ScriptedSummarizer]:
    """Play the turns, the state going through JSON before each; return those of the *folds* made."""
    scripted = ScriptedSummarizer(repeat="what was said so far in few words")
    reducer = HistoryReducer(config, summarizer=scripted)
    history, state, folded = History(), None, list[int]()
    for number in range(TURNS):
        if len(folded) == folds:
            break
        question, answer = turn(number, size)
        history.append(question)
        if state is not None:
            state = HistoryReductionState.from_json(state.to_json())
        reduced = reducer.reduce_sync(history, state=state)
        state = reduced.state
        if reduced.event.status == "performed":
            folded.append(number)
        history.extend(answer)
    return folded, scripted


def config(
    unit: CountingUnit, target: int, threshold: int, *, single: bool = True
) -> HistoryReductionConfig:
    return HistoryReductionConfig.documented(
        enabled=True,
        strategy="summarizing",
        counting_unit=unit,
        target_count=target,
        summarization_threshold=threshold,
        use_single_summary=single,
    )


@pytest.mark.parametrize("size", [2, 4, 10])
@pytest.mark.parametrize("threshold", [0, 1, 5, 10, 20])
def test_exchanges_fold_every_threshold_plus_one_turns(threshold: int, size: int) -> None:
    """With exchanges a turn is one unit, so of each S + 1 turns only one folds: 1 - 1/(S + 1)."""
    folded, _ = play(config("exchanges", 20, threshold), size, folds=4)
    steps = {later - sooner for sooner, later in pairwise(folded)}

    assert folded[0] == 20 + threshold
    assert steps == {threshold + 1}


def interval(size: int, threshold: int, target: int = 20) -> int:
    """Work out the turns between folds as the design says: floor((S - extra)/u) + 1.

    The history ends with the question of a turn when the verdict is taken. Extra is what is kept
    beyond the target because the cut moves back to the question of its turn, if that lies within
    the threshold, or else to the beginning of the tool step that the wished index falls into.
    """
    inside = (target - 1) % size
    to_question = 0 if inside == 0 else size - inside
    if to_question <= threshold:
        return (threshold - to_question) // size + 1
    at = size - inside
    to_call = 1 if at % 2 == 0 and at < size - 1 else 0
    return max(0, threshold - to_call) // size + 1


@pytest.mark.parametrize("size", [2, 4, 6, 10])
@pytest.mark.parametrize("threshold", [0, 1, 5, 10, 20, 21, 90])
def test_messages_fold_by_the_formula(size: int, threshold: int) -> None:
    """With u messages a turn a fold comes every floor((S - extra)/u) + 1 turns, exactly."""
    folded, _ = play(config("messages", 20, threshold), size, folds=4)

    assert {later - sooner for sooner, later in pairwise(folded[1:])} == {interval(size, threshold)}


@pytest.mark.parametrize("threshold", [5, 21])
def test_two_messages_a_turn_save_what_the_formula_says(threshold: int) -> None:
    """Of plain turns, 1 - 1/(floor(S/u) + 1) need no summarizer call."""
    folded, scripted = play(config("messages", 20, threshold), 2)
    interval = threshold // 2 + 1

    assert {b - a for a, b in pairwise(folded)} == {interval}
    assert len(scripted.requests) == len(folded)
    saved = 1 - len(folded) / (TURNS - folded[0])
    assert saved == pytest.approx(1 - 1 / interval, abs=0.01)


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("unit", ["messages", "exchanges"])
def test_each_message_is_read_once(unit: CountingUnit, *, single: bool) -> None:
    """Over the whole conversation no message is given to a summarizer twice, and none is missed."""
    _, scripted = play(config(unit, 20, 5, single=single), 4)
    read = Counter(id(message) for request in scripted.requests for message in request.messages)
    count = sum(len(request.messages) for request in scripted.requests)

    assert set(read.values()) == {1}
    assert count == len(read)
    assert TURNS * 4 - count <= 30 * 4


SCRIPT = """
import json, sys
from foldline.agent.reducer import HistoryReducer
from foldline.history.messages import Message
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.state import HistoryReductionState
from foldline.testing.summarizer import ScriptedSummarizer

given = json.load(sys.stdin)
config = HistoryReductionConfig.documented(
    enabled=True, strategy="summarizing", target_count=2, summarization_threshold=2
)
scripted = ScriptedSummarizer(repeat="what was said so far in few words")
state = HistoryReductionState.from_json(given["state"]) if given["state"] else None
messages = [
    Message.user(text) if n % 2 == 0 else Message.assistant(text)
    for n, text in enumerate(given["texts"])
]
reduced = HistoryReducer(config, summarizer=scripted).reduce_sync(messages, state=state)
print(json.dumps({
    "state": reduced.state.to_json().decode() if reduced.state else None,
    "calls": len(scripted.requests),
    "view": [message.text for message in reduced.messages],
}))
"""


def in_a_new_process(texts: list[str], state: str | None) -> tuple[str | None, int, list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps({"texts": texts, "state": state}),
        capture_output=True,
        text=True,
        check=True,
    )
    result = json.loads(done.stdout)
    return result["state"], result["calls"], result["view"]


@pytest.mark.slow
def test_a_restart_before_every_turn_changes_no_count() -> None:
    """With a new process for each turn the calls and the views are those of one process."""
    settings = config("exchanges", 2, 2)
    scripted = ScriptedSummarizer(repeat="what was said so far in few words")
    reducer = HistoryReducer(settings, summarizer=scripted)
    texts: list[str] = []
    state: HistoryReductionState | None = None
    carried: str | None = None
    calls = 0
    for number in range(12):
        texts.append(f"u{number} {TEXT}")
        messages = [
            Message.user(text) if at % 2 == 0 else Message.assistant(text)
            for at, text in enumerate(texts)
        ]
        here = reducer.reduce_sync(messages, state=state)
        carried, asked, view = in_a_new_process(texts, carried)
        state = here.state
        calls += asked
        assert view == [message.text for message in here.messages]
        texts.append(f"a{number} {TEXT}")

    assert calls == len(scripted.requests) == 3
