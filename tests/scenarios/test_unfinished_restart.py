"""A fold that ran out of time is gone on with after a restart."""

from pathlib import Path

import pytest

from foldline import HistoryReducer, Reason, SQLiteStore
from foldline.reduction.config import HistoryReductionConfig
from foldline.threads.change import Change
from tests.agent.test_unfinished import Reader, marked


CONFIG = HistoryReductionConfig(
    counting_unit="tokens", target_token_budget=1_000, token_budget_threshold=1_000
)


def reducer(asked: Reader) -> HistoryReducer:
    return HistoryReducer(
        CONFIG, window=6_000, summarizer=asked, summarizer_window=700, timeout=60.0
    )


@pytest.mark.parametrize("archive", [False, True])
async def test_what_was_not_read_is_read_after_a_restart(tmp_path: Path, *, archive: bool) -> None:
    """A stopgap in a store is replaced by what a summarizer reads, also of archived messages."""
    first, second = Reader(stop=4, seconds=60.0), Reader()
    async with SQLiteStore(tmp_path / "threads.db") as store:
        thread = await store.thread("t")
        await thread.add_messages(marked(200))
        window = await thread.window()
        made = await reducer(first).reduce(window.history, state=window.reduction)
        assert made.state is not None
        assert made.event.reason in {Reason.READ_IN_PART, Reason.CEILING_REACHED}
        assert made.state.unread_from is not None
        await thread.commit(Change(reduction=made.state, archive=archive))
    async with SQLiteStore(tmp_path / "threads.db") as store:
        found = await store.find("t")
        assert found is not None
        window = await found.window()
        after = await reducer(second).reduce(window.history, state=window.reduction)
        assert after.state is not None
        await found.commit(Change(reduction=after.state, archive=archive))
        again = await found.window()
    unread = [f"mark-{n}" for n in range(made.state.unread_from, made.state.summarized_up_to_index)]

    assert after.state.unread_from is None
    assert second.marks[: len(unread)] == unread
    assert again.reduction is not None
    assert again.reduction.is_same_as(after.state)
