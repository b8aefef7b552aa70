"""What is said in blocks: requests of a vendor (bodies, bare lists, or a message a line), and answers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from foldline.history.formats.wire import (
    FAILED,
    Object,
    first_text,
    json_text,
    maybe_list,
    maybe_object,
    maybe_text,
)
from foldline.history.grouping import grouped, is_result
from foldline.history.media import blob_of, modality_of
from foldline.history.messages import Message, Role
from foldline.history.parts import BlobPart, Part, TextPart, ToolCallPart
from foldline.history.unnamed import with_ids
from foldline.logs.document import Document
from foldline.logs.growth import Recording, joined
from foldline.logs.importer import Session, are_requests, lists_in, read_all


_Block = TypeVar("_Block")

_URL_SAFE = str.maketrans("-_", "+/")


def read_bodies(
    document: Document,
    *,
    key: str,
    rules: Callable[[Object], Sequence[str]],
    read: Callable[[Object], Iterable[Message]],
    mixed: bool = True,
) -> tuple[Session, ...]:
    """
    Return the conversations in *document*, each of which may go on in a later request.

    Args:
        key: The field of a body that has its messages.
        rules: Gives the system instructions of a body.
        read: Gives the messages that an item is.
        mixed: Whether a bare list may hold several conversations.
    """
    recordings: list[Recording] = []
    for body, records in lists_in(document, key, mixed=mixed):
        front = map(Message.system, filter(None, rules(body)))
        said = read_all(records, read, "the message")
        messages = (*front, *with_ids(said))
        session = Session(id=first_text(body, "id"), messages=messages)
        recordings.append(Recording(session=session, sent=len(messages)))
    if not are_requests(document, key):
        return tuple(one.session for one in recordings)
    return joined(recordings)


def messages_of(
    blocks: Iterable[_Block],
    *,
    role: Role,
    parts: Callable[[_Block], Iterable[Part]],
    tool: Callable[[_Block], str | None],
) -> list[Message]:
    """Return what *blocks* of an item of *role* are as messages: one for an answer."""
    read = [(block, tuple(parts(block))) for block in blocks]
    if role == "assistant":
        return [Message(role=role, parts=tuple(part for _, said in read for part in said))]
    made: list[Message] = []
    for group in grouped(read):
        said = tuple(part for _, one in group for part in one)
        name = next(filter(None, (tool(block) for block, _ in group)), None)
        made.append(Message(role="tool" if is_result(said) else role, parts=said, name=name))
    return made


def answers(
    pieces: Iterable[tuple[Sequence[Part], Sequence[Message]]], role: Role = "assistant"
) -> Iterator[Message]:
    """
    Yield what *pieces* of an answer are as messages: what is said, and the results of its calls.

    What comes after a result is another answer, and so is what comes after an empty piece.
    """
    said: list[Part] = []
    results: list[Message] = []
    for made, answered in (*pieces, ((), ())):
        is_call = answered or any(isinstance(part, ToolCallPart) for part in made)
        if not (made or answered) or (results and not is_call):
            if said:
                yield Message(role=role, parts=tuple(said))
            yield from results
            said, results = [], []
        said += made
        results += answered


def call_of(id: str, name: str, given: Any) -> ToolCallPart:
    """Return a call with what is *given*: the text that the model wrote, or what it was read as."""
    return ToolCallPart(id, name, given if isinstance(given, str) else json_text(given))


def chat_call(call: Any) -> ToolCallPart:
    """Return a *call* that a program keeps as OpenAI Chat has it, or without what is around it there."""
    fields = maybe_object(call)
    made = maybe_object(fields.get("function")) or fields
    given = maybe_text(made.get("arguments"))
    return ToolCallPart(maybe_text(fields.get("id")), maybe_text(made.get("name")), given)


def response_of(said: Iterable[Part], *, failed: bool = False) -> Any:
    """Return what a tool *said*: its text if that is all, else the parts, and that it *failed*."""
    parts = (*said, FAILED) if failed else tuple(said)
    only = parts[0] if len(parts) == 1 else None
    return only.content if isinstance(only, TextPart) else parts or ""


def texts_in(blocks: Any) -> list[str]:
    """Return the texts of *blocks*, a list of them or a text alone."""
    if isinstance(blocks, str):
        return [blocks]
    return [maybe_text(maybe_object(block).get("text")) for block in maybe_list(blocks)]


def blob_in(data: Any, mime: str) -> BlobPart:
    """Return *data*, which an SDK has as bytes and a log in base64 of either alphabet."""
    if isinstance(data, bytes):
        return blob_of(data, mime)
    return BlobPart(modality_of(mime), mime, maybe_text(data).translate(_URL_SAFE))
