"""The index of words in a SQLite file."""

import sqlite3

from foldline.errors import StoreError
from foldline.threads.key import ThreadKey
from foldline.threads.stores.sqlite.postings import add_words, find_rows, indexed
from foldline.threads.stores.sqlite.storage import SQLiteStorage


__all__ = ["IndexedSQLiteStorage"]


class IndexedSQLiteStorage(SQLiteStorage):
    """
    A SQLite file that also finds words.

    The index is made of the rows that somebody has searched: a thread that nobody searches costs
    no index.
    """

    async def indexed(self, key: ThreadKey, branch: bytes) -> int:
        """Return the number of the first row of *branch* that is not in the index."""
        return await self.reader.run(lambda connection: self._indexed(connection, key, branch))

    def _indexed(self, connection: sqlite3.Connection, key: ThreadKey, branch: bytes) -> int:
        upto = 0
        for pk, start, stop in reversed(self.spans(connection, key, branch)):
            upto = max(start, indexed(connection, self.sql, pk) or start)
            if stop is None or upto < stop:
                return upto
        return upto

    async def index(self, key: ThreadKey, branch: bytes, words: list[tuple[int, str]]) -> None:
        """Add rows to the index: the number of each, and its words with a space between."""
        await self.writer.run(lambda connection: self._index(connection, key, branch, words))

    def _index(
        self,
        connection: sqlite3.Connection,
        key: ThreadKey,
        branch: bytes,
        words: list[tuple[int, str]],
    ) -> None:
        for pk, start, stop in self.spans(connection, key, branch):
            own = [one for one in words if start <= one[0] and (stop is None or one[0] < stop)]
            if not own:
                continue
            # Somebody may have deleted rows since they were read.
            span = (self.row_id(pk, own[0][0]), self.row_id(pk, own[-1][0]))
            there = {id for (id,) in connection.execute(self.sql["row_ids"], span)}
            rows = [one for one in own if self.row_id(pk, one[0]) in there]
            add_words(connection, self.sql, pk, start, rows)

    async def find(self, key: ThreadKey, branch: bytes, stop: int, words: list[str]) -> list[int]:
        """
        Return the numbers of the rows below *stop* that hold every one of *words*, in order.

        Raises:
            StoreError: The last of these rows is not in the index: somebody has dropped its words.
        """
        return await self.reader.run(
            lambda connection: self._look_up(connection, key, branch, stop, words)
        )

    def _look_up(
        self,
        connection: sqlite3.Connection,
        key: ThreadKey,
        branch: bytes,
        stop: int,
        words: list[str],
    ) -> list[int]:
        found: list[int] = []
        for pk, start, end in reversed(self.spans(connection, key, branch)):
            span = (start, stop if end is None else min(stop, end))
            self._check_reach(connection, key, pk, span)
            found += find_rows(connection, self.sql, pk, span, words)
        return found

    def _check_reach(
        self, connection: sqlite3.Connection, key: ThreadKey, pk: int, span: tuple[int, int]
    ) -> None:
        # In the transaction that reads the words: they may be back when somebody asks behind it.
        start, stop = span
        if stop <= max(start, indexed(connection, self.sql, pk) or 0):
            return
        last = self.row_id(pk, stop - 1)
        if connection.execute(self.sql["row_ids"], (last, last)).fetchone() is not None:
            message = f"the index of thread {key.id!r} does not reach up to row {stop}"
            raise StoreError(message)
