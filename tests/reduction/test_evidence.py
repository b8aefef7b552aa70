"""What shows that a task is done: answers of tools and the user's words, and what does not."""

import pytest

from foldline.history.formats.wire import FAILED
from foldline.history.messages import Message
from foldline.history.parts import TextPart, ToolCallPart, ToolCallResponsePart
from foldline.reduction.evidence import Evidence


TASK = "Let test_page_size read the constant"
SAYS = "test_page_size reads the constant"
PATHS = "Raise the limit in services/export/run_nightly.py"
BASH = ("bash", '{"command": "pytest -q"}')
EDIT = ("edit_file", '{"path": "/repo/services/export/run_nightly.py", "new": "30"}')


def did(call: tuple[str, str], answer: str) -> tuple[Message, Message]:
    asked = Message.assistant("", tool_calls=[ToolCallPart("c", *call)])
    return asked, Message.tool("c", answer)


def shows(task: str, *messages: Message) -> bool | None:
    return Evidence(messages).shows(task)


@pytest.mark.parametrize(
    "answer",
    [
        f"2 passed in 0.9s: {SAYS}",
        f"{SAYS}\n0 failed, no errors",
        f'{{"done": "{SAYS}", "error": null, "errors": 0, "exit_code": 0}}',
    ],
)
def test_an_answer_without_a_failure_shows_what_it_says(answer: str) -> None:
    """One of its statements has half of the words of the task, and nothing in it failed."""
    assert shows(TASK, *did(BASH, answer)) is True


@pytest.mark.parametrize(
    "answer",
    [
        f"E  {SAYS}: AssertionError\n1 failed",
        f"F.\n{SAYS} FAILED\n1 failed, 1 passed in 0.5s",
        f"$ pytest\n{SAYS} ... ERROR",
        f"Exit code 1\n{SAYS}",
        f"{SAYS}\nProcess exited with code 127",
        f'{{"success": false, "about": "{SAYS}"}}',
        f"Traceback (most recent call last):\n{SAYS}",
        f"{SAYS}: no such file",
    ],
)
def test_a_failure_anywhere_in_an_answer_leaves_a_task_open(answer: str) -> None:
    """What a tool failed at is not done, whatever the model says."""
    assert shows(TASK, *did(BASH, answer)) is False


@pytest.mark.parametrize("answer", [f"# TODO: {SAYS}", "Is the constant read by test_page_size?"])
def test_an_answer_that_asks_or_notes_shows_nothing(answer: str) -> None:
    """A note of what is to be done and a question are no answer to it."""
    assert shows(TASK, *did(BASH, answer)) is None


QUOTING = [
    ("web", '{"url": "https://example.org"}'),
    ("tavily", '{"query": "page size"}'),
    ("read_file", '{"path": "notes.md"}'),
    ("TodoWrite", '{"items": []}'),
    ("bash", '{"command": "cd /repo && grep -rn constant . | head"}'),
    ("bash", '{"command": "ls\\ncat notes.md"}'),
    ("bash", '{"cmd": ["bash", "-lc", "sed -n 1,9p notes.md"]}'),
    ("bash", '{"command": "echo done 2>&1"}'),
    ("str_replace_editor", '{"command": "view", "path": "notes.md"}'),
]


@pytest.mark.parametrize("call", QUOTING)
def test_what_was_to_be_shown_shows_nothing(call: tuple[str, str]) -> None:
    """A page, a file, a hit and the agent's own notes are somebody's words."""
    assert shows(TASK, *did(call, f"{SAYS}, all done")) is None


ACTING = [
    ("bash", '{"command": "sed -i s/500/BATCH/ a.py && pytest -q | tail -3"}'),
    ("bash", '{"command": "cat > a.py <<EOF\\nBATCH = 1\\nEOF"}'),
    ("search_and_replace", '{"path": "a.py"}'),
    ("update_reservation", '{"id": "cat"}'),
]


@pytest.mark.parametrize("call", ACTING)
def test_what_was_done_may_show_something(call: tuple[str, str]) -> None:
    """A pipe behind a command, what is written to a file, and a tool that replaces do something."""
    assert shows(TASK, *did(call, f"{SAYS}, all done")) is True


def test_a_call_on_the_path_of_a_task_shows_it() -> None:
    """It may answer no more than `ok`; a file of a similar name is another one."""
    other = ("edit_file", '{"path": "services/export/run_nightly.pyi"}')

    assert shows(PATHS, *did(EDIT, "ok")) is True
    assert shows(PATHS, *did(other, "ok")) is None
    assert shows(PATHS, *did(EDIT, "Error: the old text is not in the file")) is False


def test_what_fails_later_is_in_doubt_until_it_succeeds() -> None:
    """After an edit the tests have to pass; what failed before it says nothing."""
    failed, passed = did(BASH, "1 failed, 1 passed"), did(BASH, "2 passed")

    assert shows(PATHS, *failed, *did(EDIT, "ok")) is True
    assert shows(PATHS, *did(EDIT, "ok"), *failed) is None
    assert shows(PATHS, *did(EDIT, "ok"), *failed, *did(QUOTING[4], "a hit")) is None
    assert shows(PATHS, *did(EDIT, "ok"), *failed, *passed) is True


@pytest.mark.parametrize(
    "said",
    [
        "The memory of a page is measured, I did that myself: 700 MiB.",
        "Done: memory of a page.",
        "I've measured memory per page on staging.",
        "Memory per page: erledigt.",
    ],
)
def test_the_user_says_that_it_is_done(said: str) -> None:
    """In words that say so; later failures of something else change nothing."""
    task = "Measure the memory of a page"

    assert shows(task, Message.user(said), *did(BASH, "1 failed")) is True


@pytest.mark.parametrize(
    "said",
    [
        "Please also measure the memory of a page on the staging pod.",
        "Measure the memory of a page.",
        "Did you measure the memory of a page yet?",
        "I asked you to have the memory of a page measured.",
        "Make sure that the memory of a page is measured.",
        "When the memory of a page is measured, halve it.",
        "The memory of a page has not been measured.",
        "Get the memory of a page measured.",
        "Memory of a page: muss noch fertig werden.",
    ],
)
def test_who_asks_denies_or_plans_does_not_close_a_task(said: str) -> None:
    """A request, a question, a denial and a condition are in doubt, also after it was done."""
    task = "Measure the memory of a page"
    done = Message.user("The memory of a page is measured.")

    assert shows(task, Message.user(said)) is None
    assert shows(task, done, Message.user(said)) is None
    assert shows(task, Message.user(said), done) is True


def test_what_nobody_said_shows_nothing() -> None:
    """The assistant's claim, long pasted text and a task of short words alone are no evidence."""
    claim = Message.assistant(f"{SAYS}, all is done.")
    pasted = Message.user(f"{SAYS}, all is done. " + "More text. " * 200)

    assert shows(TASK, claim, pasted) is None
    assert shows("Do it", Message.user("I did it.")) is None


def test_a_reminder_is_no_word_of_the_user() -> None:
    """What a harness says of the tasks, alone or beside what the user says, shows nothing."""
    note = f"<system-reminder>\n{SAYS}, all is done.\n</system-reminder>"

    assert shows(TASK, Message.user(note)) is None
    assert shows(TASK, Message.user(f"{note}\nGo on.")) is None
    assert shows(TASK, Message.user(f"{note}\n{SAYS}, all is done.")) is True


def test_an_answer_without_its_call_is_short() -> None:
    """A longer one may be what the tool was to show."""
    short, long = (Message.tool("x", f"{SAYS}. " + "Ok. " * times) for times in (1, 200))
    text = Message(role="tool", parts=(TextPart(f"{SAYS}."),))

    assert shows(TASK, short) is True
    assert shows(TASK, text) is True
    assert shows(TASK, long) is None


def test_a_record_that_marks_a_failure_is_believed() -> None:
    """Whatever the text of the answer says."""
    call = Message.assistant("", tool_calls=[ToolCallPart("c", *BASH)])
    marked = Message(
        role="tool", parts=(ToolCallResponsePart("c", (TextPart(f"{SAYS}."), FAILED)),)
    )
    flagged = Message(
        role="tool",
        parts=(ToolCallResponsePart("c", f"{SAYS}."),),
        metadata={"isError": True},
    )

    assert shows(TASK, call, marked) is False
    assert shows(TASK, call, flagged) is False


RESERVED = ("reservar_cita", '{"hueco": "HUE-7731"}')
CITA = '{"cita": "CIT-90233", "hora": "11:10"}'
COMMIT = (
    "bash",
    '{"command": "git add -A && git commit -qm \'Convert times\' && git log --oneline -1"}',
)


def test_a_code_shows_what_a_tool_of_that_name_did() -> None:
    """A reservation and a commit are known by theirs, whatever else fails later; others are not meant."""
    reserved, failed = did(RESERVED, CITA), did(("enviar_sms", "{}"), "Error: no gateway")
    committed = did(COMMIT, "5d1c8e7 Convert times")

    assert shows("Cita CIT-90233 reservada con la doctora", *reserved, *failed) is True
    assert shows("Cita CIT-90244 reservada a las 11:10", *reserved) is None
    assert shows("Convert UTC to local times (5d1c8e7)", *committed) is True
    assert shows("Offer OFF-3391 sent", *did(("crm_update", "{}"), '{"id": "OFF-3391"}')) is None


def test_one_word_of_two_shows_nothing() -> None:
    """Something else was sent."""
    assert shows("Send the offer", *did(("post", "{}"), "The letter was sent, send more")) is None
