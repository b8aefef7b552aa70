"""What the vendors' SDKs return, in the lists that their own guides build."""

import copy
import json
from collections.abc import Callable
from types import MappingProxyType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import anthropic.types as claude
import pytest
from openai.types import chat, responses
from pydantic import BaseModel

from foldline.agent.reducer import HistoryReducer
from foldline.errors import FormatError
from foldline.formats import from_anthropic, from_openai_chat, from_openai_responses
from foldline.history.digest import prefix_digest
from foldline.history.messages import Message, NativeFormat
from foldline.reduction.config import HistoryReductionConfig
from foldline.testing.grammars.anthropic import check_anthropic
from foldline.testing.grammars.openai_chat import check_openai_chat
from foldline.testing.grammars.openai_responses import check_openai_responses


WORDS = "and so it was said of the harbor, the ships and the weather of the day " * 3
CONFIG = HistoryReductionConfig(counting_unit="messages", target_count=6, summarization_threshold=6)


def chat_turn(n: int) -> list[Any]:
    """Make a turn as OpenAI's guide to function calling has it."""
    call = {"id": f"c{n}", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    asked = chat.ChatCompletionMessage.model_validate(
        {"role": "assistant", "content": None, "tool_calls": [call], "refusal": None}
    )
    answer = chat.ChatCompletionMessage(role="assistant", content=f"It is {n}. {WORDS}")
    return [
        {"role": "user", "content": f"Where is AB{n}? {WORDS}"},
        asked,
        {"role": "tool", "tool_call_id": f"c{n}", "content": f"harbor {n}"},
        answer,
    ]


def calls_in_a_dictionary(n: int) -> list[Any]:
    """Make a turn whose calls are the SDK's and whose message is a dictionary."""
    user, asked, *rest = chat_turn(n)
    return [user, {"role": "assistant", "content": None, "tool_calls": asked.tool_calls}, *rest]


def responses_turn(n: int) -> list[Any]:
    """Make a turn of the Responses API: `items += response.output`."""
    text = responses.ResponseOutputText(annotations=[], text=f"{n} {WORDS}", type="output_text")
    return [
        {"role": "user", "content": f"Where is AB{n}? {WORDS}"},
        responses.ResponseFunctionToolCall(
            id=f"fc_{n}", call_id=f"c{n}", name="find", arguments="{}", type="function_call"
        ),
        {"type": "function_call_output", "call_id": f"c{n}", "output": f"harbor {n}"},
        responses.ResponseOutputMessage(
            id=f"msg_{n}", content=[text], role="assistant", status="completed", type="message"
        ),
    ]


def anthropic_turn(n: int) -> list[Any]:
    """Make a turn of Anthropic's: `{"role": "assistant", "content": response.content}`."""
    calls = [
        claude.ToolUseBlock(id=f"t{n}_{which}", name="find", input={"n": n}, type="tool_use")
        for which in range(2)
    ]
    results = [
        {"type": "tool_result", "tool_use_id": one.id, "content": f"harbor {n}"} for one in calls
    ]
    said = claude.TextBlock(type="text", text=f"I look. {WORDS}")
    return [
        {"role": "user", "content": f"Where is AB{n}? {WORDS}"},
        {"role": "assistant", "content": [said, *calls]},
        {"role": "user", "content": results},
        {"role": "assistant", "content": [claude.TextBlock(type="text", text=f"It is {n}.")]},
    ]


TURNS = [chat_turn, calls_in_a_dictionary, responses_turn, anthropic_turn]
READERS: dict[Any, Callable[[list[Any]], tuple[Message, ...]]] = {
    chat_turn: from_openai_chat,
    calls_in_a_dictionary: from_openai_chat,
    responses_turn: from_openai_responses,
    anthropic_turn: from_anthropic,
}
CHECKS: dict[Any, Callable[[list[dict[str, Any]]], object]] = {
    chat_turn: check_openai_chat,
    calls_in_a_dictionary: check_openai_chat,
    responses_turn: check_openai_responses,
    anthropic_turn: lambda items: check_anthropic("", items),
}


def sent(value: Any) -> Any:
    """Return *value* as the SDKs write a request."""
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_unset=True, mode="json")
    if isinstance(value, dict):
        return {key: sent(inner) for key, inner in value.items()}
    return [sent(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("turn", TURNS)
def test_what_stays_is_the_very_object(turn: Callable[[int], list[Any]]) -> None:
    """Objects and dictionaries are mixed; the view has those that were given, and is valid."""
    reducer, items = HistoryReducer(CONFIG), list[Any]()
    folds = 0
    for n in range(12):
        items += turn(n)
        before = copy.copy(items)
        reduced = reducer.reduce_sync(items)
        folds += reduced.event.status == "performed"
        own = {id(one) for one in items}
        # After a fold the model's items of the Responses API go without an id, as text that it has
        # not seen the reasoning of.
        is_changed = turn is responses_turn and reduced.event.status != "skipped"
        tail = reduced.messages[-4 :: 2 if is_changed else 1]

        assert all(id(one) in own for one in tail)
        assert all(one is given for one, given in zip(items, before, strict=True))
        CHECKS[turn](sent(reduced.messages))

    assert folds > 2


@pytest.mark.parametrize("turn", TURNS)
def test_objects_read_as_the_dictionaries_that_are_sent(turn: Callable[[int], list[Any]]) -> None:
    """A history of objects has the digest, the cut and the view of the same history as JSON."""
    items = [one for n in range(12) for one in turn(n)]
    of_objects = HistoryReducer(CONFIG).reduce_sync(items)
    of_json = HistoryReducer(CONFIG).reduce_sync(sent(items))
    assert of_objects.state is not None
    assert of_json.state is not None

    assert of_objects.state.message_hash == of_json.state.message_hash
    assert sent(of_objects.messages) == of_json.messages
    assert READERS[turn](items) == READERS[turn](sent(items))


@pytest.mark.parametrize("turn", TURNS)
def test_an_object_that_changes_in_place_is_noticed(turn: Callable[[int], list[Any]]) -> None:
    """A field of an object of the SDK that is set later makes the reduction over it stale."""
    reducer, items = HistoryReducer(CONFIG), [one for n in range(12) for one in turn(n)]
    state = reducer.reduce_sync(items).state
    again = reducer.reduce_sync(items, state=state)
    touched = items[1]
    if isinstance(touched, dict):
        inner = touched.get("tool_calls") or touched["content"]
        inner[-1].id = "another"
    elif isinstance(touched, chat.ChatCompletionMessage):
        assert touched.tool_calls
        touched.tool_calls[0].id = "another"
    else:
        touched.call_id = "another"
    edited = reducer.reduce_sync(items, state=state)

    assert again.event.earlier == "used"
    assert edited.event.earlier == "other_messages"


def test_items_of_a_typed_list_come_back_with_what_the_sdk_hides_left_out() -> None:
    """What `__api_exclude__` names, such as a parsed answer, is not read as a part of the message."""

    class Parsed(chat.ChatCompletionMessage):
        __api_exclude__ = {"parsed"}  # noqa: RUF012 - as the SDK has it
        parsed: Any = None

    message = Parsed(role="assistant", content="{}", parsed={"secret": 1})

    assert from_openai_chat([message]) == from_openai_chat([{"content": "{}", "role": "assistant"}])


class FrameworkMessage(BaseModel):
    """Stands for a message of a framework, which dumps itself in a form of its own."""

    content: str
    type: str = "human"


FrameworkMessage.__module__ = "langchain_core.messages.human"


def test_a_message_of_a_framework_names_its_integration() -> None:
    """It is refused with the place and where to go."""
    items = [{"role": "user", "content": "Hi."}, FrameworkMessage(content="Hi.")]

    with pytest.raises(FormatError) as refused:
        HistoryReducer(CONFIG).reduce_sync(items)
    assert str(refused.value) == (
        "messages[1]: it is a FrameworkMessage: use foldline.integrations.langchain"
    )


@pytest.mark.parametrize("value", [{1, 2}, object(), b"bytes"])
def test_what_is_no_json_is_refused_by_its_place(value: object) -> None:
    """Values that no request can hold give one line of foldline's."""
    items = [{"role": "user", "content": "Hi."}, {"role": "user", "content": value}]

    with pytest.raises(FormatError, match="message 1: content is neither a string nor a list"):
        HistoryReducer(CONFIG).reduce_sync(items, format=NativeFormat.OPENAI_CHAT)


def test_a_message_that_holds_itself_is_refused() -> None:
    """An endless value ends in one line."""
    endless: dict[str, Any] = {"role": "user"}
    endless["content"] = [endless]

    with pytest.raises(FormatError, match=r"messages\[0\] is nested too deeply"):
        HistoryReducer(CONFIG).reduce_sync([endless])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (claude.TextBlock(type="text", text="Hi."), "it is a TextBlock: append {"),
        (
            claude.Message.model_construct(
                role="assistant", content=[], stop_reason="end_turn", type="message"
            ),
            '"content": response.content}',
        ),
        (chat.ChatCompletion.model_construct(choices=[]), "append response.choices[0].message"),
        (
            responses.Response.model_construct(object="response"),
            "extend the list by response.output",
        ),
        (
            chat.ChatCompletionMessage.model_construct(content="Hi.", _fields_set={"content"}),
            "pass a dictionary with its role and content",
        ),
    ],
)
def test_what_is_around_a_message_or_in_it_is_named(wrong: object, says: str) -> None:
    """Who appends a whole answer, or a block of one, learns what to append."""
    with pytest.raises(FormatError) as refused:
        HistoryReducer(CONFIG).reduce_sync([{"role": "user", "content": "Hi."}, wrong])

    assert str(refused.value).startswith("messages[1]: it is a ")
    assert says in str(refused.value)


def test_any_mapping_is_a_dictionary() -> None:
    """A read-only mapping is a message like a dictionary, and comes back as itself."""
    item: Any = MappingProxyType({"role": "user", "content": "Hi."})
    reduced = HistoryReducer(CONFIG).reduce_sync([item])

    assert reduced.messages == [{"role": "user", "content": "Hi."}]


def test_an_object_with_what_is_no_json_is_refused_by_its_place() -> None:
    """What an SDK's own object cannot write gives one line of foldline's."""
    message = chat.ChatCompletionMessage.model_construct(role="assistant", content=object())

    with pytest.raises(
        FormatError, match=r"messages\[0\]: a ChatCompletionMessage holds what is no"
    ):
        HistoryReducer(CONFIG).reduce_sync([message])


def _sample(kind: Any) -> Any:
    """Return the least JSON of what an SDK annotates with *kind*."""
    first = next(iter(get_args(kind)), None)
    if get_origin(kind) is Literal:
        return first
    if get_origin(kind) in (Annotated, Union):
        return _sample(first)
    if get_origin(kind) is list:
        return [_sample(first)]
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        fields = kind.model_fields.items()
        return {
            key: _sample(one.annotation) for key, one in fields if one.is_required() or key in _IDS
        }
    return {str: "x", int: 1, float: 1.0, bool: True}.get(kind, {})


_IDS = ("type", "call_id")
# What is only valid together with another item.
_NEEDS_ANOTHER = {
    "local_shell_call_output",
    "mcp_approval_request",
    "mcp_approval_response",
    "reasoning",
}
_KINDS = {
    one
    for union in (responses.ResponseOutputItem, responses.ResponseInputItem)
    for one in get_args(get_args(union)[0])
    if "type" in one.model_fields
}


@pytest.mark.parametrize("kind", sorted(_KINDS, key=str), ids=str)
def test_every_item_of_the_responses_api_is_taken_as_it_is(kind: type[BaseModel]) -> None:
    """Whatever classes the SDK has: what answers no call and calls nothing is the very object."""
    fields = _sample(kind)
    item = kind.model_validate(fields)
    given = [{"role": "user", "content": "a"}, item, {"role": "user", "content": "b"}]
    view = HistoryReducer().reduce_sync(given).messages

    assert len(from_openai_responses(given)) == 3
    if "call_id" not in fields and fields["type"] not in _NEEDS_ANOTHER:
        assert view[1] is item


# An approval is the user's, and its dump is no request: the vendor refuses the reason null.
_ANSWERED = [
    *(one for one in get_args(get_args(responses.ResponseOutputItem)[0])),
    *(one for one in get_args(get_args(claude.ContentBlock)[0])),
]


@pytest.mark.parametrize(
    "kind", [one for one in _ANSWERED if "Approval" not in one.__name__], ids=str
)
def test_an_answer_has_one_digest_however_it_was_stored(kind: type[BaseModel]) -> None:
    """An object, its dump with a null for each field that the vendor did not send, and one without."""
    said = kind.model_construct(**_sample(kind))

    def digest(block: object) -> bytes:
        if kind in get_args(get_args(claude.ContentBlock)[0]):
            return prefix_digest(from_anthropic([{"role": "assistant", "content": [block]}]))
        return prefix_digest(from_openai_responses([block]))

    loaded = json.loads(json.dumps(said.model_dump()))
    assert digest(loaded) == digest(said) == digest(said.model_dump(exclude_none=True))
