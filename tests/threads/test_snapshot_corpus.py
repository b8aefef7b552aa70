"""Snapshots that earlier versions wrote, and those that no version reads."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from foldline.errors import (
    CheckpointError,
    CheckpointStaleError,
    FormatError,
    StoreVersionError,
    ThreadIdError,
)
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.thread import ConversationThread
from tests.threads.canaries import NOW


CORPUS = Path(__file__).parent / "corpus"


def later() -> datetime:
    return NOW + timedelta(days=400)


async def restored(data: bytes) -> dict[str, Any]:
    """Return what the thread in *data* says, as the store reads it back."""
    async with MemoryStore(clock=later) as store:
        made = await store.restore(data)
        found = await store.thread(made.id)

        return await facts(found)


async def facts(thread: ConversationThread) -> dict[str, Any]:
    said = await thread.get_messages()
    state, reduction = thread.execution_state, thread.last_reduction
    return {
        "id": thread.id,
        "display_name": thread.display_name,
        "metadata": dict(thread.metadata),
        "texts": [message.text for message in said],
        "roles": [message.role for message in said],
        "created_at": thread.created_at.isoformat(),
        "last_activity": thread.last_activity.isoformat(),
        "archived": thread.head.archived,
        "iteration": None if state is None else state.iteration,
        "summary": None if reduction is None else reduction.summary_content,
        "tools": [run.call_id for run in thread.pending_tools],
    }


@pytest.mark.parametrize("name", sorted(path.stem for path in CORPUS.glob("good_*.json")))
async def test_the_corpus_is_read(name: str) -> None:
    """A snapshot that some version wrote says what is written beside it."""
    data = (CORPUS / f"{name}.json").read_bytes()
    expected = json.loads((CORPUS / "expected.json").read_bytes())[name]

    assert await restored(data) == expected


@pytest.mark.parametrize("name", sorted(path.stem for path in CORPUS.glob("good_1_*.json")))
async def test_the_newest_form_is_written_as_it_was(name: str) -> None:
    """What is read is written again, in the form that reductions and states have now."""
    data = (CORPUS / f"{name}.json").read_bytes().strip()

    async def again(written: bytes) -> bytes:
        async with MemoryStore(clock=later) as store:
            return await (await store.restore(written)).to_snapshot()

    written = await again(data)
    before, after = json.loads(data), json.loads(written)

    assert {**after, **dict.fromkeys(_CARRIED_OVER)} == {**before, **dict.fromkeys(_CARRIED_OVER)}
    assert await again(written) == written


_CARRIED_OVER = ("LastReduction", "ExecutionStateJson", "Pins")

_REFUSED = {
    "bad_1_cut_off": (FormatError, "not JSON: line 2, column 1"),
    "bad_1_no_messages": (FormatError, "missing required field `MessageStoreSnapshot`"),
    "bad_1_too_many_archived": (FormatError, "`ArchivedCount` is not between 0 and 2"),
    "bad_1_no_id": (FormatError, "missing required field `Id`"),
    "bad_1_other_store": (FormatError, "missing required field `Messages`"),
    "bad_1_path_as_id": (ThreadIdError, "thread id must not have '/', its character 3"),
    "bad_1_stale": (CheckpointStaleError, "has 2 messages but checkpoint expects 3"),
    "bad_1_impossible_state": (CheckpointError, "invalid iteration: -1"),
    "bad_1_unknown_role": (FormatError, "Invalid enum value"),
    "bad_1_newer_reduction": (StoreVersionError, "a reduction has format 3"),
    "bad_1_newer_state": (StoreVersionError, "a checkpoint has format 2"),
    "bad_0_other_store": (FormatError, "missing required field `Messages`"),
    "bad_2_newer": (StoreVersionError, "a snapshot has format 2"),
    "bad_3_newer_with_another_shape": (StoreVersionError, "a snapshot has format 3"),
    "bad_not_an_object": (FormatError, "Expected `object`, got `array`"),
}


@pytest.mark.parametrize("name", sorted(path.stem for path in CORPUS.glob("bad_*.json")))
async def test_the_rest_of_the_corpus_is_refused(name: str) -> None:
    """What is damaged or newer is refused with the reason, and not a word of it."""
    data = (CORPUS / f"{name}.json").read_bytes()
    kind, text = _REFUSED[name]
    with pytest.raises(kind) as refused:
        await restored(data)

    assert text in str(refused.value)
    assert "canary" not in str(refused.value)


def test_every_negative_of_the_corpus_has_a_file() -> None:
    """The table of refusals and the folder hold the same names, more than six."""
    assert {path.stem for path in CORPUS.glob("bad_*.json")} == set(_REFUSED)
    assert len(_REFUSED) > 6
