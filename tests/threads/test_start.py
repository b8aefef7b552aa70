"""The ways in which a run can start."""

from datetime import UTC, datetime

import pytest

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


def test_nothing_to_start_from_is_an_error_with_three_ways() -> None:
    """Without checkpoint, input and history the error lists the three options."""
    with pytest.raises(RunStartError) as caught:
        run_start("t-1", None, count=0, has_input=False)

    text = str(caught.value)
    assert "'t-1'" in text
    assert all(way in text for way in ("(1) pass new messages", "(2) use", "(3) resume"))


@pytest.mark.parametrize("state", [None, OPEN.terminated("done")])
def test_without_an_open_run_input_and_history_decide(state: AgentLoopState | None) -> None:
    """Without a checkpoint, or with one of a run that has ended, a run is fresh or continues."""
    assert run_start("t", state, count=0, has_input=True) == "fresh"
    assert run_start("t", state, count=9, has_input=True) == "fresh"
    assert run_start("t", state, count=9, has_input=False) == "continue"
    with pytest.raises(RunStartError):
        run_start("t", state, count=0, has_input=False)


def test_an_open_run_is_resumed() -> None:
    """A checkpoint that fits, and no input, is resumed."""
    assert run_start("t", OPEN, count=5, has_input=False) == "resume"


def test_input_into_an_open_run_is_refused() -> None:
    """New messages on an open run are an error that names the thread and the iteration."""
    with pytest.raises(RunStartError) as caught:
        run_start("t-1", OPEN, count=5, has_input=True)

    text = str(caught.value)
    assert "Cannot add new messages when resuming mid-execution" in text
    assert "'t-1' is at iteration 4" in text
    assert "abandon_run" in text


def test_a_checkpoint_of_another_length_is_stale() -> None:
    """An open run of a history of another length is not resumed; the error tells how to end it."""
    for count in (4, 6):
        with pytest.raises(CheckpointStaleError, match=r"abandon_run\(\)` ends its run\.$"):
            run_start("t", OPEN, count=count, has_input=False)


def test_a_checkpoint_that_cannot_be_is_refused() -> None:
    """An open run with an impossible number in it is not resumed."""
    state = AgentLoopState(
        run_id="r", conversation_id="c", started_at=OPEN.started_at, iteration=-1
    )

    with pytest.raises(CheckpointError, match="invalid iteration: -1"):
        run_start("t", state, count=0, has_input=False)
