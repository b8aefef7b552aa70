"""Lists of contents as people write them: dictionaries, calls without ids, answers as they come."""

import asyncio
from typing import Any

import pytest
from google.genai import types

from foldline import summarizer_from
from foldline.agent.reducer import HistoryReducer
from foldline.errors import ContextOverflowError, FormatError
from foldline.history.messages import Message
from foldline.integrations.google_genai import GeminiView
from foldline.providers.summarizer import FIRST_LINE, LAST_LINE
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig
from foldline.reduction.request import SummaryRequest
from tests.integrations.golden import make_reducer
from tests.integrations.players.google_genai import client_at
from tests.integrations.served import anything, gemini, open_desk


FOLD = AgentRunConfig(trigger_history_reduction=True)
TOOL = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(name="look", parameters_json_schema={"type": "object"})
    ]
)


def exchange(at: int) -> list[types.Content]:
    """Return a turn with two calls of one tool and no ids, as Gemini 2.5 gives them."""
    calls = [
        types.Part(
            function_call=types.FunctionCall(name="look", args={"room": at, "side": side}),
            thought_signature=None if side else f"signed {at}".encode(),
        )
        for side in range(2)
    ]
    results = [
        types.Part.from_function_response(name="look", response={"chairs": at + side})
        for side in range(2)
    ]
    return [
        types.UserContent(parts=f"What is in room {at}?"),
        types.ModelContent(parts=calls),
        types.UserContent(parts=results),
        types.ModelContent(parts=[types.Part(text=f"{at} chairs.")]),
    ]


def talk(count: int) -> list[Any]:
    """Return *count* turns and a question."""
    said = [one for at in range(count) for one in exchange(at)]
    return [*said, types.UserContent(parts="And now?")]


def plain(contents: list[Any], *, by_alias: bool) -> list[Any]:
    """Return *contents* as dictionaries."""
    return [one.model_dump(exclude_none=True, by_alias=by_alias) for one in contents]


def sent(view: list[Any]) -> list[Any]:
    """Return the contents that the SDK sends for *view*; an assertion fails if Gemini refuses them."""
    desk = open_desk(gemini)
    answer = {"content": {"role": "model", "parts": [{"text": "Yes."}]}}
    desk.answers = [{"candidates": [answer]}]
    client = client_at(desk)
    client.models.generate_content(model="gemini-2.5-flash", contents=view)
    return list(desk.asked[0]["contents"])


def is_in(one: object, many: list[Any]) -> bool:
    """Whether the very object *one* is in *many*."""
    return any(one is other for other in many)


def test_calls_without_ids_are_folded() -> None:
    """Parallel calls of one tool keep their results; what is not folded are the very objects."""
    said = talk(6)

    view = GeminiView(make_reducer()).reduce_sync(said).messages

    assert len(view) < len(said)
    assert [is_in(one, said) for one in view] == [False, False, *[True] * (len(view) - 2)]
    assert all(isinstance(one, types.Content) for one in view)
    (signed,) = {id(one) for one in view} & {id(one) for one in said[21:22]}
    assert signed == id(said[21])
    assert "unnamed-" not in f"{sent(view)}"


@pytest.mark.parametrize("by_alias", [True, False])
def test_dictionaries_stay_dictionaries(by_alias: bool) -> None:
    """In either spelling the view says the same as that of objects, and holds dictionaries alone."""
    said = talk(6)

    view = GeminiView(make_reducer()).reduce_sync(plain(said, by_alias=by_alias)).messages

    assert {type(one) for one in view} == {dict}
    assert sent(view) == sent(GeminiView(make_reducer()).reduce_sync(said).messages)


def test_a_list_of_both() -> None:
    """Who writes dictionaries and appends the answers as they come gets the very same back."""
    said = [one if one.role == "model" else plain([one], by_alias=False)[0] for one in talk(6)]

    view = GeminiView(make_reducer()).reduce_sync(said).messages

    assert all(is_in(one, said) for one in view[2:])
    assert [content["role"] for content in sent(view)][:2] == ["user", "model"]


@pytest.mark.parametrize("is_plain", [True, False])
def test_a_result_with_a_lone_surrogate(is_plain: bool) -> None:
    """A file's name that is no UTF-8 is sent with a mark in it; the list keeps it."""
    said = exchange(1)[:3]
    part = types.Part.from_function_response(name="look", response={"result": "a\udcff.txt"})
    said[2] = types.UserContent(parts=[part, *(said[2].parts or ())[1:]])
    given = plain(said, by_alias=False) if is_plain else said

    view = GeminiView(HistoryReducer()).reduce_sync(given).messages

    assert sent(view)[2]["parts"][0]["functionResponse"]["response"] == {"result": "a\ufffd.txt"}
    assert isinstance(view[2], dict) is is_plain
    assert is_in(view[1], given)
    assert part.function_response is not None
    assert part.function_response.response == {"result": "a\udcff.txt"}


def test_a_call_that_nothing_answers() -> None:
    """Of two calls without ids the one that has no result gets one that says so, by its name."""
    said = talk(1)
    said[1].parts[1].function_call.name = "listen"
    said[2] = types.Content(role="user", parts=said[2].parts[:1])

    view = GeminiView(make_reducer()).reduce_sync(said).messages

    results = [part["functionResponse"] for part in sent(view)[2]["parts"]]
    assert [one["name"] for one in results] == ["look", "listen"]
    assert [sorted(one) for one in results] == [["name", "response"]] * 2


def test_results_that_came_one_by_one() -> None:
    """Results in contents of their own go into one, and a blocked answer without parts is left out."""
    said = talk(1)
    said[2:3] = [types.Content(role="tool", parts=[part]) for part in said[2].parts]
    said += [types.Content(role="model"), types.UserContent(parts="Please.")]

    view = GeminiView(make_reducer()).reduce_sync(said).messages

    assert [len(one.parts) for one in view] == [1, 2, 2, 1, 1, 1]


def test_results_that_leave_out_the_ids_of_their_calls() -> None:
    """The SDK's `from_function_response` has no id, and Gemini 3 gives one: each is the very result."""
    said = talk(2)
    for at in (1, 5):
        for number, part in enumerate(said[at].parts):
            part.function_call.id = f"id{at}-{number}"

    view = GeminiView(make_reducer()).reduce_sync(said).messages

    assert all(one is other for one, other in zip(view, said, strict=True))


def test_a_call_under_another_id_keeps_its_signature() -> None:
    """A second call under one id gets an id of its own, and the signature of its part stays."""
    said = talk(2)
    for at in (1, 2, 5, 6):
        for number, part in enumerate(said[at].parts):
            (part.function_call or part.function_response).id = f"id{number}"
    for given in (said, plain(said, by_alias=True)):
        contents = sent(GeminiView(make_reducer()).reduce_sync(given).messages)

        calls = [
            part for content in contents for part in content["parts"] if "functionCall" in part
        ]
        assert [one["functionCall"]["id"] for one in calls] == ["id0", "id1", "id0_2", "id1_2"]
        assert ["thoughtSignature" in one for one in calls] == [True, False, True, False]


def test_a_result_under_another_id_keeps_its_picture() -> None:
    """A result that a view has to write again has what its tool returned beside the text."""
    said = talk(2)
    for at in (1, 2, 5, 6):
        for number, part in enumerate(said[at].parts):
            (part.function_call or part.function_response).id = f"id{number}"
    picture = types.FunctionResponseBlob(mime_type="image/png", data=b"\xfb\xff")
    said[6].parts[0].function_response.parts = [types.FunctionResponsePart(inline_data=picture)]

    contents = sent(GeminiView(make_reducer()).reduce_sync(said).messages)

    answer = contents[6]["parts"][0]["functionResponse"]
    assert answer["id"] == "id0_2"
    assert [next(iter(one.values()))["mime_type"] for one in answer["parts"]] == ["image/png"]


def test_what_the_sdk_has_beside_the_contents() -> None:
    """Its tools and the usage of its response are taken as they are."""
    said = talk(20)
    size = GeminiView(HistoryReducer(window=100_000)).reduce_sync(said).event.original_tokens
    counted = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=2 * size - 9, tool_use_prompt_token_count=9
    )
    response = types.GenerateContentResponse(usage_metadata=counted)

    kinds = [
        GeminiView(HistoryReducer(window=2 * size))
        .reduce_sync(said, tools=[TOOL], instructions="Be brief.", usage=usage)
        .verdict.kind
        for usage in (None, 2 * size, counted, response)
    ]

    assert kinds == ["skip", "fold", "fold", "fold"]


@pytest.mark.parametrize(
    ("item", "says"),
    [
        ("Hi", "it is a str: give types.Content, or a dictionary with role and a list of parts"),
        (None, "it is a NoneType"),
        ({"role": "user", "content": "Hi"}, "it is a dict: give types.Content"),
        ({"role": "user", "parts": "Hi"}, "it is a dict"),
        (types.GenerateContentResponse(), "it is a GenerateContentResponse: append response"),
    ],
)
def test_what_is_no_content(item: Any, says: str) -> None:
    """Its place is named, and what to give instead."""
    with pytest.raises(FormatError, match=rf"messages\[1\]: {says}"):
        GeminiView(make_reducer()).reduce_sync([*talk(0), item])


def test_a_reducer_names_the_view() -> None:
    """Contents that are given to a reducer itself are refused with what takes them."""
    said = talk(1)
    for given in (said, plain(said, by_alias=True)):
        with pytest.raises(FormatError, match=r"use foldline\.integrations\.google_genai"):
            HistoryReducer().reduce_sync(given)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_client_writes_summaries(is_async: bool) -> None:
    """A client is asked with its vendor's name, and what it counted is in the record of the fold."""
    desk = open_desk(gemini)
    text = f"{FIRST_LINE}\nThey looked into rooms.\n{LAST_LINE}"
    usage = {"promptTokenCount": 70, "candidatesTokenCount": 7, "thoughtsTokenCount": 2}
    parts = [{"text": "Hm.", "thought": True}, {"text": text}]
    answer = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    desk.answers = [{"candidates": [answer], "usageMetadata": usage}]
    client = client_at(desk)
    asked = client.aio if is_async else client
    summarizer = summarizer_from(asked, "gemini-2.5-flash", settings={"temperature": 0.5})
    view = GeminiView(HistoryReducer(HistoryReductionConfig(), summarizer=summarizer))

    reduced = view.reduce_sync(talk(6), overrides=FOLD)

    assert summarizer.name == "google:gemini-2.5-flash"
    assert desk.asked[0]["generationConfig"] == {"temperature": 0.5}
    usage: Any = reduced.event.summarizer_usage
    assert (usage.input_tokens, usage.output_tokens) == (70, 9)
    assert "They looked into rooms." in f"{sent(reduced.messages)[1]}"


def test_a_refusal_of_its_client() -> None:
    """What the SDK raises is an error of the model, with what it says of the window."""
    said = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    desk = open_desk(lambda _: iter([said]))
    summarizer = summarizer_from(client_at(desk), "gemini-2.5-flash")
    request = SummaryRequest(messages=(Message.user("Hi."),), prompt="Sum.", budget=9)

    with pytest.raises(ContextOverflowError) as caught:
        asyncio.run(summarizer.summarize(request))

    assert (caught.value.window, caught.value.tokens) == (1_048_576, 1_200_000)


def test_the_judge_refuses() -> None:
    """The server of these tests is none that takes everything."""
    said = talk(2)
    broken = [said[1:], said[:-1], [*said[:2], *said[3:]], [*said[:3], said[1], *said[4:]]]

    for contents in broken:
        faults = [*gemini({"contents": plain(contents, by_alias=True)})]
        assert faults != []
    assert [*gemini({"contents": plain(said, by_alias=True)})] == []
    assert [*anything({})] == []
