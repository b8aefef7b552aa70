"""The export of ChatGPT."""

from typing import Any

from foldline.history.messages import Message
from foldline.history.parts import (
    FilePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.logs.importer import Session
from foldline.logs.sessions import read_sessions
from tests.logs.reading import lines, read_one


def node(id: str, parent: str, role: str, content: Any, **beside: Any) -> dict[str, Any]:
    if isinstance(content, str):
        content = {"content_type": "text", "parts": [content]}
    author = {"role": role, "name": beside.pop("name", None)}
    said = {"id": id, "author": author, "content": content, "create_time": 1.7e9, **beside}
    return {"id": id, "parent": parent, "children": [], "message": said}


def chat(*nodes: dict[str, Any], last: str, **beside: Any) -> dict[str, Any]:
    root: dict[str, Any] = {"id": "root", "parent": None, "children": [], "message": None}
    mapping = {one["id"]: one for one in (root, *nodes)}
    return {"title": "T", "id": "c", "mapping": mapping, "current_node": last, **beside}


def texts(session: Session) -> list[str]:
    return [message.text for message in session.messages]


def test_the_branch_of_the_current_node_is_the_conversation() -> None:
    """What was answered again is not read, and a note counts it; any order of nodes will do."""
    first, old = node("a", "root", "user", "Hi"), node("b", "a", "assistant", "Old")
    session = read_one([chat(node("c", "a", "assistant", "New"), first, old, last="c")])

    assert texts(session) == ["Hi", "New"]
    assert (session.id, session.title) == ("c", "T")
    assert session.notes == ("records left out: message of a left branch (1)",)


def test_each_conversation_of_an_export_is_a_session() -> None:
    """A list, lines and one alone are read; without a current node the last one counts."""
    one, two = (chat(node("a", "root", "user", text), last="?", id=text) for text in ("A", "B"))

    assert [texts(session) for session in read_sessions(lines([one, two]))] == [["A"], ["B"]]
    assert [session.id for session in read_sessions(lines(one, two))] == ["A", "B"]
    assert texts(read_one(two)) == ["B"]


def test_tools_answer_what_the_model_sent_them() -> None:
    """A message to a tool is a call, the next of a tool its answer, and one more was printed."""
    code = {"content_type": "code", "language": "python", "text": "1 + 1"}
    output = {"content_type": "execution_output", "text": "2"}
    plot = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://f"}
    session = read_one(
        chat(
            node("a", "root", "assistant", code, recipient="python"),
            node("b", "a", "tool", output, name="python"),
            node("c", "b", "tool", {"parts": [plot]}, name="python"),
            last="c",
        )
    )
    call, answer, printed = session.messages

    assert call.parts == (ToolCallPart("a", "python", "1 + 1"),)
    assert answer.parts == (ToolCallResponsePart("a", "2"),)
    assert (printed.role, printed.parts) == ("tool", (FilePart("image", "file-service://f"),))


def test_what_is_no_text_is_kept() -> None:
    """Instructions, thoughts, pictures and speech are read, and nothing is made of empty text."""
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://f"}
    spoken = {"content_type": "audio_transcription", "text": "Look"}
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "S", "content": "Hm"}]}
    session = read_one(
        chat(
            node("a", "root", "system", ""),
            node("b", "a", "user", {"user_profile": "I am Ann", "user_instructions": "Be brief"}),
            node("c", "b", "user", {"content_type": "multimodal_text", "parts": [picture, spoken]}),
            node("d", "c", "assistant", thoughts),
            node("e", "d", "assistant", {"content_type": "reasoning_recap", "content": "5 s"}),
            last="e",
        )
    )
    instructions, asked, thought = session.messages

    assert (instructions.role, instructions.text) == ("system", "I am Ann\nBe brief")
    assert asked.parts == (FilePart("image", "file-service://f"), TextPart("Look"))
    assert thought.parts == (ReasoningPart("Hm"),)
    assert session.notes == ("records left out: reasoning_recap (1)",)


def test_a_circle_is_walked_once() -> None:
    """A damaged tree, in which a message comes before itself, is read."""
    nodes = node("a", "b", "user", "Hi"), node("b", "a", "assistant", "Yes")

    assert texts(read_one(chat(*nodes, last="b"))) == ["Hi", "Yes"]


def test_models_and_times_are_kept() -> None:
    """A message has its id, its time and the name of its model."""
    told = node("a", "root", "assistant", "Hi", metadata={"model_slug": "gpt-5", "x": {}})
    (message,) = read_one(chat(told, last="a")).messages

    assert isinstance(message, Message)
    assert (message.id, message.metadata) == ("a", {"model_slug": "gpt-5"})
    assert message.created_at is not None
