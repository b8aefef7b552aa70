"""Reductions for callers who keep nothing."""

import asyncio
from datetime import UTC, datetime
from threading import Barrier, Thread

from foldline.agent.cache import ReductionCache, SingleFlight
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.state import HistoryReductionState


NOW = datetime(2026, 11, 21, tzinfo=UTC)


def talk(count: int, mark: str = "m") -> History:
    return History(Message.user(f"{mark} {n}") for n in range(count))


def state_of(history: History, index: int, fingerprint: str = "f") -> HistoryReductionState:
    return HistoryReductionState.create(
        history,
        f"up to {index}",
        index,
        target_count=1,
        reduction_threshold=1,
        message_count_at_reduction=len(history),
        created_at=NOW,
        config_fingerprint=fingerprint,
    )


def test_the_longest_fitting_reduction_is_found() -> None:
    """Of several prefixes the longest one that the history has is returned."""
    cache, history = ReductionCache(), talk(10)
    for index in (2, 5, 8):
        cache.put(state_of(history, index))
    found = cache.find(talk(7), config_fingerprint="f")

    assert found is not None
    assert found.summarized_up_to_index == 5


def test_others_find_nothing() -> None:
    """Another conversation, configuration or tenant does not find a reduction."""
    cache = ReductionCache()
    cache.put(state_of(talk(10), 5), scope="a")

    assert cache.find(talk(10), config_fingerprint="f", scope="a") is not None
    assert cache.find(talk(10, "other"), config_fingerprint="f", scope="a") is None
    assert cache.find(talk(10), config_fingerprint="other", scope="a") is None
    assert cache.find(talk(10), config_fingerprint="f", scope="b") is None
    assert cache.find(talk(10), config_fingerprint="f") is None


def test_the_oldest_unused_leaves_first() -> None:
    """At the bound, what was not used for longest is forgotten."""
    cache = ReductionCache(max_entries=2)
    histories = {mark: talk(5, mark) for mark in "abc"}
    cache.put(state_of(histories["a"], 3))
    cache.put(state_of(histories["b"], 3))
    cache.find(histories["a"], config_fingerprint="f")
    cache.put(state_of(histories["c"], 3))

    assert len(cache) == 2
    assert cache.find(histories["a"], config_fingerprint="f") is not None
    assert cache.find(histories["b"], config_fingerprint="f") is None
    assert cache.find(histories["c"], config_fingerprint="f") is not None


def test_putting_the_same_prefix_replaces() -> None:
    """One prefix has one reduction, the newest."""
    cache, history = ReductionCache(max_entries=1), talk(5)
    cache.put(state_of(history, 3))
    newest = state_of(history, 3)
    cache.put(newest)

    assert len(cache) == 1
    assert cache.find(history, config_fingerprint="f") is newest


def test_everything_leaves_with_its_index() -> None:
    """A fingerprint whose last reduction left is forgotten, and so is all after clearing."""
    cache = ReductionCache(max_entries=1)
    cache.put(state_of(talk(5), 3, "one"))
    cache.put(state_of(talk(5), 3, "two"))
    assert cache.find(talk(5), config_fingerprint="one") is None

    cache.clear()

    assert len(cache) == 0
    assert cache.find(talk(5), config_fingerprint="two") is None


def test_threads_may_share_a_cache() -> None:
    """Concurrent puts and finds leave a consistent cache within its bound."""
    cache = ReductionCache(max_entries=16)
    failures: list[BaseException] = []

    def work(mark: str) -> None:
        try:
            for index in range(1, 40):
                history = talk(index + 1, mark)
                cache.put(state_of(history, index))
                cache.find(history, config_fingerprint="f")
        except BaseException as error:  # noqa: BLE001 - a thread must hand over whatever it meets
            failures.append(error)

    threads = [Thread(target=work, args=(mark,)) for mark in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert len(cache) == 16


def test_loops_do_not_wait_for_each_other() -> None:
    """Two threads, each with a loop of its own, are inside with one key at the same time."""
    flight, both = SingleFlight(), Barrier(2, timeout=10)

    async def meet() -> None:
        async with flight.alone("k"):
            both.wait()

    threads = [Thread(target=asyncio.run, args=(meet(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not both.broken
    assert len(flight) == 0


def test_a_model_without_recall_never_finds_what_names_it() -> None:
    """What was made for a model with the tool `recall` is found for such a one alone."""
    cache, history = ReductionCache(), talk(10)
    cache.put(state_of(history, 5), recall=True)
    cache.put(state_of(history, 3))
    found = [cache.find(history, config_fingerprint="f", recall=one) for one in (True, False)]

    assert [one and one.summarized_up_to_index for one in found] == [5, 3]


def test_what_is_forgotten_is_not_found() -> None:
    """The one before it is found again, and forgetting it twice is no error."""
    cache, history = ReductionCache(), talk(10)
    for index in (3, 5):
        cache.put(state_of(history, index), recall=index == 5)
    for _ in range(2):
        cache.forget(state_of(history, 5))

    found = cache.find(history, config_fingerprint="f")
    assert cache.find(history, config_fingerprint="f", recall=True) is None
    assert found is not None
    assert found.summarized_up_to_index == 3
