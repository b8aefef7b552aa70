"""What one fold asks its summarizers, and where it does the rest."""

from datetime import UTC, datetime
from threading import get_ident
from typing import Any

from foldline.agent.breaker import Breaker
from foldline.agent.fold_calls import FoldCalls
from foldline.reduction.request import Flow, Reply, SummaryFailure, SummaryRequest, aside


class Mistaken:
    """A summarizer that returns something else than a text."""

    name = "mistaken"

    async def summarize(self, request: SummaryRequest) -> Any:
        """Return the whole request."""
        return request


async def test_what_would_hold_up_the_loop_is_done_in_a_thread() -> None:
    """Work that a fold yields aside runs in another thread than the loop, and its result comes back."""
    worked_in = await FoldCalls([], [], seconds=10).run(aside(get_ident))

    assert worked_in != get_ident()


async def test_what_is_no_text_is_named() -> None:
    """The failure says what came in place of a text."""

    def flow() -> Flow[Reply]:
        return (yield SummaryRequest(messages=(), prompt="", budget=9))

    breaker = Breaker("mistaken", lambda: datetime(2026, 1, 1, tzinfo=UTC))
    reply = await FoldCalls([Mistaken()], [breaker], seconds=10).run(flow())

    assert reply == SummaryFailure("no text, but SummaryRequest")
