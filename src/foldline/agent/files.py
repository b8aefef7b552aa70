"""Files that go with a turn, read into parts of the user's message."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias, cast

from msgspec import structs

from foldline.checks import expect
from foldline.errors import ConfigError
from foldline.history.messages import Message
from foldline.history.parts import BlobPart, Part, TextPart


TurnFiles: TypeAlias = Sequence[str | PathLike[str]]
"""Paths of text files, images, audio files or PDFs."""

MAX_FILE_BYTES: Final = 20_000_000
"""How large a file may be: in base64, no vendor takes much more in one request."""

_MEDIA: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        ".gif": ("image", "image/gif"),
        ".jpeg": ("image", "image/jpeg"),
        ".jpg": ("image", "image/jpeg"),
        ".png": ("image", "image/png"),
        ".webp": ("image", "image/webp"),
        ".flac": ("audio", "audio/flac"),
        ".m4a": ("audio", "audio/mp4"),
        ".mp3": ("audio", "audio/mpeg"),
        ".ogg": ("audio", "audio/ogg"),
        ".wav": ("audio", "audio/wav"),
        ".pdf": ("document", "application/pdf"),
    }
)


def with_files(messages: Sequence[Message], files: TurnFiles) -> list[Message]:
    """Return *messages* with *files* in the last one, the user's, or behind it; or ConfigError."""
    expect("files", files, list | tuple)
    given = enumerate(files)
    parts = tuple(part for at, one in given for part in _parts(f"files[{at}]", one))
    *before, last = messages or (Message(role="user"),)
    if last.role == "user" and last.native is None:
        return [*before, structs.replace(last, parts=(*last.parts, *parts))]
    return [*messages, Message(role="user", parts=parts)]


def _parts(place: str, given: object) -> tuple[Part, ...]:
    """Return a file as parts: its name stays where the view no longer shows its content."""
    expect(place, given, str | PathLike)
    path = Path(cast("str | PathLike[str]", given))
    try:
        # A pipe or a device may have no end.
        is_file = path.is_file()
        size = path.stat().st_size if is_file else 0
        data = path.read_bytes() if is_file and size <= MAX_FILE_BYTES else b""
    except OSError as error:
        raise ConfigError(f"{place} cannot be read: {type(error).__name__}: {path}") from error
    if not is_file:
        raise ConfigError(f"{place} must be the path of a file, got {path}")
    if size > MAX_FILE_BYTES:
        message = f"{place} must have at most {MAX_FILE_BYTES:,} bytes, got {size:,}: {path}"
        raise ConfigError(message)
    modality, mime = _MEDIA.get(path.suffix.lower(), ("", ""))
    if modality and not size:
        raise ConfigError(f"{place} must not be empty: {path}")
    name = f"[file {path.name}]"
    if modality:
        return TextPart(name), BlobPart(modality, mime, b64encode(data).decode())
    try:
        return (TextPart(f"{name}\n{data.decode('utf-8-sig')}"),)
    except UnicodeDecodeError as error:
        kinds = ", ".join(_MEDIA)
        raise ConfigError(f"{place} must be text in UTF-8 or one of {kinds}: {path}") from error
