"""Reading what the command line names, and writing so that a failure leaves nothing behind."""

import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import Any

from foldline.errors import ExternalError, UsageError
from foldline.history.codec import encode_json


STANDARD_INPUT = "-"
"""The name of the standard input."""

_CALLERS = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)


def read_file(name: str) -> bytes:
    """Return what the file *name* holds, or the standard input."""
    try:
        return sys.stdin.buffer.read() if name == STANDARD_INPUT else Path(name).read_bytes()
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {name}: {_reason(error)}") from error


def check_targets(targets: Mapping[str, str | None], *, reads: Iterable[str] = ()) -> None:
    """Check that *targets*, by their options, can be written, and are none that a command *reads*."""
    named = {option: name for option, name in targets.items() if name is not None}
    for name in named.values():
        path = Path(name)
        if path.is_dir() or name.endswith(os.sep):
            raise UsageError(f"cannot write {name}: it is a folder; name a file")
        if not path.parent.is_dir():
            raise UsageError(f"cannot write {name}: its folder does not exist; make it first")
        if any(_is_same(name, other) for other in reads):
            raise UsageError(f"cannot write {name}: this command reads it; name another file")
    for (option, name), (other, others) in combinations(named.items(), 2):
        if _is_same(name, others):
            raise UsageError(f"{option} and {other} name the same file, {name}: name two files")


def _is_same(one: str, other: str) -> bool:
    """Whether both name one file, existing or not; a device may be written to twice."""
    if STANDARD_INPUT in {one, other}:
        return False
    first, second = Path(os.path.realpath(one)), Path(os.path.realpath(other))
    if first.exists() and second.exists():
        return first.is_file() and first.samefile(second)
    return first == second


def write_files(contents: Mapping[str, bytes]) -> None:
    """Write every file of *contents* whole; existing files are unchanged until then."""
    drafts: dict[Path, Path] = {}
    name = ""
    try:
        for name, data in contents.items():
            target = Path(os.path.realpath(name))
            if target.exists() and not target.is_file():
                target.write_bytes(data)
            else:
                drafts[target] = target.with_name(f".{target.name}.{os.getpid()}.draft")
                _write(drafts[target], data, like=target)
        for target, draft in drafts.items():
            name = str(target)
            draft.replace(target)
    except OSError as error:
        message = f"cannot write {name}: {_reason(error)}"
        kind = UsageError if isinstance(error, _CALLERS) else ExternalError
        raise kind(message) from error
    finally:
        for draft in drafts.values():
            with suppress(OSError):
                draft.unlink()


def _write(draft: Path, data: bytes, *, like: Path) -> None:
    with draft.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if like.exists():
        shutil.copymode(like, draft)


def print_document(data: bytes) -> None:
    """Write *data* to the standard output, as it is, and a newline."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


def print_json(value: Any) -> None:
    """Write *value* to the standard output as one JSON document."""
    print_document(encode_json(value))


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or "no file can have this name"
