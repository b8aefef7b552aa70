"""Strategies as generators, and the two drivers."""

import asyncio

import pytest

from foldline.history.messages import Message
from foldline.reduction.request import Flow, Reply, SummaryFailure, SummaryRequest, run_flow


def request(number: int) -> SummaryRequest:
    return SummaryRequest(messages=(Message.user(str(number)),), prompt="p", budget=number)


def two_steps() -> Flow[list[Reply]]:
    first = yield request(1)
    second = yield request(2)
    return [first, second]


def nothing() -> Flow[str]:
    return "done"
    yield


def answer(asked: SummaryRequest) -> Reply:
    return SummaryFailure("Timeout") if asked.budget == 2 else f"text {asked.budget}"


async def answer_later(asked: SummaryRequest) -> Reply:
    await asyncio.sleep(0)
    return answer(asked)


def test_both_drivers_send_each_answer_in() -> None:
    """Blocking and awaiting, a flow is sent the same answers and gives the same result."""
    wanted = ["text 1", SummaryFailure("Timeout")]

    assert run_flow(two_steps(), answer) == wanted
    assert asyncio.run(run_flow(two_steps(), answer_later)) == wanted


def test_a_flow_without_requests_just_ends() -> None:
    """Neither driver asks anything when nothing is asked."""
    assert run_flow(nothing(), answer) == "done"
    assert asyncio.run(run_flow(nothing(), answer_later)) == "done"


def test_an_error_of_the_driver_passes_through() -> None:
    """What the caller's function raises is not swallowed by a driver."""

    def broken(asked: SummaryRequest) -> Reply:
        raise KeyError(asked.budget)

    with pytest.raises(KeyError):
        run_flow(two_steps(), broken)
