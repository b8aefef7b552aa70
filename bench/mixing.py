"""Conversations interleaved, so that one view has to serve several of them."""

from collections.abc import Sequence

from foldline.history.messages import Message
from foldline.logs.importer import Session


_BLOCK = 4


def interleaved(sessions: Sequence[Session], size: int) -> tuple[Session, ...]:
    """
    Return *sessions* interleaved in blocks of four messages, *size* of them in each; the rest in one.

    This is a stress and not what happens: what a call needs was often said long before it.
    """
    groups = (sessions[at : at + size] for at in range(0, len(sessions), size))
    return tuple(map(_mixed, groups))


def _mixed(group: Sequence[Session]) -> Session:
    if len(group) == 1:
        return group[0]
    said: list[Message] = []
    longest = max(len(one.messages) for one in group)
    for at in range(0, longest, _BLOCK):
        for one in group:
            said += one.messages[at : at + _BLOCK]
    name = f"{group[0].id} and {len(group) - 1} more"
    return Session(id=name, format=group[0].format, messages=tuple(said))
