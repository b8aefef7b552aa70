"""Reductions that a reducer takes back, or serves to some models alone."""

from foldline.agent.recall import recall_tool
from foldline.reduction.config import AgentRunConfig
from foldline.testing.summarizer import ScriptedSummarizer
from tests.agent.test_reducer import reducer, talk


def test_the_first_fold_is_undone() -> None:
    """With and without a state the next view is of the whole history again, until it folds."""
    skips = AgentRunConfig(skip_history_reduction=True)
    one = reducer()
    first = one.reduce_sync(talk(7))
    assert first.state is not None

    before = one.undo(first.state)
    with_nothing = one.reduce_sync(talk(7), state=before, overrides=skips)
    again = one.reduce_sync(talk(7), state=before)

    assert before is None
    assert (with_nothing.state, with_nothing.messages) == (None, talk(7))
    assert again.event.status == "performed"


def test_a_reduction_that_names_recall_is_not_served_to_others() -> None:
    """A model without the tool gets a reduction of its own, and each is found again."""
    schema = recall_tool().definition
    scripted = ScriptedSummarizer(repeat="what was said so far")
    one = reducer(scripted)
    for tools in ([schema], [], [schema], []):
        one.reduce_sync(talk(7), tools=tools)

    assert len(scripted.requests) == 2
