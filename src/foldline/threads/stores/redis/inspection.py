"""What is wrong in a Redis below its threads."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias, cast

from foldline.threads.fault import Fault, FaultKind
from foldline.threads.key import name_of
from foldline.threads.stores.redis.link import RedisLink
from foldline.threads.stores.redis.wire import flag_word, number_word


__all__ = ["look_into"]


_Run: TypeAlias = Callable[..., Awaitable[list[object]]]
_Told: TypeAlias = tuple[bytes, bytes, bytes, int]

# Redis does nothing else while it looks at one page.
_KEYS: Final = 100
_ROWS: Final = 100
_PARTS: Final = 3
# What a branch says of its owner is believed where no thread takes it for its own.
_KINDS: Final = (
    frozenset({b"thread"}),
    frozenset({b"branch", b"children", b"names", b"owned", b"rows", b"system"}),
)
_MEANING: Mapping[bytes, tuple[FaultKind, str]] = MappingProxyType(
    {
        b"thread": ("store", "thread {name!r} is not in the list of its tenant {tenant!r}"),
        b"tenant": ("store", "the tenant {tenant!r} of thread {name!r} is not in the list"),
        b"owner": ("store", "a branch of thread {name!r} of tenant {tenant!r} does not name it"),
        b"owned": ("store", "a branch names thread {name!r} of tenant {tenant!r}, which does not"),
        b"foreign": ("store", "thread {name!r} of tenant {tenant!r} lists a branch of another"),
        b"rivals": ("store", "thread {name!r} of tenant {tenant!r} is on the branch of another"),
        b"written": ("stray", "thread {name!r} of tenant {tenant!r} lists a branch that is gone"),
        b"branch": ("store", "branch {name} of tenant {tenant!r} is damaged"),
        b"number": ("store", "branch {name} of tenant {tenant!r} has a first number that is none"),
        b"parent": ("store", "branch {name} of tenant {tenant!r} goes on behind one that is gone"),
        b"child": ("store", "what branch {name} of tenant {tenant!r} shares is not kept for it"),
        b"system": ("store", "branch {name} of tenant {tenant!r} lists other system messages"),
        b"stepchild": ("stray", "branch {name} of tenant {tenant!r} keeps rows for no other one"),
        b"nobody": ("stray", "branch {name} of tenant {tenant!r} belongs to no thread"),
        b"rows": ("stray", "message rows lie at branch {name} of tenant {tenant!r}, which is gone"),
        b"orphan": ("stray", "keys of thread {name!r} of tenant {tenant!r} lie there without it"),
    }
)


class _Place(NamedTuple):
    kind: bytes
    tenant: bytes
    name: bytes


async def look_into(link: RedisLink, run: _Run, base: bytes, *, mends: bool) -> list[Fault]:
    """
    Return what of the keys of a store does not fit together; with *mends*, what was mended of it.

    Others may go on writing: what is compared is as one moment saw it.

    Args:
        link: What leads to the Redis.
        run: What runs a script by its name.
        base: What all keys begin with.
        mends: Whether what can only be meant in one way is mended.

    Raises:
        StoreError: Redis cannot be reached, or refused.
    """
    flag = flag_word(is_set=mends)
    # A scan may give a key more than once.
    found: dict[Fault, None] = {}
    for kinds in _KINDS:
        async for places in _pages(link, base, kinds):
            words = chain.from_iterable(places)
            told = cast("list[_Told]", await run("inspect", b"", flag, *words))
            told += [mark for one in places async for mark in _marks(run, one, flag)]
            found.update((_fault(one), None) for one in told if one[-1] or not mends)
    return list(found)


async def _pages(
    link: RedisLink, base: bytes, kinds: frozenset[bytes]
) -> AsyncIterator[Sequence[_Place]]:
    """Give the places of those *kinds*, page by page."""
    cursor, match = b"0", base + b"/*"
    while True:
        answer = await link.ask(b"SCAN", cursor, b"MATCH", match, b"COUNT", number_word(_KEYS))
        cursor, keys = cast("tuple[bytes, list[bytes]]", answer)
        parts = (key.removeprefix(base + b"/").split(b"/") for key in keys)
        places = [_Place(*one) for one in parts if len(one) == _PARTS and one[0] in kinds]
        if places:
            yield places
        if cursor == b"0":
            return


async def _marks(run: _Run, place: _Place, flag: bytes) -> AsyncIterator[_Told]:
    """Tell where the numbers of the system messages of a branch are not those of its rows."""
    first, count = 0, _ROWS if place.kind == b"branch" else 0
    while count == _ROWS:
        words = (place.tenant, place.name, number_word(first), number_word(_ROWS), flag)
        count, wrong = cast("tuple[int, int]", tuple(await run("marks", *words)))
        if wrong:
            yield b"system", place.tenant, place.name, 1
        first += count


def _fault(told: _Told) -> Fault:
    what, tenant, name, _ = told
    kind, problem = _MEANING[what]
    return Fault(kind=kind, problem=problem.format(name=name_of(name), tenant=name_of(tenant)))
