"""What documents promise: by kind and name, the newest first, and gone when dropped."""

from foldline.errors import StoreError
from foldline.testing.storage.check import Check, Lab, expect
from foldline.threads.change import Document, DocumentKind


__all__ = ["DOCUMENTS"]


_KINDS: tuple[DocumentKind, ...] = ("metadata", "execution", "reduction", "tool", "checkpoint")
_ODD_NAMES = (
    "",
    " ",
    "%",
    "_",
    "*",
    "?",
    "[a]",
    "'; DROP TABLE documents; --",
    '"',
    "\\",
    "a/b/../c",
    "a:b",
    "{a}",
    "\n",
    "é",
    "e\u0301",
    "東京🚂",
    "A",
    "a",
    "n" * 2000,
)


# What a database may have no form for.
_HALF_NAMES = ("\0", "a\0b", "\ud800", "x\udfff y")


def _name(number: int) -> str:
    return f"{number:012d}"


async def _documents_keep_their_bytes(lab: Lab) -> None:
    """A document of every kind comes back byte for byte: nothing, odd bytes, a million of them."""
    scribe = lab.scribe()
    contents = (b"", b"\0", bytes(range(256)), b"\xff\xfe", bytes(1 << 20))
    put = [
        Document(kind, _name(number), data)
        for kind in _KINDS
        for number, data in enumerate(contents)
    ]
    await scribe.write(put=put)
    for kind in _KINDS:
        found = await lab.storage.documents(scribe.key, kind)
        wanted = [one for one in reversed(put) if one.kind == kind]
        expect(found, wanted, f"the documents of kind {kind}")


async def _a_document_is_replaced(lab: Lab) -> None:
    """A document of the same kind and name takes the place of the one that was there."""
    scribe = lab.scribe()
    for data in (b"one", b"a longer one", b""):
        await scribe.write(put=[Document("tool", "call", data)])
        expect(await lab.documents(scribe.key, "tool"), {"call": data}, "the documents")


async def _kinds_are_apart(lab: Lab) -> None:
    """Documents of the same name and different kinds are different documents."""
    scribe = lab.scribe()
    await scribe.write(put=[Document(kind, "same", kind.encode()) for kind in _KINDS])
    await scribe.write(drop=[("tool", "same"), ("checkpoint", None)])
    for kind in _KINDS:
        wanted = {} if kind in {"tool", "checkpoint"} else {"same": kind.encode()}
        expect(await lab.documents(scribe.key, kind), wanted, f"the documents of kind {kind}")


async def _documents_are_dropped_by_name(lab: Lab) -> None:
    """A dropped document is gone, and those of other names stay; dropping nothing is harmless."""
    scribe = lab.scribe()
    expect(await lab.storage.documents(scribe.key, "tool"), [], "the documents of no thread")
    await scribe.write(1, drop=[("tool", "a"), ("execution", None)])
    await scribe.write(put=[Document("tool", name, b"x") for name in ("a", "ab", "b")])
    await scribe.write(drop=[("tool", "a")])
    expect(await lab.documents(scribe.key, "tool"), {"ab": b"x", "b": b"x"}, "the documents")


async def _an_empty_name_is_a_name(lab: Lab) -> None:
    """Dropping the document with the empty name drops that one, and not all of its kind."""
    scribe = lab.scribe()
    await scribe.write(put=[Document("tool", name, b"x") for name in ("", "a")])
    await scribe.write(drop=[("tool", "")])
    expect(await lab.documents(scribe.key, "tool"), {"a": b"x"}, "the documents")


async def _documents_are_dropped_by_kind(lab: Lab) -> None:
    """Without a name every document of the kind is dropped."""
    scribe = lab.scribe()
    await scribe.write(put=[Document("reduction", _name(one), b"x") for one in range(20)])
    await scribe.write(drop=[("reduction", None)])
    expect(await lab.documents(scribe.key, "reduction"), {}, "the documents")
    stored = await lab.storage.load(scribe.key)
    expect(stored and list(stored.documents), [], "the documents that were loaded")


async def _a_drop_comes_before_a_put(lab: Lab) -> None:
    """What a commit drops and puts is there afterwards."""
    scribe = lab.scribe()
    await scribe.write(put=[Document("tool", "a", b"1"), Document("tool", "b", b"1")])
    drop: list[tuple[DocumentKind, str | None]] = [("tool", "b"), ("tool", None)]
    await scribe.write(put=[Document("tool", "a", b"2")], drop=drop)
    expect(await lab.documents(scribe.key, "tool"), {"a": b"2"}, "the documents")


async def _the_newest_come_first(lab: Lab) -> None:
    """Documents come by their names, the greatest first, and no more than asked for."""
    scribe = lab.scribe()
    numbers = (3, 100, 1, 20, 9, 10)
    await scribe.write(put=[Document("checkpoint", _name(one), b"%d" % one) for one in numbers])
    for limit in (None, 0, 1, 4, 6, 99):
        found = await lab.storage.documents(scribe.key, "checkpoint", limit=limit)
        wanted = sorted(map(_name, numbers), reverse=True)[:limit]
        expect([one.name for one in found], wanted, f"the names with a limit of {limit}")


async def _a_thread_comes_with_its_newest_reduction(lab: Lab) -> None:
    """Of all reductions the one with the greatest name comes with the thread."""
    scribe = lab.scribe()
    for number in (1, 2, 11):
        await scribe.write(put=[Document("reduction", _name(number), b"%d" % number)])
        stored = await lab.storage.load(scribe.key)
        wanted = [Document("reduction", _name(number), b"%d" % number)]
        expect(stored and list(stored.documents), wanted, "the documents that were loaded")
    await scribe.write(drop=[("reduction", _name(11))])
    stored = await lab.storage.load(scribe.key)
    wanted = [Document("reduction", _name(2), b"2")]
    expect(stored and list(stored.documents), wanted, "the documents after the newest went")


async def _a_thread_comes_with_what_a_run_needs(lab: Lab) -> None:
    """Metadata, execution and every tool document come with the thread, and no checkpoint does."""
    scribe = lab.scribe()
    put = [Document("metadata", "", b"m"), Document("execution", "", b"e")]
    put += [Document("tool", f"call-{number}", b"%d" % number) for number in range(12)]
    kept = [Document("checkpoint", _name(number), b"c") for number in range(3)]
    await scribe.write(put=[*put, *kept])
    stored = await lab.storage.load(scribe.key)
    loaded = {} if stored is None else {(one.kind, one.name): one for one in stored.documents}
    expect(loaded, {(one.kind, one.name): one for one in put}, "the documents that were loaded")


async def _odd_names_are_names(lab: Lab) -> None:
    """Every plain string is a name: quotes, wildcards, any script, two forms of one letter."""
    scribe = lab.scribe()
    put = [Document("tool", name, b"%d" % number) for number, name in enumerate(_ODD_NAMES)]
    await scribe.write(put=put)
    wanted = {one.name: one.data for one in put}
    expect(await lab.documents(scribe.key, "tool"), wanted, "the documents")
    for name in _ODD_NAMES:
        await scribe.write(drop=[("tool", name)])
        del wanted[name]
        expect(await lab.documents(scribe.key, "tool"), wanted, f"what is left after {name!r}")


async def _names_without_a_form_are_kept_or_refused(lab: Lab) -> None:
    """
    A name with NUL or a lone surrogate is kept as it is, or its commit is refused with an error.
    """
    scribe = lab.scribe()
    await scribe.write(1)
    wanted: dict[str, bytes] = {}
    for number, name in enumerate(_HALF_NAMES):
        change = scribe.change(scribe.drawn(1), put=[Document("tool", name, b"%d" % number)])
        try:
            await scribe.commit(change)
        except StoreError:
            continue
        wanted[name] = b"%d" % number
    expect(await lab.documents(scribe.key, "tool"), wanted, "the documents")
    await scribe.verify()


async def _many_documents_are_one_commit(lab: Lab) -> None:
    """Five hundred documents are written, and dropped, in one commit."""
    scribe = lab.scribe()
    names = [_name(number) for number in range(500)]
    await scribe.write(put=[Document("tool", name, name.encode()) for name in names])
    expect(len(await lab.documents(scribe.key, "tool")), 500, "the number of documents")
    await scribe.write(drop=[("tool", name) for name in names[1:]])
    expect(list(await lab.documents(scribe.key, "tool")), names[:1], "the names left")


async def _documents_belong_to_one_thread(lab: Lab) -> None:
    """What one thread puts and drops is not seen by another, a fork of it included."""
    scribe = lab.scribe()
    await scribe.write(2, put=[Document("tool", "call", b"source")])
    fork = await scribe.fork("fork", 1)
    expect(await lab.documents(fork.key, "tool"), {}, "the documents of the fork")
    await fork.write(put=[Document("tool", "call", b"fork")])
    await scribe.write(drop=[("tool", None)])
    expect(await lab.documents(fork.key, "tool"), {"call": b"fork"}, "the documents of the fork")


DOCUMENTS: tuple[Check, ...] = (
    _documents_keep_their_bytes,
    _a_document_is_replaced,
    _kinds_are_apart,
    _documents_are_dropped_by_name,
    _an_empty_name_is_a_name,
    _documents_are_dropped_by_kind,
    _a_drop_comes_before_a_put,
    _the_newest_come_first,
    _a_thread_comes_with_its_newest_reduction,
    _a_thread_comes_with_what_a_run_needs,
    _odd_names_are_names,
    _names_without_a_form_are_kept_or_refused,
    _many_documents_are_one_commit,
    _documents_belong_to_one_thread,
)
"""The checks of this module."""
