"""The objects of a guest in the rows of a thread: each whole, beside the messages that it says."""

from collections.abc import Iterable, Sequence
from typing import cast

from msgspec.structs import replace

from foldline.history.messages import Message


__all__ = ["objects_in", "rows_of"]


_WHOLE = "guest_object"


def rows_of(said: Sequence[Message], whole: object) -> list[Message]:
    """Return *said*, what an object says, as rows of which the first has *whole*, it as JSON."""
    first, *others = said or [Message(role="system")]
    return [replace(first, metadata={**(first.metadata or {}), _WHOLE: whole}), *others]


def objects_in(rows: Iterable[Message]) -> list[dict[str, object]]:
    """Return the objects that *rows* have, as they were given to `rows_of`."""
    held = (one.metadata or {} for one in rows)
    return [cast("dict[str, object]", one[_WHOLE]) for one in held if _WHOLE in one]
