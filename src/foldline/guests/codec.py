"""What a framework's messages are, for foldline."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from foldline.history.messages import Message


_Object = TypeVar("_Object")


class GuestCodec(Protocol[_Object]):
    """
    Reads and writes the messages of a framework, the guest.

    `GuestConformance` in `foldline.testing.guests` judges one. Nothing of it may depend on anything
    but its arguments: what was read once is remembered by what the object holds, so two objects of
    one class that are told apart by something else, like a global table, are taken for the same.
    A codec may return from `known_by(item)` all that `read` looks at, without what a store adds.
    """

    def read(self, item: _Object, /) -> Sequence[Message]:
        """
        Return what *item* says; several messages if it holds, say, several results of tools.

        An object that says nothing gives none, and is in no view that has to leave something out.

        Raises:
            FormatError: *item* is none of the guest's messages.
        """
        ...

    def write(self, message: Message, source: _Object | None, /) -> _Object:
        """
        Return an object that says what *message* says.

        Args:
            message: A summary (`message.is_summary`; write its `summary_text`), a result that says
                that a call has none, or a changed message: a result that is shown shortened, a
                call under another id.
            source: Of a changed message, the object that it was read from: what *message* has no
                field for, as a signature or the id of an answer, is taken from it. None for what
                the guest never had.
        """
        ...

    def part(self, item: _Object, which: Sequence[int], /) -> _Object:
        """Return an object with those messages of *item* alone whose places in `read` are *which*."""
        ...
