"""Values of the program's own beside what is said: no model ever gets them."""

from msgspec.structs import replace

from foldline.agent.recall import recall
from foldline.agent.reducer import HistoryReducer
from foldline.history.formats.renderings import render_openai_chat
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import GenericPart, ToolCallPart
from foldline.providers.summarizer import ModelSummarizer
from foldline.reduction.config import HistoryReductionConfig
from foldline.testing.model import ScriptedModel


MARK = "checkpoint"
OPAQUE = GenericPart(f"{MARK}-kind", f"{MARK} " * 20_000, opaque=True)


def told(count: int = 20) -> list[Message]:
    """Return *count* exchanges, each with a call and its result."""
    said: list[Message] = []
    for number in range(count):
        call = ToolCallPart(f"c{number}", "look", '{"at":"page"}')
        said += [
            Message.user(f"question {number} about the garden"),
            Message.assistant("let me look", tool_calls=[call]),
            Message.tool(call.id, f"the page says {number} " + "words " * 300),
            Message.assistant(f"it is {number}"),
        ]
    return said


def with_opaque(messages: list[Message]) -> list[Message]:
    """Return *messages* with an opaque part in each, and one of nothing else after each."""
    alone = Message(role="assistant", parts=(OPAQUE,))
    beside = [replace(one, parts=(*one.parts, OPAQUE)) for one in messages]
    return [one for message in beside for one in (message, alone)]


def test_no_summarizer_and_no_view_has_what_is_opaque() -> None:
    """Neither a transcript, a summary, a digest nor a shortened message has a word of it."""
    model = ScriptedModel(repeat="nothing to add", delay=0)
    config = HistoryReductionConfig(target_count=4, summarization_threshold=2)
    writers: list[list[ModelSummarizer]] = [[ModelSummarizer(model)], []]
    history = History(with_opaque(told()))
    for chain in writers:
        for how in (config, HistoryReductionConfig()):
            window = 4_000 if how is not config else None
            reducer = HistoryReducer(how, summarizer=chain, window=window)
            reduced = reducer.reduce_sync(history)
            assert reduced.state is not None
            assert MARK not in reduced.state.summary_content
            assert MARK not in str(render_openai_chat(reduced.messages))
            assert reduced.event.reduced_tokens < 4_000
    assert model.requests
    assert MARK not in str([render_openai_chat(one.messages) for one in model.requests])
    assert MARK not in str(model.requests)


def test_recall_shows_nothing_opaque() -> None:
    """A page of a message leaves it out."""
    page = recall(with_opaque(told()), 0)

    assert "question 0" in page.text
    assert MARK not in str(page)
