"""What a window of a history has in common with all of it."""

from foldline.agent.reducer import HistoryReducer
from foldline.history.history import History
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.verdict import decide
from foldline.reduction.view import view_of, view_tokens
from tests.histories import COUNTING_UNITS


def is_decided_alike(window: History, full: History) -> bool:
    """
    Whether no message behind the cut answers a call before it, and no such call waits.

    Such a late answer is damage. All of a history knows its call and has no safe cut between the
    two; a window takes it for an answer to nobody, and either view is valid. A call before the cut
    waits where a rewind has taken its answer back.
    """
    if full.first_open_call() < window.start:
        return False
    return all(full.reach(at) >= window.start for at in range(window.start, len(full)))


def agree(
    window: History, full: History, state: HistoryReductionState | None, reducer: HistoryReducer
) -> None:
    """Fail unless a window answers like the full history wherever a turn asks."""
    assert (len(window), window.total) == (len(full), full.total)
    assert (window.digest(), window.tokens()) == (full.digest(), full.tokens())
    assert (window.system, window.system_tokens) == (full.system, full.system_tokens)
    assert window.last_user() == full.last_user()
    for start in range(window.start, len(full) + 1):
        assert window.digest(start) == full.digest(start)
        for unit in COUNTING_UNITS:
            assert window.count(unit, start) == full.count(unit, start)
    if not is_decided_alike(window, full):
        return
    assert window.first_open_call() == full.first_open_call()
    made = reducer.config_fingerprint
    verdict = decide(window, reducer.config, state, config_fingerprint=made)
    assert verdict == decide(full, reducer.config, state, config_fingerprint=made)
    assert view_of(window, verdict.state) == view_of(full, verdict.state)
    assert view_tokens(window, verdict.state) == view_tokens(full, verdict.state)
