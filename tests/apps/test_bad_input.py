"""A wrong call is one line, and changes nothing."""

import gzip
from pathlib import Path

import pytest

from tests.apps.conftest import Run


GOOD = b'[{"role": "user", "content": "hello"}]'
FILES = {
    "good.json": GOOD,
    "text.json": b"This is no JSON at all, only \xc3\xa4 few words.",
    "shape.json": b'{"answer": 42}',
    "message.json": b'[{"role": "user", "content": 42}]',
    "cut.json": b'[{"role": "user", "content": "hel',
    "cut.gz": gzip.compress(GOOD * 50)[:-12],
    "empty.json": b"",
    "binary.bin": bytes(range(256)),
    "unknown.toml": b"target_cuont = 3\n",
    "negative.json": b'{"target_count": -3}',
    "neither.toml": b"<config target='3'/>",
    "binary.toml": b"\xff\xfe\x00target",
    "list.json": b"[1, 2]",
    "broken.json": b'{"target_count": 3',
    "broken.toml": b"target_count = ",
    "number.jsonl": b'{"role": "user", "content": 5}',
    "blocks.json": b'[{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]}]',
    "state.json": b'{"summary_content": 3}',
    "empty.state": b"",
    "newline\nname.json": b"x",
    "agent.json": b'{"Name": 7}',
    "mute.json": b'[{"role": "user", "content": "x"}]',
    "thread.json": b'{"Id": "t", "MessageStoreSnapshot": {"Messages": []}}',
}
CHAT = "chat --message x"
DEMO = f"{CHAT} --model scripted:demo"
BAD = {
    "not JSON": ("reduce text.json", "not JSON"),
    "wrong shape": ("reduce shape.json", "no known format fits"),
    "wrong message": ("reduce message.json --format openai-chat", "message 0: content"),
    "cut off": ("reduce cut.json", "cut.json"),
    "truncated gzip": ("reduce cut.gz", "truncated gzip"),
    "empty file": ("reduce empty.json", "empty input"),
    "binary": ("replay binary.bin", "binary.bin: "),
    "missing file": ("reduce nowhere.json", "cannot read nowhere.json: No such file"),
    "directory": ("reduce folder", "cannot read folder: Is a directory"),
    "unknown format": ("reduce good.json --format opanai-chat", "did you mean 'openai-chat'"),
    "unknown session": ("reduce good.json --session x", "holds no session 'x'"),
    "session 0": ("reduce good.json --session 0", "holds no session '0'"),
    "unknown key": ("reduce good.json --config unknown.toml", "unknown key 'target_cuont'"),
    "negative value": ("plan good.json --config negative.json", "at least 1 or None, got -3"),
    "negative target": ("reduce good.json --target -1", "at least 1 or None, got -1"),
    "no config": ("replay good.json --config neither.toml", "neither.toml: not TOML"),
    "binary config": ("replay good.json --config binary.toml", "neither JSON nor TOML"),
    "list as config": ("replay good.json --config list.json", "list.json: not TOML"),
    "broken JSON": ("plan good.json --config broken.json", "line 1, column 19: fix it there"),
    "broken TOML": ("plan good.json --config broken.toml", "broken.toml: not TOML: "),
    "two configs": (
        "plan good.json --config list.json --config broken.json",
        "--config was given more than once",
    ),
    "empty state": ("reduce good.json --state empty.state", "the file is empty: delete it to"),
    "a line of a log": ("plan number.jsonl", "number.jsonl: line 1: content is neither"),
    "another vendor": (
        "plan blocks.json --format openai-chat",
        "message 0: a block tool_result is anthropic, not openai-chat: leave out --format",
    ),
    "one file for two": ("reduce good.json --state z --output ./z", "name the same file"),
    "target of nothing": ("reduce good.json --to anthropic", "add --json or --output"),
    "output is an absent folder": ("reduce good.json --output new/", "new/: it is a folder"),
    "output over the config": (
        "reduce good.json --config negative.json --output negative.json",
        "this command reads it",
    ),
    "output over the log": ("reduce good.json --output good.json", "this command reads it"),
    "state over the log": ("reduce good.json --state good.json", "this command reads it"),
    "missing config": ("replay good.json --config no.toml", "cannot read no.toml"),
    "bad state": ("reduce good.json --state state.json", "state.json: not a reduction"),
    "state in a missing folder": ("reduce good.json --state no/s.json", "does not exist"),
    "output in a missing folder": ("reduce good.json --output no/v.json", "does not exist"),
    "output is a folder": ("reduce good.json --output folder", "it is a folder"),
    "page in a missing folder": ("replay good.json --html no/r.html", "does not exist"),
    "unknown target": ("reduce good.json --to xml --json", "--to must be 'openai-chat' or"),
    "unknown strategy": (
        "reduce good.json --strategy magic",
        "--strategy must be 'summarizing' or 'clearing' or 'message-counting', got 'magic'",
    ),
    "unknown unit": ("reduce good.json --unit words", "--unit must be 'messages' or"),
    "unknown behavior": (
        "reduce good.json --behavior stop",
        "--behavior must be 'continue' or 'circuit-breaker', got",
    ),
    "tokens of no tokens": (
        "plan good.json --unit messages --token-target 5",
        "no effect on messages: add --unit tokens",
    ),
    "counts of tokens": (
        "plan good.json --unit tokens --target 5",
        "no effect on tokens: use --token-target",
    ),
    "threshold of no target": ("plan good.json --token-threshold 5", "add --token-target"),
    "layers of clearing": ("plan good.json --strategy clearing --layers", "no effect on clearing"),
    "no window": ("plan good.json --window 0", "'--window'"),
    "misspelled vendor": ("plan good.json --model antropic:claude", "did you mean 'anthropic'"),
    "no ceiling": ("plan good.json --ceiling -1", "ceiling must be a share of the window"),
    "unknown model": (
        "replay good.json --model mine:own",
        "--model 'mine:own': its window is not known: give --window",
    ),
    "nearly a model": ("plan good.json --model gpt5mini", "known model is 'gpt-5-mini'"),
    "prices of nearly a model": (
        "advise good.json --model gpt5mini",
        "if its prices are known; the nearest known model is 'gpt-5-mini'",
    ),
    "advice without prices": ("advise good.json", "give --prices, or --model"),
    "advice on a local model": (
        "advise good.json --model ollama:qwen3",
        "a model of your own have no price: `foldline replay` shows",
    ),
    "advice on no file": ("advise nowhere.json", "cannot read nowhere.json: No such file"),
    "quality of no file": ("quality nowhere.json", "cannot read nowhere.json: No such file"),
    "quality of an empty file": ("quality empty.json", "empty.json: empty input"),
    "quality of a wrong shape": ("quality shape.json", "shape.json: no known format fits"),
    "inspecting no fold": ("inspect good.json", "0 folds with a summary in this configuration"),
    "snapshot of nothing": ("inspect thread.json", "the thread of the snapshot has no messages"),
    "text of no page": ("replay good.json --text", "add --html FILE"),
    "unknown trigger": (
        "plan good.json --trigger price",
        "--trigger must be 'count' or 'balance', got 'price'",
    ),
    "layers of nothing": (
        "plan good.json --strategy message-counting --layers",
        "no effect on message counting",
    ),
    "both": ("reduce good.json --force --skip", "exclude each other"),
    "no number": ("reduce good.json --target many", "Invalid value for '--target'"),
    "no argument": ("replay", "'FILE'. (foldline replay --help lists what there is)"),
    "no value": ("reduce good.json --target", "requires an argument"),
    "unknown option": ("reduce good.json --tagret 3", "No such option"),
    "unknown command": ("redcue good.json", "No such command 'redcue'"),
    "too many arguments": ("plan good.json other.json", "unexpected extra argument"),
    "no store": ("threads list", "no store is named"),
    "missing store": ("threads list --store none.db", "no store at none.db"),
    "folder as store": ("threads list --store .", "is not a file"),
    "unknown store": ("threads list --store mysql://x", "must be a path or a postgresql://"),
    "import into a missing folder": (
        "threads import good.json --store no/where.db",
        "folder does not exist",
    ),
    "three words": ("threads search a b c", "one thread is searched with ID and TEXT"),
    "page of one thread": (
        "threads search ann parcel --after x",
        "one thread is searched with ID and TEXT",
    ),
    "store in a missing folder": (
        "threads list --store no/where.db",
        "its folder does not exist; check the path",
    ),
    "verify without a store": ("verify --store none.db", "no store at none.db"),
    "backup without a store": ("backup copy.db --store none.db", "no store at none.db"),
    "doctor without a store": ("doctor --store none.db", "no store at none.db"),
    "doctor of nothing": ("doctor", "no store is named"),
    "backup of PostgreSQL": ("backup x --store postgresql://x", "pg_dump"),
    "backup of Redis": ("backup x --store redis://x", "BGSAVE"),
    "unknown command of threads": ("threads nothing", "No such command"),
    "chat without a model": (
        CHAT,
        "no model is named: give --model vendor:model, or try --model scripted:demo",
    ),
    "model without a vendor": (f"{CHAT} --model gpt", "--model 'gpt': write vendor:model"),
    "unknown vendor": (
        f"{CHAT} --model opnai:gpt-5",
        "unknown vendor 'opnai': did you mean 'openai' or ",
    ),
    "no key": (
        f"{CHAT} --model openai:gpt-5-mini",
        "needs OPENAI_API_KEY: set it in the environment",
    ),
    "no recording": (
        f"{CHAT} --model scripted:",
        "name a file (scripted:session.json), or",
    ),
    "missing recording": (f"{CHAT} --model scripted:none.json", "cannot read none.json: No such"),
    "text as recording": (f"{CHAT} --model scripted:text.json", "text.json: "),
    "recording without answers": (
        f"{CHAT} --model scripted:mute.json",
        "has no message of the assistant",
    ),
    "address of a recording": (f"{DEMO} --base-url http://x", "--base-url has no effect"),
    "delay of a vendor": (f"{CHAT} --model openai:x --delay 1", "--delay has no effect without"),
    "endless delay": (f"{DEMO} --delay inf", "'--delay'"),
    "text as store": (f"{DEMO} --store text.json", "not a SQLite database"),
    "chat in a missing folder": (f"{DEMO} --store no/chat.db", "its folder does not exist"),
    "chat without its config": (f"{DEMO} --config none.toml", "cannot read none.toml"),
    "chat with text as config": (f"{DEMO} --config text.json", "text.json: not TOML"),
    "piped config": (f"{DEMO} --config -", "the standard input is for your messages"),
    "chat with a binary config": (
        f"{DEMO} --config binary.toml",
        "binary.toml: neither JSON nor TOML",
    ),
    "wrong agent": (f"{DEMO} --config agent.json", "agent.json: "),
    "missing instructions": (f"{DEMO} --instructions @none", "cannot read none"),
    "chat with target 0": (f"{DEMO} --target 0", "target_count must be"),
    "nothing to say": ("chat --model scripted:demo --message \t", "there is nothing to say"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "folder").mkdir()
    return tmp_path


def _content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(run: Run, folder: Path, case: str) -> None:
    """One line on the standard error, exit code 2, nothing printed and nothing written."""
    command, expected = BAD[case]
    before = _content(folder)

    outcome = run(*command.split(" "))

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith("foldline: error: ")
    assert expected in outcome.err
    assert _content(folder) == before


@pytest.mark.parametrize("name", ["newline\nname.json", "a\0b"], ids=["two lines", "NUL"])
def test_an_odd_name_is_one_line(run: Run, folder: Path, name: str) -> None:
    """The name of a file cannot break the line, even if no file can have it."""
    outcome = run("reduce", name)

    assert (outcome.code, outcome.err.count("\n")) == (2, 1)


def test_errors_do_not_quote_the_conversation(run: Run, folder: Path) -> None:
    """What was said stays out of the error line."""
    secret = b'[{"role": "user", "content": {"password": "hunter2hunter2"}}]'
    (folder / "secret.json").write_bytes(secret)

    outcome = run("reduce", "secret.json", "--format", "openai-chat")

    assert outcome.code == 2
    assert "hunter2" not in outcome.err
