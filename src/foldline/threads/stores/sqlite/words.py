"""
The index of words in a SQLite file.
"""

import sqlite3

from foldline.threads.key import ThreadKey
from foldline.threads.stores.sqlite.storage import SQLiteStorage


__all__ = ["IndexedSQLiteStorage", "has_full_text"]


def has_full_text() -> bool:
    """
    Whether the SQLite library can index text.
    """
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE probe USING fts5 (text)")
    except sqlite3.OperationalError:
        return False
    finally:
        connection.close()
    return True


class IndexedSQLiteStorage(SQLiteStorage):
    """
    A SQLite file that also finds words.

    The index is made of the rows that somebody has searched: a thread that nobody searches costs
    no index.
    """

    async def indexed(self, key: ThreadKey, branch: bytes) -> int:
        """
        Return the number of the first row of *branch* that is not in the index.
        """
        return await self.reader.run(lambda connection: self._indexed(connection, key, branch))

    def _indexed(self, connection: sqlite3.Connection, key: ThreadKey, branch: bytes) -> int:
        upto = 0
        for pk, start, stop in reversed(self.spans(connection, key, branch)):
            found = connection.execute(self.sql["indexed"], (pk,)).fetchone()
            upto = max(start, found[0] if found else start)
            if stop is None or upto < stop:
                return upto
        return upto

    async def index(self, key: ThreadKey, branch: bytes, words: list[tuple[int, str]]) -> None:
        """
        Add rows to the index: the number of each, and its words with a space between.
        """
        await self.writer.run(lambda connection: self._index(connection, key, branch, words))

    def _index(
        self,
        connection: sqlite3.Connection,
        key: ThreadKey,
        branch: bytes,
        words: list[tuple[int, str]],
    ) -> None:
        connection.execute(self.sql["make_words"])
        for pk, start, stop in self.spans(connection, key, branch):
            own = [one for one in words if start <= one[0] and (stop is None or one[0] < stop)]
            rows = [(self.row_id(pk, number), text) for number, text in own]
            if not rows:
                continue
            # Somebody may have deleted rows since they were read.
            span = (rows[0][0], rows[-1][0])
            there = {id for (id,) in connection.execute(self.sql["row_ids"], span)}
            rows = [row for row in rows if row[0] in there]
            if rows:
                connection.executemany(self.sql["add_words"], rows)
                behind = self.number_of(rows[-1][0]) + 1
                connection.execute(self.sql["set_indexed"], (pk, behind))

    async def find(self, key: ThreadKey, branch: bytes, stop: int, words: list[str]) -> list[int]:
        """
        Return the numbers of the rows below *stop* that hold every one of *words*, in order.
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
        if not connection.execute(self.sql["has_words"]).fetchone()[0]:
            return []
        query = " AND ".join(f'"{word}"' for word in words)
        found: list[int] = []
        for pk, start, end in reversed(self.spans(connection, key, branch)):
            last = stop if end is None else min(stop, end)
            span = (self.row_id(pk, start), self.row_id(pk, last))
            rows = connection.execute(self.sql["find_words"], (query, *span))
            found += [self.number_of(id) for (id,) in rows]
        return found
