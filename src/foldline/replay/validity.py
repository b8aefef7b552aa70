"""
Whether a request is one that vendors accept, and one that lost nothing it has to hold.

Requests share most of their messages, and with them what is wrong. So a request is divided before
each assistant message that follows the user or a tool, and a piece that an earlier request had, of
the very same messages, is not checked again. No rule of a grammar reaches across such a place except
that ids are given once, and that reasoning may have to come before. The last request before the
prefix breaks holds all of those before it; it is checked whole.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, compress, count, pairwise
from operator import is_not

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
from foldline.testing.grammars import check_anthropic, check_openai_chat, check_openai_responses


_INPUT = frozenset({"user", "tool"})


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


def settled(before: Sequence[Message], request: Sequence[Message]) -> tuple[Message, ...]:
    """Return *request* with the messages of *before* that say the same at the same place."""
    # A shortened message is made for each view; by this it is one object in all of them.
    same = _in_common(before, request)
    pairs = zip(before[same:], request[same:], strict=False)
    return (
        *before[:same],
        *(old if old is new or old == new else new for old, new in pairs),
        *request[len(before) :],
    )


def _in_common(one: Sequence[Message], other: Sequence[Message]) -> int:
    """Return how many messages both begin with that are the very same objects."""
    return next(compress(count(), map(is_not, one, other)), min(len(one), len(other)))


class Judge:
    """Judges the requests of one session, one after the other; what is the same is `settled`."""

    def __init__(self) -> None:
        # By the identities of the messages, which are kept alive so that no other gets them.
        self._judged: dict[tuple[int, ...], tuple[Sequence[Message], tuple[str, ...]]] = {}
        self._last: Sequence[Message] = ()
        # Where each piece of the last request ends, and what is wrong in it.
        self._pieces: list[tuple[int, tuple[str, ...]]] = []

    def violations(self, request: Sequence[Message]) -> tuple[str, ...]:
        """Return what is wrong with *request*, wherever it stands, inside of a piece of it."""
        pieces = self._pieces
        same = _in_common(self._last, request)
        # A piece goes on up to the next division.
        while pieces and pieces[-1][0] >= same:
            pieces.pop()
        start = pieces[-1][0] if pieces else 0
        turns = pairwise(one.role for one in request[start:])
        pairs = enumerate(turns, start + 1)
        ends = [at for at, (one, two) in pairs if two == "assistant" and one in _INPUT]
        for begin, end in pairwise((start, *ends, len(request))):
            piece = request[begin:end]
            key = tuple(map(id, piece))
            if key not in self._judged:
                self._judged[key] = piece, violations(piece)
            pieces.append((end, self._judged[key][1]))
        self._last = request
        return tuple(chain.from_iterable(found for _, found in pieces))


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
    known = () if state is None else ((one.start, one.end) for one in state.spans)
    shown = set(map(id, request))
    is_damaged = history.is_damaged(0 if state is None else state.summarized_up_to_index)
    for start, end, spans in stretches(known, len(history)):
        # Most messages are in one span, or in the request itself.
        is_sure = spans == 1 or (is_damaged and not spans)
        for index, message in enumerate(() if is_sure else history[start:end], start):
            if spans:
                yield f"view: {spans} spans cover message {index}"
            elif not (id(message) in shown or _is_bound(message) or message in request):
                yield f"view: message {index} is missing, and no span covers it"


def stretches(spans: Iterable[tuple[int, int]], stop: int) -> Iterator[tuple[int, int, int]]:
    """Yield where each stretch of the first *stop* messages begins and ends, and how many *spans* cover it."""
    # By how much the number of spans over a message differs from that over the one before.
    steps = Counter[int]()
    for start, end in spans:
        steps[start] += 1
        steps[end] -= 1
    covers = 0
    for start, end in pairwise(sorted({0, stop, *(at for at in steps if at < stop)})):
        covers += steps[start]
        yield start, end, covers


def _is_bound(message: Message) -> bool:
    """Whether a view may leave out some of *message* since a vendor binds it to another view."""
    return without_signed(message) is not message


def _holds(request: Sequence[Message], said: Message) -> bool:
    if any(message is said for message in reversed(request)):
        return True
    # A result that a user message carries beside its words may have moved to its call.
    words = [part for part in said.parts if not isinstance(part, ToolCallResponsePart)]
    return any(
        message.role == "user" and [part for part in message.parts if part in words] == words
        for message in request
    )
