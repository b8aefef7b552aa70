"""What rows promise: in order and whole."""

from foldline.testing.storage.check import Check, Lab, Scribe, expect
from foldline.threads.row import StoredRow


__all__ = ["ROWS"]


async def _rows_come_in_order(lab: Lab) -> None:
    """Rows of many commits come in the order of their numbers, past 9, 99 and 255 too."""
    scribe = lab.scribe()
    for size in (1, 8, 2, 90, 3, 160, 1):
        await scribe.write(size)
    await scribe.verify()


async def _a_range_is_cut_exactly(lab: Lab) -> None:
    """A range holds the rows from its start up to its stop, and never more than there are."""
    scribe = lab.scribe()
    await scribe.write(5)
    await scribe.write(7)
    for start, stop in ((0, 0), (0, 1), (4, 6), (5, 12), (11, 12), (11, 99), (12, 99), (7, 3)):
        rows = await scribe.read(start, stop)
        expect(rows, scribe.rows[start:stop], f"the rows {start} to {stop}")


async def _rows_keep_their_bytes(lab: Lab) -> None:
    """A row comes back byte for byte: none at all, every value of a byte, a million of them."""
    scribe = lab.scribe()
    contents = (b"", b"\0", b"\0\xff" * 9, bytes(range(256)), "naïve 東京".encode(), bytes(1 << 20))
    rows = [StoredRow(at, system=False, data=data) for at, data in enumerate(contents)]
    await scribe.commit(scribe.change(rows))
    await scribe.verify()


async def _a_big_batch_is_one_commit(lab: Lab) -> None:
    """Three thousand rows in one commit are all there."""
    scribe = lab.scribe()
    await scribe.write(3000, system=range(0, 3000, 100))
    await scribe.verify()


async def _system_rows_come_alone(lab: Lab) -> None:
    """If only system messages are wanted, exactly those of the range come, in order."""
    scribe = lab.scribe()
    await scribe.write(6, system=(0, 3))
    await scribe.write(6, system=(5,))
    fork = await scribe.fork("fork", 9, 1)
    await fork.write(3, system=(0, 2))
    for one in (scribe, fork):
        for start, stop in ((0, 99), (1, 4), (3, 3), (4, 11), (11, 99)):
            rows = await one.read(start, stop, system=True)
            wanted = [row for row in one.rows[start:stop] if row.system]
            expect(rows, wanted, f"the system rows {start} to {stop}")


async def _threads_share_no_numbers(lab: Lab) -> None:
    """Threads that grow in turn keep their rows apart."""
    scribes: list[Scribe] = [lab.scribe(f"thread-{number}") for number in range(5)]
    for size in range(4):
        for scribe in scribes:
            await scribe.write(size)
    for scribe in scribes:
        await scribe.verify()


ROWS: tuple[Check, ...] = (
    _rows_come_in_order,
    _a_range_is_cut_exactly,
    _rows_keep_their_bytes,
    _a_big_batch_is_one_commit,
    _system_rows_come_alone,
    _threads_share_no_numbers,
)
"""The checks of this module."""
