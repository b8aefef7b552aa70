"""What the stories of an agent have in common."""

from collections.abc import Sequence

from foldline import (
    ConversationThread,
    HistoryReductionConfig,
    HistoryReductionEvent,
    MemoryStore,
    Message,
    SQLiteStore,
    TurnResult,
)
from foldline.providers.model import ChatRequest


TALK = "and we spoke of the weather in the north, of trains that were late and of much besides"


def said(first: int, last: int) -> list[Message]:
    """Return the exchanges *first* to *last*: a question and an answer each."""
    return [
        message
        for number in range(first, last + 1)
        for message in (
            Message.user(f"question {number} {TALK}"),
            Message.assistant(f"answer {number} {TALK}"),
        )
    ]


def config(
    *, target: int = 3, threshold: int = 2, single: bool = True, breaker: bool = False
) -> HistoryReductionConfig:
    return HistoryReductionConfig.documented(
        enabled=True,
        strategy="summarizing",
        behavior="circuit_breaker" if breaker else "continue",
        target_count=target,
        summarization_threshold=threshold,
        use_single_summary=single,
    )


def events(result: TurnResult) -> list[HistoryReductionEvent]:
    return [event for event in result.events if isinstance(event, HistoryReductionEvent)]


def texts(request: ChatRequest) -> str:
    return "\n".join(message.text for message in request.messages)


async def told(thread: ConversationThread) -> list[str]:
    return [message.text for message in await thread.get_messages()]


async def filled(
    store: MemoryStore | SQLiteStore, messages: Sequence[Message]
) -> ConversationThread:
    thread = await store.thread("story")
    await thread.add_messages(messages)
    return thread
