"""A chat whose turns are long loops of tool calls."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foldline.agent.config import AgentConfig
from foldline.agent.events import ToolStartedEvent
from foldline.apps.cli.chat.options import ChatOptions, speaker_of
from foldline.apps.cli.chat.recording import Recording
from foldline.apps.cli.options import ConfigOptions
from foldline.history.messages import Message
from foldline.logs import read_sessions
from foldline.logs.importer import Session
from foldline.threads.stores.memory import MemoryStore
from tests.apps.chat_recordings import tool_loop


Run = Callable[..., Any]
SAY = ("--message", "Look at all of it.")


def folds_of(outcome: Any) -> list[str]:
    """Return the lines about folds."""
    return [line for line in outcome.err.splitlines() if line.startswith("fold ")]


@pytest.fixture
def loop(tmp_path: Path) -> tuple[str, ...]:
    """Return how a recording of one exchange with 40 tool calls is talked to."""
    return ("chat", "--model", f"scripted:{tool_loop(tmp_path / 'loop.json', 40)}")


def test_a_tool_loop_is_folded(run: Run, loop: tuple[str, ...]) -> None:
    """Without any option a single exchange of many tool calls is folded on the way."""
    outcome = run(*loop, *SAY)

    first, *_ = folds_of(outcome)
    assert first.startswith("fold performed: Count above target and threshold; 61 messages → ")
    assert "in 41 calls; " in outcome.err


@pytest.mark.parametrize(
    ("flags", "config", "limits"),
    [
        ({}, None, ("messages", 40, 20)),
        ({"threshold": 100}, None, ("messages", 40, 100)),
        ({"unit": "exchanges"}, None, ("exchanges", 20, 5)),
        ({"unit": "tokens"}, None, ("tokens", 4000, 1000)),
        ({}, "reduction.json", ("exchanges", 20, 5)),
        ({}, "agent.json", ("messages", 40, 20)),
        ({"unit": "messages"}, "reduction.json", ("messages", 20, 5)),
    ],
)
def test_options_and_configurations_win(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    flags: dict[str, Any],
    config: str | None,
    limits: tuple[str, int, int],
) -> None:
    """An option or a configuration of the reduction wins over the defaults of a chat."""
    monkeypatch.chdir(tmp_path)
    reduction = {"HistoryReduction": {"Strategy": "Summarizing"}}
    (tmp_path / "reduction.json").write_text(json.dumps(reduction), encoding="utf-8")
    options = {"Options": {"MaxIterations": 100}}
    (tmp_path / "agent.json").write_text(json.dumps(options), encoding="utf-8")

    asked = ChatOptions(model="scripted:demo", config=config)
    used = speaker_of(asked, ConfigOptions(file="", **flags)).reducer.config

    assert (used.counting_unit, used.limits.target, used.limits.threshold) == limits


def test_why_nothing_was_folded(type_lines: Run, loop: tuple[str, ...]) -> None:
    """`/fold` that folds nothing says why, which target applies, and how to fold more."""
    out = type_lines((*loop, "--target", "90"), "Look.", "/fold").out

    assert (
        "nothing was folded: Nothing worth cutting: hardly anything lies beyond the target; the "
        "target is 90 messages, and 82 have gathered; /fold N folds down to N now"
    ) in out


def test_a_fold_down_to_a_number(type_lines: Run, loop: tuple[str, ...]) -> None:
    """`/fold N` folds down to N units once; then the usual target applies again."""
    out = type_lines((*loop, "--target", "90"), "Look.", "/fold 11", "/summary", "/fold").out

    _, _, behind = out.partition("fold performed: Explicitly triggered")
    assert "; 82 messages → 13; " in behind
    assert "the target is 11 messages for this fold" in behind
    assert "71 messages folded into" in behind
    assert "the target is 90 messages, and 11 have gathered" in behind


def test_a_fold_tells_its_target(type_lines: Run, loop: tuple[str, ...]) -> None:
    """`/fold` that folds says which target it has kept."""
    options = ("--target", "10", "--threshold", "100")

    assert "the target is 10 messages\n" in type_lines((*loop, *options), "Look.", "/fold").out


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/fold much", "give a number of messages, for example /fold 10"),
        ("/fold 0", "/fold must keep at least 1, for example /fold 10"),
    ],
)
def test_a_wrong_target(type_lines: Run, loop: tuple[str, ...], line: str, told: str) -> None:
    """A wrong target is one line."""
    assert f"error: {told}" in type_lines(loop, line).out


def test_one_id_for_all_calls(run: Run, tmp_path: Path) -> None:
    """Where a recording uses one id again and again each call gets its own result."""
    tool_loop(tmp_path / "same.json", 5, id="same")

    outcome = run("chat", "--model", "scripted:same.json", *SAY)

    results = [line for line in outcome.err.splitlines() if line.startswith("← ")]
    assert [line.split(" of it.")[0] for line in results] == [
        f"← look Page {number}" for number in range(5)
    ]


def results_of(messages: list[Message]) -> list[object]:
    """Return what tools answered, in order."""
    return [one.response for message in messages for one in message.tool_call_responses]


async def played(session: Session) -> list[Message]:
    """Return the thread that a chat with *session* up to its end leaves."""
    speaker = Recording(AgentConfig(), session, name="recorded")
    thread = await MemoryStore().thread("t")
    while await speaker.left(thread):
        agent = await speaker.agent(thread)
        await agent.run(await speaker.request(thread) or "Go on.", thread=thread)
    return await thread.get_messages()


def has_repeated_ids(session: Session) -> bool:
    """Whether two calls of *session* have one id."""
    ids = [call.id for message in session.messages for call in message.tool_calls]
    return len(ids) > len(set(ids))


def test_recorded_ids_that_repeat(shared_data: Path) -> None:
    """In sessions that repeat ids every call gets what it got when it was recorded."""
    data = (shared_data / "tau-airline" / "conversations.jsonl").read_bytes()
    sessions = [one for one in read_sessions(data) if has_repeated_ids(one)]

    assert len(sessions) == 12
    for session in sessions[::4]:
        assert results_of(asyncio.run(played(session))) == results_of([*session.messages])


def test_an_interrupted_call_of_a_repeated_id(tmp_path: Path) -> None:
    """A call that a crash left without a result gets its own when the turn is resumed."""
    session = read_sessions(tool_loop(tmp_path / "same.json", 3, id="same").read_bytes())[0]

    async def run() -> list[Message]:
        speaker = Recording(AgentConfig(), session, name="recorded")
        thread = await MemoryStore().thread("t")
        stream = (await speaker.agent(thread)).run_stream("Look.", thread=thread)
        async with stream:
            async for event in stream:
                if isinstance(event, ToolStartedEvent) and event.iteration == 1:
                    break
        await thread.refresh()
        assert thread.execution_state is not None
        assert thread.execution_state.is_open
        await (await speaker.agent(thread)).run(None, thread=thread)
        return await thread.get_messages()

    assert results_of(asyncio.run(run())) == results_of([*session.messages])
