"""Notices a view that is given in place of the history, as other libraries have their callers do."""

import warnings
from collections.abc import Iterator
from itertools import chain

from foldline.agent.cache import ReductionCache
from foldline.errors import MessagesNotLoadedError, ViewGivenError
from foldline.history.formats.renderings.sending import OPENING_NOTE, SUMMARY_HEADER, summary_text
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import TextPart
from foldline.reduction.state import HistoryReductionState


_NOTE = (TextPart(OPENING_NOTE),)


def check_not_fed_back(
    history: History, state: HistoryReductionState | None, cache: ReductionCache, scope: str
) -> None:
    """Raise ViewGivenError if *history* begins with the summary of *state* or of one in *cache*."""
    first = _first(history, 0 if state is None else len(state.shown_pins))
    if first is None or first.role != "assistant":
        return
    said = first.text
    if not (first.is_summary or said.startswith(SUMMARY_HEADER)):
        return
    known = chain(_line(state), cache.states(scope))
    summaries = (one for each in known for one in each.summary_messages()[:1])
    # Neighboring answers were read as one message.
    if any(said.startswith((summary_text(one), one.text)) for one in summaries):
        raise ViewGivenError
    text = (
        "messages begin with the summary of a view: if they are one, pass the full history instead"
    )
    warnings.warn(text, stacklevel=4)


def _first(history: History, pins: int) -> Message | None:
    try:
        if pins:
            # Neighbors of one role may be one message.
            return next((one for one in history[: pins + 1] if one.role == "assistant"), None)
        first = history[0]
        is_note = first.role == "user" and tuple(first.parts) == _NOTE
        return history[1] if is_note else first
    except (IndexError, MessagesNotLoadedError):
        return None


def _line(state: HistoryReductionState | None) -> Iterator[HistoryReductionState]:
    while state is not None:
        yield state
        state = state.previous
