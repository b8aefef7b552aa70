"""Which results of tools a digest calls failed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from foldline.history.messages import Message
from foldline.history.parts import GenericPart, TextPart, ToolCallPart, ToolCallResponsePart
from foldline.logs import read_sessions
from foldline.providers.digest.calls import offer_calls
from foldline.providers.digest.failures import confirmed, failure_of
from foldline.providers.digest.identifiers import Finder
from foldline.providers.digest.span import Result, read_span
from foldline.providers.digest.tool_use import uses_of
from foldline.providers.digest.work import EXTRACTORS, facts_of
from foldline.reduction.call_counts import NOTHING


CODE = "".join(
    f"def step_{number}() -> None:\n    try:\n        run()\n    except Error as error:\n"
    '        raise ValueError("failed: not found") from error\n'
    for number in range(40)
)


FAILED = {
    "Error: not enough seats": "Error: not enough seats",
    "\n\n  Error: odd\nmore": "  Error: odd",
    "ValueError: odd\nmore": "ValueError: odd",
    "[Error: odd]": "[Error: odd]",
    "<tool_use_error>Error: odd</tool_use_error>": "<tool_use_error>Error: odd</tool_use_error>",
    "❌ Error: odd": "❌ Error: odd",
    "ERROR:\nNo replacement was performed.": "ERROR: No replacement was performed.",
    "error[E0308]: mismatched types\n --> src/a.rs:1": "error[E0308]: mismatched types",
    "some.module.OddException: None": "some.module.OddException: None",
    "Unexpected error: odd": "Unexpected error: odd",
    "Error calling tool look_up": "Error calling tool look_up",
    "An unexpected error occurred.": "An unexpected error occurred.",
    "Traceback (most recent call last):\n  File a\nKeyError: 'x'": "KeyError: 'x'",
    "Traceback (most recent call last):\n  …": "Traceback (most recent call last): …",
    "done so far\nTraceback (most recent call last):\n  File a\nKeyError": "KeyError",
    "fatal: not a git repository": "fatal: not a git repository",
    "HTTP/1.1 404 Not Found\nserver: x": "HTTP/1.1 404 Not Found",
    "HTTP Error 503: Service Unavailable": "HTTP Error 503: Service Unavailable",
    "404 Not Found": "404 Not Found",
    "Status code: 500": "Status code: 500",
    "src/a.ts(2,8): error TS2304: no name\n": "src/a.ts(2,8): error TS2304: no name",
    "> check\n\na.c:3:9: error: no such\n    int x\n": "a.c:3:9: error: no such",
    "bash: ponyc: command not found": "bash: ponyc: command not found",
    "/bin/sh: 1: cd: can't cd to /x\nmake: *** [all] Error 2": "/bin/sh: 1: cd: can't cd to /x",
    "cc -c a.c\n" * 200 + "make: *** [all] Error 2": "make: *** [all] Error 2",
    "[Errno 2] No such file or directory: 'a.py'": "[Errno 2] No such file or directory: 'a.py'",
    "The tool execution failed with the following error:\n<error>\nno file\n</error>": (
        "The tool execution failed with the following error: <error>"
    ),
    "ls: cannot access 'x': No such file or directory": (
        "ls: cannot access 'x': No such file or directory"
    ),
    "Could not find the exact text in a.py.": "Could not find the exact text in a.py.",
    "Command aborted": "Command aborted",
    "> check\n" * 300 + "npm error command failed": "npm error command failed",
    "...F.\n===== 1 failed, 4 passed in 0.2s =====": "===== 1 failed, 4 passed in 0.2s =====",
    "(no output)\n\nCommand exited with code 1": "Command exited with code 1",
    "building\nError: odd\n\nCommand exited with code 2": "Command exited with code 2 … Error: odd",
    "Exit code: 127\nWall time: 0 s\nOutput:\nbash: x: no": "Exit code: 127",
    "[The command completed with exit code 1.]": "[The command completed with exit code 1.]",
    "<returncode>2</returncode>\n<output>x</output>": "<returncode>2</returncode>",
    '{"isError": true, "content": "odd"}': '{"isError": true, "content": "odd"}',
    '{"error": "no such user"}': '{"error": "no such user"}',
    '{"error": {"code": 4}}': '{"error": {"code": 4}}',
    '{"output": "", "metadata": {"exit_code": 1}}': '{"output": "", "metadata": {"exit_code": 1}}',
    '{"success": false, "message": "odd"}': '{"success": false, "message": "odd"}',
    '{"ok": false}': '{"ok": false}',
    '{"status": "error"}': '{"status": "error"}',
    "Rejected: over the limit": "Rejected: over the limit",
    "No such order": "No such order",
    "User declined": "User declined",
}
"""Results of calls that failed, and what is quoted of them."""

FINE = [
    "",
    " \n",
    CODE,
    "            error instanceof Error ? error.message : 'Unknown error'\n" + CODE,
    "\t\terror: undefined\n" + CODE,
    "error: {\n  code: number\n}",
    "Errors are raised by hand.",
    "Error handling\n==============\n",
    "ErrorHandler::run()",
    "Found 0 errors.",
    "404 Requests were served.",
    "450 Found items",
    "     1\tError: odd\n",
    "a.py:12:Error: odd",
    "a.py:    raise OSError('No such file or directory')",
    "cannot be read: " + "file\n" * 200,
    "find: /root: Permission denied\n" + "./a.py\n" * 200,
    "exit code 1 means that the file is absent",
    "if x:\n    exit 1",
    "Error: odd, but repaired\n\nCommand exited with code 0",
    "Process exited with code 0\nOutput:\nError: in a log",
    "What a crash prints\nTraceback (most recent call last):\nand so on, to its end.",
    "===== 5 passed in 0.2s =====",
    '{"error": null, "seats": 4}',
    '{"error": 0.25}',
    '{"seats": {"isError": true}}',
    '{"isError": true',
    '[{"isError": true}]',
    '{"exit_code": 0}',
    '{"exit_code": "0"}',
    '{"job": 7, "status": "failed"}',
    '{"success": true, "items": [{"ok": false}]}',
    "Declined\nAccepted",
    '{"error": "' + "x" * 9_000 + '"}',
]
"""Results of calls that did not fail, or that nobody can tell from such."""


@pytest.mark.parametrize(("text", "said"), FAILED.items())
def test_an_error_at_the_edge_is_a_failure(text: str, said: str) -> None:
    """What begins or ends as tools say that they failed is quoted by the line that says so."""
    assert failure_of(text) == " ".join(said.split())


@pytest.mark.parametrize("text", FINE)
def test_words_inside_are_no_failure(text: str) -> None:
    """A text that holds such words elsewhere, or says that it went well, is no failure."""
    assert failure_of(text) == ""


HELD = [
    "ok",
    "Done.",
    "Successfully updated the limit of ACC-1.",
    "200 OK",
    "true",
    '["ok"]',
    "[main] updated",
    '{"status": "ok"}',
    '{"success": true, "error": null, "errors": [], "failed": 0}',
    '{"data": {"account": "ACC-1", "limit": 9000}}',
    '{"old": {"limit": 500}, "new": {"limit": "9000"}}',
    '{"status": "pending", "limit": 9000}',
]
"""Answers that say that a limit is 9000 now."""

NOT_HELD = [
    "",
    "null",
    "[]",
    "{}",
    '[{"limit": 500, "updated": "today"}]',
    '["Rejected"]',
    "Rejected: over the limit",
    "No such order",
    "User declined",
    "Update queued; waiting for approval",
    "Set limit to 9000?",
    "The limit will be updated tomorrow.",
    "The limit could not be updated.",
    "limit: 9000",
    '{"status": "ok"',
    '{"status": "rejected", "limit": 9000}',
    '{"status": "pending"}',
    '{"status": "pending_approval", "limit": 9000}',
    '{"requires_approval": true, "limit": 9000}',
    '{"code": 403}',
    '{"updated": false}',
    '{"message": "No such order"}',
    '{"text": "It exceeds the policy."}',
    '{"data": {"userErrors": [{"text": "odd"}]}}',
    '{"limit": 500}',
    '{"limit": ' * 2_000 + "9000" + "}" * 2_000,
]
"""Answers that do not say it, or something else."""


@pytest.mark.parametrize(("texts", "held"), [(HELD, {"limit": "9000"}), (NOT_HELD, {})])
def test_a_value_holds_if_the_answer_says_so(texts: list[str], held: dict[str, str]) -> None:
    """Words have to confirm it; an object that shows neither another value nor a failure does."""
    assert [text for text in texts if confirmed(text, {"limit": "9000"}) != held] == []


def test_an_object_confirms_each_value_apart() -> None:
    """What an object repeats holds even if something is open; what it shows as another does not."""
    given = {"limit": "9000", "currency": "EUR", "closed": "false"}

    assert confirmed('{"limit": 500, "currency": "eur"}', given) == {
        "currency": "EUR",
        "closed": "false",
    }
    assert confirmed('{"state": "waiting", "closed": false}', given) == {"closed": "false"}


def test_a_mark_is_believed() -> None:
    """What the record calls an error is one; its first line is quoted if no other says more."""
    assert failure_of("It is odd.\nVery odd.", is_marked=True) == "It is odd."
    assert failure_of("> check\nError 2\n\nExit code 2", is_marked=True) == "Exit code 2"
    assert failure_of("", is_marked=True) == "error"
    assert failure_of("x" * 500, is_marked=True) == "error"


def test_marks_are_read_from_messages() -> None:
    """Both marks that formats leave, in the answer and about the message, reach the record."""
    flag = GenericPart("is_error", '{"type":"is_error"}')
    part = ToolCallResponsePart("a", (TextPart("odd"), flag))
    results = read_span(
        [
            Message(role="tool", parts=(part,)),
            Message(role="tool", parts=Message.tool("b", "odd").parts, metadata={"isError": True}),
            Message.tool("c", "fine"),
            Message(role="tool", parts=(ToolCallResponsePart("d", (TextPart("fine"),)),)),
        ],
        Finder(),
    ).results

    assert [result.is_error for result in results] == [True, True, False, False]
    assert results[0] == Result(0, "a", "odd", is_error=True)


def test_an_id_that_comes_again_is_the_last_call() -> None:
    """A failure is reported for the call before it, though a later call has the same id."""
    messages: list[Message] = []
    for name, answer in (("first", "Error: odd"), ("second", "fine")):
        messages.append(Message.assistant("", tool_calls=[ToolCallPart("c", name, '{"n": "x1"}')]))
        messages.append(Message.tool("c", answer))
    uses = uses_of(read_span(messages, Finder()))
    failed = [
        item.text
        for item in offer_calls(
            uses, facts_of(uses, EXTRACTORS), prior=(), counts=NOTHING, budget=900
        )
        if item.text.startswith("failed")
    ]

    assert failed == ["failed: first n: x1 -> Error: odd"]


def recorded(path: Path) -> Iterator[tuple[Message, Result]]:
    for session in read_sessions(path.read_bytes(), name=path.name):
        for result in read_span(session.messages, Finder()).results:
            yield session.messages[result.position], result


def test_recorded_failures_are_found(shared_data: Path) -> None:
    """Of a recorded session each marked failure is one by its text too, and no file that was read."""
    judged = [
        (result.is_error, message.name, failure_of(result.text))
        for message, result in recorded(shared_data / "pi-coding-agent/before-compaction.jsonl")
    ]
    marked = [said for is_error, _, said in judged if is_error]
    read = [said for is_error, name, said in judged if not is_error and name == "read"]

    assert (len(marked), all(marked)) == (12, True)
    assert (len(read) > 100, any(read)) == (True, False)


def test_recorded_answers_are_judged(shared_data: Path) -> None:
    """Of recorded customer conversations exactly the answers that begin with Error failed."""
    path = shared_data / "tau-airline/conversations.jsonl"
    answers = [result.text for _, result in recorded(path)]
    errors = [text for text in answers if text.startswith("Error")]

    assert [text for text in answers if failure_of(text)] == errors
    assert 0 < len(errors) < len(answers) // 5
