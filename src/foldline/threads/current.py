"""The messages of a thread, as an execution state refers to them."""

from collections.abc import Sequence
from typing import overload

from foldline.errors import MessagesNotLoadedError
from foldline.history.digest import EMPTY_DIGEST
from foldline.history.history import History
from foldline.history.messages import Message


__all__ = ["CurrentMessages"]


class CurrentMessages(Sequence[Message]):
    """
    Stands for the full history of a thread at one moment, and holds none of it itself.

    Its length is known at once. Reading a message works where the history that it was made of is
    in memory, from the first message that is.
    """

    __slots__ = ("_count", "_digest", "_history")

    def __init__(
        self, count: int = 0, digest: bytes = EMPTY_DIGEST, *, history: History | None = None
    ) -> None:
        """
        Stand for *count* messages.

        Args:
            count: How many messages there are, system messages included.
            digest: The prefix digest of those that are not system messages.
            history: The history itself, where it is in memory.
        """
        self._count = count
        self._digest = digest
        self._history = history

    @classmethod
    def of(cls, history: History) -> "CurrentMessages":
        """Stand for all of *history* as it is now."""
        return cls(history.total, history.digest(), history=history)

    @property
    def digest(self) -> bytes:
        """The prefix digest of the messages that are not system messages."""
        return self._digest

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Message: ...

    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...

    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        if isinstance(index, slice):
            return [self._read(at) for at in range(*index.indices(self._count))]
        return self._read(range(self._count)[index])

    def _read(self, index: int) -> Message:
        if self._history is None:
            raise MessagesNotLoadedError(index=index, start=self._count)
        return self._history.at(index)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CurrentMessages):
            return NotImplemented
        return (self._count, self._digest) == (len(other), other.digest)

    def __hash__(self) -> int:
        return hash((self._count, self._digest))

    def __repr__(self) -> str:
        return f"<CurrentMessages count={self._count}>"
