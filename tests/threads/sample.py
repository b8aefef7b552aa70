"""A store with everything in it that a store can hold."""

from datetime import UTC, datetime, timedelta

from foldline.history.messages import Message
from foldline.history.parts import TextPart, ToolCallPart, ToolCallResponsePart
from foldline.reduction.state import HistoryReductionState
from foldline.threads.change import Change
from foldline.threads.key import ThreadKey
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.store import ThreadStore
from foldline.threads.tools import ToolRun
from foldline.threads.verify import verify_thread


ONE, TWO, OTHER = ThreadKey("default", "one"), ThreadKey("default", "two"), ThreadKey("acme", "one")
COUNT = 42
"""How many messages the thread `one` holds."""


async def faults_of(store: ThreadStore, key: ThreadKey) -> list[str]:
    """Return what is damaged of a thread."""
    verified = await verify_thread(store.context, key)
    return [] if verified is None else list(verified.faults)


def when() -> datetime:
    """Return a time."""
    return datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def said(exchanges: int = 10) -> list[Message]:
    """Return a conversation with a system message in front and one in the middle."""
    messages = [Message.system("Be brief.")]
    for number in range(exchanges):
        call = ToolCallPart(id=f"call_{number}", name="look_up", arguments="{}")
        found = ToolCallResponsePart(id=f"call_{number}", response="on its way")
        messages += [
            Message.user(f"Where is parcel {number}?"),
            Message(role="assistant", parts=(TextPart("I look."), call)),
            Message(role="tool", parts=(found,)),
            Message.assistant(f"Parcel {number} is on its way."),
        ]
        if number == exchanges // 2:
            messages.append(Message.system("Be polite."))
    return messages


def _reduction(cut: int) -> HistoryReductionState:
    messages = [message for message in said() if message.role != "system"]
    return HistoryReductionState.create(
        messages,
        f"Parcels up to {cut} were asked for.",
        cut,
        target_count=5,
        reduction_threshold=2,
        message_count_at_reduction=len(messages),
        created_at=when(),
    )


async def fill(store: ThreadStore) -> None:
    """Put a long thread, a fork of it and a thread of another tenant into *store*."""
    thread = await store.thread(ONE.id, ttl=timedelta(days=365 * 100))
    await thread.add_messages(said())
    await thread.set_metadata({"colour": "blue"}, display_name="Parcels")
    await thread.commit(Change(reduction=_reduction(8)))
    await thread.commit(Change(reduction=_reduction(16), archive=True))
    state = AgentLoopState(run_id="run", conversation_id=ONE.id, started_at=when())
    await thread.commit(
        Change(execution=state, tools=[ToolRun(call_id="late", name="pay", result="paid", place=1)])
    )
    await thread.fork(TWO.id, at=12)
    other = await store.thread(OTHER.id, tenant=OTHER.tenant)
    await other.add_messages(said(3))
