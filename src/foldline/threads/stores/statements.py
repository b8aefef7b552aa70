"""SQL that lies in files: numbered migrations, and statements by their names."""

import errno
import re
from collections.abc import Mapping

from foldline.errors import StoreError


_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_STATEMENTS = re.compile(r"statements\.sql")
_MIGRATION = re.compile(r"\d{4}_[a-z_]+\.sql")
_COMMENT = re.compile(r"^[ \t]*--.*\n", re.MULTILINE)


def statements(package: str) -> Mapping[str, str]:
    """Return the statements in `sql/statements.sql` of *package*, by the name above each."""
    ((_, text),) = _read(package, _STATEMENTS)
    pieces = _NAME.split(text)[1:]
    named = zip(pieces[::2], pieces[1::2], strict=True)
    return {name: body.strip().rstrip(";") for name, body in named}


def migrations(package: str) -> list[tuple[int, list[str]]]:
    """Return the migrations in `sql/` of *package*: the number of each, and its statements."""
    found: list[tuple[int, list[str]]] = []
    for name, text in _read(package, _MIGRATION):
        pieces = [piece.strip() for piece in _COMMENT.sub("", text).split(";\n")]
        found.append((int(name[:4]), [piece for piece in pieces if piece]))
    return sorted(found)


def _read(package: str, wanted: re.Pattern[str]) -> list[tuple[str, str]]:
    """Return the names and the contents of the files in `sql/` that are *wanted*."""
    try:
        # What is imported is read from a file as well.
        from importlib.resources import files  # noqa: PLC0415 - a quarter of the whole import

        entries = (files(package) / "sql").iterdir()
        return [(e.name, e.read_text("utf-8")) for e in entries if wanted.fullmatch(e.name)]
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0)
        raise StoreError(f"the SQL of {package} cannot be read ({name})") from error
