"""What a digest reads from calls: files, commits, tasks and values."""

import json
from itertools import chain
from typing import cast

import pytest

from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.history.tokens import TokenEstimator
from foldline.providers.digest.identifiers import Finder
from foldline.providers.digest.outline import lay_out
from foldline.providers.digest.span import read_span
from foldline.providers.digest.summarizer import DigestSummarizer, write_digest
from foldline.providers.digest.tool_use import Extractor, Facts, ToolUse, uses_of
from foldline.providers.digest.trail import Trail, offer_trail, trail_of
from foldline.providers.digest.work import EXTRACTORS, facts_of
from foldline.reduction.record import Artefact, Counts, Section, SummaryRecord
from foldline.reduction.request import SummaryRequest
from foldline.reduction.tasks import task_lines
from tests.linearity import is_linear


COUNT = TokenEstimator().count


def used(name: str, arguments: dict[str, object], result: str = "ok") -> list[Message]:
    call = ToolCallPart("c", name, json.dumps(arguments))
    return [Message.assistant("", tool_calls=[call]), Message.tool("c", result)]


def read(*messages: list[Message]) -> list[Facts]:
    return facts_of(uses_of(read_span(chain(*messages), Finder())), EXTRACTORS)


def tasks(trail: Trail) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return task_lines(trail.tasks, Section.OPEN), task_lines(trail.tasks, Section.DONE)


def files(*messages: list[Message]) -> dict[str, str]:
    trail = trail_of((), read(*messages))
    return {path: one.action for path, one in trail.files.items()}


PATCH = """*** Begin Patch
*** Update File: src/a.py
@@
-x = 1
+x = 2
*** Add File: src/b.py
+y
*** Delete File: src/c.py
*** End Patch"""
EDITORS: dict[str, tuple[str, dict[str, object], dict[str, str]]] = {
    "read": ("read_file", {"path": "/a/x.py"}, {"/a/x.py": "read"}),
    "view": ("str_replace_editor", {"command": "view", "path": "/a/x.py"}, {"/a/x.py": "read"}),
    "create": (
        "str_replace_editor",
        {"command": "create", "path": "/a/x.py", "file_text": "x"},
        {"/a/x.py": "created"},
    ),
    "replace": (
        "str_replace_editor",
        {"command": "str_replace", "path": "/a/x.py", "old_str": "1", "new_str": "2"},
        {"/a/x.py": "edited"},
    ),
    "edit": (
        "Edit",
        {"file_path": "/a/x.py", "old_string": "1", "new_string": "2"},
        {"/a/x.py": "edited"},
    ),
    "write": ("Write", {"file_path": "/a/x.py", "content": "x"}, {"/a/x.py": "created"}),
    "delete": ("delete_file", {"target_file": "x.py"}, {"x.py": "deleted"}),
    "patch": (
        "apply_patch",
        {"input": PATCH},
        {"src/a.py": "edited", "src/b.py": "created", "src/c.py": "deleted"},
    ),
    "diff": ("patch", {"diff": "--- a/x.py\n+++ b/x.py\n@@"}, {"x.py": "edited"}),
    "unknown": ("run", {"path": "/a/x.py"}, {}),
    "no path": ("read_file", {"path": "what is in here?"}, {}),
    "sentence": ("read_file", {"path": "see it here. Then go"}, {}),
    "address": ("read_file", {"path": "https://example.com/a.py"}, {}),
    "lines": ("write", {"path": "a.py\nb.py", "content": "x"}, {}),
    "list": ("read_file", {"path": "src/a.py, src/b.py"}, {}),
    "group": ("Read", {"file_path": "app/(auth)/page.tsx"}, {"app/(auth)/page.tsx": "read"}),
    "dollar": ("Read", {"file_path": "users.$userId.tsx"}, {"users.$userId.tsx": "read"}),
    "space": ("Read", {"file_path": "/a/My Project/x.py"}, {"/a/My Project/x.py": "read"}),
}


@pytest.mark.parametrize("name", EDITORS)
def test_tools_for_files(name: str) -> None:
    """Schemas that agents share say which file was touched, and what was done to it."""
    tool, arguments, expected = EDITORS[name]

    assert files(used(tool, arguments)) == expected


SHELLS: dict[str, dict[str, str]] = {
    "cat a.py": {"a.py": "read"},
    "cd /src && sed -i 's/a/b/' x.py y.py": {"/src/x.py": "edited", "/src/y.py": "edited"},
    "sed -n 1,5p x.py": {},
    "mv a.py b.py": {"a.py": "deleted", "b.py": "created"},
    "cd src/app; mv ../lib/a.py . && touch ./b.py": {
        "src/lib/a.py": "deleted",
        "src/app/a.py": "created",
        "src/app/b.py": "created",
    },
    "cd /s; git mv a.py c.py core/": {
        "/s/a.py": "deleted",
        "/s/core/a.py": "created",
        "/s/c.py": "deleted",
        "/s/core/c.py": "created",
    },
    "cp a.py b.py": {"b.py": "created"},
    "rm -rf old/x.py 2>/dev/null": {"old/x.py": "deleted"},
    "echo hi > out.txt && echo more >> log.txt": {"out.txt": "created", "log.txt": "edited"},
    "cat > x.py <<'EOF'\nrm y.py\nEOF": {"x.py": "created"},
    "node -e 'a => b'": {},
    "make test > /dev/null": {},
    'git commit -am "Clean up; rm legacy.py"': {},
    "python -c \"\nif a.b > c.limit:\n    print('x')\n\" && rm a.py": {"a.py": "deleted"},
    'psql -c "select id from t where total > credit_limit; rm x"': {},
    'echo "a \\" > b.py" # > c.py\nrm d.py': {"d.py": "deleted"},
    "cat > x.py <<'EOF'\nit's\nEOF\nrm \\\n  y.py": {"x.py": "created", "y.py": "deleted"},
    'git commit -m "$(cat <<\'EOF\'\nSay "rm; rm a.py"\nEOF\n)" && rm b.py': {"b.py": "deleted"},
    "tr a b <<< word > x.py; rm y.py": {"x.py": "created", "y.py": "deleted"},
}


@pytest.mark.parametrize("command", SHELLS)
def test_lines_of_a_shell(command: str) -> None:
    """What a line writes, moves and deletes is known, in the folder that it went to."""
    assert files(used("bash", {"command": command})) == SHELLS[command]


def test_commits_are_named() -> None:
    """A commit is named by what git answered, or by its message; one that failed is none."""
    first = used("bash", {"command": "git commit -m 'x'"}, "[main 1a2b3c4] Add the parser\n 1 file")
    second = used("bash", {"command": 'cd /a && git add . && git commit -qm "Fix it"'}, "")
    failed = used("bash", {"command": "git commit -m 'no'"}, "fatal: not a git repository")

    assert [one.commits for one in read(first, second, failed)] == [
        ("1a2b3c4 Add the parser",),
        ("Fix it",),
        (),
    ]


FAILED_LINES: dict[str, list[Artefact]] = {
    "sed -i 's/a/b/' src/app.py && pytest -q": [Artefact(path="src/app.py", action="edited")],
    "touch a.py; rm b.py": [
        Artefact(path="a.py", action="created"),
        Artefact(path="b.py", action="read", failed=True),
    ],
    "cat > x.py <<'EOF'\n1/0\nEOF\npython x.py": [Artefact(path="x.py", action="created")],
    "cat > x.py <<'EOF'\n1/0\nEOF": [Artefact(path="x.py", action="read", failed=True)],
}


@pytest.mark.parametrize("command", FAILED_LINES)
def test_only_the_last_command_of_a_line_failed(command: str) -> None:
    """Of a line that failed the commands before the last one have done their part."""
    trail = trail_of((), read(used("bash", {"command": command}, "Error: it failed")))

    assert list(trail.files.values()) == FAILED_LINES[command]


UNCLOSED = ('"\\"', "'\\'", '"\\\\', "<<A\n", "cat <<A\nA\n", '"$(cat <<', '# "\\\n', "\"')\n")


def test_a_long_line_is_read_in_linear_time() -> None:
    """Quotes, escapes and marks that nothing closes are not looked for again and again."""
    for unit in UNCLOSED:
        assert is_linear(lambda text: files(used("bash", {"command": text})), "", unit), unit


LOOKING: dict[str, dict[str, object]] = {
    "git_diff": {"path": "a.py", "old": "HEAD~1", "new": "HEAD"},
    "search_in_file": {"path": "a.py", "text": "TODO"},
    "listDirectory": {"path": "a", "text": "x"},
    "add_review_comment": {"path": "a.py", "body": "nice"},
    "http_post": {"path": "/api/users", "content": "{}"},
    "send_message": {"file": "a.pdf", "text": "here"},
    "validate_patch": {"patch": PATCH, "path": "a.py"},
}


@pytest.mark.parametrize("name", LOOKING)
def test_tools_that_look_change_no_file(name: str) -> None:
    """A tool that searches, compares or sends has edited nothing, whatever it is given."""
    assert files(used(name, LOOKING[name])) == {}


def test_tools_that_replace_are_no_tools_that_look() -> None:
    """The history of edits is read; what searches and replaces or applies a diff has edited."""
    change: dict[str, object] = {"path": "a.py", "search": "1", "replace": "2"}

    assert files(used("view_edit_history", {"path": "a.py"})) == {"a.py": "read"}
    assert files(used("search_and_replace", change)) == {"a.py": "edited"}
    assert files(used("apply_diff", {"path": "a.py", "diff": "@@"})) == {"a.py": "edited"}


COMMITS: dict[tuple[str, str], tuple[str, ...]] = {
    ("git commit -am 'Fix it'", "On branch main\nnothing to commit, working tree clean"): (),
    ("git commit -am 'Fix it'", "ruff....Failed\n- hook id: ruff\n- exit code: 1"): (),
    ("git commit -qm 'Fix it' && git log", "1a2b3c4 Fix it"): ("1a2b3c4 Fix it",),
    ("git commit -am 'Fix it' && git log --oneline", "9 passed\n1a2b3c4 (HEAD -> main) Fix it"): (
        "1a2b3c4 Fix it",
    ),
    ("git commit --quiet -m 'Fix it'; ls", "a.py"): ("Fix it",),
    ("git commit -qm 'Fix it'", "fatal: not a git repository"): (),
    ("git commit -m 'Fix it' && git push", "[main 1a2b3c4] Fix it\nfatal: no remote"): (
        "1a2b3c4 Fix it",
    ),
}


@pytest.mark.parametrize(("command", "result"), COMMITS)
def test_a_commit_needs_a_sign_of_it(command: str, result: str) -> None:
    """Without the line of git a message counts only if git was quiet and nothing failed."""
    assert read(used("bash", {"command": command}, result))[0].commits == COMMITS[command, result]


def test_other_tools_leave_the_tasks_alone() -> None:
    """Neither a search for what is open nor a list that was refused changes the tasks."""
    plan = used("TodoWrite", {"todos": [{"content": "One", "status": "pending"}]})
    issues = used("list_issues", {"state": "open", "text": "crash"})
    search = used("search_tasks", {"status": "done", "text": "crash"})
    done: dict[str, object] = {"todos": [{"content": "One", "status": "completed"}]}
    refused = used("TodoWrite", done, "Error: invalid list")
    trail = trail_of((), read(plan, issues, search, refused))

    assert tasks(trail) == (("One",), ())


def test_a_record_without_tasks_keeps_those_before() -> None:
    """Tasks of an older record stay if a newer one has none of its own."""
    older = SummaryRecord(Counts(user=1), {Section.OPEN: ("One",), Section.DONE: ("Two",)})
    newer = SummaryRecord(Counts(user=1), {})

    assert tasks(trail_of([older, newer], ())) == (("One",), ("Two",))


def test_values_of_two_files_stay_apart() -> None:
    """A value is named with the last two parts of the path of its file."""
    edits = [
        used("edit", {"path": path, "oldText": "timeout: 30", "newText": f"timeout: {new}"})
        for path, new in (("/r/api/config.yaml", 60), ("./worker/config.yaml", 9))
    ]

    assert trail_of((), read(*edits)).values == {
        "timeout (api/config.yaml)": "60",
        "timeout (worker/config.yaml)": "9",
    }


def test_a_file_that_failed_last_stays_edited() -> None:
    """A record that is absorbed says of its files what was done to them, not of the last call."""
    record = SummaryRecord(
        Counts(user=1), {Section.EDITED: ("src/: a.py (last call failed)", "b/: ")}
    )
    trail = trail_of([record], ())

    assert trail.files["src/a.py"] == Artefact(path="src/a.py", action="edited", failed=True)
    assert lay_out(offer_trail(trail)[Section.EDITED]) == (
        "src/: a.py (last call failed)",
        "./: b/",
    )


def test_lists_of_tasks_replace_each_other() -> None:
    """The newest list of an agent's own tasks counts, with the status before or after the text."""
    before = used("TodoWrite", {"todos": [{"content": "One", "status": "pending"}]})
    after = used(
        "update_plan",
        {
            "plan": [
                {"status": "completed", "step": "One"},
                {"status": "in_progress", "step": "Two"},
            ]
        },
    )
    other = used("search", {"title": "One", "status": "sold out"})
    trail = trail_of((), read(before, after, other))

    assert tasks(trail) == (("Two",), ("One",))


def test_the_newest_value_counts() -> None:
    """Of a setting that was changed several times the last value stays, and of others none."""
    edits = [
        used("edit", {"path": "a.ts", "oldText": f'color: "{old}",\nsize: 3', "newText": new})
        for old, new in (("#111", 'color: "#222",\nsize: 3'), ("#222", 'color: "#333",\nsize: 3'))
    ]
    failed = used(
        "edit", {"path": "a.ts", "oldText": "size: 3", "newText": "size: 4"}, "Error: no match"
    )

    assert trail_of((), read(*edits, failed)).values == {"color (a.ts)": "#333"}


def test_the_trail_goes_on_from_a_record() -> None:
    """A file keeps the strongest thing that was done to it, under its longest name."""
    record = SummaryRecord(
        Counts(user=1),
        {
            Section.EDITED: ("/r/src/: a.py",),
            Section.READ: ("/r/src/: b.py, c.py",),
            Section.COMMITS: ("1a2b3c4 First",),
            Section.VALUES: ("color: #111",),
            Section.OPEN: ("[t1] Test it",),
        },
    )
    facts = read(
        used("read", {"path": "src/a.py"}),
        used("write", {"path": "/r/src/b.py", "content": "x"}),
        used("edit", {"path": "/r/src/c.py", "oldText": "1", "newText": "2"}, "Error: no match"),
    )
    trail = trail_of([record], facts)
    shown = {section: lay_out(items) for section, items in offer_trail(trail).items() if items}

    assert list(trail.files.values()) == [
        Artefact(path="/r/src/a.py", action="edited"),
        Artefact(path="/r/src/b.py", action="edited"),
        Artefact(path="/r/src/c.py", action="read", failed=True),
    ]
    assert shown == {
        Section.EDITED: ("/r/src/: b.py, a.py",),
        Section.READ: ("/r/src/: c.py (last call failed)",),
        Section.COMMITS: ("1a2b3c4 First",),
        Section.VALUES: ("color: #111",),
        Section.OPEN: ("[t1] Test it",),
    }


def _ticket(use: ToolUse) -> Facts | None:
    if use.name != "ticket":
        return None
    return Facts(open_tasks=(f"Ticket {use.argument('number')}",), has_tasks=True, result="filed")


async def test_an_extractor_of_ones_own() -> None:
    """A user's extractor reads the calls that it knows, in a digest and beside a model's text."""
    talk = used("ticket", {"number": "T-77", "note": "words of no weight " * 40}) * 3
    request = SummaryRequest(messages=tuple(talk), prompt="", budget=600)
    digest = DigestSummarizer(extractors=(_ticket, *EXTRACTORS))
    text, material = await digest.summarize(request), await digest.material(request)

    assert "## Open tasks\n- Ticket T-77" in text
    assert " -> filed" in text
    assert (await digest.record(material)).lines(Section.OPEN) == ("Ticket T-77",)
    assert "## Open tasks" not in write_digest(request)


def test_older_commits_keep_their_hash() -> None:
    """Of commits that are not among the newest the hash stays, through a record and back."""
    names = [f"{number:07x}" for number in range(10, 22)]
    new = [Facts(commits=(f"{name} Change {name}",)) for name in names]
    items = offer_trail(trail_of((), new))[Section.COMMITS]
    lines = lay_out(items)
    assert lines == (
        f"before: {', '.join(names[:-2])}",
        *(f"{name} Change {name}" for name in names[-2:]),
    )
    record = SummaryRecord(Counts(user=1), {Section.COMMITS: lines})
    again = lay_out(offer_trail(trail_of([record], new[-1:]))[Section.COMMITS])
    assert again == lines


def test_a_long_request_leaves_room_for_what_was_edited() -> None:
    """A request that takes half of the budget does not push files and commits out of the record."""
    calls = [
        *used("edit", {"path": "src/app/main.py", "oldText": "a", "newText": "b"}),
        *used("bash", {"command": "git commit -m 'Add it'"}, "[main 1a2b3c4] Add it\n 1 file"),
        *(
            one
            for number in range(90)
            for one in used("look", {"id": f"ORDER-{number:05}", "of": f"customer_{number:05}"})
        ),
    ]
    asked = Message.user("Please do the following thing, carefully. " * 40)
    text = write_digest(SummaryRequest(messages=(asked, *calls), prompt="", budget=700))
    record = SummaryRecord.read(text)
    assert record is not None
    assert record.artefacts == (Artefact(path="src/app/main.py", action="edited"),)
    assert record.lines(Section.COMMITS) == ("1a2b3c4 Add it",)


def _broken(use: ToolUse) -> Facts | None:
    raise ZeroDivisionError(use.name)


def _wrong(use: ToolUse) -> Facts | None:
    return cast("Facts", use.name)


@pytest.mark.parametrize("own", [_broken, _wrong])
def test_a_broken_extractor_is_left_out(own: Extractor, caplog: pytest.LogCaptureFixture) -> None:
    """The built-in ones read its calls, and the log names it once, by the type of the error."""
    calls = used("edit", {"path": "src/a.py", "oldText": "a", "newText": "b"}) * 2
    uses = uses_of(read_span(calls, Finder()))
    found = facts_of(uses, (own, *EXTRACTORS))

    assert [one.files[0].path for one in found] == ["src/a.py"] * 2
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith(f"extractor {own.__name__} is left out: ")


def test_the_tasks_of_several_layers_stay() -> None:
    """Tasks with ids are a model's, and those of a later layer do not end those of an earlier one."""
    layers = [
        SummaryRecord(Counts(user=1), {Section.OPEN: (line,)})
        for line in ("[t1] Paint the door", "[t2] Order a cable")
    ]

    assert tasks(trail_of([*layers, SummaryRecord(Counts(user=1), {})], ()))[0] == (
        "[t1] Paint the door",
        "[t2] Order a cable",
    )


def test_an_edit_of_the_open_file() -> None:
    """A tool that changes the file that is open has edited it, unless it failed."""
    opened = "(Open file: /repo/src/a.py)\n(Current directory: /repo)\nbash-$"
    change: dict[str, object] = {"replacement_text": "x = 1", "start_line": 3, "end_line": 3}
    made, failed, looked = (
        facts.files
        for facts in read(
            used("edit", change, f"File updated. Please review the changes.\n{opened}"),
            used(
                "edit", change, f"Your proposed edit has introduced new syntax error(s).\n{opened}"
            ),
            used("scroll_down", {}, f"3:x = 1\n{opened}"),
        )
    )

    assert made == (Artefact(path="src/a.py", action="edited"),)
    assert failed == (Artefact(path="src/a.py", action="edited", failed=True),)
    assert looked == ()
