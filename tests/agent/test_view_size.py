"""Quotes beside a summary make no view larger than it was."""

from collections.abc import Callable

import pytest

from foldline.agent.reducer import HistoryReducer
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.request import SummaryRequest
from foldline.reduction.view import view_tokens
from foldline.testing.summarizer import ScriptedSummarizer
from tests.agent.test_reducer import TEXT, reducer


def _alike(_: int) -> str:
    return TEXT * 2


def _of_many_lengths(turn: int) -> str:
    return " ".join(f"w{turn * at % 97}" for at in range(5 + turn * 41 % 60))


@pytest.mark.parametrize(("layers", "said"), [(0, _alike), (1, _alike), (1, _of_many_lengths)])
def test_quotes_make_no_view_larger(layers: int, said: Callable[[int], str]) -> None:
    """Where users say nearly all, a fold quotes less of them rather than send more than before."""
    config = HistoryReductionConfig(
        target_count=4, summarization_threshold=2, use_single_summary=not layers
    )
    one, history, state = HistoryReducer(config), History(), None
    folds = 0
    for turn in range(60):
        history.append(Message.user(f"Order {turn} of the {turn}th customer: {said(turn)}"))
        before = view_tokens(history, state)
        reduced = one.reduce_sync(history, state=state)
        if reduced.event.status == "performed":
            folds += 1
            assert reduced.event.reduced_tokens < before
        state = reduced.state
        history.append(Message.assistant("Done."))
    assert folds > 10


def test_quotes_make_no_view_larger_beside_a_summary_that_takes_all_its_room() -> None:
    """How long a summary gets is known after the quotes are chosen: then more of them give way."""

    def filled(request: SummaryRequest) -> str:
        return "the weather is fine " * (request.budget // 4)

    history, state = History(), None
    one = reducer(ScriptedSummarizer(repeat=filled))
    sizes: list[tuple[int, int]] = []
    for turn in range(8):
        history.append(Message.user(f"Order {turn}: {TEXT}"))
        before = view_tokens(history, state)
        reduced = one.reduce_sync(history, state=state)
        if reduced.event.status == "performed":
            sizes.append((before, reduced.event.reduced_tokens))
        state = reduced.state
        history.append(Message.assistant("Done."))

    # The first fold brings the words around a summary and quotes.
    assert len(sizes) > 4
    assert all(after < before for before, after in sizes[1:])


_SUPPORT = (
    "Hi, I'm Dana. My order AB-12771 hasn't arrived.",
    "It left our warehouse on 3 March, tracking 00340434161094.",
    "Please always reply in short sentences.",
    "Sure. Short sentences.",
    "Can you send it to my office instead? 12 Harbour Street, Bristol.",
    "Done. The new address is 12 Harbour Street, Bristol.",
    "When will it be here?",
    "On Friday, before noon.",
    "Great. Also I was charged twice, 49.90 each.",
    "I see two charges. I have refunded one of them; reference RF-88120.",
    "How long does the refund take?",
    "Three to five working days.",
    "And can I change the colour to blue?",
    "The parcel is on its way, so no.",
    "OK, let's return it then.",
    "I have noted it.",
    "Remind me, what was the refund reference?",
)


def test_a_short_talk_keeps_what_was_said_and_not_what_was_asked() -> None:
    """With hardly any room no rule is said twice, and ids and outcomes come before questions."""
    items = [
        {"role": "assistant" if at % 2 else "user", "content": text}
        for at, text in enumerate(_SUPPORT)
    ]
    config = HistoryReductionConfig(
        counting_unit="messages", target_count=4, summarization_threshold=2
    )
    reduced = HistoryReducer(config).reduce_sync(items)
    view = "\n".join(str(one["content"]) for one in reduced.messages)

    assert reduced.event.reduced_tokens < reduced.event.original_tokens
    assert all(said in view for said in ("RF-88120", "12 Harbour Street", "49.90", "AB-12771"))
    assert view.count("always reply in short sentences") == 1
    assert "How long does the refund take?" not in view
