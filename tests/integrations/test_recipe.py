"""The lines of a page without an adapter do in the framework's own loop what an adapter does."""

import itertools
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

import pytest

from foldline.guests import summary_text
from foldline.history.messages import SUMMARY_KEY, Message
from foldline.testing.summarizer import ScriptedSummarizer
from tests.integrations.golden import SUMMARY, make_reducer
from tests.integrations.recipe import ROUNDS, TASKS, look_into, open_chat, recipe_of
from tests.integrations.served import Body


HEADER = summary_text(Message(role="assistant", metadata={SUMMARY_KEY: True}))


class Played(NamedTuple):
    """What a framework did with all tasks."""

    asked: list[Body]
    left: int
    """How many answers the model did not have to give."""
    folds: int
    stored: str
    """What the framework has kept."""


def text_of(body: Body) -> str:
    """Return the messages of a request without its rules."""
    return str([one for one in body["messages"] if one["role"] != "system"])


@pytest.fixture(scope="module")
def played(request: pytest.FixtureRequest) -> Played:
    """Let the guest under test do all tasks."""
    name = str(request.config.getoption("--guest"))
    player: ModuleType = import_module(f"tests.integrations.players.{name}")
    desk = open_chat(player.script())
    summarizer = ScriptedSummarizer(repeat=SUMMARY)
    stored = player.play(recipe_of(name, make_reducer(summarizer)))
    return Played(desk.asked, len(desk.answers), len(summarizer.requests), stored)


def test_every_request_is_accepted_and_small(played: Played) -> None:
    """OpenAI takes each request, all answers are given, and none has more than a fold leaves."""
    assert (len(played.asked), played.left) == (2 * (ROUNDS + 1), 0)
    assert max(len(one["messages"]) for one in played.asked) <= 20


def test_one_summary_serves_many_calls(played: Played) -> None:
    """Most calls write none, and send the bytes of the call before and what is new."""
    shown = [one for one in played.asked if SUMMARY in text_of(one)]

    grown = [
        after["messages"][: len(before["messages"])] == before["messages"]
        for before, after in itertools.pairwise(shown)
    ]
    assert 2 <= played.folds <= len(played.asked) / 2
    assert sum(not one for one in grown) <= played.folds


def test_the_task_stays_word_for_word(played: Played) -> None:
    """Long folded, it stands below the summary, and no old result of a tool is quoted there."""
    for task, body in zip(TASKS, (played.asked[ROUNDS], played.asked[-1]), strict=True):
        below = text_of(body).partition(SUMMARY)[2]
        quoted = below[: below.rfind("</quote>") + 1]

        assert task in below
        assert "was seen" not in quoted


def test_the_framework_keeps_everything(played: Played) -> None:
    """Its own history has every result of every task, and nothing that foldline wrote."""
    assert SUMMARY not in played.stored
    assert HEADER not in played.stored
    for room in [*range(ROUNDS), *range(100, 100 + ROUNDS)]:
        assert played.stored.count(look_into(room).strip()) >= len(TASKS)
