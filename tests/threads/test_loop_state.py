"""The execution state: transitions, consistency and JSON."""

import json
from datetime import UTC, datetime

import pytest
from msgspec import structs

from foldline.errors import (
    CheckpointError,
    CheckpointStaleError,
    FormatError,
    MessagesNotLoadedError,
    StoreVersionError,
)
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.state import HistoryReductionState
from foldline.threads.loop_state import COMPLETED, AgentLoopState, CurrentMessages, LearnedModel


NOW = datetime(2026, 11, 21, tzinfo=UTC)
STATE = AgentLoopState(run_id="run", conversation_id="thread", started_at=NOW, agent_name="me")
HISTORY = History([Message.system("s"), Message.user("u"), Message.assistant("a")])
REDUCTION = HistoryReductionState.create(
    HISTORY,
    "summary",
    1,
    target_count=1,
    reduction_threshold=1,
    message_count_at_reduction=2,
    created_at=NOW,
)


def _with(field: str) -> str:
    return STATE.to_json().decode()[:-1] + "," + field + "}"


def test_a_new_state_is_the_first_iteration_of_an_open_run() -> None:
    """It stands at iteration 0, with no failure, no call and no reduction, and can be resumed."""
    assert (STATE.iteration, STATE.consecutive_failures) == (0, 0)
    assert (len(STATE.current_messages), STATE.completed_functions) == (0, frozenset())
    assert STATE.active_reduction is None
    assert STATE.is_open


def test_every_transition_gives_a_new_state() -> None:
    """Each transition changes what it names in a new state, and the old one not at all."""
    before = STATE.to_json()

    assert STATE.next_iteration().next_iteration().iteration == 2
    assert STATE.with_failure().with_failure().consecutive_failures == 2
    assert STATE.with_failure().with_success().consecutive_failures == 0
    assert STATE.with_completed("ab").with_completed("b").completed_functions == {"a", "b"}
    assert STATE.with_reduction(REDUCTION).active_reduction is REDUCTION
    assert STATE.with_reduction(REDUCTION).with_reduction(None).active_reduction is None
    assert STATE.to_json() == before


def test_the_least_window_that_a_model_has_shown_is_kept() -> None:
    """A larger one that is learned later, and what is learned of another model, do not lift it."""
    known = STATE.with_vendor("small", ratio=1.2, window=100)
    new = known.with_vendor("small", ratio=1.5, window=200).with_vendor("large", ratio=1.2)

    assert new.learned["small"] == LearnedModel(ratio=1.5, window=100)
    assert new.learned["large"] == LearnedModel(ratio=1.2)


def test_eight_models_are_remembered() -> None:
    """What was learned of a ninth takes the place of what was learned first."""
    state = STATE
    for number in (*range(8), 0, 8):
        state = state.with_vendor(f"model {number}", ratio=1.5)

    assert list(state.learned) == [f"model {number}" for number in (2, 3, 4, 5, 6, 7, 0, 8)]


def test_a_terminated_run_cannot_be_resumed() -> None:
    """A run that has ended keeps its reason and is not open."""
    ended = STATE.terminated(COMPLETED)

    assert (ended.is_terminated, ended.is_open) == (True, False)
    assert ended.termination_reason == "Completed successfully"


def test_repeats_are_counted_for_each_tool() -> None:
    """The count grows with the same signature and starts again with another one."""
    state = STATE.with_tool_call("t", "1").with_tool_call("t", "1").with_tool_call("u", "1")

    assert state.repeat_counts == {"t": 2, "u": 1}
    assert state.with_tool_call("t", "2").repeat_counts == {"t": 1, "u": 1}
    assert state.with_tool_call("t", "2").last_signatures == {"t": "2", "u": "1"}


def test_the_watermark_goes_with_the_service() -> None:
    """What a vendor holds is known with its id, and forgotten without one."""
    held = STATE.with_service("conv", 7)

    assert (held.service_thread_id, held.service_watermark) == ("conv", 7)
    assert held.with_service(None, 7).service_watermark == 0


def test_a_count_that_differs_is_stale() -> None:
    """The error tells both counts, the iteration and what differs; `allow_stale` lets it pass."""
    state = structs.replace(STATE, current_messages=CurrentMessages(3)).next_iteration()
    text = (
        "Checkpoint is stale. Conversation has 5 messages but checkpoint expects 3. This "
        "checkpoint was created at iteration 1 but conversation has progressed."
    )

    state.validate_consistency(3)
    state.validate_consistency(5, allow_stale=True)
    with pytest.raises(CheckpointStaleError) as caught:
        state.validate_consistency(5)
    assert str(caught.value) == text
    assert (caught.value.count, caught.value.expected, caught.value.iteration) == (5, 3, 1)
    with pytest.raises(CheckpointStaleError, match=r"has 2 .* but messages are missing\.$"):
        state.validate_consistency(2)


@pytest.mark.parametrize("allow_stale", [False, True])
@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("iteration", "Checkpoint has invalid iteration: -1"),
        ("consecutive_failures", "Checkpoint has invalid ConsecutiveFailures: -1"),
        ("turn_start", "Checkpoint has invalid turn_start: -1"),
        ("service_watermark", "Checkpoint has invalid service_watermark: -1"),
    ],
)
def test_a_negative_number_is_refused(field: str, text: str, *, allow_stale: bool) -> None:
    """A negative number is an error even where a stale state is accepted."""
    state = structs.replace(STATE, **{field: -1})

    with pytest.raises(CheckpointError, match=text):
        state.validate_consistency(0, allow_stale=allow_stale)


@pytest.mark.parametrize("state", [STATE, STATE.terminated("done")], ids=["open", "ended"])
def test_a_turn_that_begins_behind_its_messages_is_refused(state: AgentLoopState) -> None:
    """The messages before a turn are some of those at its state, or all of them."""
    state = structs.replace(state, current_messages=CurrentMessages(3))
    structs.replace(state, turn_start=3).validate_consistency(3)

    with pytest.raises(CheckpointError, match="Checkpoint has invalid turn_start: 4"):
        structs.replace(state, turn_start=4).validate_consistency(5, allow_stale=True)


def test_a_state_has_one_written_form() -> None:
    """The names of tools are written in their order, whatever order a set of them has."""
    names = [f"tool{number}" for number in range(10)]
    written = STATE.with_completed(reversed(names)).to_json().decode()

    assert f'"completed_functions":{json.dumps(names, separators=(",", ":"))}' in written


def test_a_state_comes_back_equal() -> None:
    """All fields survive JSON; the messages come back as their count and digest."""
    state = (
        structs.replace(STATE, current_messages=CurrentMessages.of(HISTORY))
        .next_iteration()
        .with_failure()
        .with_completed(["b", "a"])
        .with_tool_call("t", "s")
        .with_reduction(REDUCTION)
        .with_service("conv", 2)
        .terminated("why")
    )
    state = structs.replace(state, turn_start=1, last_assistant_message_id="m", metadata={"k": "v"})
    read = AgentLoopState.from_json(state.to_json())

    assert read == state
    assert read.to_json() == state.to_json()
    assert AgentLoopState.from_json(state.to_json().decode()) == state
    assert len(read.current_messages) == 3
    with pytest.raises(MessagesNotLoadedError, match="get_messages"):
        read.current_messages[0]


def test_odd_texts_come_back() -> None:
    """Names with half a character and NUL survive."""
    state = structs.replace(
        STATE.with_tool_call("\ud800", "\0"), agent_name="x\udfff", metadata={"\0": "\ud800"}
    )

    assert AgentLoopState.from_json(state.to_json()) == state


def test_a_newer_state_is_refused_and_an_older_one_is_read() -> None:
    """A higher format is an error before anything else; unknown fields and no number are read."""
    plain = json.loads(STATE.to_json())

    with pytest.raises(StoreVersionError, match="a checkpoint has format 2, and") as caught:
        AgentLoopState.from_json(json.dumps({"format": 2, "run_id": 7}))
    assert caught.value.found == 2
    assert "format" not in plain
    assert AgentLoopState.from_json(json.dumps({**plain, "unknown": [1]})) == STATE


@pytest.mark.parametrize(
    "data",
    [
        "",
        "null",
        "[]",
        "{}",
        '{"run_id":"secret"}',
        '{"run_id":"r","conversation_id":"c","started_at":"secret"}',
        _with('"current_messages":{"count":1,"digest":"secret"}'),
        _with('"current_messages":7'),
        _with('"current_messages":{"count":-1,"digest":""}'),
        _with(f'"current_messages":{{"count":{1 << 63},"digest":""}}'),
        '{"format":"\\ud800"}',
        '{"format":1,"run_id":["\\ud800"],"conversation_id":"c"}',
        "[" * 100_000,
        b"\xff",
        b"{",
    ],
)
def test_what_is_no_state_is_a_format_error(data: str | bytes) -> None:
    """Whatever is not an execution state is a format error that quotes nothing of it."""
    with pytest.raises(FormatError) as caught:
        AgentLoopState.from_json(data)

    assert "secret" not in str(caught.value)
    assert "secret" not in repr(caught.value.__cause__)


def test_what_is_no_text_is_a_format_error() -> None:
    """A value that is neither bytes nor text is named by its type."""
    with pytest.raises(FormatError, match="got int, not bytes or str"):
        AgentLoopState.from_json(7)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


def test_only_messages_have_a_form_of_their_own() -> None:
    """A state holding a value that JSON has no form for is not written."""
    state = structs.replace(STATE, metadata={"k": object()})

    with pytest.raises(NotImplementedError):
        state.to_json()
