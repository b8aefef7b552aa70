"""
How many identifiers of a fold are left after nine further folds, and whether what is pinned stays.

A fold is one conversation of an airline's agent or three, and its identifiers are those in the
arguments of its calls. Nothing is quoted, so that the summary alone has to keep them. A stand-in for a
model writes prose without a single identifier: what is left then is kept by code.

Beside both stands a plain ledger of the same tokens: the identifiers of all folds, the newest first. The
study that the goal is of does not say how many conversations make a fold, but there a ledger keeps 100,
100 and 81 percent after 0, 3 and 9 further folds. Here it does with one conversation a fold, so that is
what is judged; three are shown.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from bench.goals import Goal, airline_sessions
from foldline import AgentRunConfig, History, HistoryReducer, HistoryReductionConfig, Message
from foldline.history.tokens import TokenEstimator
from foldline.providers.model import Summarizer
from foldline.reduction.request import SummaryRequest
from foldline.replay.quality.figures import Share
from foldline.replay.quality.identifiers import has_word, identifiers, said, wants
from foldline.replay.quality.moments import text_of_all


PINNED = "Never give the traveller a voucher without the word of a supervisor."
AGES = (0, 3, 9)
CELLS = ((1, 600), (1, 1_200), (3, 1_200))
_JUDGED_AGE, _JUDGED_CELL = 9, (1, 1_200)
_ROLLING = HistoryReductionConfig(
    counting_unit="messages", target_count=2, summarization_threshold=2, quote_user_messages=0
)
_FORCED = AgentRunConfig(trigger_history_reduction=True)
_Span: TypeAlias = tuple[Message, ...]
_Writer: TypeAlias = Callable[[Sequence[_Span], int], Iterator[str]]
_ESTIMATOR = TokenEstimator()
_WORD = re.compile(r"[a-z]{5,12}")


class Teller:
    """A stand-in for a model that summarizes: it uses words of the talk, and no identifier."""

    name = "teller"

    async def summarize(self, request: SummaryRequest) -> str:
        """Return sixty words of the talk in two sentences."""
        words = chain.from_iterable(_WORD.findall(one.text) for one in request.messages)
        some = " ".join(sorted(set(words))[:60])
        return f"The user and the assistant talked. They went through it step by step: {some}."


def goals(data: Path) -> Iterator[Goal]:
    """Judge the digest, and the stand-in for a model."""
    spans = [
        tuple(one for one in session.messages if one.role != "system")
        for session in airline_sessions(data)
    ]
    for name, summarizer in (("digest", None), ("model's text", Teller())):
        for cell in CELLS:
            is_judged = cell == _JUDGED_CELL
            yield from _left(name, spans, cell, partial(_fronts, summarizer), is_judged=is_judged)
        pinned = (Message.user(PINNED, pin=True), *spans[0][1:])
        texts = list(_fronts(summarizer, [pinned, *spans[1:], spans[0]], _JUDGED_CELL[1]))
        for folds in (10, 50):
            is_there = PINNED in texts[folds]
            yield Goal(
                name=f"{name}: pinned after {folds} folds", figure=100.0 * is_there, least=100.0
            )
    for cell in CELLS:
        yield from _left("plain ledger", spans, cell, _ledgers)


def _left(
    name: str,
    spans: Sequence[_Span],
    cell: tuple[int, int],
    write: _Writer,
    *,
    is_judged: bool = False,
) -> Iterator[Goal]:
    together, budget = cell
    for age, share in _kept(_joined(spans, together), write, budget).items():
        yield Goal(
            name=f"{name}, {together} a fold, {budget:,} tokens: left after {age} more folds",
            figure=100 * (share.value or 0),
            least=80.0 if is_judged and age == _JUDGED_AGE else None,
            n=share.total,
        )


def _joined(spans: Sequence[_Span], together: int) -> list[_Span]:
    starts = range(0, len(spans), together)
    return [tuple(chain.from_iterable(spans[at : at + together])) for at in starts]


def _kept(spans: Sequence[_Span], write: _Writer, budget: int) -> dict[int, Share]:
    """Return what is left of the identifiers of a fold, by the number of further folds."""
    groups: dict[int, list[tuple[int, int]]] = {age: [] for age in AGES}
    for start in range(0, len(spans) - max(AGES), 2):
        values = {value for message in spans[start] for value in wants(message)}
        texts = list(write(spans[start : start + max(AGES) + 1], budget))
        for age, found in groups.items():
            found.append((sum(has_word(texts[age], value) for value in values), len(values)))
    return {age: Share(tuple(found)) for age, found in groups.items()}


def _fronts(summarizer: Summarizer | None, spans: Sequence[_Span], budget: int) -> Iterator[str]:
    """Yield what stands in front of the view after each of *spans* is folded away."""
    given = () if summarizer is None else (summarizer,)
    reducer = HistoryReducer(_ROLLING, summarizer=given, summary_budget=budget)
    history, state = History(), None
    for span in spans:
        history.extend((*span, Message.user("Go on, please.")))
        state = reducer.reduce_sync(history, state=state, overrides=_FORCED).state
        assert state is not None
        yield text_of_all(state.front_messages())


def _ledgers(spans: Sequence[_Span], budget: int) -> Iterator[str]:
    """Yield after each of *spans* the identifiers of all so far, the newest first."""
    known: dict[str, None] = {}
    for span in spans:
        for value in chain.from_iterable(identifiers(said(one)) for one in span):
            known.pop(value, None)
            known[value] = None
        taken: list[str] = []
        room = budget
        for value in reversed(known):
            room -= _ESTIMATOR.count(value) + 1
            if room < 0:
                break
            taken.append(value)
        yield ", ".join(taken)
