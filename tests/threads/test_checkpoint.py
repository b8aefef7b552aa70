"""Kept moments of a thread."""

from datetime import UTC, datetime

import pytest

from foldline.errors import StoreCorruptError
from foldline.threads.loop_state import (
    AgentLoopState,
    Checkpoint,
    decode_checkpoint,
    encode_checkpoint,
)


NOW = datetime(2026, 11, 21, tzinfo=UTC)
STATE = AgentLoopState(run_id="r", conversation_id="c", started_at=NOW, iteration=5)
ROOT = Checkpoint(id="0", created_at=NOW, source="root", step=-1, message_index=-1)


def test_a_checkpoint_comes_back_equal() -> None:
    """A checkpoint survives being written and read, with its state or without."""
    one = Checkpoint(
        id="1",
        created_at=NOW,
        source="loop",
        step=5,
        message_index=4,
        head=bytes(range(256)),
        state=STATE.to_json().decode(),
    )

    assert decode_checkpoint(encode_checkpoint(one)) == one
    assert decode_checkpoint(encode_checkpoint(one)).execution_state() == STATE
    assert decode_checkpoint(encode_checkpoint(ROOT)) == ROOT
    assert ROOT.execution_state() is None


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"\xff", b'{"id":7}'])
def test_what_is_no_checkpoint_is_damage(data: bytes) -> None:
    """Bytes that are no checkpoint are damage."""
    with pytest.raises(StoreCorruptError, match="a checkpoint cannot be read"):
        decode_checkpoint(data)
