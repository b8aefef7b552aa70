"""Reminders that a harness puts in the place of a user are none of the user's messages."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from foldline.agent.reducer import HistoryReducer
from foldline.history.boundaries import safe_cut
from foldline.history.formats.anthropic import from_anthropic
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import TextPart, ToolCallPart, UriPart
from foldline.history.reminders import is_reminder, without_reminders
from foldline.reduction.config import HistoryReductionConfig
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.linearity import is_linear


NOTE = "<system-reminder>\nThe to-do list is empty. Never mention this.\n</system-reminder>"
QUESTION = "Why is tests/test_pay.py flaky? Tell me the cause at the end."


def loop(calls: int) -> list[dict[str, Any]]:
    """Return what a coding agent sends by Anthropic's API, with a reminder beside each result."""
    items: list[dict[str, Any]] = [{"role": "user", "content": QUESTION}]
    for at in range(calls):
        call = {
            "type": "tool_use",
            "id": f"t{at}",
            "name": "Read",
            "input": {"path": f"src/m{at}.py"},
        }
        result = {"type": "tool_result", "tool_use_id": f"t{at}", "content": f"module {at}\n" * 30}
        items += [
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result, {"type": "text", "text": NOTE}]},
        ]
    return items


@pytest.mark.parametrize(
    "text",
    [
        NOTE,
        f"\n{NOTE}\n{NOTE} ",
        "<environment_context>x</environment_context>",
        "<session_context>\n" + "src/\n" * 1_000 + "</session_context>",
        "<task-notification>\n<status>completed</status>\n</task-notification>",
        "<turn_aborted>\nx\n</turn_aborted>\n<subagent_notification>{}</subagent_notification>",
    ],
)
def test_only(text: str) -> None:
    """A text of nothing but reminders is one, whatever is between them."""
    assert is_reminder(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "a",
        f"{NOTE} And now?",
        f"Look: {NOTE}",
        "<system-reminder>",
        "<p>Mine.</p>",
        "</system-reminder>",
    ],
)
def test_none(text: str) -> None:
    """What a user writes beside a reminder, or in a tag of another name, is the user's."""
    assert not is_reminder(text)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"And now?\n{NOTE}", "And now?"),
        (f"{NOTE} a {NOTE} b", f"a {NOTE} b"),
        (f"a\n {NOTE}{NOTE}\nb", "a\n \nb"),
        ("Name <system-reminder> first, then </system-reminder>.",) * 2,
        (f"Read this:\n<system-reminder>{'x' * 1_500}</system-reminder>",) * 2,
        ("  as it was ", "  as it was "),
        ("<system-reminder> open", "<system-reminder> open"),
    ],
)
def test_left(text: str, left: str) -> None:
    """What a user writes stays when reminders are taken out, and a text without one stays as it is."""
    assert without_reminders(text) == left


def test_parts() -> None:
    """A picture beside a reminder is the user's, and no other role says what a user does."""
    picture = UriPart("image", "https://example.org/a.png")
    assert Message(role="user", parts=(TextPart(NOTE), picture)).is_from_user
    assert Message(role="user").is_from_user
    assert not Message(role="user", parts=(TextPart(NOTE), TextPart(NOTE))).is_from_user
    assert not Message.assistant("a").is_from_user


@pytest.mark.parametrize("unit", [NOTE, "<system-reminder>", " "])
def test_linear(unit: str) -> None:
    """Many reminders, and many that never end, take time that grows with their length."""
    assert is_linear(is_reminder, " ", unit)


def test_one_exchange() -> None:
    """Reminders beside results begin no exchange: the question stays the last that the user said."""
    history = History(from_anthropic(loop(30)))
    assert history.exchanges() == 1
    assert history.last_user() == 0


@pytest.mark.parametrize(
    "config",
    [
        HistoryReductionConfig(context_window_size=4_000),
        HistoryReductionConfig(
            context_window_size=4_000, target_count=3, summarization_threshold=2
        ),
    ],
)
def test_view(config: HistoryReductionConfig) -> None:
    """The question stays in a view, and no reminder is quoted or listed as a rule."""
    reduced = HistoryReducer(config).reduce_sync(loop(40))
    assert reduced.event.removed_count
    summary, question = map(str, reduced.messages[1:3])
    assert QUESTION in question
    assert "Record of" in summary
    assert "system-reminder" not in summary
    assert "Never mention" not in summary


def test_a_call_before_reminders_stays_open_for_no_longer_than_an_exchange() -> None:
    """A call that was never answered holds no cut back, whatever a harness says after it."""
    call = ToolCallPart("c", "look", "{}")
    said = [Message.user("Go on."), Message.assistant(tool_calls=[call])]
    history = History([*said, *[Message.user(NOTE), Message.assistant("It is done.")] * 20])
    assert next(history.whole_indexes(40, 0)) == 40


def test_digest() -> None:
    """A rule beside a long reminder is one, and the reminder is not told."""
    long = NOTE.replace("empty", "empty " * 200)
    items = [
        Message.user(f"Never push, whatever happens.\n{long}"),
        Message.assistant("Yes. " * 99),
    ]
    reduced = HistoryReducer(window=4_000).reduce_sync([*items * 9, Message.user("And now?")])
    assert reduced.event.summary is not None
    assert "Never push, whatever happens." in reduced.event.summary
    assert "system-reminder" not in reduced.messages[0].text


def test_no_cut() -> None:
    """A cut looks for what the user says, and does not stop at a reminder."""
    said = [Message.user("Begin."), Message.assistant("I have begun."), Message.user(QUESTION)]
    work = [Message.assistant("I look."), Message.user(NOTE), Message.assistant("I see.")]
    history = History([*said, *work * 2])

    assert safe_cut(history, unit="messages", keep=2, slack=9) == 2
    assert safe_cut(history, unit="exchanges", keep=1) == 2


def test_stored(tmp_path: Path) -> None:
    """A stored thread counts reminders in no exchange, and is named for what the user says first."""

    async def run() -> tuple[int, int, str]:
        async with SQLiteStore(tmp_path / "chat.db") as store:
            thread = await store.thread("one")
            note = [Message.user(NOTE), Message.assistant("Yes.")]
            asked = Message.user(f"{NOTE}\n{QUESTION}")
            await thread.append([Message.user(NOTE), asked, *note * 30])
            found = await store.find("one")
            assert found is not None
            return found.head.users, (await found.window()).history.exchanges(), await found.title()

    users, exchanges, title = asyncio.run(run())
    assert (users, exchanges) == (1, 1)
    assert QUESTION.startswith(title.removesuffix("..."))
