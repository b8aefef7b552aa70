"""The commands about threads, run as a person would."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from foldline.history.messages import Message
from foldline.threads.key import ThreadKey
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.apps.conftest import Run
from tests.apps.damage import execute
from tests.faults.rights import without_privileges
from tests.threads.sample import COUNT


def test_threads_are_listed(run: Run, store: Path) -> None:
    """Every thread of the tenant is listed with its counts and its title, and no other's."""
    listed = run("threads", "list", "--json").json()
    shown = run("threads", "list")

    found = [(one["id"], one["messages"], one["folded"]) for one in listed["threads"]]
    assert found == [("one", COUNT, 16), ("two", 13, 8)]
    assert "Parcels" in shown.out
    assert shown.out.splitlines()[-1].strip() == "2 threads of tenant default"
    assert run("threads", "list", "--tenant", "acme", "--json").json()["threads"][0]["id"] == "one"


def test_any_text_names_a_thread(run: Run, store: Path) -> None:
    """Where an id is expected any text will do, and so does the id that it has, as it is listed."""
    made = run("threads", "fork", "one", "user@example.com", "--at", "4", "--json").json()["id"]
    shown = [run("threads", "show", id, "--json").json()["id"] for id in ("user@example.com", made)]

    assert made == ThreadKey.named("user@example.com").id
    assert shown == [made, made]


def test_a_damaged_thread_is_listed_as_such(run: Run, store: Path) -> None:
    """One damaged thread does not hide the others."""
    execute(store, "UPDATE threads SET head = x'00' WHERE id = 'one'")

    outcome = run("threads", "list", "--json")

    listed = outcome.json()["threads"]
    assert [one["id"] for one in listed] == ["one", "two"]
    assert "damaged" in listed[0]["error"]
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "1 thread cannot be read, the first is 'one'" in outcome.err


def test_the_first_threads_alone_can_be_listed(run: Run, store: Path) -> None:
    """`--limit` lists as many, and says how many there are."""
    shown, document = (run("threads", "list", "--limit", "1", *more) for more in ([], ["--json"]))

    assert shown.out.splitlines()[-1].strip() == "1 of 2 threads of tenant default"
    assert [one["id"] for one in document.json()["threads"]] == ["one"]
    assert document.json()["total"] == 2


def test_each_thread_is_one_line_in_a_pipe(run: Run, store: Path) -> None:
    """However long an id is, it is whole in its line: a readable part and the hash of what was named."""
    name = f"{'a long name ' * 8}<user@example.com>"
    made = run("threads", "fork", "one", name, "--at", "4", "--json").json()["id"]

    lines = run("threads", "list").out.splitlines()

    assert made.startswith("a-long-name-a-long-name")
    assert sum(line.startswith(f"{made} ") for line in lines) == 1
    assert len(lines) == 1 + 3 + 1


def test_a_long_title_is_one_line(run: Run, tmp_path: Path) -> None:
    """However long the id and the title are, the title takes one line."""
    said = [{"role": "user", "content": "word " * 400}]
    imported = ("threads", "import", "-", "--id", "i" * 40, "--store", "s.db")
    run(*imported, stdin=json.dumps(said).encode())

    shown = run("threads", "list", "--store", "s.db").out.splitlines()

    assert sum("word" in line for line in shown) == 1


def test_a_thread_is_shown(run: Run, store: Path) -> None:
    """The counts, the newest messages, the reduction, the last run and waiting calls are shown."""
    shown = run("threads", "show", "one", "--last", "30")
    document = run("threads", "show", "one", "--last", "3", "--json").json()

    assert "folded up to here: 16 messages" in shown.out
    assert "Parcel 9 is on its way." in shown.out
    assert "open, iteration 0" in shown.out
    assert (document["messages"], document["archived"]) == (COUNT, 16)
    assert [one["role"] for one in document["shown"]] == ["assistant", "tool", "assistant"]
    assert document["reduction"]["summarized_up_to_index"] == 16
    assert document["pending_tools"][0]["call_id"] == "late"


def test_the_fold_line_is_shown_where_it_lies_only(run: Run, store: Path) -> None:
    """If everything shown is after the fold, the line is in front of it."""
    shown = run("threads", "show", "one", "--last", "2").out.splitlines()

    at = next(number for number, line in enumerate(shown) if "folded up to here" in line)
    assert len(shown) - at == 3


def test_messages_are_pinned(run: Run, store: Path) -> None:
    """`pin` and `unpin` take an index, and `show` marks what is pinned."""
    pinned = run("threads", "pin", "one", "38")
    both = run("threads", "pin", "one", "39", "--json").json()
    shown = run("threads", "show", "one", "--last", "30").out
    left = run("threads", "unpin", "one", "38", "--json").json()
    none = run("threads", "unpin", "one", "39")

    assert (pinned.out, both["pins"]) == ("one: message 38 is pinned\n", [38, 39])
    assert [line.split()[0] for line in shown.splitlines() if "(pinned)" in line] == [
        "tool",
        "assistant",
    ]
    assert "2 messages: 38, 39" in shown
    assert left == {"id": "one", "pins": [39]}
    again = run("threads", "unpin", "one", "39")
    assert none.out == "one: message 39 is unpinned\n"
    assert again.out == "one: message 39 was not pinned\n"
    assert run("threads", "show", "one", "--json").json()["pins"] == []
    assert run("threads", "pin", "one", "99").code == 2


def test_messages_are_found(run: Run, store: Path) -> None:
    """The newest messages with all the words come first."""
    found = run("threads", "search", "one", "parcel 7", "--json").json()

    assert [one["role"] for one in found["matches"]] == ["assistant", "user"]
    assert "2 messages found" in run("threads", "search", "one", "parcel 7").out


@pytest.mark.parametrize(
    "to", ["openai-chat", "openai-responses", "anthropic", "foldline", "chat-jsonl"]
)
def test_an_export_is_read_back(run: Run, store: Path, tmp_path: Path, to: str) -> None:
    """Whatever format a thread is exported in, `import` reads it as one thread again."""
    exported = run("threads", "export", "two", "--to", to, "--output", "out.json")
    imported = run("threads", "import", "out.json", "--id", "again", "--json")

    assert (exported.code, imported.code) == (0, 0)
    assert imported.json()["threads"][0]["id"] == "again"
    # Some formats keep instructions elsewhere, or a call in a message of its own.
    assert imported.json()["threads"][0]["messages"] >= 12
    again = run("threads", "export", "again", "--to", to).out
    assert to != "foldline" or again == Path("out.json").read_text(encoding="utf-8")


def test_a_snapshot_keeps_the_thread(run: Run, store: Path) -> None:
    """Export and import of a snapshot give the same thread under another id, with its reduction."""
    exported = run("threads", "export", "one")
    imported = run("threads", "import", "-", "--id", "again", stdin=exported.out.encode())
    again = json.loads(run("threads", "export", "again").out)

    assert imported.code == 0
    first = json.loads(exported.out)
    changed = {name for name in first if first[name] != again[name]}
    assert changed <= {"Id", "LastActivity", "ExecutionStateJson"}
    assert again["LastReduction"]["summarized_up_to_index"] == 16


def test_an_export_overwrites_nothing(run: Run, store: Path, tmp_path: Path) -> None:
    """A file that is there stays as it is, but with --force."""
    (tmp_path / "out.json").write_text("precious")

    refused = run("threads", "export", "one", "--output", "out.json")
    kept = (tmp_path / "out.json").read_text()
    forced = run("threads", "export", "one", "--output", "out.json", "--force", "--json")

    assert (refused.code, kept) == (2, "precious")
    assert forced.json()["messages"] == COUNT


def test_a_store_is_not_written_over(run: Run, store: Path) -> None:
    """An export into the file of the store itself is refused, even with --force."""
    refused = run("threads", "export", "one", "--output", store, "--force", "--store", store)

    assert refused.code == 2
    assert run("verify").code == 0


def test_every_session_of_a_log_becomes_a_thread(run: Run, tmp_path: Path) -> None:
    """Ids come from the sessions, with a hyphen for what an id may not hold; all differ."""
    lines = [
        {"conversation_id": name, "role": role, "content": f"{role} of {name}"}
        for name in ("a/b c", "a b/c", "ünïcode", "../../etc")
        for role in ("user", "assistant")
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))

    imported = run("threads", "import", "log.jsonl", "--store", "new.db", "--json")

    ids = [one["id"] for one in imported.json()["threads"]]
    assert ids == ["a-b-c", "a-b-c-2", "n-code", "..-..-etc"]
    assert (tmp_path / "new.db").exists()


def test_one_session_can_be_chosen_and_named(run: Run, tmp_path: Path) -> None:
    """`--session` takes one of several, `--id` names it; for several `--id` must be a prefix."""
    lines = [{"conversation_id": name, "role": "user", "content": f"Hello {name}"} for name in "ab"]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))

    one = run("threads", "import", "log.jsonl", "--session", "b", "--id", "x", "--store", "s.db")
    many = run("threads", "import", "log.jsonl", "--id", "y", "--store", "s.db")
    made = run("threads", "import", "log.jsonl", "--id", "old-", "--store", "s.db", "--json")

    assert one.out == "x: 1 message\n"
    assert (many.code, "choose one with --session" in many.err) == (2, True)
    assert [one["id"] for one in made.json()["threads"]] == ["old-a", "old-b"]


def test_a_snapshot_of_a_newer_foldline_is_one_line(run: Run, store: Path) -> None:
    """A snapshot of a newer format is refused with the code 2 and with what to do."""
    snapshot = json.loads(run("threads", "export", "two").out)
    snapshot = {**snapshot, "Format": 99}

    refused = run("threads", "import", "-", "--id", "new", stdin=json.dumps(snapshot).encode())

    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "upgrade foldline" in refused.err


def test_a_thread_is_forked(run: Run, store: Path) -> None:
    """A fork shares the first messages, and a second one of the same id is refused."""
    forked = run("threads", "fork", "one", "three", "--at", "4", "--json")
    again = run("threads", "fork", "one", "three")

    assert forked.json() == {"id": "three", "forked_from": "one", "messages": 5}
    assert (again.code, "there already" in again.err) == (2, True)


def test_reductions_are_undone_one_by_one(run: Run, store: Path) -> None:
    """Each call revokes the newest reduction; without one it says so."""
    cuts = [run("threads", "undo", "one", "--json").json() for _ in range(3)]

    assert [(one["folded_before"], one["folded_now"]) for one in cuts] == [(16, 8), (8, 0), (0, 0)]
    assert [one["undone"] for one in cuts] == [True, True, False]
    assert "no reduction to undo" in run("threads", "undo", "one").out


def test_deleting_needs_a_yes(run: Run, store: Path) -> None:
    """Without a terminal nothing is deleted but with --yes, and a fork keeps what it shares."""
    refused = run("threads", "delete", "one")
    deleted = run("threads", "delete", "one", "--yes", "--json")
    gone = run("threads", "delete", "one", "--yes")

    assert (refused.code, "add --yes" in refused.err) == (2, True)
    assert deleted.json() == {"id": "one", "deleted": True}
    assert (gone.code, "no thread 'one'" in gone.err) == (2, True)
    assert run("threads", "show", "two", "--json").json()["messages"] == 13


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "none"],
        ["search", "none", "x"],
        ["fork", "none", "x"],
        ["undo", "none"],
        ["export", "none"],
        ["costs", "none"],
        ["show", "no/ne"],
        ["show", "one", "--tenant", "../x"],
        ["list", "--tenant", "../x"],
        ["verify", "none"],
    ],
    ids=" ".join,
)
def test_a_thread_that_is_not_there_is_one_line(
    run: Run, store: Path, arguments: list[str]
) -> None:
    """An unknown or invalid id is one line with the code 2."""
    group = () if arguments[0] == "verify" else ("threads",)
    outcome = run(*group, *arguments)

    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)


HELLO = b'[{"role": "user", "content": "Hello"}]'


async def _make(path: Path, id: str, *, tenant: str, expires_at: datetime | None = None) -> None:
    async with SQLiteStore(path) as store:
        thread = await store.thread(id, tenant=tenant)
        await thread.add_message(Message.user("Hello"))
        if expires_at is not None:
            await thread.set_expiry(expires_at)


@pytest.fixture
def expired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of a store with a thread that has expired, which the commands use."""
    path = tmp_path / "store.db"
    asyncio.run(_make(path, "brief", tenant="default", expires_at=datetime(2026, 1, 1, tzinfo=UTC)))
    monkeypatch.setenv("FOLDLINE_STORE", str(path))
    return path


def test_an_expired_thread_is_gone(run: Run, expired: Path) -> None:
    """A command that reads does not find it; while it is stored, its rows can be exported."""
    outcome = run("threads", "show", "brief")
    saved = run("threads", "export", "brief", "--whole-rows", "--to", "chat-jsonl")

    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert (saved.code, saved.out.count("Hello"), saved.err) == (0, 1, "")


LOG = b'{"conversation_id": "brief", "role": "user", "content": "Good morning"}\n'


@pytest.mark.parametrize(
    "arguments", [("--id", "brief"), ("--format", "chat-jsonl")], ids=["named", "session"]
)
def test_an_import_takes_the_id_of_an_expired_thread(
    run: Run, expired: Path, arguments: tuple[str, ...]
) -> None:
    """The new thread replaces the one that has expired."""
    outcome = run("threads", "import", "-", *arguments, "--json", stdin=LOG)
    shown = run("threads", "export", "brief", "--to", "chat-jsonl")

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.json()["threads"] == [{"id": "brief", "messages": 1}]
    assert (shown.out.count("Good morning"), shown.out.count("Hello")) == (1, 0)


def test_an_import_that_is_refused_deletes_no_expired_thread(run: Run, expired: Path) -> None:
    """Where another id of the log is taken, what has expired is still stored."""
    run("threads", "import", "-", "--id", "taken", stdin=HELLO)
    log = LOG + LOG.replace(b"brief", b"taken")

    refused = run("threads", "import", "-", "--format", "chat-jsonl", stdin=log)

    assert (refused.code, refused.out, "'taken' is there already" in refused.err) == (2, "", True)
    assert run("threads", "export", "brief", "--whole-rows").out.count("Hello") == 1


def test_expired_threads_are_told_of_in_the_list(run: Run, expired: Path) -> None:
    """The list leaves out what has expired, says how many that are, and deletes none."""
    outcome = run("threads", "list")

    assert (outcome.code, outcome.out) == (0, "0 threads of tenant default\n")
    assert "1 thread of tenant default not listed: expired" in outcome.err
    assert run("threads", "export", "brief", "--whole-rows").out.count("Hello") == 1


def test_tenants_that_have_threads_are_named(run: Run, tmp_path: Path) -> None:
    """If the tenant has no threads, the tenants that have some are named."""
    for number in range(7):
        asyncio.run(_make(tmp_path / "x.db", "a", tenant=f"owner-{number}"))

    usual = run("threads", "list", "--store", "x.db")
    named = [
        run(*command, "--tenant", "nobody", "--store", "x.db")
        for command in (["threads", "list"], ["verify"])
    ]

    told = "7 tenants have threads (owner-0, owner-1, owner-2, owner-3, owner-4, …): name one with"
    assert (usual.code, usual.out) == (0, "0 threads of tenant default\n")
    assert f"{told} --tenant" in usual.err
    assert [(one.code, told in one.err) for one in named] == [(2, True)] * 2


COMMANDS: dict[str, tuple[str, ...]] = {
    "show": ("threads", "show", "a"),
    "import": ("threads", "import", "-", "--id", "a"),
    "backup": ("backup", "copy.db"),
    "doctor": ("doctor",),
    "chat": ("chat", "--message", "Hello", "--model", "scripted:demo"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("shut/x.db", "Permission denied"),
        ("loop.db", "Too many levels of symbolic links"),
        (f"{'x' * 300}.db", "File name too long"),
    ],
    ids=["shut", "loop", "long"],
)
def test_a_path_that_leads_nowhere_is_one_line(
    run: Run, tmp_path: Path, command: str, name: str, reason: str
) -> None:
    """A folder that may not be read, a circular link and a long name are named as such."""
    (tmp_path / "loop.db").symlink_to("loop.db")
    (tmp_path / "shut").mkdir(mode=0)

    outcome = without_privileges(lambda: run(*COMMANDS[command], "--store", name, stdin=HELLO))

    (tmp_path / "shut").chmod(0o700)
    told = f"foldline: error: cannot read {name}: {reason}\n"
    assert (outcome.code, outcome.out, outcome.err) == (2, "", told)


@pytest.mark.parametrize("name", ["loop.json", "x" * 300], ids=["loop", "long"])
def test_an_input_that_leads_nowhere_is_told(run: Run, tmp_path: Path, name: str) -> None:
    """An import that cannot read its file, or a key, ends with the code 2, as for a store."""
    (tmp_path / "loop.json").symlink_to("loop.json")
    keyed = ("threads", "import", "-", "--id", "a", "--store", "x.db", "--key-file", name)

    outcomes = run("threads", "import", name, "--store", "x.db"), run(*keyed, stdin=HELLO)

    for one in outcomes:
        assert (one.code, one.out, one.err.count("\n")) == (2, "", 1)
        assert one.err.startswith(f"foldline: error: cannot read {name}: ")
    assert not (tmp_path / "x.db").exists()


def test_the_home_is_found(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `~` that the shell has left is the home folder: of a store, of a key and of a copy."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "key").write_bytes(bytes(32))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    options = ("--store", "~/x.db", "--key-file", "~/key")

    imported = run("threads", "import", "-", "--id", "a", *options, stdin=HELLO)
    copied = run("backup", "~/copy.db", "--store", "~/x.db")

    assert (imported.code, copied.code, run("verify", *options).code) == (0, 0, 0)
    assert {"x.db", "copy.db"} <= {one.name for one in home.iterdir()}
    assert not (tmp_path / "~").exists()
