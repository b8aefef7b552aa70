"""What one fold asks its summarizers, and where it does the rest."""

from threading import get_ident

from foldline.agent.fold_calls import FoldCalls
from foldline.reduction.request import aside


async def test_what_would_hold_up_the_loop_is_done_in_a_thread() -> None:
    """Work that a fold yields aside runs in another thread than the loop, and its result comes back."""
    worked_in = await FoldCalls([], [], seconds=10).run(aside(get_ident))

    assert worked_in != get_ident()
