"""Every scene."""

from collections.abc import Iterable

import pytest
from _pytest.mark.structures import ParameterSet
from msgspec import structs

from tests.agent.crashes.scene import Scene


PLAIN = Scene(name="plain", questions=("q0", "q1"))
"""Two turns without tools."""

ONE_BY_ONE = Scene(name="one by one", questions=("q0 pay+note|pay", "q1"), checkpoints="full")
"""Three calls in two iterations, one after the other."""

AT_ONCE = Scene(name="at once", questions=("q0 pay+note+seek", "q1"), parallel=True)
"""Three calls in one response, at the same time."""

COUNTED_ANEW = Scene(
    name="counted again", questions=("q0 note|note+pay|pay",), parallel=True, counts_anew=True
)
"""The vendor gives the same ids in each response."""

WITH_FOLD = Scene(name="with a fold", questions=("q0 pay", "q1 note"), old=6, behavior="continue")
"""A fold in front of a tool turn."""

MID_TURN = Scene(
    name="mid turn", questions=("q0 pay|note|pay|note|pay",), behavior="continue", unit="messages"
)
"""Folds within a turn, between its model calls."""

ARCHIVED = Scene(
    name="archived",
    questions=("q0 pay", "q1", "q2", "q3 note"),
    old=4,
    behavior="continue",
    retention="reduced",
)
"""Folds that archive."""

HALTED = Scene(name="halted", questions=("q0 pay|note", "q1"), old=6, behavior="circuit_breaker")
"""A fold ends the turn, which then goes on."""

AHEAD = Scene(
    name="ahead",
    questions=("q0 pay|note", "q1", "q2"),
    old=4,
    behavior="continue",
    folds_ahead=True,
    slowness=20,
    thinking=60,
)
"""A fold in the background, which is stored while the model is asked."""

FAR_AHEAD = structs.replace(AHEAD, name="far ahead", slowness=400, thinking=600)
"""One in which somebody else may end his turn before it is stored, and before the model answers."""

FAR_BEHIND = structs.replace(AHEAD, name="far behind", slowness=500, thinking=0)
"""One that is stored while other calls of the turn are made."""

WATCHED = Scene(name="watched", questions=("q0 pay+note|seek", "q1"), parallel=True, streams=True)
"""A streamed turn."""

SIGNED = Scene(name="signed", questions=("q0 sign|pay+sign",), parallel=True)
"""Tools that wait for a decision once a crash has interrupted them."""

QUITTING = Scene(name="quitting", questions=("q0 quit+pay|quit", "q1"), parallel=True, timeout=60.0)
"""A tool that raises what a cancellation raises."""

HANGING = Scene(name="hanging", questions=("q0 hang+hang", "q1"), parallel=True, timeout=0.02)
"""Tools that are stopped when their time is over; no part of `ALL`."""

OVERFLOWING = Scene(
    name="overflowing",
    questions=("q0 pay", "q1 note"),
    old=3,
    padding=20,
    behavior="continue",
    window=1_170,
)
"""The model finds requests too long, which are folded harder then."""

ALL = (
    QUITTING,
    OVERFLOWING,
    MID_TURN,
    PLAIN,
    ONE_BY_ONE,
    AT_ONCE,
    COUNTED_ANEW,
    WITH_FOLD,
    ARCHIVED,
    HALTED,
    AHEAD,
    WATCHED,
    SIGNED,
)
"""All of them."""


def mostly_slow(scenes: Iterable[Scene], *fast: Scene) -> list[ParameterSet]:
    """Return *scenes* as parameters; those that are not named like one of *fast* are slow tests."""
    names = {scene.name for scene in fast}
    return [
        pytest.param(scene, marks=() if scene.name in names else pytest.mark.slow)
        for scene in scenes
    ]
