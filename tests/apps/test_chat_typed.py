"""A chat with a recording, one line after the other, as a person types them."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foldline.agent.config import AgentConfig
from foldline.agent.events import ToolStartedEvent
from foldline.apps.cli.chat.options import ChatOptions, speaker_of
from foldline.apps.cli.chat.recording import Recording
from foldline.apps.cli.chat.screen import advised
from foldline.apps.cli.options import ConfigOptions
from foldline.errors import (
    FoldlineError,
    ModelError,
    StoreError,
    ThreadConflictError,
    ToolDecisionError,
)
from foldline.history.messages import Message
from foldline.logs import read_sessions
from foldline.logs.importer import Session
from foldline.reduction.config import Limits
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.apps.chat_recordings import FIRST, SECOND, break_off, recording, tool_loop
from tests.apps.conftest import Run
from tests.threads.canaries import reduction_of


Typing = Callable[..., str]

FOLDING = ("--unit", "exchanges", "--target", "1", "--threshold", "0")


@pytest.fixture
def typed(chat: Path, type_lines: Run) -> Typing:
    """Return what types lines into a chat with the recording of the parcels."""

    def call(*lines: str | bytes, options: tuple[str, ...] = ()) -> str:
        outcome = type_lines(("chat", "--model", f"scripted:{chat}", *options), *lines)
        assert outcome.code == 0
        return outcome.out

    return call


def test_an_open_turn_is_resumed_first(run: Run, chat: Path, typed: Typing) -> None:
    """With `--resume` a typed chat begins with the open turn; without one it says so."""
    break_off(chat.parent)
    out = typed(options=("--resume",))
    again = typed(options=("--resume",))

    assert FIRST in out
    assert "there is no interrupted run to resume" in again


def test_a_typed_chat(typed: Typing) -> None:
    """Line after line is answered until the input ends; an empty line says what was said next."""
    out = typed("Where is it?", "")

    assert f"scripted:{Path.cwd() / 'chat.json'}, thread chat in chat.db, 0 messages" in out
    assert FIRST in out
    assert "> Where is parcel 1? I have waited for long now." in out
    assert SECOND in out
    assert out.count("tokens in") == 2


def test_commands_are_listed(typed: Typing) -> None:
    """`/help` names every command, and `/quit` leaves."""
    out = typed("/help", "/quit", "never said")

    names = (
        "help, history [N], summary, costs, fold, pin [N], unpin N, undo, rewind N, fork ID, quit"
    )
    assert all(f"/{name}" in out for name in names.split(", "))
    assert FIRST not in out


def test_the_history_is_shown(typed: Typing) -> None:
    """`/history` shows the last messages with their indexes, and how far they are folded."""
    out = typed("one", "two", "/history 5", "/fold", "/history", options=FOLDING)

    numbered = re.findall(r"(\d+) (user|assistant|tool) ", out)
    assert numbered[:3] == [("3", "assistant"), ("4", "user"), ("5", "assistant")]
    assert len(numbered) == 5 + 8
    assert "8 messages, " in out
    assert "folded up to here: 4 messages" in out


def test_a_fold_is_forced_shown_and_undone(typed: Typing) -> None:
    """`/fold` folds below the threshold, `/summary` shows the summary, `/undo` takes it back."""
    options = ("--unit", "exchanges", "--target", "1", "--threshold", "9")
    out = typed(
        "one", "two", "three", "/summary", "/fold", "/summary", "/undo", "/undo", options=options
    )

    before, _, after = out.partition("fold performed: folded by hand")
    assert "there is no summary: nothing was folded yet" in before
    assert "8 messages folded into " in after
    assert "Record of 8 messages" in after
    assert "undone: 8 messages folded before, 0 now" in after
    assert "there is no reduction to undo" in after


def test_the_costs_are_shown(typed: Typing, tmp_path: Path) -> None:
    """`/costs` counts what was sent; amounts need prices, of the configuration or `--prices`."""
    out = typed("one", "two", "/costs")
    prices = {"input": 3.0, "output": 15.0}
    (tmp_path / "priced.json").write_text(json.dumps({"history_reduction": {"prices": prices}}))
    priced = typed("three", "/costs", options=("--config", "priced.json"))
    given = typed("/costs", options=("--prices", "input=3,output=15"))

    assert re.search(
        r"chat: \d+ messages, .*; nothing is\s+folded\n.* calls sent .* by\s+estimate", out
    )
    assert "chat.json are unknown: no amounts" in " ".join(out.split())
    for shown in (priced, given):
        assert "by the given prices" in " ".join(shown.split())
    assert "are unknown" not in priced


def test_a_message_is_pinned(typed: Typing, run: Run) -> None:
    """`/pin` pins the last user message or the one at an index, and `/history` marks them."""
    out = typed("one", "two", "/pin", "/pin 1", "/pin 0", "/unpin 0", "/unpin 0", "/history")

    assert re.findall(r"message (\d (?:is|was) .*)", out) == [
        "4 is pinned", "1 is pinned", "0 is pinned", "0 is unpinned", "0 was not pinned"
    ]  # fmt: skip
    assert re.findall(r"(\d) \w+ +\d+ \(pinned\)", out) == ["1", "4"]


def test_a_pin_that_does_not_fit_is_named(typed: Typing) -> None:
    """The line of a fold says which pinned messages are not shown word for word."""
    long = "word " * 4_000
    limits = ("--ceiling", "2000", *FOLDING)
    out = typed("one", long, "/pin", "two", "three", options=limits)

    assert "not word for word: message 4 (pinned)" in out


def test_there_may_be_nothing_to_pin(typed: Typing) -> None:
    """If nobody has said anything, `/pin` says so."""
    assert "error: there is no user message to pin" in typed("/pin")


def test_an_open_turn_is_told_at_the_start(run: Run, chat: Path, typed: Typing) -> None:
    """At the start a chat shows the last question and how far its turn came."""
    break_off(chat.parent)
    out = typed("")
    again = typed()

    greeting, question, way_on, *_ = out.splitlines()
    assert greeting.endswith("thread chat in chat.db, 3 messages; /help lists the commands")
    assert question.startswith("last question: Where is it? (interrupted in model call 2, ")
    assert way_on.startswith("a run was interrupted: ")
    assert "last question: Where is it? (answered)" in again


def test_messages_are_taken_back(typed: Typing) -> None:
    """After `/rewind` the conversation and the recording continue from there."""
    out = typed("one", "two", "/rewind 4", "again", "/rewind 5", "")

    assert "taken back: 4 messages; the thread has 4" in out
    # The last one is an answer to the request that was kept.
    assert out.count(SECOND) == 3


def test_a_fork_goes_on_by_itself(typed: Typing, run: Run) -> None:
    """Behind `/fork` the chat is in the new thread, and the old one stays."""
    out = typed("one", "/fork other", "two", "/fork")

    assert "this is thread other now; chat stays as it is" in out
    assert "error: name the new thread, for example /fork other" in out
    listed = run("threads", "list", "--store", "chat.db", "--json").json()
    assert [(one["id"], one["messages"]) for one in listed["threads"]] == [
        ("chat", 4),
        ("other", 8),
    ]


def test_a_fork_has_any_name(typed: Typing) -> None:
    """What is no id is a name all the same, as for every other command."""
    assert "this is thread my-copy:named-" in typed("one", "/fork my copy")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/hlep", "unknown command '/hlep': did you mean /help?"),
        ("/x", "unknown command '/x': /help lists them"),
        ("/rewind", "give a number of messages, for example /rewind 4"),
        ("/rewind all", "give a number of messages"),
        ("/rewind 99", "the thread has 4 messages: give a number from 0 to 4"),
        ("/fork chat", "thread 'chat' is there already"),
        ("/history -1", "give a number of messages, for example /history 20"),
        ("/pin it", "give the number of a message, for example /pin 4"),
        ("/pin 4", "message must be a whole number from 0 to 3, got 4"),
        ("/unpin", "give the number of a message, for example /unpin 4"),
        ("/fold 0", "/fold must keep at least 1, for example /fold 10"),
    ],
)
def test_a_wrong_command_is_one_line(typed: Typing, line: str, told: str) -> None:
    """A wrong command is one line, and the chat continues."""
    out = typed("one", line, "two")

    (error,) = (shown for shown in out.splitlines() if "error: " in shown)
    assert told in error
    assert SECOND in out


def test_a_text_may_begin_like_a_command(typed: Typing, run: Run) -> None:
    """Two slashes say a text that begins with one."""
    typed("//etc/hosts is gone")

    shown = run("threads", "show", "chat", "--store", "chat.db", "--json").json()["shown"]
    assert shown[0]["parts"][0]["content"] == "/etc/hosts is gone"


def test_an_empty_line_without_anything_to_say(typed: Typing, tmp_path: Path) -> None:
    """Where nothing is open and nothing was recorded, an empty line asks for something."""
    short = recording(tmp_path / "short.json", "One.")
    out = typed("one", "", options=("--model", f"scripted:{short}"))

    assert "error: there is nothing to resume: type something" in out


def test_a_circuit_breaker_lets_somebody_look(typed: Typing) -> None:
    """A fold that ends the turn is shown, and an empty line resumes it."""
    out = typed("one", "two", "", options=(*FOLDING, "--behavior", "circuit-breaker"))

    ended, _, after = out.partition("the turn ends here: History reduction performed")
    assert SECOND not in ended
    assert SECOND in after


def test_bytes_that_are_no_text_are_refused(typed: Typing) -> None:
    """Invalid UTF-8 is refused, and the chat continues."""
    assert "error: not valid in this terminal's encoding" in typed(b"\xff")


def test_json_needs_a_message(type_lines: Run) -> None:
    """Lines of JSON are for programs, and a program gives its message at once."""
    outcome = type_lines(("chat", "--model", "scripted:demo", "--json"))

    assert outcome.code == 2
    assert "--json is for one message: give --message TEXT" in outcome.err


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            ThreadConflictError(thread_id="one", expected=1, actual=2),
            "somebody else has continued thread 'one': look at it, then say it again, or fork it",
        ),
        (
            ToolDecisionError(thread_id="one", call_ids=["a", "b"]),
            "the interrupted tool calls a, b need a decision: go on",
        ),
        (ModelError("m failed"), "m failed; go on"),
        (ModelError("m failed", status=429), "m failed; wait a while; go on"),
        (StoreError("the disk is full"), "the disk is full"),
    ],
)
def test_an_error_says_what_to_do_here(error: FoldlineError, told: str) -> None:
    """Errors of the library are reworded for a person."""
    assert str(advised(error, "go on")) == told


def test_a_disabled_reduction_cannot_be_forced(typed: Typing, tmp_path: Path) -> None:
    """Where the configuration switches reduction off, `/fold` says so."""
    config = {"HistoryReduction": {"Enabled": False}}
    (tmp_path / "agent.json").write_text(json.dumps(config), encoding="utf-8")

    out = typed("/fold", options=("--config", "agent.json"))

    assert "nothing was folded: History reduction is disabled" in out


def test_what_was_dropped_has_no_summary(typed: Typing) -> None:
    """Where old messages are left out without a summary, `/summary` says that."""
    options = (*FOLDING, "--strategy", "message-counting")

    out = typed("one", "two", "/fold", "/summary", options=options)

    assert "(no summary: they are left out)" in out


@pytest.mark.slow
def test_the_packaged_session_is_played_to_its_end(typed: Typing) -> None:
    """Nothing but empty lines plays the whole session that comes with foldline, folds included."""
    folding = ("--unit", "exchanges", "--target", "2", "--threshold", "0")

    out = typed(*[""] * 10, options=("--model", "scripted:demo", *folding))

    assert out.count(" tokens in, ") == 9
    assert out.count("fold performed: Count above target and threshold") == 7
    assert "fold failed" not in out
    _, _, after = out.partition("that was the last answer of the recording")
    assert "error: there is nothing to resume: type something" in after


SAY = ("--message", "Look at all of it.")


def folds_of(outcome: Any) -> list[str]:
    """Return the lines about folds."""
    return [line for line in outcome.err.splitlines() if line.startswith("fold ")]


@pytest.fixture
def loop(tmp_path: Path) -> tuple[str, ...]:
    """Return how a recording of one exchange with 40 tool calls is talked to."""
    return ("chat", "--model", f"scripted:{tool_loop(tmp_path / 'loop.json', 40)}")


def test_a_tool_loop_is_folded(run: Run, loop: tuple[str, ...]) -> None:
    """Counted in messages, a single exchange of many tool calls is folded on the way."""
    outcome = run(*loop, "--unit", "messages", "--target", "40", "--threshold", "20", *SAY)

    first, *_ = folds_of(outcome)
    assert first.startswith("fold performed: Count above target and threshold; 61 messages → ")
    assert "in 41 calls; " in outcome.err


@pytest.mark.parametrize(
    ("flags", "config", "limits"),
    [
        ({}, None, ("tokens", None)),
        ({"threshold": 100}, None, ("exchanges", Limits(20, 100))),
        ({"unit": "exchanges"}, None, ("exchanges", Limits(20, 5))),
        ({"token_target": 90}, None, ("tokens", Limits(90, 1000))),
        ({}, "reduction.json", ("exchanges", Limits(7, 5))),
        ({}, "agent.json", ("tokens", None)),
        ({"unit": "messages"}, "reduction.json", ("messages", Limits(7, 5))),
    ],
)
def test_options_and_configurations_win(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    flags: dict[str, Any],
    config: str | None,
    limits: tuple[str, Limits | None],
) -> None:
    """An option or a configuration of the reduction wins over the defaults of a chat."""
    monkeypatch.chdir(tmp_path)
    reduction = {"HistoryReduction": {"TargetCount": 7}}
    (tmp_path / "reduction.json").write_text(json.dumps(reduction), encoding="utf-8")
    options = {"Options": {"MaxIterations": 100}}
    (tmp_path / "agent.json").write_text(json.dumps(options), encoding="utf-8")

    asked = ChatOptions(model="scripted:demo", config=config)
    used = speaker_of(asked, ConfigOptions(file="", **flags)).reduction

    assert (used.unit, used.limits) == limits


def test_why_nothing_was_folded(type_lines: Run, loop: tuple[str, ...]) -> None:
    """`/fold` that folds nothing says why, what has gathered, and how to fold more."""
    out = type_lines((*loop, "--unit", "messages", "--target", "90"), "Look.", "/fold").out

    why = "nothing was folded: Nothing worth cutting: hardly anything lies beyond the target"
    assert f"{why}; 82 messages have gathered; /fold N keeps N messages\n" in out


def test_a_fold_down_to_a_number(type_lines: Run, loop: tuple[str, ...]) -> None:
    """`/fold N` folds down to N units once; then the usual target applies again."""
    messages = ("--unit", "messages", "--target", "90")
    out = type_lines((*loop, *messages), "Look.", "/fold 11", "/summary", "/fold 11").out

    _, _, after = out.partition("fold performed: folded by hand")
    assert "; 82 messages → 13; " in after
    assert "context: " in after
    assert "71 messages folded into" in after
    assert "hardly anything lies beyond the target; 11 messages have gathered\n" in after


def test_a_fold_keeps_what_is_asked_for(tmp_path: Path, type_lines: Run) -> None:
    """`/fold TEXT` and `/fold N TEXT` say what the summary keeps, below the target too."""
    names = [
        f"{one}{two}{three}mouth" for one in "bdfgklmnprt" for two in "aeiou" for three in "rstvw"
    ]
    said = [
        f"The {names[at]} river runs past {names[-at]} farm and the old {names[at // 2]} mill."
        for at in range(len(names))
    ]
    rare = "And so it was then that it would be of the type uuid, as they had said to us."
    recording(tmp_path / "long.json", "\n".join([*said[:90], rare, *said[90:]]), "Two.", "Three.")
    talk = ("chat", "--model", "scripted:long.json", "--unit", "exchanges")
    plain, *focused = (
        " ".join(
            type_lines(
                (*talk, "--thread", name), "one", "two", "three", line, "/summary"
            ).out.split()
        )
        for name, line in (
            ("a", "/fold"),
            ("b", "/fold keep the type uuid"),
            ("c", "/fold 1 keep the type uuid"),
        )
    )

    assert rare not in plain.partition("4 messages folded into")[2]
    for out in focused:
        assert rare in out.partition("4 messages folded into")[2]


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


def test_nothing_steers_the_terminal(type_lines: Run, tmp_path: Path) -> None:
    """Neither a streamed answer nor a stored summary steers the terminal."""

    async def fill() -> None:
        async with SQLiteStore(tmp_path / "chat.db") as store:
            thread = await store.thread("chat")
            messages = [Message.user("one"), Message.assistant("two"), Message.user("three")]
            await thread.add_messages(messages)
            await thread.save_reduction(reduction_of(messages, 2, "blue \x1b[34m text"))

    asyncio.run(fill())
    recording(tmp_path / "short.json", "two", "red \x1b[31m text")

    outcome = type_lines(("chat", "--model", "scripted:short.json"), "/summary", "one")

    assert "blue \ufffd[34m text" in outcome.out
    assert "red \ufffd[31m text" in outcome.out
    assert "\x1b" not in outcome.out + outcome.err
