"""Secrets of many kinds, put into every place of a thread that holds text."""

from collections.abc import Iterable
from datetime import UTC, datetime
from hashlib import sha256

from foldline.history.messages import Message
from foldline.history.parts import ReasoningPart, TextPart, ToolCallPart, ToolCallResponsePart
from foldline.reduction.state import HistoryReductionState
from foldline.threads.change import Change
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.store import ThreadStore
from foldline.threads.thread import ConversationThread
from foldline.threads.tools import ToolRun


NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
"""A time."""

KINDS = (
    "account",
    "address",
    "api_key",
    "card",
    "cookie",
    "email",
    "host",
    "jwt",
    "passport",
    "password",
    "phone",
    "private_key",
)
"""The kinds of secrets."""

_SHARED = ("system", "user", "arguments", "result", "reasoning", "message_metadata", "long")
UNSHARED = (
    "answer",
    "display_name",
    "metadata",
    "replaced_metadata",
    "summary",
    "undone_summary",
    "state",
    "replaced_state",
    "pending",
    "edited",
    "rewound",
)
"""The places that a fork of the first messages does not share."""

PLACES = (*_SHARED, *UNSHARED)
"""The places that hold text."""


def secret(kind: str, place: str) -> str:
    """Return one word, which is at no other place and begins like no other."""
    return sha256(f"{kind} {place}".encode()).hexdigest()[:20]


def secrets_at(place: str) -> str:
    """Return a text with a secret of each kind."""
    return " ".join(f"the {kind} {secret(kind, place)}" for kind in KINDS)


def all_secrets(places: Iterable[str] = PLACES) -> list[tuple[str, str]]:
    """Return every kind and place."""
    return [(kind, place) for place in places for kind in KINDS]


def found_in(data: bytes, places: Iterable[str] = PLACES) -> list[tuple[str, str]]:
    """Return the secrets that *data* holds; one without its first letters counts too."""
    return [one for one in all_secrets(places) if secret(*one)[4:].encode() in data]


def told() -> list[Message]:
    """Return a conversation; the first ten messages behind the system message end with a user's."""
    call = ToolCallPart(
        id="call_1", name="look_up", arguments=f'{{"q":"{secrets_at("arguments")}"}}'
    )
    pending = ToolCallPart(id="call_2", name="pay", arguments="{}")
    return [
        Message.system(secrets_at("system")),
        Message.user(secrets_at("user")),
        Message(role="assistant", parts=(ReasoningPart(secrets_at("reasoning")), call)),
        Message(role="tool", parts=(ToolCallResponsePart("call_1", secrets_at("result")),)),
        Message(
            role="assistant",
            parts=(TextPart("done"),),
            metadata={"note": secrets_at("message_metadata")},
        ),
        Message.user(f"{secrets_at('long')} {'and so on ' * 2000}"),
        Message.assistant("I see"),
        Message.user(secrets_at("answer")),
        Message.assistant("I pay", tool_calls=[pending]),
    ]


def reduction_of(messages: Iterable[Message], cut: int, summary: str) -> HistoryReductionState:
    """Return a reduction in which *summary* stands for the first *cut* messages."""
    plain = [message for message in messages if message.role != "system"]
    return HistoryReductionState.create(
        plain,
        summary,
        cut,
        target_count=4,
        reduction_threshold=2,
        message_count_at_reduction=len(plain),
        created_at=NOW,
    )


def open_state(thread: ConversationThread, note: str, *, iteration: int = 3) -> AgentLoopState:
    """Return the state of a run on *thread* that has not ended, with *note* in it."""
    return AgentLoopState(
        run_id="run",
        conversation_id=thread.id,
        started_at=NOW,
        agent_name="clerk",
        iteration=iteration,
        completed_functions=frozenset({"look_up"}),
        metadata={"note": note},
    )


async def hide(store: ThreadStore, thread_id: str = "hidden") -> ConversationThread:
    """Make a thread with secrets at every place, also at places that were left or written over."""
    thread = await store.thread(thread_id)
    messages = told()
    await thread.set_metadata(
        {"old": secrets_at("replaced_metadata")}, display_name=secrets_at("replaced_metadata")
    )
    await thread.add_messages(messages[:7])
    await thread.add_messages([Message.user(secrets_at("rewound")), Message.assistant("no")])
    await thread.rewind(6)
    await thread.add_messages([Message.user(secrets_at("edited")), *messages[8:]])
    await thread.edit(6, messages[7])
    await thread.save_reduction(reduction_of(messages, 3, secrets_at("summary")))
    await thread.save_reduction(
        reduction_of(messages, 5, secrets_at("undone_summary")), archive=True
    )
    await thread.undo_reduction()
    await thread.set_metadata(
        {"new": secrets_at("metadata")}, display_name=secrets_at("display_name")
    )
    await thread.commit(
        Change(execution=open_state(thread, secrets_at("replaced_state"), iteration=2))
    )
    intent = ToolRun(call_id="call_2", name="pay")
    paid = ToolRun(call_id="call_2", name="pay", result=secrets_at("pending"))
    await thread.commit(Change(tools=[intent]))
    await thread.commit(Change(execution=open_state(thread, secrets_at("state")), tools=[paid]))
    return thread
