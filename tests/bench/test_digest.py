"""What the benchmark of the digest measures with."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from bench import digest
from foldline import History, Message
from foldline.providers.digest import summarizer
from foldline.replay.quality.identifiers import said


def _size(message: Message) -> int:
    calls = "".join(call.arguments for call in message.tool_calls)
    return len((calls or said(message)).encode())


@pytest.mark.parametrize("make", [digest.talk, digest.work])
def test_each_message_has_its_size(make: Callable[[int], Sequence[Message]]) -> None:
    """Messages have 300 bytes but for a few, and the same each time; none is said twice."""
    messages = make(40)

    assert len(messages) == 40
    assert all(abs(_size(one) - digest.SIZE) <= 20 for one in messages)
    assert messages == make(40)
    assert len({one.text or one.parts for one in messages}) == 40


def test_another_task_runs_while_a_digest_is_written() -> None:
    """The fold that delays the other task lets it run; no delay is negative."""
    found = asyncio.run(digest.delays(History(digest.talk(400))))

    assert found
    assert min(found) > -digest.NAP * 1e3


def test_a_digest_that_fails_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fold whose digest has failed is an error, though the fold itself is performed."""

    def fail(*_: object, **__: object) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr(summarizer, "write_digest", fail)

    with pytest.raises(RuntimeError, match="no digest was written"):
        asyncio.run(digest.delays(History(digest.talk(40))))


def test_a_goal_is_missed_by_the_figure_of_its_name() -> None:
    """Every figure that is judged has a goal of its own."""
    names = [
        "talk_us_a_message",
        "work_us_a_message",
        "work_counted_times_said",
        "talk_delay_ms",
        "work_delay_ms",
        "long_texts_delay_ms",
    ]
    for name in names:
        rows = digest.goals({**dict.fromkeys(names, 0.0), name: 99.0})
        assert sum(value > most for _, value, most in rows) == 1
