"""Calls without ids, and the results that answer them."""

from foldline.history.messages import Message
from foldline.history.parts import TextPart, ToolCallPart, ToolCallResponsePart
from foldline.history.unnamed import with_ids, without_ids
from tests.linearity import is_linear


def calls(*names: str, id: str = "") -> Message:
    return Message(role="assistant", parts=tuple(ToolCallPart(id, name, "{}") for name in names))


def result(name: str | None, text: str = "", *, id: str = "") -> Message:
    return Message(role="tool", parts=(ToolCallResponsePart(id, text),), name=name)


def answers(*messages: Message) -> list[tuple[str, str]]:
    """Return the name of each call with the text of the result that has its id."""
    said = [*with_ids(messages)]
    of = {one.id: one.response for message in said for one in message.tool_call_responses}
    made = [call for message in said for call in message.tool_calls]
    assert len({call.id for call in made}) == len(made)
    return [(call.name, f"{of.get(call.id)}") for call in made]


def test_each_result_answers_the_next_call_of_its_name() -> None:
    """Parallel calls of one tool are answered in their order, whatever comes between."""
    said = (calls("f", "g", "f"), result("f", "1"), result("f", "2"), result("g", "3"))

    assert answers(*said) == [("f", "1"), ("g", "3"), ("f", "2")]


def test_a_result_without_a_name_answers_the_next_call() -> None:
    """So it does after a message of the user, too."""
    assert answers(calls("f"), Message.user("?"), result(None, "1")) == [("f", "1")]


def test_an_answer_of_several_messages() -> None:
    """Neighbouring messages of the assistant are one answer; an older answer is not looked at."""
    old, new = calls("f"), calls("g")

    assert answers(old, Message.user("?"), new, calls("f"), result("g", "1"), result("f", "2")) == [
        ("f", "None"),
        ("g", "1"),
        ("f", "2"),
    ]
    assert answers(old, Message.user("?"), new, result("f", "1")) == [("f", "None"), ("g", "None")]


def test_what_has_an_id_keeps_it() -> None:
    """Messages with ids, and those without calls, are the very objects."""
    said = (Message.user("?"), calls("f", id="1"), result("f", "1", id="1"))

    assert all(one is other for one, other in zip(with_ids(said), said, strict=True))


def test_a_result_without_an_id_answers_a_call_that_has_one() -> None:
    """It answers the first of its name that no other result has answered."""
    said = (calls("f", id="1"), calls("f", id="2"), result("f", "1", id="1"), result("f", "2"))

    assert answers(*said) == [("f", "1"), ("f", "2")]


def test_what_was_made_is_taken_away() -> None:
    """Without the ids that were made messages are as they were; other ids stay."""
    said = [calls("f", "f"), result("f", "1"), calls("f", id="1"), Message.user("?")]
    said[0] = Message(role="assistant", parts=(TextPart("Hm."), *said[0].parts))

    assert [*map(without_ids, with_ids(said))] == said
    assert without_ids(said[2]) is said[2]


def test_results_that_answer_nothing_take_no_longer() -> None:
    """A log of results without calls is read in proportion to its size."""
    assert is_linear(lambda text: [*with_ids([result("f")] * len(text))], "", "a")
