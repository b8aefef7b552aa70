"""A byte of a SQLite file's schema that is no text any more."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


Run = Callable[..., Any]


@pytest.mark.parametrize(
    "command", [["doctor"], ["backup", "copy.db"], ["verify"], ["repair"]], ids=" ".join
)
def test_every_command_tells_that_the_file_is_damaged(
    run: Run, store: Path, command: list[str]
) -> None:
    """What Python cannot read of the error is told as damage, with what to do."""
    # SQLite quotes the word in which it is.
    store.write_bytes(store.read_bytes().replace(b"CREATE TABLE", b"CRE\xe7TE TABLE", 1))

    shown = run(*command)

    assert shown.code == 1
    told = " ".join((shown.out + shown.err).split())
    assert "the database file is damaged (SQLITE_CORRUPT): restore a backup" in told or (
        "the database file is damaged (SQLITE_CORRUPT): `sqlite3 -readonly" in told
    )
    assert "Unicode" not in told
