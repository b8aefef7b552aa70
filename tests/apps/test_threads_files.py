"""Threads written into files and read back, also the rest of a damaged one."""

import asyncio
import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from foldline.history.messages import Message, Role
from foldline.history.parts import ReasoningPart, TextPart, ToolCallPart
from foldline.threads.change import Change
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.tools import ToolRun
from tests.apps.conftest import Run
from tests.apps.damage import change_row, delete_row, execute, zero_row
from tests.threads.sample import COUNT, when


AFTER_SEAL = 40
LONG = 48
CHAT = ("--to", "chat-jsonl")


def _stored(path: Path, id: str, messages: Iterable[Message]) -> Path:
    async def make() -> None:
        async with SQLiteStore(path) as store:
            await (await store.thread(id)).add_messages(messages)

    asyncio.run(make())
    return path


@pytest.fixture
def long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of a store with one thread of 48 messages, which the commands use."""
    monkeypatch.setenv("FOLDLINE_STORE", str(tmp_path / "store.db"))
    return _stored(tmp_path / "store.db", "long", (Message.user(f"Word {n}") for n in range(LONG)))


def _texts(out: str) -> list[str]:
    return [json.loads(line)["content"] for line in out.splitlines()]


def test_47_of_48_messages_come_back(run: Run, long: Path, tmp_path: Path) -> None:
    """With a zeroed row in the middle the documented commands bring all other messages back."""
    zero_row(long, "long", 24)
    refused = run("threads", "export", "long")

    saved = run("threads", "export", "long", "--whole-rows", "--output", "saved.json")
    back = run("threads", "import", "saved.json", "--id", "saved")
    held = "47 messages and 1 note of what is missing"
    assert (saved.out, back.out) == (f"saved.json: {held} as snapshot\n", f"saved: {held}\n")
    texts = _texts(run("threads", "export", "saved", *CHAT).out)

    assert (refused.code, saved.code, back.code, run("verify", "saved").code) == (1, 1, 0, 0)
    assert texts[24] == "[1 message is missing here: number 24 was damaged in the store]"
    assert texts[:24] + texts[25:] == [f"Word {n}" for n in range(LONG) if n != 24]


@pytest.mark.parametrize(
    "harm",
    [partial(change_row, place=0), partial(change_row, place=-1), delete_row],
    ids=["seal", "text", "row"],
)
def test_damage_of_a_row_costs_one_message(
    run: Run, long: Path, harm: Callable[[Path, str, int], None]
) -> None:
    """Every other message is written, and the note says how many there are and what is missing."""
    harm(long, "long", 0)

    outcome = run("threads", "export", "long", "--whole-rows", *CHAT)

    texts = _texts(outcome.out)
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert texts[1:] == [f"Word {n}" for n in range(1, LONG)]
    assert "47 of 48 messages of thread 'long' are whole; missing: 0 (" in outcome.err


@pytest.mark.parametrize("role", ["user", "system"])
def test_damage_says_what_to_do(run: Run, tmp_path: Path, role: Role) -> None:
    """A thread that lacks a row is refused, and the commands that help are named."""
    said = [Message(role=role, parts=(TextPart("first"),)), Message.user("second")]
    path = _stored(tmp_path / "s.db", "a", said)
    delete_row(path, "a", 0)

    outcome = run("threads", "show", "a", "--store", "s.db")

    assert outcome.code == 1
    for command in ("foldline verify", "foldline threads export ID --whole-rows"):
        assert command in outcome.err
    assert "1 of the rows 0 to 1: " in outcome.err or role == "system"


def test_damaged_neighbors_are_one_gap(run: Run, long: Path) -> None:
    """Neighbors share a marker, and of many gaps the first five are named."""
    for number in (3, 4, 10, 20, 30, 40, 44, LONG - 1):
        zero_row(long, "long", number)

    outcome = run("threads", "export", "long", "--whole-rows", *CHAT)

    texts = _texts(outcome.out)
    assert texts[3] == "[2 messages are missing here: numbers 3 to 4 were damaged in the store]"
    assert texts[4] == "Word 5"
    assert texts[-1].startswith(f"[1 message is missing here: number {LONG - 1}")
    assert "missing: 3 to 4, 10, 20, 30, 40 and 2 gaps more (" in outcome.err


def test_rows_are_found_without_a_head(run: Run, long: Path) -> None:
    """With a damaged head every whole message is written, though their number is unknown."""
    execute(long, "UPDATE threads SET head = x'00'")
    change_row(long, "long", 0)

    outcome = run("threads", "export", "long", "--whole-rows", *CHAT)

    assert (outcome.code, len(_texts(outcome.out))) == (1, LONG)
    assert "47 of an unknown number of messages of thread 'long' are whole" in outcome.err


def test_nothing_is_written_if_no_row_is_whole(run: Run, long: Path) -> None:
    """With no message left there is one line with the code 1, and no file."""
    execute(long, "UPDATE rows SET data = x'00'")

    outcome = run("threads", "export", "long", "--whole-rows", "--output", "x.json")

    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (1, "", 1)
    assert "0 of 48 messages of thread 'long' are whole" in outcome.err
    assert not (long.parent / "x.json").exists()


@pytest.mark.parametrize(
    "target", ["snapshot", "openai-chat", "openai-responses", "anthropic", "foldline"]
)
def test_a_call_without_its_result_can_be_written(run: Run, secret: Path, target: str) -> None:
    """If a result has lost its call every format is written and read back, also encrypted."""
    Path("key").write_bytes(bytes(32))
    change_row(secret, "one", 2, place=AFTER_SEAL)
    command = ("threads", "export", "one", "--whole-rows", "--to", target, "--output", "x.json")

    saved = run(*command, "--key-file", "key", "--json")
    imported = run("threads", "import", "x.json", "--id", "new", "--key-file", "key")
    shown = run("threads", "show", "new", "--json", "--key-file", "key").json()

    assert (saved.code, saved.json()["messages"], imported.code) == (1, COUNT - 1, 0)
    assert (shown["reduction"], shown["pending_tools"]) == (None, [])
    assert target != "snapshot" or shown["display_name"] == "Parcels"


THINKS = Message(role="assistant", parts=(ReasoningPart("hidden"),))
SAYS = Message(role="assistant", parts=(ReasoningPart("hidden"), TextPart("said")))
BLANK = Message.assistant("")


@pytest.fixture
def thinking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Message]:
    """Return the messages of a stored thread, which not every format has a place for."""
    said = [Message.user("a"), THINKS, SAYS, Message.user("b"), THINKS, BLANK]
    monkeypatch.setenv("FOLDLINE_STORE", str(_stored(tmp_path / "store.db", "thinking", said)))
    return said


@pytest.mark.parametrize(
    ("target", "left", "held", "more"),
    [
        ("chat-jsonl", 2, "reasoning", ()),
        ("openai-chat", 2, "reasoning", ()),
        ("openai-chat", 2, "reasoning", ("--whole-rows",)),
        ("openai-responses", 2, "reasoning", ()),
        ("anthropic", 3, "blank text and reasoning", ()),
        ("foldline", 0, "", ()),
        ("snapshot", 0, "", ()),
        ("snapshot", 0, "", ("--whole-rows",)),
    ],
)
def test_what_a_format_has_no_place_for_is_counted(
    run: Run, thinking: list[Message], target: str, left: int, held: str, more: tuple[str, ...]
) -> None:
    """The messages that were written are counted, and a note says what the others hold."""
    command = ("threads", "export", "thinking", *more, "--to", target, "--output", "x.out")

    outcome = run(*command, "--json")

    # Lines are in the format of a vendor.
    format = target.replace("chat-jsonl", "openai-chat")
    text = f"note: {left} messages are left out: {format} has no place for {held} alone\n"
    assert (outcome.code, outcome.err) == (0, text if left else "")
    assert outcome.json()["messages"] == len(thinking) - left


def test_as_many_are_read_back_as_were_counted(run: Run, thinking: list[Message]) -> None:
    """`import` makes a thread of as many messages as `export` has counted."""
    exported = run("threads", "export", "thinking", *CHAT, "--output", "x.jsonl")
    run("threads", "import", "x.jsonl", "--id", "back", "--store", "back.db")

    back = run("threads", "show", "back", "--store", "back.db", "--json").json()
    assert exported.out == f"x.jsonl: {len(thinking) - 2} messages as chat-jsonl\n"
    assert back["messages"] == len(thinking) - 2


IMPORT = ("threads", "import", "log.jsonl", "--store", "s.db")
# A disk that is full after two threads.
FULL = (
    "CREATE TRIGGER full BEFORE INSERT ON threads WHEN (SELECT count(*) FROM threads) = 2 "
    "BEGIN SELECT RAISE(ABORT, 'full'); END"
)


def _log(path: Path, ids: str, *, more: str = "", system: str = "Be brief.") -> None:
    """Write a log of sessions of three messages each."""
    lines = [
        {"conversation_id": id, "role": role, "content": content}
        for id in ids
        for role, content in (
            ("system", system),
            ("user", f"Hello {id}{more}"),
            ("assistant", "Hello."),
        )
    ]
    (path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))


def test_an_import_that_was_cut_off_is_taken_up(run: Run, tmp_path: Path) -> None:
    """Threads that were imported are skipped and counted, and the rest is imported."""
    asyncio.run(_opened(tmp_path / "s.db"))
    execute(tmp_path / "s.db", FULL)
    _log(tmp_path, "abcd")
    failed = run(*IMPORT)
    execute(tmp_path / "s.db", "DROP TRIGGER full")

    again, third = run(*IMPORT, "--json"), run(*IMPORT)

    assert (failed.code, again.code, third.code) == (1, 0, 0)
    assert again.json()["threads"] == [{"id": id, "messages": 3} for id in "cd"]
    assert again.json()["already_there"] == ["a", "b"]
    assert third.out == "already there: 4 threads\n"
    assert run("verify", "--store", "s.db").out == "4 threads with 12 whole messages, 0 damaged\n"


def test_what_a_log_has_grown_by_is_appended(run: Run, tmp_path: Path) -> None:
    """A second import adds the new messages only, also to a thread that has been folded since."""
    said = [{"role": "user", "content": f"Question {i}: {'word ' * 60}"} for i in range(12)]
    lines = list(map(json.dumps, said))
    (tmp_path / "log.jsonl").write_text("\n".join(lines[:9]))
    first = run(*IMPORT, "--id", "t")
    folded = run("threads", "fold", "t", "--store", "s.db")
    (tmp_path / "log.jsonl").write_text("\n".join(lines))

    grown = run(*IMPORT, "--id", "t", "--json")

    assert (first.code, folded.code, grown.code) == (0, 0, 0)
    assert grown.json()["threads"] == [{"id": "t", "messages": 3}]
    assert grown.json()["already_there"] == []
    shown = run("threads", "export", "t", "--store", "s.db", "--to", "openai-chat").json()
    assert shown == said
    assert run(*IMPORT, "--id", "t").out == "already there: 1 thread\n"


def _claude_code(row: int, kind: str, content: object, **said: object) -> str:
    """Return a row of a log of Claude Code, in which each block of an answer has one."""
    message = {"role": kind, "content": content} | said
    fields = {"type": kind, "uuid": str(row), "parentUuid": str(row - 1) if row else None}
    return json.dumps(fields | {"sessionId": "s", "message": message})


def _grown_to_the_whole(run: Run, tmp_path: Path, rows: list[str]) -> str:
    """Return the thread of a log imported after each of its *rows*, which is that of all at once."""
    for end in range(1, len(rows) + 1):
        (tmp_path / "log.jsonl").write_text("\n".join(rows[:end]))
        assert run(*IMPORT, "--id", "t").code == 0
    assert run(*IMPORT, "--id", "whole").code == 0

    whole, grown = (
        run("threads", "export", id, "--store", "s.db", "--to", "foldline").out
        for id in ("whole", "t")
    )
    assert grown == whole
    return grown


def test_an_answer_that_was_still_being_written_is_put_whole(run: Run, tmp_path: Path) -> None:
    """A log may be imported after each of its rows; a compaction marks the message before it."""
    call = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "c", "content": "dark"}
    rows = [
        _claude_code(0, "user", "Look."),
        _claude_code(1, "assistant", [{"type": "text", "text": "I will."}], id="m"),
        _claude_code(2, "assistant", [call], id="m"),
        _claude_code(3, "user", [answer]),
        json.dumps(
            {"type": "system", "subtype": "compact_boundary", "uuid": "4", "sessionId": "s"}
        ),
    ]
    summary = json.loads(_claude_code(5, "user", "It is dark.")) | {"isCompactSummary": True}
    rows += [json.dumps(summary), _claude_code(6, "user", "Go on.")]

    assert "compaction" in _grown_to_the_whole(run, tmp_path, rows)


def test_an_answer_whose_calls_are_answered_one_by_one_is_put_whole(
    run: Run, tmp_path: Path
) -> None:
    """The usage is that of its last call, which the log may not yet have had."""
    rows = [_claude_code(0, "user", "Look.")]
    for at, id in enumerate("ab"):
        call = {"type": "tool_use", "id": id, "name": "look", "input": {}}
        answer = {"type": "tool_result", "tool_use_id": id, "content": "dark"}
        usage = {"input_tokens": 5, "output_tokens": 7 + at}
        rows.append(_claude_code(2 * at + 1, "assistant", [call], id="m", usage=usage))
        rows.append(_claude_code(2 * at + 2, "user", [answer]))

    assert _grown_to_the_whole(run, tmp_path, rows)


@pytest.mark.parametrize("content", ["", "Look around.", [{"type": "text", "text": "Look"}]])
def test_another_newest_message_is_not_replaced(run: Run, tmp_path: Path, content: object) -> None:
    """Only one that begins with what is stored is the same, and what is before it has to be."""
    for said in ("Look.", content):
        rows = [_claude_code(0, "user", said), _claude_code(1, "user", "And?")]
        (tmp_path / "log.jsonl").write_text("\n".join(rows[: 1 + (said != "Look.")]))
        done = run(*IMPORT, "--id", "t")

    assert done.code == 2
    assert "already" in done.err


async def _opened(path: Path) -> None:
    async with SQLiteStore(path):
        pass


async def _change(path: Path, *, made_anew: bool) -> None:
    async with SQLiteStore(path) as store:
        if made_anew:
            await store.delete("a")
        thread = await store.thread("a")
        said = [Message.system("Be brief."), Message.user("Hello a"), Message.assistant("Hello.")]
        await thread.add_messages(said if made_anew else said[:1])


@pytest.mark.parametrize(
    ("made_anew", "change"),
    [
        (False, {}),
        (True, {}),
        (None, {"more": "!"}),
        (None, {"system": "Be polite to everybody."}),
        (None, {"system": "Be brisk."}),
    ],
    ids=str,
)
def test_another_thread_of_the_id_stops_an_import(
    run: Run, tmp_path: Path, made_anew: bool | None, change: dict[str, str]
) -> None:
    """
    An import is refused before any thread is written if one of its ids is that of another thread.

    That is one that was continued, that no import has made, or in which something else is said.
    """
    _log(tmp_path, "a")
    run(*IMPORT)
    if made_anew is not None:
        asyncio.run(_change(tmp_path / "s.db", made_anew=made_anew))
    _log(tmp_path, "ba", **change)

    refused = run(*IMPORT)

    assert (refused.code, refused.out, "'a' is there already" in refused.err) == (2, "", True)
    assert [one["id"] for one in _listed(run)] == ["a"]


def test_a_snapshot_is_never_passed_over(run: Run, store: Path) -> None:
    """A snapshot under an id that is taken is refused, also where it is the same thread."""
    exported = run("threads", "export", "one").out.encode()

    once, twice = (run("threads", "import", "-", "--id", "x", stdin=exported) for _ in "ab")

    assert (once.code, twice.code) == (0, 2)
    assert "'x' is there already" in twice.err


def test_what_is_told_of_a_snapshot_is_what_is_stored(run: Run, tmp_path: Path) -> None:
    """A message that the import itself adds, where an open run is ended, is counted too."""

    async def overtaken() -> bytes:
        thread = await MemoryStore().thread("x")
        state = AgentLoopState(run_id="r", conversation_id="x", started_at=when())
        call = Message.assistant(tool_calls=[ToolCallPart("c", "look_up", "{}")])
        run = ToolRun(call_id="c", name="look_up", result="found")
        await thread.commit(
            Change(messages=[Message.user("a"), call], execution=state, tools=[run])
        )
        await thread.append([Message.user("b")])
        return await thread.to_snapshot()

    snapshot = asyncio.run(overtaken())
    made = run("threads", "import", "-", "--store", "s.db", "--json", stdin=snapshot).json()

    assert made["threads"] == [{"id": "x", "messages": 4}]
    assert [one["messages"] for one in _listed(run)] == [4]


def _listed(run: Run) -> Any:
    return run("threads", "list", "--store", "s.db", "--json").json()["threads"]
