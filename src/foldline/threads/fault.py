"""What is wrong with stored data."""

from typing import Literal, TypeAlias

from msgspec import Struct

from foldline.threads.step import DocumentKind


__all__ = ["Fault", "FaultKind"]


FaultKind: TypeAlias = (
    Literal["store", "stray", "index", "log", "name", "version", "unread", "head", "row"]
    | DocumentKind
)
"""
Where a fault lies.

`store`: below the threads, in the database itself. `stray`: there too, but it belongs to nothing,
and no thread suffers from it. `index`: in the index of words alone; no message is lost, and searches make it anew. `log`: in a log of the database, of which a copy was kept. `name`: in the name of a thread, which nobody can ask for then. `version`: nothing is damaged, but a newer foldline wrote it.
`unread`: the store answers others and refuses to read this thread. `head`: in the counts of a thread. `row`: in a message. Others: in a document.
"""


class Fault(Struct, frozen=True, kw_only=True):
    """One thing that is not as it was written."""

    kind: FaultKind
    """Where it lies."""

    name: str = ""
    """The number of the row or the name of the document; empty where there is only one."""

    problem: str
    """What is wrong with it, without any text of a conversation."""

    def __str__(self) -> str:
        place = f"{self.kind} {self.name}" if self.name else self.kind
        return f"{place}: {self.problem}"
