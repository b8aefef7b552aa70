"""Messages that tell which batch they belong to, so that a half one shows by itself."""

from collections.abc import Sequence

from foldline.history.messages import Message
from foldline.history.parts import TextPart, ToolCallPart, ToolCallResponsePart


MARK = "zebrawood"
"""A word in every text; where it is on the disk, something that was said is."""

_PADDING = f" {MARK}" * 6


def said(batch: str, size: int, *, padding: str = _PADDING) -> list[Message]:
    """
    Return a batch of *size* messages; every third carries an id, so that both forms are stored.
    """
    return [
        Message(
            role="assistant" if number % 2 else "user",
            parts=(TextPart(f"{batch}/{number}/{size}{padding}"),),
            id=f"{batch}.{number}" if number % 3 == 2 else None,
        )
        for number in range(size)
    ]


def asked(batch: str, role: str = "user") -> Message:
    """Return a batch of one message."""
    text = TextPart(f"{batch}/0/1{_PADDING}")
    if role == "system":
        return Message(role="system", parts=(text,))
    return Message(role="user" if role == "user" else "assistant", parts=(text,))


def called(batch: str, calls: Sequence[str]) -> Message:
    """Return the message that makes *calls*: the first of a batch, their answers are the rest."""
    parts = [ToolCallPart(call, "probe", "{}") for call in calls]
    text = TextPart(f"{batch}/0/{len(calls) + 1}{_PADDING}")
    return Message(role="assistant", parts=(text, *parts))


def answers(batch: str, results: Sequence[tuple[str, str]]) -> list[Message]:
    """Return one message for each call and its result."""
    return [
        Message(
            role="tool",
            parts=(ToolCallResponsePart(call, f"{batch}/{number}/{len(results) + 1} {result}"),),
        )
        for number, (call, result) in enumerate(results, 1)
    ]


def label(message: Message) -> str:
    """Return the batch of *message*, its place there and the size of the batch."""
    part = message.parts[0]
    text = part.response if isinstance(part, ToolCallResponsePart) else message.text
    return str(text).split(" ", 1)[0]


def torn(labels: Sequence[str]) -> bool:
    """Whether *labels* are anything else than whole batches one behind the other, each once."""
    seen: set[str] = set()
    at = 0
    while at < len(labels):
        batch, _, size = labels[at].split("/")
        if batch in seen:
            return True
        seen.add(batch)
        stop = at + int(size)
        if list(labels[at:stop]) != [f"{batch}/{number}/{size}" for number in range(int(size))]:
            return True
        at = stop
    return False
