"""
Whether a request is one that vendors accept, and one that lost nothing it has to hold.

Two requests that share a beginning share what is wrong with it. So a request that continues the one
before is checked from the last place on where it can be divided: before an assistant message that
follows the user or a tool. No rule of a grammar reaches across that place except that ids are given
once, and that reasoning may have to follow. The last request before the prefix breaks holds all of
those before it; it is checked whole.
"""

from collections.abc import Iterator, Sequence

from foldline.history.formats.renderings import (
    render_anthropic,
    render_openai_chat,
    render_openai_responses,
)
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import ToolCallResponsePart
from foldline.history.signed import without_signed
from foldline.reduction.state import HistoryReductionState
from foldline.testing.grammars import (
    check_anthropic,
    check_openai_chat,
    check_openai_responses,
)


__all__ = ["losses", "violations", "violations_behind"]


def violations(request: Sequence[Message]) -> tuple[str, ...]:
    """Return what OpenAI Chat, OpenAI Responses and Anthropic would refuse in *request*."""
    rendered = render_anthropic(request)
    found = {
        "openai-chat": check_openai_chat(render_openai_chat(request)),
        "openai-responses": check_openai_responses(render_openai_responses(request)),
        "anthropic": check_anthropic(rendered.system, rendered.messages),
    }
    return tuple(
        f"{name}: message {one.index}: {one.text}"
        for name, broken in found.items()
        for one in broken
    )


def violations_behind(request: Sequence[Message], kept: int) -> tuple[str, ...]:
    """Return what is wrong with *request*, whose first *kept* messages were checked before."""
    return violations(request[_division(request, kept) :])


def losses(
    request: Sequence[Message], history: History, state: HistoryReductionState | None = None
) -> tuple[str, ...]:
    """Return what *request*, the view through *state*, has to hold of *history* and does not."""
    lost: list[str] = []
    if tuple(message for message in request if message.role == "system") != history.system:
        lost.append("view: a system message is missing or out of order")
    user = history.last_user()
    clipped = () if state is None else (one.index for one in state.shortened)
    if user is not None and user not in clipped and not _holds(request, history[user]):
        lost.append("view: the last user message is missing or changed")
    return (*lost, *_unaccounted(request, history, state))


def _unaccounted(
    request: Sequence[Message], history: History, state: HistoryReductionState | None
) -> Iterator[str]:
    """Give each message that is neither in *request* as it was said nor in exactly one span."""
    covers = [0] * len(history)
    for span in () if state is None else state.spans:
        for index in range(span.start, span.end):
            covers[index] += 1
    shown = {id(message) for message in request}
    is_damaged = history.is_damaged(0 if state is None else state.summarized_up_to_index)
    for index, count in enumerate(covers):
        message = history[index]
        if count > 1:
            yield f"view: {count} spans cover message {index}"
        elif not (count or is_damaged or id(message) in shown or _is_bound(message)) and (
            message not in request
        ):
            yield f"view: message {index} is missing, and no span covers it"


def _is_bound(message: Message) -> bool:
    """Whether a view may leave out some of *message* since a vendor binds it to another view."""
    return without_signed(message) is not message


def _division(request: Sequence[Message], kept: int) -> int:
    for index in range(kept - 1, 0, -1):
        if request[index].role == "assistant" and request[index - 1].role in {"user", "tool"}:
            return index
    return 0


def _holds(request: Sequence[Message], said: Message) -> bool:
    if any(message is said for message in reversed(request)):
        return True
    # A result that a user message carries beside its words may have moved to its call.
    words = [part for part in said.parts if not isinstance(part, ToolCallResponsePart)]
    return any(
        message.role == "user" and [part for part in message.parts if part in words] == words
        for message in request
    )
