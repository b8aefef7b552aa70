"""SQL that lies in files: numbered migrations, and statements by their names."""

import errno
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from foldline.errors import StoreError


__all__ = ["migrations", "statements"]


_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_MIGRATION = re.compile(r"(\d{4})_\w+\.sql").fullmatch
_COMMENT = re.compile(r"^[ \t]*--.*\n", re.MULTILINE)


def statements(package: str) -> Mapping[str, str]:
    """Return the statements in `sql/statements.sql` of *package*, by the name above each."""
    with _reading(package):
        from importlib.resources import files  # noqa: PLC0415 - a quarter of the whole import

        text = (files(package) / "sql" / "statements.sql").read_text("utf-8")
    pieces = _NAME.split(text)[1:]
    named = zip(pieces[::2], pieces[1::2], strict=True)
    return MappingProxyType({name: body.strip().rstrip(";") for name, body in named})


def migrations(package: str) -> list[tuple[int, list[str]]]:
    """Return the migrations in `sql/` of *package*: the number of each, and its statements."""
    found: list[tuple[int, list[str]]] = []
    with _reading(package):
        from importlib.resources import files  # noqa: PLC0415 - a quarter of the whole import

        for entry in (files(package) / "sql").iterdir():
            match = _MIGRATION(entry.name)
            if match:
                plain = _COMMENT.sub("", entry.read_text("utf-8"))
                pieces = [piece.strip() for piece in plain.split(";\n")]
                found.append((int(match[1]), [piece for piece in pieces if piece]))
    return sorted(found)


@contextmanager
def _reading(package: str) -> Generator[None]:
    # What is imported is read from a file as well.
    try:
        yield
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0)
        message = f"the SQL of {package} cannot be read ({name})"
        raise StoreError(message) from error
