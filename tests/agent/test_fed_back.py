"""A view that is given in place of the history."""

from typing import Any

import pytest
from msgspec.structs import replace

from foldline.agent.cache import ReductionCache
from foldline.agent.reducer import HistoryReducer
from foldline.errors import ViewGivenError
from foldline.formats import render_anthropic, render_openai_chat, render_openai_responses
from foldline.history.messages import Message
from foldline.history.parts import UriPart
from foldline.reduction.config import HistoryReductionConfig


LAYERS = pytest.mark.parametrize("single", [True, False], ids=["rolling", "layers"])


def config(*, single: bool = True) -> HistoryReductionConfig:
    return HistoryReductionConfig(
        counting_unit="messages",
        target_count=4,
        summarization_threshold=4,
        use_single_summary=single,
    )


def talk(count: int) -> list[Message]:
    return [
        (Message.assistant if n % 2 else Message.user)(f"AB{n} is in the harbor. " * 12)
        for n in range(count)
    ]


def _anthropic(view: list[Message]) -> list[Any]:
    return render_anthropic(view).messages


FORMS: list[Any] = [list, render_openai_chat, render_openai_responses, _anthropic]


@LAYERS
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rules", [[], [Message.system("Be brief.")]])
@pytest.mark.parametrize("keeps_state", [True, False])
def test_a_view_is_not_taken_for_the_history(
    form: Any, rules: list[Message], *, single: bool, keeps_state: bool
) -> None:
    """It is refused in every form, with or without a state, also with more said after it."""
    reducer = HistoryReducer(config(single=single))
    first = reducer.reduce_sync([*rules, *talk(20)])
    # What a caller sends, and appends to.
    view = [*form(first.messages), *form([Message.user("And now?")])]
    state = first.state if keeps_state else None

    with pytest.raises(ViewGivenError) as refused:
        reducer.reduce_sync(view, state=state)
    assert "pass the full history" in str(refused.value)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [1, 2])
def test_a_view_that_opens_with_a_pinned_file_is_refused_too(form: Any, count: int) -> None:
    """The summary comes after one such message or several, which Anthropic's form makes one."""
    reducer, said = HistoryReducer(config()), talk(20)
    for at in range(0, 2 * count, 2):
        said[at] = replace(said[at], parts=(*said[at].parts, UriPart("image", "https://a.b/c.png")))
    first = reducer.reduce_sync(said, pins=[*range(0, 2 * count, 2)])
    assert first.messages[:count] == said[: 2 * count : 2]

    with pytest.raises(ViewGivenError):
        reducer.reduce_sync(form(first.messages), state=first.state)


def test_a_view_of_an_earlier_fold_is_refused_too() -> None:
    """The records that a state remembers are known."""
    reducer = HistoryReducer(config())
    first = reducer.reduce_sync(talk(20))
    later = reducer.reduce_sync(talk(40), state=first.state)

    with pytest.raises(ViewGivenError):
        HistoryReducer(config()).reduce_sync(first.messages, state=later.state)


def test_a_summary_that_nobody_knows_is_text() -> None:
    """Another process may begin a conversation with it, but mostly it is a view: a warning says so."""
    view = HistoryReducer(config()).reduce_sync(talk(20)).messages
    with pytest.warns(UserWarning, match="pass the full history"):
        reduced = HistoryReducer(config()).reduce_sync(render_openai_chat(view))

    assert reduced.event.status == "skipped"


def test_a_summary_in_the_middle_is_text() -> None:
    """Somebody may paste what the model was shown."""
    reducer = HistoryReducer(config())
    summary = reducer.reduce_sync(talk(20)).messages[0]
    pasted = [*talk(2), Message.assistant(summary.text), Message.user("Is that right?")]

    assert reducer.reduce_sync(pasted).event.status == "skipped"


def test_a_tenant_learns_nothing_of_another() -> None:
    """A summary of another scope is text, so nobody can try whether one exists."""
    reducer = HistoryReducer(config(), cache=ReductionCache())
    view = reducer.reduce_sync(talk(20), scope="acme").messages

    with pytest.warns(UserWarning, match="pass the full history"):
        other = reducer.reduce_sync(render_openai_chat(view), scope="other")
    assert other.event.status == "skipped"


def test_without_a_state_a_reducer_remembers_by_prefix() -> None:
    """Who forgets the state pays for one fold, not for one at each call."""
    reducer, folds = HistoryReducer(config()), 0
    for count in range(20, 24):
        folds += reducer.reduce_sync(talk(count)).event.status == "performed"

    assert folds == 1


def test_a_state_that_was_taken_back_stays_back() -> None:
    """What a reducer remembers does not come back to who passes an earlier state."""
    reducer = HistoryReducer(config())
    first = reducer.reduce_sync(talk(20))
    reducer.reduce_sync(talk(40), state=first.state)
    again = reducer.reduce_sync(talk(40), state=first.state)

    assert again.event.status == "performed"
