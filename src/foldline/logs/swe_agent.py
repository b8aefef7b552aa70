"""
Trajectories of SWE-agent and mini-SWE-agent.

One JSON object a file. Of SWE-agent: `history`, a list of OpenAI Chat messages with `agent`, `thought`,
`action` and `message_type` beside them; a tool's answer names its calls in `tool_call_ids`.
Without function calling the model writes its action as text and is answered by the user, which
stays so here. If one observation answers several calls, the first carries its text. Of mini-SWE-agent:
`messages`, each as its vendor writes it, or a whole response of OpenAI's Responses API, with an `extra` beside
it; the last one, of the role `exit`, is what was handed in.
"""

from collections.abc import Sequence
from functools import partial
from itertools import chain

from msgspec.structs import replace

from foldline.history.formats.openai_chat import chat_message
from foldline.history.formats.openai_responses import message_from_openai_responses
from foldline.history.formats.responses import openai_usage, read_response
from foldline.history.formats.wire import (
    Object,
    first_text,
    maybe_list,
    maybe_object,
    maybe_text,
    maybe_time,
    scalars,
)
from foldline.history.messages import Message, NativeFormat
from foldline.history.parts import ReasoningPart, ToolCallResponsePart
from foldline.logs.document import Document, Record
from foldline.logs.importer import Importer, Reading, Session, by_lists, each_read, first_item


_KEPT = ("agent", "message_type", "is_demo")


def _is_mini(trajectory: Object) -> bool:
    return maybe_text(trajectory.get("trajectory_format")).startswith("mini-swe-agent")


def _matches(document: Document) -> bool:
    if _is_mini(maybe_object(document.first)):
        return True
    item = maybe_object(first_item(document, "history"))
    return "history" in maybe_object(document.first) and {"role", "content", "agent"} <= item.keys()


def _session(trajectory: Object, items: Sequence[Record]) -> Session:
    run = Reading(first_text(trajectory, "instance_id"))
    run.title = first_text(trajectory, "environment")
    if _is_mini(trajectory):
        said = each_read(items, partial(_mini, run), "the message")
        run.messages.extend(chain.from_iterable(said))
    else:
        run.messages.extend(each_read(items, _message, "the message"))
    return run.session()


def _mini(run: Reading, item: Object) -> list[Message]:
    extra = maybe_object(item.get("extra"))
    sent = {key: value for key, value in item.items() if key != "extra"}
    if sent.get("role") == "exit":
        run.skipped["exit"] += 1
        return []
    if sent.get("object") == "response":
        said = read_response(sent, NativeFormat.OPENAI_RESPONSES)
    else:
        convert = chat_message if "role" in sent else message_from_openai_responses
        report = maybe_object(maybe_object(extra.get("response")).get("usage"))
        said = (replace(convert(sent), usage=openai_usage(report)),)
    return [replace(one, created_at=maybe_time(extra.get("timestamp"))) for one in said]


def _message(item: Object) -> Message:
    calls = [call for call in maybe_list(item.get("tool_call_ids")) if isinstance(call, str)]
    if item.get("role") == "tool" and calls:
        item = {**item, "tool_call_id": calls[0]}
    message = chat_message(item)
    others = tuple(ToolCallResponsePart(call, "") for call in calls[1:])
    thinking = map(maybe_object, maybe_list(item.get("thinking_blocks")))
    thoughts = [ReasoningPart(maybe_text(block.get("thinking"))) for block in thinking]
    metadata = scalars(item, _KEPT) | _unsaid(item)
    return replace(message, parts=(*thoughts, *message.parts, *others), metadata=metadata or None)


def _unsaid(item: Object) -> Object:
    """Return the thought and the action of a model's message that its content does not repeat."""
    content = maybe_text(item.get("content"))
    keys = ["thought"] if item.get("tool_calls") else ["thought", "action"]
    found = scalars(item, keys)
    return {key: text for key, text in found.items() if str(text).strip() not in content}


SWE_AGENT = Importer(
    name="swe-agent",
    description="trajectory of SWE-agent or mini-SWE-agent (one JSON object)",
    matches=_matches,
    read=by_lists(_session, "history", "messages"),
)
"""The importer of SWE-agent's trajectories."""
