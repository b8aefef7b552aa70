"""One at a time."""

import asyncio
from threading import Barrier, Thread

from foldline.agent.cache import SingleFlight


def test_one_key_is_passed_one_at_a_time() -> None:
    """Tasks with one key follow each other; another key does not wait; nothing is left over."""
    turnstile, inside, most = SingleFlight(), {"a": 0, "b": 0}, {"a": 0, "b": 0, "all": 0}

    async def pass_through(key: str) -> None:
        async with turnstile.alone(key):
            inside[key] += 1
            most[key] = max(most[key], inside[key])
            most["all"] = max(most["all"], sum(inside.values()))
            await asyncio.sleep(0.001)
            inside[key] -= 1

    async def everybody() -> None:
        await asyncio.gather(*(pass_through(key) for key in "ab" * 10))

    asyncio.run(everybody())

    assert most == {"a": 1, "b": 1, "all": 2}
    assert len(turnstile) == 0


def test_the_next_one_goes_where_the_first_fails_or_is_cancelled() -> None:
    """An error and a cancellation, inside or while waiting, open the way."""
    turnstile, passed = SingleFlight(), list[str]()

    async def hold(*, fail: bool = False) -> None:
        async with turnstile.alone("k"):
            await asyncio.sleep(0.001 if fail else 60)
            raise ValueError

    async def follow() -> None:
        async with turnstile.alone("k"):
            passed.append("followed")

    async def scene() -> None:
        failing, held, waiting = (
            asyncio.create_task(hold(fail=True)),
            asyncio.create_task(hold()),
            asyncio.create_task(follow()),
        )
        last = asyncio.create_task(follow())
        await asyncio.wait([failing])
        waiting.cancel()
        await asyncio.sleep(0.001)
        held.cancel()
        await last
        assert isinstance(failing.exception(), ValueError)

    asyncio.run(scene())

    assert passed == ["followed"]
    assert len(turnstile) == 0


def test_loops_do_not_wait_for_each_other() -> None:
    """Two threads, each with a loop of its own, are inside with one key at the same time."""
    turnstile, both = SingleFlight(), Barrier(2, timeout=10)

    async def meet() -> None:
        async with turnstile.alone("k"):
            both.wait()

    threads = [Thread(target=asyncio.run, args=(meet(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not both.broken
    assert len(turnstile) == 0
