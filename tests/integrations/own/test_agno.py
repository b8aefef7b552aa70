"""What is agno's own: streams, refusals, what a vendor holds, and media."""

import asyncio
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.exceptions import ModelProviderError
from agno.media import Audio, File, Image
from agno.metrics import MessageMetrics
from agno.models.message import Message as Said
from agno.models.response import ModelResponse
from agno.utils.message import normalize_tool_messages

from foldline.agent.reducer import HistoryReducer
from foldline.errors import ConfigError
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import BlobPart, GenericPart, TextPart, ToolCallResponsePart, UriPart
from foldline.integrations.agno import folding_model
from foldline.integrations.agno_messages import AgnoCodec
from foldline.testing.summarizer import ScriptedSummarizer
from tests.integrations.counted import ANSWER, RULES, Heard, Room, peek
from tests.integrations.golden import SUMMARY, make_reducer
from tests.integrations.players.agno import Scripted


def talk(size: int, key: str = "response_id") -> list[Said]:
    """Return *size* messages of a user and a model that answers under ids of its vendor."""
    said: list[Said] = []
    for at in range(size):
        held = {key: f"resp_{at}"} if at % 2 else None
        role = "assistant" if at % 2 else "user"
        said.append(Said(role=role, content=f"Room {at} has {at} chairs.", provider_data=held))
    return [*said, Said(role="user", content="And the last?")]


def asked(model: Scripted) -> str:
    """Return all that *model* was asked last."""
    return "\n".join(str(one.content) for one in model.asked[-1])


def scripted(count: int) -> Scripted:
    """Return a model with *count* answers."""
    model = Scripted()
    model.answers = [Message.assistant("It has two chairs.")] * count
    return model


def kept(response: Any) -> list[str]:
    """Return under which names *response* keeps something for the next request."""
    return sorted(response.provider_data or {})


def test_each_way_to_ask_shows_the_view_and_keeps_the_reduction() -> None:
    """A stream and its awaited twin do as a plain call does; the last piece has the reduction."""
    model, said = scripted(4), talk(20)
    folding = folding_model(model, make_reducer())

    async def streamed() -> list[ModelResponse]:
        return [one async for one in folding.ainvoke_stream(messages=said)]

    answers = [
        folding.invoke(messages=said),
        asyncio.run(folding.ainvoke(messages=said)),
        [*folding.invoke_stream(messages=said)][-1],
        asyncio.run(streamed())[-1],
    ]

    assert [kept(one) for one in answers] == [["foldline_reduction"]] * 4
    views = {"\n".join(str(one.content) for one in view) for view in model.asked}
    assert len(views) == 1
    assert SUMMARY in views.pop()
    assert len(said) == 21


def test_a_streamed_run_stores_the_reduction() -> None:
    """The next run of another process continues from it: no summarizer is asked again."""
    model = scripted(30)
    agent = Agent(
        model=folding_model(model, make_reducer()),
        db=InMemoryDb(),
        session_id="house",
        telemetry=False,
    )
    said = talk(20)
    list(agent.run(said, stream=True))
    answer = agent.get_session_messages("house")[-1]
    assert kept(answer) == ["foldline_reduction"]

    unasked = ScriptedSummarizer(repeat="Another.")
    later = folding_model(model, make_reducer(unasked))
    later.invoke(messages=[*said, answer, Said(role="user", content="And now?")])
    assert SUMMARY in asked(model)
    assert not unasked.requests


@pytest.mark.parametrize("key", ["response_id", "interaction_id"])
def test_a_vendor_that_holds_the_conversation_is_sent_the_view_whole(key: str) -> None:
    """A folded view has no ids of answers from which a vendor would go on; one that is whole has."""
    model = scripted(2)
    folding = folding_model(model, make_reducer())

    folding.invoke(messages=talk(4, key))
    assert sum(key in (one.provider_data or {}) for one in model.asked[-1]) == 2

    folding.invoke(messages=talk(20, key))
    assert not any(key in (one.provider_data or {}) for one in model.asked[-1])


@pytest.mark.parametrize(
    ("kind", "is_folded"), [("Claude", True), ("AwsBedrock", True), ("OpenAIChat", False)]
)
def test_tokens_read_from_a_cache_are_counted(kind: str, is_folded: bool) -> None:
    """They fill the window too; only some vendors report them beside the others."""
    model = type(kind, (Scripted,), {})()
    model.answers = [Message.assistant("It has two chairs.")]
    said = talk(20)
    said[-2].metrics = MessageMetrics(input_tokens=9, cache_read_tokens=900, cache_write_tokens=91)

    folding_model(model, HistoryReducer(window=1_000)).invoke(messages=said)

    assert (len(model.asked[-1]) < len(said)) is is_folded


class Refusing(Scripted):
    """Refuses the first requests, in words of a vendor."""

    def __init__(self, words: str, times: int) -> None:
        super().__init__()
        self.words, self.times = words, times
        self.answers = [Message.assistant("It has two chairs.")]

    def invoke(self, messages: list[Said], **asked: Any) -> ModelResponse:
        if self.times:
            self.times -= 1
            raise ModelProviderError(self.words, status_code=400)
        return super().invoke(messages, **asked)


@pytest.mark.parametrize(
    ("words", "times", "is_answered"),
    [
        ("prompt is too long", 1, True),
        ("prompt is too long", 2, True),
        ("prompt is too long", 9, False),
        ("Input is too long for requested model.", 1, True),
        ("the request exceeds the available context size", 1, True),
        ("bad request", 1, False),
    ],
)
@pytest.mark.parametrize("way", ["invoke", "ainvoke", "invoke_stream", "ainvoke_stream"])
def test_a_request_refused_as_too_long_is_folded_and_sent_again(
    way: str, words: str, times: int, is_answered: bool
) -> None:
    """Any other refusal is the caller's, and so is that of what a fold makes no smaller."""
    model = Refusing(words, times)
    folding = folding_model(model, make_reducer())

    async def awaited(asking: Any) -> Any:
        if hasattr(asking, "__aiter__"):
            return [one async for one in asking]
        return await asking

    def ask() -> Any:
        asking = getattr(folding, way)(messages=talk(12))
        if way.startswith("a"):
            return asyncio.run(awaited(asking))
        return asking if way == "invoke" else [*asking]

    if not is_answered:
        with pytest.raises(ModelProviderError, match=words):
            ask()
        return
    assert ask()
    assert SUMMARY in asked(model)


def test_a_loop_of_tools_that_is_refused_is_folded() -> None:
    """It has one question, which no count would cut."""
    said = [Said(role="user", content="Count the chairs of each room.")]
    for at in range(6):
        function = {"name": "look", "arguments": f'{{"room": {at}}}'}
        calls = [{"id": f"call-{at}", "type": "function", "function": function}]
        answer = f"Room {at} has {at + 2} chairs and a table. " * 40
        said += [
            Said(role="assistant", tool_calls=calls),
            Said(role="tool", content=answer, tool_call_id=f"call-{at}"),
        ]
    model = Refusing("prompt is too long", 1)

    folding_model(model, HistoryReducer()).invoke(messages=said)

    assert len(model.asked[-1]) < 9
    assert len(said) == 13


class Breaking(Scripted):
    """Breaks off its answer, in words of a vendor."""

    def invoke_stream(self, messages: list[Said], **_: Any) -> Iterator[ModelResponse]:
        self.asked.append(messages)
        yield ModelResponse(content="It has")
        words = "prompt is too long"
        raise ModelProviderError(words, 400)


def test_an_answer_that_has_begun_is_not_asked_for_again() -> None:
    """What was streamed would be there twice."""
    model = Breaking()
    with pytest.raises(ModelProviderError):
        list(folding_model(model, make_reducer()).invoke_stream(messages=talk(12)))

    assert len(model.asked) == 1


def test_a_copy_of_the_model_shares_what_was_read_and_keeps_its_class() -> None:
    """A copy works as well; the model that was given is as it was, and may be given again."""
    model = scripted(1)
    folding = folding_model(folding_model(model, make_reducer()), make_reducer())

    copied = deepcopy(vars(folding)["_foldline"])

    assert isinstance(folding, Scripted)
    assert folding.to_dict() == model.to_dict()
    assert copied is vars(folding)["_foldline"]
    assert "_foldline" not in vars(model)


def test_a_name_of_a_model_is_no_model() -> None:
    """Where agno takes `openai:gpt-5` too, the error says what is needed."""
    name: Any = "openai:gpt-5"
    with pytest.raises(ConfigError, match="model must be a Model, got str"):
        folding_model(name, make_reducer())


def test_media_and_results_are_read_and_written() -> None:
    """A picture of a result stays when its text is shortened; files without bytes are addresses."""
    picture = Image(content=b"png", mime_type="image/png")
    result = Said(role="tool", tool_call_id="c1", tool_name="look", content="x", images=[picture])
    shown = Said(
        role="user",
        content=[{"type": "text", "text": "See"}, {"type": "other", "at": 1}],
        images=[Image(url="https://example.com/a.png")],
        files=[File(filepath="a.pdf", mime_type="application/pdf")],
    )
    codec = AgnoCodec()
    (read,) = codec.read(result)
    (seen,) = codec.read(shown)

    assert read.name == "look"
    answer = read.parts[0]
    assert isinstance(answer, ToolCallResponsePart)
    assert [type(one) for one in answer.response] == [TextPart, BlobPart]
    assert [type(one) for one in seen.parts] == [TextPart, GenericPart, UriPart, UriPart]
    for id in ("c1", "c2"):
        shorter = Message.tool(id, [TextPart("y"), answer.response[1]], name="look")
        written = codec.write(shorter, result)
        assert (written.content, written.tool_call_id, written.tool_name) == ("y", id, "look")
        assert [one.content for one in written.images or ()] == [b"png"]
    assert codec.write(seen, shown).content == shown.content


def test_the_text_of_a_file_counts_and_is_the_same_from_a_store() -> None:
    """A store gives it back as bytes."""
    codec = AgnoCodec()
    given, stored = (
        codec.read(Said(role="user", files=[File(content=text, mime_type="text/plain")]))
        for text in ("Room 7 has two chairs. " * 99, b"Room 7 has two chairs. " * 99)
    )
    assert given == stored
    assert History(given).tokens() > 400


def test_an_answer_that_was_only_spoken_is_read() -> None:
    """A stream of a model that speaks leaves the text in the sound alone."""
    codec = AgnoCodec()
    sound = Audio(id="a1", content=b"wav", transcript="The code is K77.")
    answer = Said(role="assistant", content="", audio_output=sound)
    (read,) = codec.read(answer)
    assert read.parts == (TextPart("The code is K77."),)

    other = sound.model_copy(update={"transcript": "The code is K78."})
    corrected = answer.model_copy(update={"audio_output": other})
    assert codec.known_by(corrected) != codec.known_by(answer)


def test_thinking_goes_back_as_it_was_signed() -> None:
    """Of a changed answer the signed blocks stay whole; its vendor's other items go."""
    blocks = [
        {"type": "thinking", "thinking": "One.", "signature": "s1"},
        {"type": "redacted_thinking", "data": "d"},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"room": 1}},
    ]
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"room":1}'}}
    said = Said(
        role="assistant",
        content="",
        reasoning_content="One.",
        tool_calls=[{**call, "call_id": "call_1"}],
        provider_data={"content_blocks": blocks, "server_tool_blocks": [], "container": "c"},
    )
    codec = AgnoCodec()
    (read,) = codec.read(said)
    assert read.native is not None
    assert "s1" in str(read.native.item)

    renamed = codec.write(read, said.model_copy(update={"tool_calls": [{**call, "id": "c0"}]}))
    held = renamed.provider_data or {}
    assert held == {"container": "c", "content_blocks": [*blocks[:2], *blocks[2:]]}
    assert renamed.tool_calls == [call]

    bare = codec.write(Message.assistant("Done."), said)
    assert bare.provider_data == {"container": "c"}
    assert (bare.reasoning_content, bare.redacted_reasoning_content) == (None, None)


def test_results_of_old_sessions_with_gemini_are_read_one_by_one() -> None:
    """There a message holds all results of an answer; none of them is taken for one without a call."""
    calls = [
        {"id": f"c{at}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for at in range(2)
    ]
    results = [{"tool_call_id": f"c{at}", "tool_name": "look", "content": "x"} for at in range(2)]
    said = [
        Said(role="user", content="Look."),
        Said(role="model", tool_calls=calls),
        Said(role="tool", content=["x", "y"], tool_calls=results),
        Said(role="user", content="And?"),
    ]
    model = scripted(1)
    folding_model(model, make_reducer()).invoke(messages=said)

    assert [one.role for one in model.asked[-1]] == ["user", "model", "tool", "tool", "user"]
    assert len(normalize_tool_messages(said)) == 5


@pytest.mark.parametrize("way", ["run", "arun"])
def test_all_that_a_request_has_beside_its_messages_is_counted(way: str) -> None:
    """The form of an answer, which a vendor gets as a schema, as well as the tools."""
    heard, model = Heard(), Scripted()
    model.answers = [Message.assistant(ANSWER)]
    model.supports_native_structured_outputs = True
    agent = Agent(
        model=folding_model(model, HistoryReducer(counter=heard)),
        instructions=RULES,
        tools=[peek],
        output_schema=Room,
        telemetry=False,
    )

    asking: Any = getattr(agent, way)("Hi")
    if way == "arun":
        asyncio.run(asking)

    assert heard.parts == ["INSTRUCTED", "TOOLED", "FORMED"]


@pytest.mark.parametrize(("runs", "count"), [(None, 1), (100_000, 0)])
def test_runs_that_agno_leaves_out_are_warned_of_once(
    runs: int | None, count: int, caplog: pytest.LogCaptureFixture
) -> None:
    """It sends the newest three by default: what is older would be forgotten without a word."""
    agent = Agent(
        model=folding_model(scripted(8), HistoryReducer()),
        db=InMemoryDb(),
        session_id="the house / 1",
        add_history_to_context=True,
        num_history_runs=runs,
        telemetry=False,
    )

    for room in range(8):
        agent.run(f"What is in room {room}?")

    assert caplog.text.count("num_history_runs") == count
