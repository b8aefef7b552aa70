"""
The data export of Claude.ai: `conversations.json`.

Each conversation has its messages under `chat_messages`; an answer holds its calls and their results, without ids in
older exports. What a file says that was attached is the user's. Branches that were left are left out.
"""

from collections.abc import Iterable, Iterator
from functools import partial

from foldline.history.formats.wire import (
    Object,
    as_object,
    check_role,
    first_text,
    listed_blocks,
    maybe_list,
    maybe_object,
    maybe_text,
)
from foldline.history.messages import Message, Role
from foldline.history.parts import Part, ReasoningPart, TextPart
from foldline.history.unnamed import with_ids
from foldline.logs.bodies import answers, call_of, response_of, texts_in
from foldline.logs.branches import Line, abandoned
from foldline.logs.document import Document, Record
from foldline.logs.importer import Importer, Reading, Session, by_lists, read_all, stamped


_LIST = "chat_messages"
_SENDERS = ("human", "assistant")


def _matches(document: Document) -> bool:
    return isinstance(maybe_object(document.first).get(_LIST), list)


def _session(held: Object, items: Iterable[Record]) -> Session:
    chat = Reading(first_text(held, "uuid"))
    chat.title = maybe_text(held.get("name"))
    given = [(record, maybe_object(record.value)) for record in items]
    left = abandoned([_linked(fields) for _, fields in given])
    if left:
        chat.skipped["message of a left branch"] = len(left)
    kept = [record for record, fields in given if first_text(fields, "uuid") not in left]
    chat.messages += with_ids(read_all(kept, partial(_messages, chat), "the message"))
    return chat.session()


def _linked(fields: Object) -> Line:
    return Line(id=first_text(fields, "uuid"), parent=first_text(fields, "parent_message_uuid"))


def _messages(chat: Reading, item: Object) -> Iterator[Message]:
    # Oldest exports have the text alone.
    given = maybe_list(item.get("content")) or listed_blocks(maybe_text(item.get("text")))
    blocks = [as_object(block, "the block") for block in given]
    files = map(maybe_object, maybe_list(item.get("attachments")))
    blocks += [{"type": "text", "text": one.get("extracted_content")} for one in files]
    pieces = [([*_parts(block)], [*_result(block)]) for block in blocks]
    unread = [one for one, piece in zip(blocks, pieces, strict=True) if not any(piece)]
    # What is in a picture is not in the export.
    lost = [*unread, *({"type": "file"} for _ in maybe_list(item.get("files")))]
    chat.skipped.update(first_text(one, "type") for one in lost if one.get("type") != "text")
    role: Role = "user" if check_role(item.get("sender"), _SENDERS) == "human" else "assistant"
    said = answers(filter(any, pieces), role)
    return stamped(said, item.get("created_at"), first_text(item, "uuid"))


def _parts(block: Object) -> Iterator[Part]:
    match block:
        case {"type": "text", "text": str(text)} if text:
            yield TextPart(text)
        case {"type": "thinking", "thinking": str(thought)} if thought:
            yield ReasoningPart(thought)
        case {"type": "tool_use", "name": str(name)}:
            yield call_of(first_text(block, "id"), name, block.get("input") or {})
        case _:
            pass


def _result(block: Object) -> Iterator[Message]:
    if block.get("type") == "tool_result":
        text = "\n".join(filter(None, texts_in(block.get("content"))))
        said = response_of([TextPart(text)], failed=block.get("is_error") is True)
        name = first_text(block, "name") or None
        yield Message.tool(first_text(block, "tool_use_id"), said, name=name)


CLAUDE_AI = Importer(
    name="claude-ai",
    description="export of Claude.ai (conversations.json)",
    matches=_matches,
    read=by_lists(_session, _LIST),
)
"""The importer of Claude.ai's exports."""
