"""
Sessions of opencode: what `opencode export` writes, or a list of its messages.

Source: its `session/message-v2.ts`. A message has `info` and `parts`; each step of the model ends with its
counts, and its calls hold their results. What the program adds to a message of the user (`synthetic`) is
printed. The answer to a compaction is its summary, which goes to the metadata of the message before it.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain

from foldline.history.formats.responses import usage_apart
from foldline.history.formats.wire import (
    Object,
    as_object,
    as_text,
    first_text,
    maybe_count,
    maybe_list,
    maybe_object,
    maybe_text,
    media_from_url,
    scalars,
)
from foldline.history.media import modality_of
from foldline.history.messages import Message, Usage
from foldline.history.parts import Part, ReasoningPart, TextPart
from foldline.logs.bodies import call_of, response_of
from foldline.logs.document import Document, Record
from foldline.logs.importer import (
    Importer,
    Reading,
    Session,
    by_lists,
    first_item,
    printed_message,
    read_each,
)


# Files of these kinds are repeated as text.
_AS_TEXT = frozenset({"text/plain", "application/x-directory"})


def _matches(document: Document) -> bool:
    item = maybe_object(first_item(document, "messages"))
    return isinstance(item.get("parts"), list) and "role" in maybe_object(item.get("info"))


def _session(held: Object, items: Iterable[Record]) -> Session:
    info = maybe_object(held.get("info"))
    log = Reading(first_text(info, "id"))
    log.title = maybe_text(info.get("title"))
    read_each(items, partial(_take, log), "the message")
    return log.session()


def _take(log: Reading, item: Object) -> None:
    info = as_object(item.get("info"), "info")
    parts = [as_object(part, "the part") for part in maybe_list(item.get("parts"))]
    if info.get("role") == "user":
        said = [*_asked(parts)]
    elif info.get("summary") is True:
        texts = [part.content for part in _content(parts) if isinstance(part, TextPart)]
        log.compact({"summary": "\n".join(texts)})
        return
    else:
        said = [*_answered(info, parts)]
    log.say(said, maybe_object(info.get("time")).get("created"))


def _asked(parts: Iterable[Object]) -> Iterator[Message]:
    own = tuple(_content(part for part in parts if part.get("synthetic") is not True))
    added = tuple(_content(part for part in parts if part.get("synthetic") is True))
    if own:
        yield Message(role="user", parts=own)
    if added:
        yield printed_message(added, name=OPENCODE.name)


def _answered(info: Object, parts: Iterable[Object]) -> Iterator[Message]:
    metadata = scalars({"model": info.get("modelID")}, ("model",)) or None
    step: list[Object] = []
    for part in chain(parts, [{"type": "step-finish"}]):
        step.append(part)
        if part.get("type") == "step-finish":
            if said := tuple(_content(step)):
                usage = _usage(maybe_object(part.get("tokens")))
                yield Message(role="assistant", parts=said, usage=usage, metadata=metadata)
            yield from chain.from_iterable(map(_result, step))
            step = []


def _content(parts: Iterable[Object]) -> Iterator[Part]:
    for part in parts:
        text, mime = maybe_text(part.get("text")), maybe_text(part.get("mime"))
        match part.get("type"):
            case "text" if text and part.get("ignored") is not True:
                yield TextPart(text)
            case "reasoning" if text:
                yield ReasoningPart(text)
            case "file" if mime not in _AS_TEXT:
                yield media_from_url(maybe_text(part.get("url")), modality_of(mime))
            case "tool":
                given = maybe_object(part.get("state")).get("input") or {}
                yield call_of(_id(part), maybe_text(part.get("tool")), given)
            case _:
                pass


def _result(part: Object) -> Iterator[Message]:
    state = maybe_object(part.get("state"))
    if state.get("status") in ("completed", "error"):
        text = first_text(state, "output", "error")
        files = map(maybe_object, maybe_list(state.get("attachments")))
        said = response_of([TextPart(text), *_content(files)])
        yield Message.tool(_id(part), said, name=maybe_text(part.get("tool")) or None)


def _id(part: Object) -> str:
    return as_text(part.get("callID"), "callID")


def _usage(tokens: Object) -> Usage | None:
    cache = maybe_object(tokens.get("cache"))
    thought = maybe_count(tokens.get("reasoning"))
    return usage_apart(
        fresh=tokens.get("input"),
        read=cache.get("read"),
        written=cache.get("write"),
        output=maybe_count(tokens.get("output")) + thought,
        reasoning=thought,
    )


OPENCODE = Importer(
    name="opencode",
    description="session of opencode (its export, or a list of its messages)",
    matches=_matches,
    read=by_lists(_session, "messages"),
)
"""The importer of opencode's sessions."""
