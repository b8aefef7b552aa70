"""What a backup says of the copy that it has made."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


Run = Callable[..., Any]

# Damage that no seal of a message shows.
BESIDE = {
    "head": "UPDATE threads SET head = x'00ff' WHERE id = 'two'",
    "reduction": "UPDATE documents SET data = x'00ff' WHERE kind = 'reduction'",
    "revision": "UPDATE threads SET revision = revision + 1 WHERE id = 'two'",
    "state": "UPDATE threads SET execution = x'00ff'",
    "name": "UPDATE threads SET id = 'two/' WHERE id = 'two'",
}


@pytest.mark.parametrize("what", BESIDE)
def test_no_more_is_called_whole_than_was_checked(
    run: Run, store: Path, damage: Run, what: str
) -> None:
    """Where anything but a message is damaged the messages alone are called whole."""
    damage(store, BESIDE[what])

    made = run("backup", "copy.db")

    assert (made.code, run("verify", "--store", "copy.db").code) == (0, 1)
    assert made.out.endswith(" bytes, every message whole\n")
