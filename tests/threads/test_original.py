"""Snapshots of the documented original: its shape of messages and its nested execution state."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from foldline.agent.agent import Agent
from foldline.errors import FoldlineError, FormatError, StoreVersionError
from foldline.formats import render_openai_chat
from foldline.history.messages import Message
from foldline.history.parts import (
    BlobPart,
    FilePart,
    GenericPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from foldline.testing.model import ScriptedModel
from foldline.threads.original import ORIGINAL_KEY
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.thread import ConversationThread
from foldline.threads.tools import INTERRUPTED


Block = dict[str, Any]


def text(said: str) -> Block:
    return {"$type": "text", "text": said}


def message(role: str, *contents: object, **fields: object) -> Block:
    return {"role": role, "contents": [*contents], **fields}


def call(call_id: str, **arguments: object) -> Block:
    return {"$type": "functionCall", "callId": call_id, "name": "check", "arguments": arguments}


def result(call_id: str, found: object) -> Block:
    return {"$type": "functionResult", "callId": call_id, "result": found}


SAID = [
    message("system", text("Be brief.")),
    message("user", text("Weather?"), authorName="Ann", messageId="m1"),
    message("assistant", text("Let me look."), call("c1", city="Rome"), call("c2")),
    message("tool", result("c1", "sunny"), result("c2", 3.5)),
    message("assistant", text("Sunny.")),
]


def snapshot(*messages: object, **fields: object) -> str:
    """Return a snapshot as the original writes it, with other *fields*."""
    document = {
        "Id": "thread-123",
        "DisplayName": "Weather Chat",
        "MessageStoreSnapshot": {"Messages": messages or SAID},
        "CreatedAt": "2025-11-01T08:00:00.1234567Z",
        "LastActivity": "2025-11-02T08:00:00Z",
        **fields,
    }
    return json.dumps(document)


async def restored(data: str) -> tuple[ConversationThread, list[Message]]:
    async with MemoryStore() as store:
        thread = await store.restore(data)
        return thread, await thread.get_messages()


def capitalized(value: Any) -> Any:
    """Return *value* as a serializer without options writes it."""
    if isinstance(value, list):
        return [capitalized(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key[:1].upper() + key[1:]: field if key == "arguments" else capitalized(field)
        for key, field in value.items()
    }


@pytest.mark.parametrize("are_capital", [False, True])
async def test_its_messages_are_read(*, are_capital: bool) -> None:
    """Texts, calls and results become ours, whether the keys begin with a capital or not."""
    said = capitalized(SAID) if are_capital else SAID
    thread, messages = await restored(snapshot(*said))

    assert (thread.id, thread.display_name) == ("thread-123", "Weather Chat")
    assert messages[0] == Message.system("Be brief.")
    assert messages[1] == Message.user("Weather?", id="m1", name="Ann")
    assert messages[2].parts == (
        TextPart("Let me look."),
        ToolCallPart("c1", "check", '{"city":"Rome"}'),
        ToolCallPart("c2", "check", "{}"),
    )
    assert messages[3].parts == (
        ToolCallResponsePart("c1", "sunny"),
        ToolCallResponsePart("c2", "3.5"),
    )
    assert messages[4] == Message.assistant("Sunny.")
    assert len(render_openai_chat(messages)) == 6


async def test_every_kind_of_content_is_read() -> None:
    """Reasoning, data, addresses and files become parts; other kinds are kept as they are."""
    _, [one] = await restored(
        snapshot(
            message(
                "assistant",
                {"$type": "reasoning", "text": "hm"},
                {"$type": "data", "uri": "data:image/png;base64,AAAA"},
                {"$type": "uri", "uri": "https://x.test/a.pdf", "mediaType": "application/pdf"},
                {"$type": "hostedFile", "fileId": "f1"},
                {"$type": "usage", "details": {"inputTokenCount": 7}},
                {"$type": "functionCall", "callId": "c", "name": "n", "invocationRequired": True},
                {"$type": "functionResult", "callId": "c", "result": None},
                createdAt="2025-11-01T09:00:00+01:00",
                additionalProperties={"colour": "blue"},
            )
        )
    )

    assert one.parts == (
        ReasoningPart("hm"),
        BlobPart("image", "image/png", "AAAA"),
        UriPart("document", "https://x.test/a.pdf"),
        FilePart("document", "f1"),
        GenericPart("usage", '{"$type":"usage","details":{"inputTokenCount":7}}'),
        ToolCallPart("c", "n", "{}"),
        ToolCallResponsePart("c", ""),
    )
    assert one.created_at == datetime(2025, 11, 1, 8, tzinfo=UTC)
    assert one.metadata == {"colour": "blue"}


async def test_what_has_no_part_stays_with_the_message() -> None:
    """Fields of a content that no part holds are kept in the metadata."""
    contents = [{"$type": "reasoning", "text": "", "protectedData": "sealed"}]
    _, [one] = await restored(snapshot(message("assistant", *contents)))

    assert one.parts == (ReasoningPart(""),)
    assert one.metadata == {ORIGINAL_KEY: contents}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (
            {"role": "user", "content": "hi"},
            "message 1 must have `parts`, or `role` and `contents`",
        ),
        ({"role": "user", "contents": "hi"}, "message 1 must have `parts`"),
        ({"role": "developer", "contents": []}, "message 1 must have `parts`"),
        ({"contents": [text("hi")]}, "message 1 must have `parts`"),
        (message("user", text("hi"), "hi"), r"message 1: contents\[1\] must have a `\$type`"),
        (message("user", {"text": "hi"}), r"message 1: contents\[0\] must have"),
        (message("user", {"$type": "text"}), r"message 1: contents\[0\] must have"),
        (message("user", {"$type": "functionCall", "name": "n"}), r"message 1: contents\[0\]"),
        (message("user", text("hi"), createdAt="now"), "not a snapshot of a thread"),
        (7, r"Messages\[1\]"),
    ],
)
async def test_an_unreadable_shape_names_the_message(wrong: object, says: str) -> None:
    """It is an error that says which message it is and what is expected, never an empty message."""
    with pytest.raises(FormatError, match=says):
        await restored(snapshot(SAID[0], wrong))


async def test_a_message_without_content_is_none() -> None:
    """An empty list of contents is what the original wrote of a message that says nothing."""
    _, messages = await restored(snapshot(message("assistant")))

    assert messages == [Message(role="assistant")]


def state(**fields: object) -> Block:
    return {"CurrentMessages": SAID, "Iteration": 3, "CompletedFunctions": ["check"], **fields}


@pytest.mark.parametrize("is_text", [False, True], ids=["nested", "text"])
@pytest.mark.parametrize("are_capital", [True, False])
async def test_its_execution_state_is_read(*, is_text: bool, are_capital: bool) -> None:
    """The documented nested object restores, and so does the text that the code wrote."""
    written = state(AgentName="clerk", RunId="r1", StartTime="2025-11-01T08:00:00", Version=2)
    if not are_capital:
        written = {key[:1].lower() + key[1:]: field for key, field in written.items()}
    nested = json.dumps(written) if is_text else written
    thread, _ = await restored(snapshot(ExecutionStateJson=nested))
    found = thread.execution_state

    assert found is not None
    assert (found.iteration, found.agent_name, found.run_id) == (3, "clerk", "r1")
    assert found.completed_functions == {"check"}
    assert found.started_at == datetime(2025, 11, 1, 8, tzinfo=UTC)
    assert (len(found.current_messages), found.is_open) == (5, True)


async def test_the_documented_snapshot_is_read() -> None:
    """What is not written is taken from the thread: its id, and its last activity as the start."""
    thread, _ = await restored(snapshot(ExecutionStateJson=state()))
    found = thread.execution_state

    assert found is not None
    assert (found.run_id, found.conversation_id) == ("thread-123", "thread-123")
    assert found.started_at == thread.last_activity
    undated = json.loads(snapshot(ExecutionStateJson=state()))
    del undated["LastActivity"]
    assert (await restored(json.dumps(undated)))[0].execution_state is not None


async def test_our_own_state_may_be_nested() -> None:
    """An object of our own fields is read as the text of it is."""
    own: dict[str, object] = {
        "run_id": "r",
        "conversation_id": "c",
        "started_at": "2025-11-01T08:00:00Z",
    }
    own |= {"current_messages": {"count": 5, "digest": ""}, "iteration": 2}
    thread, _ = await restored(snapshot(ExecutionStateJson=own))

    assert thread.execution_state is not None
    assert thread.execution_state.iteration == 2


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        ({}, FormatError, "`CurrentMessages` must be a list"),
        (state(CurrentMessages={"count": 5}), FormatError, "`CurrentMessages` must be a list"),
        (state(Iteration="three"), FormatError, "not a snapshot of a thread"),
        (state(Version=3), StoreVersionError, "format 3"),
        (state(CurrentMessages=[*SAID, SAID[1]]), FoldlineError, "5 messages but .* expects 6"),
    ],
)
async def test_a_wrong_state_is_refused(
    wrong: Block, error: type[FoldlineError], says: str
) -> None:
    """A state without messages, of a newer original, or of a longer history is refused by name."""
    with pytest.raises(error, match=says):
        await restored(snapshot(ExecutionStateJson=wrong))


async def test_its_record_of_a_reduction_is_left() -> None:
    """Its hash is of messages in its own form, so the record is left and the history stays whole."""
    record = {
        "SummarizedUpToIndex": 3,
        "SummaryContent": "x",
        "MessageHash": "ab",
        "TargetCount": 1,
    }
    thread, messages = await restored(snapshot(LastReductionState=record))

    assert thread.last_reduction is None
    assert len(messages) == 5


async def test_an_interrupted_run_runs_no_tool_again() -> None:
    """Results that the state holds are used, and a call without one is answered as interrupted."""
    said = [*SAID, message("user", text("And Oslo?")), message("assistant", call("c3"), call("c4"))]
    writes = [{"CallId": "c3", "FunctionName": "check", "ResultJson": '"rainy"'}]
    data = snapshot(
        *said, ExecutionStateJson=state(CurrentMessages=said, PendingWrites=[*writes, 7])
    )
    ran: list[str] = []

    def check() -> str:
        """Check the weather."""
        ran.append("check")
        return "snow"

    async with MemoryStore() as store:
        thread = await store.restore(data)
        pending = [(run.call_id, run.result) for run in thread.pending_tools]
        model = ScriptedModel(repeat="Rainy.")
        outcome = await Agent(model, tools=[check]).run(thread=thread)
        answers = [one for one in await thread.get_messages() if one.role == "tool"][1:]

    assert pending == [("c3", "rainy"), ("c4", None)]
    assert (outcome.text, ran) == ("Rainy.", [])
    results = {answer.id: answer.response for one in answers for answer in one.tool_call_responses}
    assert results == {"c3": "rainy", "c4": INTERRUPTED}


@pytest.mark.parametrize(
    ("written", "kept"),
    [('{"a":1}', '{"a":1}'), ("plain", "plain"), ("null", ""), (None, None), (7, None)],
)
async def test_a_result_is_json_or_text(written: object, kept: str | None) -> None:
    """A result that the state holds is JSON; what is none is taken as it is."""
    said = [message("user", text("?")), message("assistant", call("c"))]
    writes = [{"callId": "c", "resultJson": written}]
    thread, _ = await restored(
        snapshot(*said, ExecutionStateJson=state(CurrentMessages=said, pendingWrites=writes))
    )

    assert [run.result for run in thread.pending_tools] == [kept]
