"""Servers whose chat templates want the speakers to take turns, and what is refused once."""

import asyncio
from types import SimpleNamespace
from typing import Any

import openai
import pytest

from foldline import Agent, MemoryStore, Message
from foldline.errors import ModelError
from foldline.history.formats.openai_chat import from_openai_chat
from foldline.history.formats.openai_responses import from_openai_responses
from foldline.providers.vendors.opening import open_model
from foldline.providers.vendors.turns import in_turns
from tests.agent.test_turn_taking import take_turns
from tests.providers.vendors.asking import KEY, opened, request_of, streamed
from tests.servers.vendor import Answer, VendorServer


REFUSALS = (
    {
        "object": "error",
        "message": "After the optional system message, conversation roles must alternate user/assistant",
        "code": 400,
    },
    {
        "error": {
            "code": 500,
            "message": "Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...",
            "type": "server_error",
        }
    },
    {
        "error": {
            "message": "deepseek-reasoner does not support successive user or assistant messages"
        }
    },
)
DONE = Answer.of({"choices": [{"message": {"role": "assistant", "content": "so"}}]})
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "two"}


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


def assistant(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


@pytest.mark.parametrize("error", REFUSALS)
@pytest.mark.parametrize("kind", ["own client", "client", "stream"])
async def test_after_a_refusal_speakers_take_turns(
    vendor: VendorServer, error: dict[str, Any], kind: str
) -> None:
    """The request is sent again at once, and later ones are written so; nothing that was said is lost."""
    vendor.answers = [Answer.of(error, status=400), DONE, DONE]
    items = [user("What is in room 1?"), user("And in 2?")]
    request = request_of(*from_openai_chat(items))
    async with (
        openai.AsyncOpenAI(api_key=KEY, base_url=f"{vendor.url}/v1", max_retries=0) as client,
        opened(vendor, "openai-chat:devstral") as own,
    ):
        model: Any = open_model("devstral", client=client) if kind == "client" else own
        for _ in range(2):
            if kind == "stream":
                assert (await streamed(model, request)).response.messages[0].text == "so"
            else:
                assert (await model.respond(request)).messages[0].text == "so"

    merged = [user("What is in room 1?\n\nAnd in 2?")]
    assert [asked.body["messages"] for asked in vendor.asked] == [items, merged, merged]


async def test_a_refusal_in_an_open_stream_is_one(vendor: VendorServer) -> None:
    """So LM Studio and LocalAI answer; what refuses again is raised."""
    error = {"error": {"message": "Jinja Exception: conversation roles must alternate user and"}}
    refusal = Answer.stream([error, "[DONE]"])
    said = {"choices": [{"index": 0, "delta": {"content": "so"}, "finish_reason": "stop"}]}
    vendor.answers = [refusal, Answer.stream([said, "[DONE]"]), refusal]
    request = request_of(Message.user("x"), Message.user("y"))
    async with opened(vendor, "openai-chat:devstral") as model:
        assert (await streamed(model, request)).text == "so"
        with pytest.raises(ModelError, match="roles_must_alternate"):
            await streamed(model, request)

    assert [len(asked.body["messages"]) for asked in vendor.asked] == [2, 1, 1]


async def test_a_turn_that_failed_does_not_stop_a_conversation(vendor: VendorServer) -> None:
    """Its message is answered together with the next one; the thread keeps both."""
    refusal = Answer.of(REFUSALS[0], status=400)
    vendor.answers = [Answer.of({}, status=501), refusal, DONE]
    thread = await MemoryStore().thread("rooms")
    async with opened(vendor, "openai-chat:devstral") as model:
        agent = Agent(model, instructions="Be brief.")
        with pytest.raises(ModelError):
            await agent.run("What is in room 1?", thread=thread)
        result = await agent.run("And in 2?", thread=thread)

    assert result.text == "so"
    assert take_turns(vendor.asked[-1].body["messages"])
    assert [one.text for one in await thread.get_messages()][:2] == [
        "What is in room 1?",
        "And in 2?",
    ]


async def test_a_vendor_that_refuses_turns_too_is_asked_twice(vendor: VendorServer) -> None:
    """The error names what it refuses."""
    vendor.otherwise = Answer.of(REFUSALS[0], status=400)
    async with opened(vendor, "openai-chat:devstral") as model:
        with pytest.raises(ModelError, match="roles_must_alternate"):
            await model.respond(request_of(Message.user("x"), Message.user("y")))

    assert len(vendor.asked) == 2


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([user("a"), assistant("b"), user("c")], [user("a"), assistant("b"), user("c")]),
        (
            [{"role": "system", "content": "a"}, {"role": "system", "content": "b"}, user("c")],
            [{"role": "system", "content": "a\n\nb"}, user("c")],
        ),
        (
            [user("a"), user([{"type": "text", "text": "b"}])],
            [user([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])],
        ),
        ([user("a", name="Ann"), user("b", name="Ann")], [user("a\n\nb", name="Ann")]),
        ([user("a", name="Ann"), user("b", name="Bob")], [user("Ann:\n\na\n\nBob:\n\nb")]),
        (
            [user("a"), assistant("b"), assistant(None, tool_calls=[CALL]), RESULT, user("c")],
            [
                user("a"),
                assistant("b", tool_calls=[CALL]),
                RESULT,
                assistant("[empty message]"),
                user("c"),
            ],
        ),
    ],
    ids=["as they are", "rules", "blocks", "one name", "two names", "calls"],
)
def test_neighbors_of_one_speaker_are_merged(
    items: list[dict[str, Any]], expected: list[dict[str, Any]]
) -> None:
    """What somebody said stays whole, and whose it is; after a call without an answer there is a note."""
    given = [dict(one) for one in items]

    assert in_turns(items) == expected
    assert items == given
    assert take_turns(expected)


def test_the_assistant_does_not_speak_first() -> None:
    """A short note does."""
    made = in_turns([{"role": "system", "content": "a"}, assistant("b"), user("c")])

    assert [one["role"] for one in made] == ["system", "user", "assistant", "user"]


async def test_two_requests_that_are_refused_at_once_are_both_sent_again() -> None:
    """What the first refusal has taught does not make the second one final."""
    both, sent = asyncio.Barrier(2), list[bool]()

    async def create(**given: Any) -> Any:
        has_reasoning = any(one.get("type") == "reasoning" for one in given["input"])
        sent.append(has_reasoning)
        await both.wait()
        if has_reasoning:
            message = "status 400, invalid_encrypted_content"
            raise ModelError(message)
        said = [{"type": "output_text", "text": "so", "annotations": []}]
        return {"output": [{"type": "message", "role": "assistant", "id": "m", "content": said}]}

    client = SimpleNamespace(responses=SimpleNamespace(create=create))
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "s"}
    items = [user("x"), thought, {"type": "message", **assistant("so")}, user("?")]
    request = request_of(*from_openai_responses(items))
    model = open_model("gpt-5.2", client=client)
    answers = await asyncio.gather(model.respond(request), model.respond(request))

    assert [one.messages[0].text for one in answers] == ["so", "so"]
    assert sent == [True, True, False, False]
