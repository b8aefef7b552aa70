"""Who read what."""

import asyncio

import pytest

from foldline.history.messages import Message
from foldline.providers.digest import DigestSummarizer
from foldline.reduction.request import SummaryRequest
from foldline.replay.reads import ReadingLog, spans


@pytest.mark.parametrize(
    ("positions", "ranges"),
    [
        ([], ()),
        ([3], ((3, 4),)),
        ([0, 1, 2], ((0, 3),)),
        ([2, 0, 1, 1], ((0, 3),)),
        ([0, 1, 5, 7, 8], ((0, 2), (5, 6), (7, 9))),
    ],
)
def test_positions_become_ranges(positions: list[int], ranges: tuple[tuple[int, int], ...]) -> None:
    """Neighbours make one range, in any order and however often they are named."""
    assert spans(positions) == ranges


def test_the_log_counts_every_reading() -> None:
    """A message that is read in two requests was read twice; system messages have no position."""
    log = ReadingLog(DigestSummarizer())
    messages = tuple(Message.user(f"Please call number {one}.") for one in range(3))
    for message in (Message.system("rule"), *messages):
        log.follow(message)

    for given in (messages[:2], messages[1:]):
        request = SummaryRequest(messages=given, prompt="", budget=100)
        asyncio.run(log.summarize(request))

    assert log.most == 2
    assert spans(log.take()) == ((0, 3),)
    assert log.take() == ()


def test_the_log_keeps_the_name() -> None:
    """A logged summarizer is not another one: its summaries stay valid without the log."""
    assert ReadingLog(DigestSummarizer()).name == DigestSummarizer().name
