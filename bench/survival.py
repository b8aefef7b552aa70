"""
How many identifiers of a fold are left after nine further folds, and whether what is pinned stays.

A fold is one conversation of an airline's agent or three, and its identifiers are those in the
arguments of its calls. Nothing is quoted, so that the summary alone has to keep them. A stand-in for a
model writes prose without a single identifier: what is left then is kept by code.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from bench.goals import Goal, airline_sessions
from foldline import AgentRunConfig, History, HistoryReducer, HistoryReductionConfig, Message
from foldline.providers.summarizer import Summarizer
from foldline.reduction.request import SummaryRequest
from foldline.replay.quality.figures import Share
from foldline.replay.quality.identifiers import has_word, wants
from foldline.replay.quality.moments import text_of_all


PINNED = "Never give the traveller a voucher without the word of a supervisor."
AGES = (0, 3, 9)
CELLS = ((1, 600), (1, 1_200), (3, 1_200))
_JUDGED_AGE, _JUDGED_BUDGET = 9, 1_200
_ROLLING = HistoryReductionConfig(
    counting_unit="messages", target_count=2, summarization_threshold=2, quote_user_messages=0
)
_FORCED = AgentRunConfig(trigger_history_reduction=True)
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
        for together, budget in CELLS:
            kept = _kept(_joined(spans, together), summarizer, budget)
            for age, share in kept.items():
                is_judged = age == _JUDGED_AGE and budget == _JUDGED_BUDGET
                yield Goal(
                    name=f"{name}, {together} a fold, {budget:,} tokens: left after {age} more folds",
                    figure=100 * (share.value or 0),
                    least=80.0 if is_judged else None,
                    n=share.total,
                )
        pinned = (Message.user(PINNED, pin=True), *spans[0][1:])
        texts = list(_fronts([pinned, *spans[1:], spans[0]], summarizer, _JUDGED_BUDGET))
        for folds in (10, 50):
            is_there = PINNED in texts[folds]
            yield Goal(
                name=f"{name}: pinned after {folds} folds", figure=100.0 * is_there, least=100.0
            )


def _joined(spans: Sequence[Sequence[Message]], together: int) -> list[tuple[Message, ...]]:
    starts = range(0, len(spans), together)
    return [tuple(chain.from_iterable(spans[at : at + together])) for at in starts]


def _kept(
    spans: Sequence[Sequence[Message]], summarizer: Summarizer | None, budget: int
) -> dict[int, Share]:
    """Return what is left of the identifiers of a fold, by the number of further folds."""
    groups: dict[int, list[tuple[int, int]]] = {age: [] for age in AGES}
    for start in range(0, len(spans) - max(AGES), 2):
        values = {value for message in spans[start] for value in wants(message)}
        texts = list(_fronts(spans[start : start + max(AGES) + 1], summarizer, budget))
        for age, found in groups.items():
            found.append((sum(has_word(texts[age], value) for value in values), len(values)))
    return {age: Share(tuple(found)) for age, found in groups.items()}


def _fronts(
    spans: Sequence[Sequence[Message]], summarizer: Summarizer | None, budget: int
) -> Iterator[str]:
    """Yield what stands in front of the view after each of *spans* is folded away."""
    given = () if summarizer is None else (summarizer,)
    reducer = HistoryReducer(_ROLLING, summarizer=given, summary_budget=budget)
    history, state = History(), None
    for span in spans:
        history.extend((*span, Message.user("Go on, please.")))
        state = reducer.reduce_sync(history, state=state, overrides=_FORCED).state
        assert state is not None
        yield text_of_all(state.front_messages())
