"""An item in front of a view that only its vendor can read."""

import pytest

from foldline.history.formats.openai_responses import message_from_openai_responses
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.budget import budget_of
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.view import view_of, view_tokens, with_sealed
from tests.reduction.test_fold import ROLLING, Asked, make, talk
from tests.reduction.test_fold_fits import sealed_item


def folded() -> tuple[History, HistoryReductionState]:
    history = talk(9)
    return history, make(history, ROLLING, Asked()).state


def test_an_item_goes_in_front() -> None:
    """The record gets a new hash, and notes up to where the item stands for messages."""
    history, made = folded()
    taken = with_sealed(history, made, sealed_item(0), base=None, budget=budget_of(ROLLING))

    assert view_of(history, taken)[0].native == sealed_item(0).native
    assert taken.sealed_index == made.summarized_up_to_index - 1
    assert taken.is_whole
    assert taken.summary_content == made.summary_content
    assert view_tokens(history, made) < view_tokens(history, taken) < view_tokens(history)


def large() -> Message:
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "seal" * 9_000}
    return message_from_openai_responses(item)


@pytest.mark.parametrize("sealed", [large(), Message.assistant("no item")])
def test_an_item_that_does_not_help_is_left_out(sealed: Message) -> None:
    """The record stays alone if the item makes the view no smaller, or is none."""
    history, made = folded()

    assert with_sealed(history, made, sealed, base=None, budget=budget_of(ROLLING)) is made
