"""Every recorded conversation in three wire forms: one history, one reduction, one view."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from foldline.agent.reducer import HistoryReducer
from foldline.history.digest import prefix_digest
from foldline.history.formats.anthropic import ANTHROPIC
from foldline.history.formats.converter import Converter
from foldline.history.formats.openai_chat import OPENAI_CHAT
from foldline.history.formats.openai_responses import OPENAI_RESPONSES
from foldline.history.messages import Message
from foldline.reduction.config import HistoryReductionConfig
from foldline.testing.summarizer import ScriptedSummarizer
from tests.servers.recordings import recorded_sessions


FORMS = (OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC)
CONFIG = HistoryReductionConfig(
    counting_unit="tokens", target_token_budget=800, token_budget_threshold=400
)


def _conversations(folder: Path) -> Iterator[list[Message]]:
    """Give what all three forms can express of each recorded conversation."""
    files = [one for one in sorted(folder.rglob("*")) if one.suffix in {".json", ".jsonl", ".yaml"}]
    for session in (session for path in files for session in recorded_sessions(path)):
        said = _without_items(session.messages)
        for form in (*FORMS, *FORMS):
            said = _without_items(form.messages(form.items(said)))
        yield said


def _without_items(messages: Sequence[Message]) -> list[Message]:
    return [replace(message, native=None) for message in messages]


def _reducer() -> HistoryReducer:
    return HistoryReducer(CONFIG, summarizer=ScriptedSummarizer(repeat="It was said."))


def _reduced(form: Converter, items: list[dict[str, Any]]) -> object:
    """Return the cut, its hash and the digest of the view of what *items* say."""
    reduced = _reducer().reduce_sync(form.messages(items))
    state = reduced.state
    view = prefix_digest(reduced.messages)
    return view if state is None else (state.summarized_up_to_index, state.message_hash, view)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_three_forms_are_one_conversation(shared_data: Path) -> None:
    """Digests, cuts and views are equal, and a reduction made on one form is a hit on the others."""
    folds = conversations = 0
    for said in _conversations(shared_data):
        conversations += 1
        written = {form: form.items(said) for form in FORMS}

        assert len({prefix_digest(form.messages(items)) for form, items in written.items()}) == 1
        assert len({_reduced(form, items) for form, items in written.items()}) == 1
        reducer = _reducer()
        made = reducer.reduce_sync(written[OPENAI_CHAT], format=OPENAI_CHAT.format)
        if made.verdict.kind != "fold" or made.state is None:
            continue
        folds += 1
        for form, items in written.items():
            again = reducer.reduce_sync(items, state=made.state, format=form.format)
            assert (again.verdict.kind, again.state) == ("hit", made.state)

    assert conversations > 150
    assert folds > 50
