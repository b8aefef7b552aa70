"""What a user said that holds for a whole conversation."""

from collections.abc import Sequence

import pytest

from foldline.agent.reducer import HistoryReducer
from foldline.history.messages import Message
from foldline.providers.model import Summarizer
from foldline.providers.vendors.client_model import summarizer_from
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.record import Section


RULE = "Rule for this whole session: never push to the branch release-2025."
TOLD = "The user has tickets looked at, one after the other."
REPLY = f"Summary of the conversation so far:\n{TOLD}\nEnd of summary."


@pytest.mark.parametrize("summarizer", [(), summarizer_from(lambda _: REPLY, name="own")])
def test_a_rule_stays(summarizer: Summarizer | Sequence[Summarizer]) -> None:
    """Requests that are newer leave the quotes before it, and the record has it beside a model's text."""
    config = HistoryReductionConfig(context_window_size=8_000)
    reducer, state = HistoryReducer(config, summarizer=summarizer), None
    messages = [Message.user("Hello."), Message.assistant("Hello."), Message.user(RULE)]
    for number in range(120):
        messages.append(Message.assistant(f"Looked at it: {number} " + "it is fine " * 60))
        messages.append(Message.user(f"Please look at ticket {number} and tell me what is wrong."))
        state = reducer.reduce_sync(messages, state=state).state

    assert state is not None
    assert state.record is not None
    assert RULE in state.record.lines(Section.RULES)
    assert (TOLD in state.summary_content) is bool(summarizer)
    shown = [one.index for one in state.quotes if one.text]
    assert shown[:2] == [0, 2]
    assert 40 < shown[2] < shown[3]
