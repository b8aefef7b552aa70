"""Where a recorded session called its model."""

from collections.abc import Iterable

from foldline.history.messages import Message


__all__ = ["model_calls"]


def model_calls(messages: Iterable[Message]) -> tuple[int, ...]:
    """
    Return how many messages had been said before each model call, in order.

    A call was made where the assistant speaks after the user or a tool; neighbouring messages of
    the assistant came of one call. A session that ends with the user or a tool is about to make
    one more. System messages between them change nothing.
    """
    calls: list[int] = []
    asked = False
    said = 0
    for message in messages:
        if message.role == "assistant" and asked:
            calls.append(said)
        if message.role != "system":
            asked = message.role != "assistant"
        said += 1
    return (*calls, said) if asked else tuple(calls)
