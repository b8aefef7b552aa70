"""What is left of a damaged thread, written into a file."""

import asyncio
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from foldline.history.messages import Message
from foldline.history.parts import ReasoningPart, TextPart
from foldline.threads.cipher import AesCipher
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.threads.sample import COUNT, fill


Run = Callable[..., Any]

BEHIND_SEAL = 40
LONG = 1000
CHAT = ("--to", "chat-jsonl")


@pytest.fixture
def long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of a store with one thread of a thousand messages, which the commands use."""

    async def make() -> None:
        async with SQLiteStore(tmp_path / "store.db") as store:
            thread = await store.thread("long")
            await thread.add_messages([Message.user(f"Word {n}") for n in range(LONG)])

    asyncio.run(make())
    monkeypatch.setenv("FOLDLINE_STORE", str(tmp_path / "store.db"))
    return tmp_path / "store.db"


def _flip(path: Path, number: int, *, place: int = -1, id: str = "long") -> None:
    """Flip one bit of a row."""
    where = "tenant = 'default' AND id = ?"
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute(f"SELECT branch FROM threads WHERE {where}", (id,))
        row = (int(found.fetchone()[0]) << 32) + number
        found = connection.execute("SELECT data FROM rows WHERE id = ?", (row,))
        data = bytearray(found.fetchone()[0])
        data[place] ^= 1
        connection.execute("UPDATE rows SET data = ? WHERE id = ?", (bytes(data), row))
        connection.commit()


def _texts(out: str) -> list[str]:
    return [json.loads(line)["content"] for line in out.splitlines()]


def test_how_much_stands_before_the_damage_is_told(run: Run, long: Path) -> None:
    """
    `--last-good` tells how many messages of how many it writes and why, and ends with the code 1.
    """
    _flip(long, 500)

    outcome = run("threads", "export", "long", "--last-good", *CHAT)
    shown = run("threads", "show", "long", "--last-good", "--json")

    assert (outcome.code, len(_texts(outcome.out)), outcome.err.count("\n")) == (1, 500, 1)
    told = "500 of 1,000 messages of thread 'long' stand before its damage (row 500: its seal"
    assert told in outcome.err
    assert "--whole-rows" in outcome.err
    assert told in shown.err


def test_a_whole_thread_is_exported_without_a_word(run: Run, long: Path) -> None:
    """
    Where nothing is damaged both options write everything, say nothing and end with the code 0.
    """
    for option in ("--last-good", "--whole-rows"):
        outcome = run("threads", "export", "long", option, *CHAT)

        assert (outcome.code, len(_texts(outcome.out)), outcome.err) == (0, LONG, "")


def test_nothing_is_written_where_nothing_is_left(run: Run, long: Path, tmp_path: Path) -> None:
    """Where the first message is damaged `--last-good` refuses, and makes no file."""
    _flip(long, 0)

    outcome = run("threads", "export", "long", "--last-good", "--output", "x.json")

    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (1, "", 1)
    assert "0 of 1,000 messages" in outcome.err
    assert not (tmp_path / "x.json").exists()


@pytest.mark.parametrize("place", [0, -1], ids=["seal", "text"])
def test_one_flipped_bit_costs_one_message(run: Run, long: Path, place: int) -> None:
    """`--whole-rows` writes every other message, in order, with a message where the gap is."""
    _flip(long, 0, place=place)

    outcome = run("threads", "export", "long", "--whole-rows", *CHAT)

    texts = _texts(outcome.out)
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert texts[0] == "[message 0 is missing here: damaged in the store]"
    assert texts[1:] == [f"Word {n}" for n in range(1, LONG)]
    assert "999 of 1,000 messages of thread 'long' are whole; missing: 0 (" in outcome.err


def test_damaged_neighbours_are_both_left_out(run: Run, long: Path) -> None:
    """A damaged message behind a damaged one is not believed, and the gaps are counted."""
    for number in (3, 4, 10, 20, 30, 40, 50, LONG - 1):
        _flip(long, number)

    outcome = run("threads", "export", "long", "--whole-rows", *CHAT)

    texts = _texts(outcome.out)
    assert texts[3] == "[messages 3 to 4 are missing here: damaged in the store]"
    assert texts[4] == "Word 5"
    assert texts[-1].startswith(f"[message {LONG - 1} is missing")
    assert "missing: 3 to 4, 10, 20, 30, 40 and 2 gaps more (" in outcome.err


def test_what_stands_behind_a_lost_row_is_not_proved(run: Run, long: Path, damage: Run) -> None:
    """The message behind a row that is gone is written, and told as compared with nothing."""
    damage(long, "DELETE FROM rows WHERE id = (SELECT branch << 32 FROM threads) + 7")

    outcome = run("threads", "export", "long", "--whole-rows", *CHAT)

    assert _texts(outcome.out)[8] == "Word 8"
    assert "missing: 7; 1 behind a missing one cannot be compared with it" in outcome.err


def test_rows_are_found_without_a_head(run: Run, long: Path, damage: Run) -> None:
    """With a damaged head too every whole message is written; how many there were nobody knows."""
    damage(long, "UPDATE threads SET head = x'00'")
    _flip(long, 0)

    outcome = run("threads", "export", "long", "--whole-rows", *CHAT)

    assert (outcome.code, len(_texts(outcome.out))) == (1, LONG)
    assert "999 messages, of nobody knows how many, of thread 'long' are whole" in outcome.err


def test_where_no_row_is_whole_nothing_is_written(run: Run, long: Path, damage: Run) -> None:
    """With no message left `--whole-rows` is one line with the code 1."""
    damage(long, "UPDATE rows SET data = x'00'")

    outcome = run("threads", "export", "long", "--whole-rows")

    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (1, "", 1)
    assert "0 of 1,000 messages of thread 'long' are whole" in outcome.err


@pytest.fixture(params=[False, True], ids=["plain", "encrypted"])
def options(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Return the options for a store with everything in it, encrypted or not, which `$` names."""
    key = bytes(32) if request.param else None

    async def make() -> None:
        cipher = None if key is None else AesCipher(key)
        async with SQLiteStore(tmp_path / "store.db", cipher=cipher) as store:
            await fill(store)

    asyncio.run(make())
    monkeypatch.setenv("FOLDLINE_STORE", str(tmp_path / "store.db"))
    if key is None:
        return []
    (tmp_path / "key").write_bytes(key)
    return ["--key-file", "key"]


def test_a_snapshot_of_what_is_whole_is_read_back(
    run: Run, tmp_path: Path, options: list[str]
) -> None:
    """A snapshot with gaps is imported with its name, its markers and all that is whole."""
    _flip(tmp_path / "store.db", 2, id="one", place=BEHIND_SEAL)

    left = run("threads", "export", "one", "--whole-rows", "--output", "x.json", *options)
    imported = run("threads", "import", "x.json", "--id", "new", *options)

    (gap,) = [
        one
        for one in json.loads((tmp_path / "x.json").read_text())["MessageStoreSnapshot"]["Messages"]
        if "__gap__" in one.get("metadata", {})
    ]
    assert (left.code, imported.code) == (1, 0)
    assert f"{COUNT - 1} of {COUNT} messages" in left.err
    assert gap["metadata"] == {"__gap__": [2, 2]}
    shown = run("threads", "show", "new", "--json", *options).json()
    assert (shown["messages"], shown["display_name"]) == (COUNT, "Parcels")
    assert (shown["reduction"], shown["pending_tools"]) == (None, [])


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "anthropic", "foldline"])
def test_a_gap_between_a_call_and_its_answer_can_be_written(
    run: Run, tmp_path: Path, options: list[str], target: str
) -> None:
    """Where the call of an answer is lost every format is written, and can be read."""
    _flip(tmp_path / "store.db", 2, id="one", place=BEHIND_SEAL)
    command = ("threads", "export", "one", "--whole-rows", "--to", target, "--output", "x.json")

    outcome = run(*command, *options, "--json")

    assert (outcome.code, outcome.json()["messages"]) == (1, COUNT - 1)
    assert run("threads", "import", "x.json", "--id", "new", *options).code == 0


def test_two_ways_out_are_too_many(run: Run, long: Path) -> None:
    """`--last-good` with `--whole-rows` is one line with the code 2."""
    outcome = run("threads", "export", "long", "--last-good", "--whole-rows")

    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert "--whole-rows goes on behind it: give one" in outcome.err


THINKS = Message(role="assistant", parts=(ReasoningPart("hidden"),))
SAYS = Message(role="assistant", parts=(ReasoningPart("hidden"), TextPart("said")))
BLANK = Message.assistant("")


@pytest.fixture
def thinking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Message]:
    """
    Return the messages of a thread in a store that the commands use; not every format takes all.
    """
    said = [Message.user("a"), THINKS, SAYS, Message.user("b"), THINKS, BLANK]

    async def make() -> None:
        async with SQLiteStore(tmp_path / "store.db") as store:
            await (await store.thread("thinking")).add_messages(said)

    asyncio.run(make())
    monkeypatch.setenv("FOLDLINE_STORE", str(tmp_path / "store.db"))
    return said


@pytest.mark.parametrize(
    ("target", "left", "held"),
    [
        ("chat-jsonl", 2, "reasoning"),
        ("openai-chat", 2, "reasoning"),
        ("openai-responses", 2, "reasoning"),
        ("anthropic", 3, "blank text and reasoning"),
        ("foldline", 0, ""),
        ("snapshot", 0, ""),
    ],
)
@pytest.mark.parametrize("damaged", [(), ("--last-good",), ("--whole-rows",)], ids=str)
def test_what_a_format_has_no_place_for_is_counted(
    run: Run, thinking: list[Message], target: str, left: int, held: str, damaged: tuple[str, ...]
) -> None:
    """The messages that were written are counted, the others are told with what they hold."""
    command = ("threads", "export", "thinking", *damaged, "--to", target, "--output", "x.out")

    outcome = run(*command, "--json")

    told = f"note: {left} messages are left out: {target} has no place for {held} alone\n"
    assert (outcome.code, outcome.err) == (0, told if left else "")
    assert outcome.json()["messages"] == len(thinking) - left


def test_as_many_are_read_back_as_were_counted(run: Run, thinking: list[Message]) -> None:
    """A file of lines has as many as were told, and `import` makes a thread of so many messages."""
    command = ("threads", "export", "thinking", *CHAT, "--output", "x.jsonl")

    told = run(*command).out
    run("threads", "import", "x.jsonl", "--id", "back", "--store", "back.db")

    back = run("threads", "show", "back", "--store", "back.db", "--json").json()
    assert told == f"x.jsonl: {len(thinking) - 2} messages as chat-jsonl\n"
    assert back["messages"] == len(thinking) - 2
