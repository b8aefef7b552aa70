"""What rows and documents promise: whole, in order, by kind and name, and gone when dropped."""

from foldline.errors import StoreError
from foldline.testing.storage.check import Lab, expect
from foldline.threads.change import Document, DocumentKind
from foldline.threads.row import StoredRow


_KINDS: tuple[DocumentKind, ...] = ("metadata", "execution", "reduction", "tool", "checkpoint")
_ODD_NAMES = (
    *("", " ", "%", "_", "*", "?", "[a]", '"', "\\", "a/b/../c", "a:b", "{a}", "\n", "A", "a"),
    *("'; DROP TABLE documents; --", "é", "e\u0301", "東京🚂", "n" * 2000),
)
# What a database may have no form for.
_HALF_NAMES = ("\0", "a\0b", "\ud800", "x\udfff y")


def _name(number: int) -> str:
    return f"{number:012d}"


class Contents(Lab):
    """The checks of rows and documents."""

    async def rows_come_in_order(self) -> None:
        """Rows come in the order of their numbers, past 9, 99 and 255 too, in any range of them."""
        scribe = self.scribe()
        for size in (1, 8, 2, 90, 3, 160, 1):
            await scribe.write(size)
        await scribe.verify()
        for start, stop in ((0, 0), (0, 1), (8, 12), (250, 265), (264, 265), (264, 999), (7, 3)):
            rows = await scribe.read(start, stop)
            expect(rows, scribe.rows[start:stop], f"the rows {start} to {stop}")
        expect(await scribe.read(265, 999), [], "the rows after the last")

    async def rows_keep_their_bytes(self) -> None:
        """A row comes back byte for byte: none at all, every value of a byte, a million of them."""
        scribe = self.scribe()
        contents = (b"", b"\0", b"\0\xff" * 9, bytes(range(256)), "naïve 東京".encode())
        rows = [
            StoredRow(at, system=False, data=data)
            for at, data in enumerate((*contents, bytes(1 << 20)))
        ]
        await scribe.commit(scribe.change(rows))
        await scribe.verify()

    async def thousands_are_one_commit(self) -> None:
        """Thousands of rows are written, replaced and copied in one commit each, with documents."""
        scribe = self.scribe()
        put = [Document("tool", _name(number), b"%d" % number) for number in range(500)]
        await scribe.write(3000, system=range(0, 3000, 100), put=put)
        expect(len(await scribe.documents()), 500, "the number of documents")
        fork = await scribe.fork("fork", 2900, 3)
        await fork.verify()
        await scribe.rewind(200, 1000, drop=[("tool", one.name) for one in put[1:]])
        await scribe.verify()
        expect(await scribe.documents(), {_name(0): b"0"}, "the documents left")

    async def system_rows_come_alone(self) -> None:
        """If only system messages are wanted, exactly those of the range come, in order."""
        scribe = self.scribe()
        await scribe.write(6, system=(0, 3))
        await scribe.write(6, system=(5,))
        fork = await scribe.fork("fork", 9, 1)
        await fork.write(3, system=(0, 2))
        for one in (scribe, fork):
            for start, stop in ((0, 99), (1, 4), (3, 3), (4, 11), (11, 99)):
                rows = await one.read(start, stop, system=True)
                wanted = [row for row in one.rows[start:stop] if row.system]
                expect(rows, wanted, f"the system rows {start} to {stop}")

    async def documents_keep_their_bytes(self) -> None:
        """A document of every kind comes back byte for byte: nothing, odd bytes, a million."""
        scribe = self.scribe()
        contents = (b"", b"\0", bytes(range(256)), b"\xff\xfe", bytes(1 << 20))
        put = [
            Document(kind, _name(number), data)
            for kind in _KINDS
            for number, data in enumerate(contents)
        ]
        await scribe.write(put=put)
        for kind in _KINDS:
            found = await self.storage.documents(scribe.key, kind)
            wanted = [one for one in reversed(put) if one.kind == kind]
            expect(found, wanted, f"the documents of kind {kind}")

    async def documents_are_dropped_by_kind(self) -> None:
        """Without a name every document of the kind is dropped, and none of another kind."""
        scribe = self.scribe()
        put = [Document(kind, name, kind.encode()) for kind in _KINDS for name in ("a", "same")]
        await scribe.write(put=put)
        await scribe.write(drop=[("tool", "same"), ("reduction", None), ("checkpoint", None)])
        left: dict[str, dict[str, bytes]] = {"reduction": {}, "checkpoint": {}}
        left["tool"] = {"a": b"tool"}
        for kind in _KINDS:
            wanted = left.get(kind, {"a": kind.encode(), "same": kind.encode()})
            expect(await scribe.documents(kind), wanted, f"the documents of kind {kind}")
        loaded = {one.kind for one in (await scribe.stored()).documents}
        expect("reduction" in loaded, wanted=False, what="whether a dropped one is loaded")

    async def documents_are_dropped_by_name(self) -> None:
        """A dropped document is gone, those of other names stay, and an empty name is a name."""
        scribe = self.scribe()
        await scribe.write(1, drop=[("tool", "a"), ("execution", None)])
        await scribe.write(put=[Document("tool", name, b"x") for name in ("", "a", "ab", "b")])
        for dropped, left in (("a", ("", "ab", "b")), ("", ("ab", "b"))):
            await scribe.write(drop=[("tool", dropped)])
            expect(await scribe.documents(), dict.fromkeys(left, b"x"), "the documents")

    async def a_drop_comes_before_a_put(self) -> None:
        """What is put replaces a document of its kind and name, and is there even if dropped."""
        scribe = self.scribe()
        await scribe.write(put=[Document("tool", "a", b"1"), Document("tool", "b", b"1")])
        await scribe.write(put=[Document("tool", "a", b"")])
        expect(await scribe.documents(), {"a": b"", "b": b"1"}, "the documents")
        drop: list[tuple[DocumentKind, str | None]] = [("tool", "b"), ("tool", None)]
        await scribe.write(put=[Document("tool", "a", b"2")], drop=drop)
        expect(await scribe.documents(), {"a": b"2"}, "the documents")

    async def the_newest_come_first(self) -> None:
        """Documents come by their names, the greatest first, and no more than asked for."""
        scribe = self.scribe()
        numbers = (3, 100, 1, 20, 9, 10)
        await scribe.write(put=[Document("checkpoint", _name(one), b"%d" % one) for one in numbers])
        for limit in (None, 0, 1, 4, 6, 99):
            found = await self.storage.documents(scribe.key, "checkpoint", limit=limit)
            wanted = sorted(map(_name, numbers), reverse=True)[:limit]
            expect([one.name for one in found], wanted, f"the names with a limit of {limit}")

    async def a_thread_comes_with_what_a_run_needs(self) -> None:
        """Metadata, execution, each tool document and the newest reduction come with the thread."""
        scribe = self.scribe()
        put = [Document("metadata", "", b"m"), Document("execution", "", b"e")]
        put += [Document("tool", f"call-{number}", b"%d" % number) for number in range(12)]
        kept = [Document("checkpoint", _name(number), b"c") for number in range(3)]
        old = [Document("reduction", _name(number), b"%d" % number) for number in (1, 2)]
        await scribe.write(put=[*put, *kept, *old])
        newest = Document("reduction", _name(11), b"11")
        for reduction, change in (
            (old[1], scribe.change()),
            (newest, scribe.change(put=[newest], revision=2)),
            (old[1], scribe.change(drop=[("reduction", newest.name)], revision=3)),
        ):
            await scribe.commit(change)
            loaded = {(one.kind, one.name): one for one in (await scribe.stored()).documents}
            wanted = {(one.kind, one.name): one for one in (*put, reduction)}
            expect(loaded, wanted, "the documents that were loaded")

    async def odd_names_are_names(self) -> None:
        """Every plain string is a name: quotes, wildcards, any script, two forms of one letter."""
        scribe = self.scribe()
        put = [Document("tool", name, b"%d" % number) for number, name in enumerate(_ODD_NAMES)]
        await scribe.write(put=put)
        wanted = {one.name: one.data for one in put}
        expect(await scribe.documents(), wanted, "the documents")
        for name in _ODD_NAMES:
            await scribe.write(drop=[("tool", name)])
            del wanted[name]
            expect(await scribe.documents(), wanted, f"what is left after {name!r}")

    async def names_without_a_form_are_kept_or_refused(self) -> None:
        """A name with NUL or a lone surrogate is kept as it is, or refused with a StoreError."""
        scribe = self.scribe()
        await scribe.write(1)
        wanted: dict[str, bytes] = {}
        for number, name in enumerate(_HALF_NAMES):
            change = scribe.change(scribe.drawn(1), put=[Document("tool", name, b"%d" % number)])
            try:
                await scribe.commit(change)
            except StoreError:
                continue
            wanted[name] = b"%d" % number
        expect(await scribe.documents(), wanted, "the documents")
        await scribe.verify()

    async def documents_belong_to_one_thread(self) -> None:
        """What one thread puts and drops is not seen by another, a fork of it included."""
        scribe = self.scribe()
        await scribe.write(2, put=[Document("tool", "call", b"source")])
        fork = await scribe.fork("fork", 1)
        expect(await fork.documents(), {}, "the documents of the fork")
        await fork.write(put=[Document("tool", "call", b"fork")])
        await scribe.write(drop=[("tool", None)])
        expect(await fork.documents(), {"call": b"fork"}, "the documents of the fork")
