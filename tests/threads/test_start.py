"""The ways in which a run can start."""

from datetime import UTC, datetime

import pytest
from msgspec import structs

from foldline.errors import CheckpointError, CheckpointStaleError, RunStartError
from foldline.threads.loop_state import AgentLoopState, CurrentMessages
from foldline.threads.start import run_start


OPEN = AgentLoopState(
    run_id="r",
    conversation_id="c",
    started_at=datetime(2026, 11, 21, tzinfo=UTC),
    iteration=4,
    current_messages=CurrentMessages(5),
)


@pytest.mark.parametrize("state", [None, OPEN.terminated("done")])
def test_without_an_open_run_input_and_history_decide(state: AgentLoopState | None) -> None:
    """It is fresh with input, continues without, and has three options if there is nothing."""
    assert run_start("t", state, count=0, has_input=True) == "fresh"
    assert run_start("t", state, count=9, has_input=True) == "fresh"
    assert run_start("t", state, count=9, has_input=False) == "continue"
    with pytest.raises(RunStartError, match=r"'t' .*\(1\) pass new .*\(2\) use .*\(3\) resume"):
        run_start("t", state, count=0, has_input=False)


def test_an_open_run_is_resumed() -> None:
    """A checkpoint that fits, and no input, is resumed."""
    assert run_start("t", OPEN, count=5, has_input=False) == "resume"


def test_input_into_an_open_run_is_refused() -> None:
    """New messages on an open run are an error that names the thread and the iteration."""
    text = "Cannot add new messages when resuming .*'t' is at iteration 4.*abandon_run"
    with pytest.raises(RunStartError, match=text):
        run_start("t", OPEN, count=5, has_input=True)


def test_a_checkpoint_of_another_length_is_stale() -> None:
    """An open run of a history of another length is not resumed; the error tells how to end it."""
    for count in (4, 6):
        with pytest.raises(CheckpointStaleError, match=r"abandon_run\(\)` ends its run\.$"):
            run_start("t", OPEN, count=count, has_input=False)


def test_a_checkpoint_that_cannot_be_is_refused() -> None:
    """An open run with an impossible number in it is not resumed."""
    with pytest.raises(CheckpointError, match="invalid iteration: -1"):
        run_start("t", structs.replace(OPEN, iteration=-1), count=5, has_input=False)
