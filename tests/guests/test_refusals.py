"""What follows when a vendor refuses a view as too long."""

from collections.abc import AsyncGenerator
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from foldline import AgentRunConfig, HistoryReducer, Message
from foldline.agent.arguments import RequestOptions
from foldline.errors import ContextOverflowError
from foldline.guests.refusals import Refusals, is_too_long
from tests.integrations.refused import BadRequestError, too_long


def show(refusals: Refusals, tokens: int) -> None:
    """Send a view of *tokens*."""
    reduced = HistoryReducer().reduce_sync([Message.user("And the last?")])
    event = replace(reduced.event, reduced_tokens=tokens)
    assert refusals.shown(replace(reduced, event=event)) == reduced.messages


def folded(*sent: int) -> list[bool]:
    """Return for each view of *sent* tokens, which a vendor refuses, whether one more is made."""
    refusals, found = Refusals(), list[bool]()
    for one in sent:
        show(refusals, one)
        found.append(refusals.fold())
    return found


def test_each_refused_view_is_folded_to_a_quarter() -> None:
    """Of what was sent, and not of what was sent first."""
    refusals, made = Refusals(), list[Any]()
    for one in (64_000, 16_000):
        show(refusals, one)
        assert refusals.fold()
        made.append(refusals.overrides)

    assert [one.history_reduction_target_override for one in made] == [16_000, 4_000]


def test_three_views_are_folded_and_none_that_came_to_be_no_smaller() -> None:
    """What nobody makes smaller is not sent for ever."""
    assert folded(64_000, 16_000, 4_000, 1_000) == [True, True, True, False]
    assert folded(64_000, 64_000) == [True, False]


def test_a_next_call_begins_anew() -> None:
    """A view of the same size may be folded again."""
    refusals = Refusals()
    show(refusals, 64_000)
    assert [refusals.fold(), refusals.fold()] == [True, False]
    refusals.begin()
    assert refusals.fold()


def test_a_next_view_goes_on_from_the_fold_that_was_refused() -> None:
    """Where the guest keeps a state; without one the reducer remembers the fold."""
    reducer, refusals = HistoryReducer(), Refusals()
    said = [make("A room. " * 400) for _ in range(4) for make in (Message.user, Message.assistant)]
    folds = AgentRunConfig(trigger_history_reduction=True)
    first, second = (reducer.reduce_sync(one, overrides=folds) for one in (said[:-2], said))
    facts: RequestOptions = {"state": first.state}
    refusals.shown(second)
    assert refusals.over(facts) is facts
    assert refusals.fold()

    over = refusals.over(facts)
    assert (over.get("state"), over.get("overrides")) == (second.state, refusals.overrides)
    assert refusals.over({"state": None}).get("state") is None


def raised_from(cause: Exception) -> Exception:
    failed = RuntimeError("the service failed")
    failed.__cause__ = cause
    return failed


def ring() -> Exception:
    """Return what `raise error from error` raises."""
    failed = RuntimeError("out of memory")
    failed.__cause__ = failed
    return failed


@pytest.mark.parametrize(
    ("error", "is_long"),
    [
        (too_long(), True),
        (raised_from(too_long()), True),
        (ContextOverflowError(model="m"), True),
        (RuntimeError("prompt is too long: 9000 tokens > 2000 maximum"), True),
        (BadRequestError(f"{too_long().body}", 429), False),
        (BadRequestError("the key is wrong"), False),
        (RuntimeError("out of memory"), False),
        (ring(), False),
    ],
    ids=["body", "cause", "ours", "words", "rate limit", "other refusal", "other failure", "ring"],
)
def test_a_refusal_is_known_in_every_form(error: Exception, *, is_long: bool) -> None:
    """Frameworks pass on what a vendor's SDK has raised, or raise an error of their own from it."""
    assert is_too_long(error) == is_long


def test_any_other_failure_is_raised() -> None:
    """So is a refusal of an answer of which a piece was shown."""
    refusals = Refusals()
    show(refusals, 9_000)
    with refusals.asking():
        raise too_long()
    assert refusals.overrides is not None

    show(refusals, 2_000)
    with pytest.raises(RuntimeError), refusals.asking():
        raise RuntimeError
    refusals.is_over = True
    with pytest.raises(BadRequestError), refusals.asking():
        raise too_long()


class Asked:
    """A stream that a vendor refuses at first, after it was opened; notes which ones are closed."""

    def __init__(self) -> None:
        self.closed = list[int]()
        self._asked = 0

    async def ask(self) -> AsyncGenerator[Any]:
        """Return the stream of one attempt."""
        self._asked += 1
        return self._pieces(self._asked)

    async def _pieces(self, number: int) -> AsyncGenerator[Any]:
        try:
            yield SimpleNamespace(type="opened")
            if number == 1:
                raise too_long()
            yield SimpleNamespace(type="said")
            raise too_long()
        finally:
            self.closed.append(number)


OPENINGS = frozenset({"opened"})


async def test_a_stream_is_asked_for_again_until_a_piece_of_the_answer_came() -> None:
    """What opens a stream is none."""
    asked, refusals = Asked(), Refusals()
    show(refusals, 9_000)
    stream = refusals.stream(asked.ask, openings=OPENINGS)

    assert [(await anext(stream)).type for _ in range(3)] == ["opened", "opened", "said"]
    with pytest.raises(BadRequestError):
        await anext(stream)


async def test_a_stream_that_is_closed_closes_what_it_reads() -> None:
    """At once: a connection that is left to the loop is closed in another task, or never."""
    asked, refusals = Asked(), Refusals()
    show(refusals, 9_000)
    stream = refusals.stream(asked.ask, openings=OPENINGS)
    for closed in ([], [1]):
        await anext(stream)
        assert asked.closed == closed
    await stream.aclose()

    assert asked.closed == [1, 2]


async def test_a_stream_that_cannot_be_closed_is_read() -> None:
    """Some are iterators of their own."""

    class Plain:
        """An iterator without anything else."""

        def __init__(self) -> None:
            self._left = [1, 2]

        def __aiter__(self) -> "Plain":
            return self

        async def __anext__(self) -> int:
            if not self._left:
                raise StopAsyncIteration
            return self._left.pop()

    async def ask() -> Plain:
        return Plain()

    assert [one async for one in Refusals().stream(ask)] == [2, 1]
