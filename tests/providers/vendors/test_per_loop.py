"""One client for each event loop."""

import asyncio
import gc
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, Self
from weakref import ref

import pytest
from pydantic_ai.models.test import TestModel as CannedModel

from foldline.providers.vendors.vendor_model import PerLoop


class Counted(CannedModel):
    """A model that counts how often it was entered and left."""

    def __init__(self) -> None:
        super().__init__()
        self.entered = 0
        self.left = 0

    async def __aenter__(self) -> Self:
        self.entered += 1
        return self

    async def __aexit__(self, *error: object) -> None:
        self.left += 1


class Maker(list[Counted]):
    """What makes models and remembers them."""

    def __call__(self) -> Counted:
        self.append(Counted())
        return self[-1]


async def test_a_loop_keeps_its_model() -> None:
    """In one loop one model serves all calls, entered once, left on closing, and not used again."""
    make = Maker()
    models = PerLoop(make(), make)

    first, second = await models.here(), await models.here()
    await models.close()
    await models.close()

    assert first is second is make[0]
    assert (first.entered, first.left, len(make)) == (1, 1, 1)
    assert await models.here() is make[1]


@pytest.mark.slow
def test_a_closed_loop_is_forgotten() -> None:
    """Loops that ended without closing leave no client."""
    made: list[ref[Counted]] = []

    def make() -> Counted:
        model = Counted()
        made.append(ref(model))
        return model

    models = PerLoop(make(), make)

    for _ in range(5):
        asyncio.run(models.here())
    gc.collect()

    assert [one() is None for one in made] == [True, True, True, True, False]


class Lost(Counted):
    """A model whose connections cannot be closed, since their loop is."""

    async def __aexit__(self, *error: object) -> None:
        await super().__aexit__(*error)
        message = "Event loop is closed"
        raise RuntimeError(message)


def test_what_a_closed_loop_has_left_counts_as_closed() -> None:
    """Otherwise a client closes itself in the next loop, and a failure is logged there."""
    lost = Lost()
    models = PerLoop(lost, Counted)
    asyncio.run(models.here())
    asyncio.run(models.here())

    assert (lost.entered, lost.left) == (1, 1)


def test_loops_of_many_threads_share_nothing() -> None:
    """Loops that run at the same time each have a model of their own."""
    make = Maker()
    models = PerLoop(make(), make)
    all_here = Barrier(8)

    async def used() -> Any:
        model = await models.here()
        all_here.wait(60)
        assert await models.here() is model
        return model

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: asyncio.run(used()), range(8)))

    assert len(set(map(id, found))) == 8


def test_a_given_model_is_not_closed() -> None:
    """A model that belongs to somebody else serves all loops and is neither entered nor left."""
    given = Counted()
    models = PerLoop(given)

    async def run() -> bool:
        is_given = await models.here() is given
        await models.close()
        return is_given

    assert [asyncio.run(run()), asyncio.run(run())] == [True, True]
    assert (given.entered, given.left) == (0, 0)
