"""
Logs of requests: each holds the whole conversation so far, so many of them are one session.

A request continues an earlier one if it starts with the messages of that one, compared by digest.
One with the same system messages is preferred, but they may have changed in between: programs
write the time into them. Only if nothing was said since, and no answer either, other system
messages make another conversation: programs ask for a title or a summary of the same first
message. A request that was sent again unchanged belongs to its session, too; copies that nothing
continues stay sessions of their own.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from foldline.history.digest import EMPTY_DIGEST, chain_digest
from foldline.history.messages import Message
from foldline.logs.importer import Session


class Recording(Struct, frozen=True, kw_only=True):
    """One record of a log of requests: what was sent, and the answer if it is recorded."""

    session: Session
    sent: int

    @property
    def request(self) -> Sequence[Message]:
        """The messages of the request."""
        return self.session.messages[: self.sent]


def joined(recordings: Iterable[Recording]) -> tuple[Session, ...]:
    """Return a session for each conversation in *recordings*, in order of appearance."""
    chains: list[list[tuple[int, Recording]]] = []
    ends: dict[bytes, int] = {}
    marks: list[tuple[bytes, bytes]] = []
    for number, recording in enumerate(recordings):
        exact, spoken = _prefixes(recording.request)
        answered = any(message.role == "assistant" for message in recording.request)
        prefixes = (*reversed(exact[1:]), *reversed(spoken[1:] if answered else spoken[1:-1]))
        chain = next((ends[digest] for digest in prefixes if digest in ends), None)
        mark = (exact[-1], spoken[-1])
        if chain is None:
            chain = len(chains)
            chains.append([])
            marks.append(mark)
        # Another request that continues the same one as this starts a session of its own.
        for digest in marks[chain]:
            if ends.get(digest) == chain:
                del ends[digest]
        marks[chain] = mark
        ends.update(dict.fromkeys(mark, chain))
        chains[chain].append((number, recording))
    numbered = [one for chain in chains for one in _sessions(chain)]
    return tuple(session for _, session in sorted(numbered, key=lambda one: one[0]))


def _prefixes(request: Sequence[Message]) -> tuple[list[bytes], list[bytes]]:
    """Return the digests of all prefixes of *request*, with its system messages and without."""
    exact, spoken = [EMPTY_DIGEST], [EMPTY_DIGEST]
    for message in request:
        exact.append(chain_digest(exact[-1], message))
        if message.role != "system":
            spoken.append(chain_digest(spoken[-1], message))
    return exact, spoken


def _sessions(chain: Sequence[tuple[int, Recording]]) -> Iterator[tuple[int, Session]]:
    sizes = [sum(one.role != "system" for one in recording.request) for _, recording in chain]
    if sizes[0] == sizes[-1]:
        for number, recording in chain:
            yield number, recording.session
        return
    recordings = [recording for _, recording in chain]
    last = recordings[-1].session
    calls = _calls(last.messages, recordings, sizes)
    said = f"this session is {len(chain):,} records, each of which continues an earlier one"
    session = replace(
        last,
        id=next((one.session.id for one in recordings if one.session.id), ""),
        notes=(said, *(note for one in recordings for note in one.session.notes)),
        messages=_counted(last.messages, recordings, calls),
        calls=calls,
    )
    yield chain[0][0], session


def _counted(
    messages: Sequence[Message], recordings: Sequence[Recording], calls: Sequence[int]
) -> tuple[Message, ...]:
    """Return *messages* with what the vendor counted for each answer, which no later request repeats."""
    counted = list(messages)
    for place, recording in zip(calls, recordings, strict=False):
        answer = recording.session.messages[recording.sent :]
        usage = next((one.usage for one in answer if one.usage is not None), None)
        if usage is not None and place < len(counted) and counted[place].role == "assistant":
            counted[place] = replace(counted[place], usage=usage)
    return tuple(counted)


def _calls(
    messages: Sequence[Message], recordings: Sequence[Recording], sizes: Sequence[int]
) -> tuple[int, ...]:
    """Return where in *messages* each request was sent; nothing if some hold their answer."""
    if any(one.request[-1].role == "assistant" for one in recordings):
        return ()
    places = [index + 1 for index, message in enumerate(messages) if message.role != "system"]
    return tuple(places[size - 1] for size in sizes)
