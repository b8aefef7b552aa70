"""Spans that have an attribute for each field of a message."""

from typing import Any

import pytest

from foldline.history.messages import Usage
from foldline.history.parts import ToolCallPart, ToolCallResponsePart
from tests.logs.reading import read


def openllmetry(*messages: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    spelled = {
        f"{name}.{at}.{key}": value
        for name, said in (("gen_ai.prompt", messages), ("gen_ai.completion", [answer]))
        for at, one in enumerate(said)
        for key, value in one.items()
    }
    counts = {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2}
    return {"name": "openai.chat", "attributes": {**spelled, **counts, "gen_ai.prompt.x": 1}}


def openinference(*messages: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    spelled = {
        f"llm.{name}_messages.{at}.message.{key}": value
        for name, said in (("input", messages), ("output", [answer]))
        for at, one in enumerate(said)
        for key, value in one.items()
    }
    counts = {"llm.token_count.prompt": 9, "llm.token_count.completion": 2}
    return {"name": "ChatCompletion", "attributes": {**spelled, **counts}}


@pytest.mark.parametrize(
    ("span", "inside"),
    [(openllmetry, "tool_calls.0"), (openinference, "tool_calls.0.tool_call")],
)
def test_spans_that_grow_are_one_session(span: Any, inside: str) -> None:
    """Messages, calls, results and counts are read in the order of their numbers."""
    function = f"{inside}.function" if "tool_call." in f"{inside}." else inside
    hi = {"role": "user", "content": "Hi."}
    call = {
        "role": "assistant",
        f"{inside}.id": "c",
        f"{function}.name": "look",
        f"{function}.arguments": "{}",
    }
    found = {"role": "tool", "content": "a.py", "tool_call_id": "c"}
    said = {"role": "assistant", "content": "Done."}
    (session,) = read(span(hi, answer=call), span(hi, call, found, answer=said))
    user, called, result, end = session.messages

    assert session.format == "openai-chat"
    assert (user.text, end.text) == ("Hi.", "Done.")
    assert called.parts == (ToolCallPart("c", "look", "{}"),)
    assert result.parts == (ToolCallResponsePart("c", "a.py"),)
    assert called.usage == end.usage == Usage(input_tokens=9, output_tokens=2)


def test_ten_messages_are_in_order() -> None:
    """Ten comes after nine, and not after one."""
    hi = [{"role": "user", "content": f"{at}"} for at in range(11)]
    (session,) = read(openllmetry(*hi, answer={"role": "assistant", "content": "Yes."}))

    assert [message.text for message in session.messages] == [*map(str, range(11)), "Yes."]


def test_contents_of_several_blocks() -> None:
    """Blocks are attributes of their own in OpenInference, and JSON text in OpenLLMetry."""
    yes = {"role": "assistant", "content": "Yes."}
    blocks = {"contents.0.message_content.text": "A", "contents.1.message_content.text": "B"}
    text = '[{"type": "text", "text": "A"}]'
    (first,) = read(openinference({"role": "user", **blocks}, answer=yes))
    (second,) = read(openllmetry({"role": "user", "content": text}, answer=yes))

    assert first.messages[0].text == "A\nB"
    assert second.messages[0].text == "A"


def test_an_attribute_may_be_in_the_way() -> None:
    """A value where the fields of a message belong hides these, and no more."""
    yes = {"role": "assistant", "content": "Yes."}
    span = openllmetry({"role": "user", "content": "Hi."}, answer=yes)
    span["attributes"] = {"gen_ai.prompt.0.content": "Hi.", "gen_ai.prompt.0.tool_calls": "x"} | {
        "gen_ai.prompt.0.tool_calls.0.id": "c",
        **span["attributes"],
    }
    (session,) = read(span)

    assert [message.text for message in session.messages] == ["Hi.", "Yes."]
