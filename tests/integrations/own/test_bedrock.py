"""Lists of Converse as people write them: marks of caches, results without a status, blank texts."""

import asyncio
from typing import Any

import pytest

from foldline import summarizer_from
from foldline.agent.reducer import HistoryReducer
from foldline.errors import ContextOverflowError, FormatError
from foldline.history.messages import Message
from foldline.integrations.bedrock import ConverseView
from foldline.providers.summarizer import FIRST_LINE, LAST_LINE
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig
from foldline.reduction.request import SummaryRequest
from tests.integrations.golden import make_reducer
from tests.integrations.players.bedrock import TOOL, client_at
from tests.integrations.served import converse, open_desk


FOLD = AgentRunConfig(trigger_history_reduction=True)
MARK = {"cachePoint": {"type": "default"}}
TOOLS = {"tools": [TOOL, MARK]}
USAGE = {
    "inputTokens": 60,
    "outputTokens": 9,
    "totalTokens": 79,
    "cacheReadInputTokens": 8,
    "cacheWriteInputTokens": 2,
}


def exchange(at: int) -> list[Any]:
    """Return a turn with two calls, thinking that is signed, and a mark after the results."""
    thought = {"reasoningText": {"text": f"Room {at}.", "signature": f"signed {at}"}}
    ids = [f"tooluse_{at}_{side}" for side in range(2)]
    calls = [{"toolUse": {"toolUseId": id, "name": "look", "input": {}}} for id in ids]
    results = [
        {"toolResult": {"toolUseId": id, "content": [{"json": {"chairs": at}}]}} for id in ids
    ]
    marks = [MARK] if at % 3 == 0 else []
    return [
        {"role": "user", "content": [{"text": f"What is in room {at}?"}]},
        {"role": "assistant", "content": [{"reasoningContent": thought}, *calls]},
        {"role": "user", "content": [*results, *marks]},
        {"role": "assistant", "content": [{"text": f"{at} chairs."}]},
    ]


def talk(count: int) -> list[Any]:
    """Return *count* turns and a question."""
    said = [one for at in range(count) for one in exchange(at)]
    return [*said, {"role": "user", "content": [{"text": "And now?"}, MARK]}]


def bare(messages: list[Any], kind: str) -> list[Any]:
    """Return *messages* without blocks of that *kind*."""
    return [
        {**one, "content": [block for block in one["content"] if kind not in block]}
        for one in messages
    ]


def answer(text: str, **beside: Any) -> dict[str, Any]:
    """Return a response of Bedrock."""
    said = {"output": {"message": {"role": "assistant", "content": [{"text": text}]}}}
    return {**said, "stopReason": "end_turn", "usage": USAGE, **beside}


def sent(view: list[Any]) -> list[Any]:
    """Return what boto3 sends for *view*; an error is raised if Bedrock or boto3 refuse it."""
    desk = open_desk(converse)
    desk.answers = [answer("Yes.")]
    client_at(desk).converse(modelId="amazon.nova-pro-v1:0", messages=view, toolConfig=TOOLS)
    return list(desk.asked[0]["messages"])


def test_a_fold_keeps_the_very_messages() -> None:
    """Behind the note and the summary everything is as it was, with its marks."""
    said = bare(talk(6), "reasoningContent")

    view = ConverseView(make_reducer()).reduce_sync(said).messages

    assert len(view) < len(said)
    assert list(map(id, view[2:])) == list(map(id, said[-len(view[2:]) :]))
    assert sent(view)[-1] == said[-1]


def test_thinking_stays_where_it_is_valid() -> None:
    """What was thought before a fold is bound to another beginning and goes; what comes after stays."""
    view, said = ConverseView(make_reducer()), talk(6)
    view.reduce_sync(said)
    said += exchange(6)[1:3]

    shown = view.reduce_sync(said).messages

    thoughts = [
        block for one in sent(shown) for block in one["content"] if "reasoningContent" in block
    ]
    assert thoughts == [said[-2]["content"][0]]
    assert shown[-2] is said[-2]


def test_a_mark_is_no_message() -> None:
    """A mark after results opens no turn: as many turns are kept as without it."""
    config = HistoryReductionConfig(counting_unit="exchanges", target_count=2)
    said = bare(talk(7), "reasoningContent")

    marked, plain = (
        ConverseView(HistoryReducer(config)).reduce_sync(one, overrides=FOLD).messages
        for one in (said, bare(said, "cachePoint"))
    )

    assert bare(marked, "cachePoint") == plain
    assert marked[-5:] == said[-5:]


def test_a_result_of_its_own_has_no_status() -> None:
    """A call that nothing answers gets a result without a status, which some models refuse."""
    said = talk(1)
    del said[2]["content"][1]

    view = ConverseView(make_reducer()).reduce_sync(said).messages

    content = sent(view)[2]["content"]
    results = [block["toolResult"] for block in content if "toolResult" in block]
    assert [sorted(one) for one in results] == [["content", "toolUseId"]] * 2


@pytest.mark.parametrize("status", [{}, {"status": "error"}])
def test_a_shortened_result_keeps_its_status(status: dict[str, str]) -> None:
    """A result that does not fit is shortened, and has the status that it had, or none."""
    said = talk(1)
    held = said[2]["content"][0]["toolResult"]
    held.update(status, content=[{"text": "chair " * 4000}])

    view = ConverseView(HistoryReducer(window=4000)).reduce_sync(said).messages

    (result,) = [
        block["toolResult"]
        for one in sent(view)
        for block in one["content"]
        if block.get("toolResult", {}).get("toolUseId") == held["toolUseId"]
    ]
    assert len(result["content"][0]["text"]) < 12_000
    assert result.get("status") == status.get("status")


def test_a_result_with_a_lone_surrogate() -> None:
    """A file's name that is no UTF-8 is sent with a mark in it; the list keeps it."""
    said = exchange(1)[:3]
    result = said[2]["content"][0]["toolResult"]
    result["content"] = [{"text": "a\udcff.txt"}]

    view = ConverseView(HistoryReducer()).reduce_sync(said).messages

    assert sent(view)[2]["content"][0]["toolResult"]["content"] == [{"text": "a\ufffd.txt"}]
    assert view[1] is said[1]
    assert result["content"] == [{"text": "a\udcff.txt"}]


def test_nothing_is_blank() -> None:
    """An empty answer and a blank text are left out, and the turns beside them are one."""
    said = talk(0)
    said = [
        {"role": "user", "content": [{"text": "Hi."}, {"text": " "}]},
        {"role": "assistant", "content": []},
        *said,
    ]

    view = ConverseView(make_reducer()).reduce_sync(said).messages

    assert sent(view) == [
        {"role": "user", "content": [{"text": "Hi."}, {"text": "And now?"}, MARK]}
    ]


def test_what_bedrock_runs_itself_stays() -> None:
    """A call of the vendor's own tool with its result beside it is no call that anybody answers."""
    held = {"toolUseId": "t", "type": "server_tool_use"}
    own = [
        {"toolUse": {**held, "name": "nova_grounding", "input": {}}},
        {"toolResult": {**held, "content": [{"text": "It rains."}]}},
        {"text": "It rains."},
    ]
    said = [*exchange(0), *talk(0)]
    said[3] = {"role": "assistant", "content": own}

    view = ConverseView(make_reducer()).reduce_sync(said).messages

    assert view[3] is said[3]


def test_a_bedrock_request_beside_the_messages() -> None:
    """Its system blocks, tools and usage are taken as they are, marks included."""
    said, system = talk(20), [{"text": "Be brief."}, MARK]
    size = ConverseView(HistoryReducer(window=100_000)).reduce_sync(said).event.original_tokens
    counted = {"inputTokens": 9, "cacheReadInputTokens": 2 * size, "totalTokens": 2 * size + 9}

    kinds = [
        ConverseView(HistoryReducer(window=2 * size))
        .reduce_sync(said, tools=TOOLS["tools"], instructions=system, usage=usage)
        .verdict.kind
        for usage in (None, 2 * size, counted, answer("", usage=counted))
    ]

    assert kinds == ["skip", "fold", "fold", "fold"]


@pytest.mark.parametrize(
    ("item", "says"),
    [
        (answer("Yes."), r'it is a response: append response\["output"\]\["message"\]'),
        ({"role": "user", "content": "Hi"}, "it is a dict: give a dictionary with role and"),
        ({"content": [{"text": "Hi"}]}, "it is a dict"),
        ("Hi", "it is a str"),
    ],
)
def test_what_is_no_message(item: Any, says: str) -> None:
    """Its place is named, and what to give instead."""
    with pytest.raises(FormatError, match=rf"messages\[1\]: {says}"):
        ConverseView(make_reducer()).reduce_sync([*talk(0), item])


def test_a_reducer_names_the_view() -> None:
    """Messages that are given to a reducer itself are refused with what takes them."""
    with pytest.raises(FormatError, match=r"use foldline\.integrations\.bedrock\.ConverseView"):
        HistoryReducer().reduce_sync(talk(1))


def test_a_client_writes_summaries() -> None:
    """A client is asked with its vendor's name, and what it counted is in the record of the fold."""
    desk = open_desk(converse)
    desk.answers = [answer(f"{FIRST_LINE}\nThey looked into rooms.\n{LAST_LINE}")]
    given = {"inferenceConfig": {"temperature": 0.5}}
    summarizer = summarizer_from(client_at(desk), "amazon.nova-lite-v1:0", settings=given)
    view = ConverseView(HistoryReducer(summarizer=summarizer))

    reduced = view.reduce_sync(talk(6), overrides=FOLD)

    assert summarizer.name == "bedrock:amazon.nova-lite-v1:0"
    assert desk.asked[0]["inferenceConfig"] == {"temperature": 0.5}
    usage: Any = reduced.event.summarizer_usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (70, 9, 8)
    assert "They looked into rooms." in f"{sent(reduced.messages)[1]}"


def test_a_refusal_of_its_client() -> None:
    """What the SDK raises is an error of the model, which says that the request was too long."""
    desk = open_desk(lambda _: iter(["Input is too long for requested model."]))
    summarizer = summarizer_from(client_at(desk), "amazon.nova-lite-v1:0")
    request = SummaryRequest(messages=(Message.user("Hi."),), prompt="Sum.", budget=9)

    with pytest.raises(ContextOverflowError):
        asyncio.run(summarizer.summarize(request))


def test_the_judge_refuses() -> None:
    """The server of these tests is none that takes everything."""
    said, tools = talk(2), {"toolConfig": TOOLS}
    marked = [{**one, "content": [*one["content"], MARK]} for one in said]
    broken = [said[1:], said[:-1], [*said[:2], *said[3:]], [said[0], said[0]], marked]

    for messages in broken:
        assert [*converse({"messages": messages, **tools})] != []
    assert [*converse({"messages": said})] != []
    assert [*converse({"messages": said, **tools})] == []
