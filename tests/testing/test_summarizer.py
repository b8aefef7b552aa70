"""The scripted summarizer fails on a surprise and on a leftover."""

import asyncio

import pytest

from foldline.history.messages import Message
from foldline.providers.summarizer import Summarizer
from foldline.reduction.request import SummaryRequest
from foldline.testing.summarizer import ScriptedSummarizer


REQUEST = SummaryRequest(messages=(Message.user("a"),), prompt="p", budget=9)


def ask(summarizer: Summarizer) -> str:
    return asyncio.run(summarizer.summarize(REQUEST))


def test_steps_are_answered_in_order_then_repeated() -> None:
    """Texts, functions and errors come as written, then the repeated one for ever."""
    scripted = ScriptedSummarizer(["one", lambda asked: asked.prompt], repeat="more", name="me")

    assert isinstance(scripted, Summarizer)
    assert [ask(scripted) for _ in range(4)] == ["one", "p", "more", "more"]
    assert scripted.requests == [REQUEST] * 4
    assert scripted.name == "me"


def test_an_error_of_the_script_is_raised() -> None:
    """A step may be an error."""
    with pytest.raises(TimeoutError), ScriptedSummarizer([TimeoutError()]) as scripted:
        ask(scripted)


def test_a_surprise_is_remembered() -> None:
    """Anyone who swallows the error is still found out at the end."""
    with (
        pytest.raises(AssertionError, match="1 unexpected requests, 0 steps left over"),
        ScriptedSummarizer() as scripted,
        pytest.raises(AssertionError, match="has ended"),
    ):
        ask(scripted)


def test_a_leftover_is_an_error() -> None:
    """A step that nobody asked for means that something did not happen."""
    with (
        pytest.raises(AssertionError, match="0 unexpected requests, 1 steps left over"),
        ScriptedSummarizer(["never"]),
    ):
        pass
