"""Bugs of the stores."""

from tests.planted.bug import Bug


__all__ = ["BUGS"]

_KILLS = "threads/crashes/test_kills.py::test_kills_break_no_promise"
_POWER = "threads/crashes/test_power.py::test_power_cuts_lose_nothing"
_REDIS = "threads/stores/test_redis_storage.py::test_conformance"
_POSTGRES = "threads/stores/test_postgres_storage.py::test_conformance"
_KIT = "conformance/test_storages.py::test_a_storage_keeps_the_promise"
_HEADER = "threads/stores/test_sqlite_identity.py"

BUGS = (
    Bug(
        "the default is the relaxed flush",
        "threads/stores/sqlite/file.py",
        '"full": "FULL"',
        '"full": "NORMAL"',
        _POWER,
    ),
    Bug(
        "nothing is flushed",
        "threads/stores/sqlite/file.py",
        'f"synchronous = {self._synchronous}"',
        '"synchronous = OFF"',
        _POWER,
    ),
    Bug(
        "rows are a commit of their own",
        "threads/stores/sqlite/tables.py",
        "        if change.rows:\n",
        '        self.connection.execute("COMMIT")\n'
        '        self.connection.execute("BEGIN IMMEDIATE")\n'
        "        if change.rows:\n",
        _KILLS,
    ),
    Bug(
        "documents are a commit of their own",
        "threads/stores/sqlite/tables.py",
        "        if change.drop or change.put:\n",
        '        self.connection.execute("COMMIT")\n'
        '        self.connection.execute("BEGIN IMMEDIATE")\n'
        "        if change.drop or change.put:\n",
        _KILLS,
    ),
    Bug(
        "a document is cleared and then written again",
        "threads/stores/sqlite/tables.py",
        '            self.run("put_document"',
        '            self.run("drop_document", pk, one.kind, one.name)\n'
        '            self.connection.execute("COMMIT")\n'
        '            self.connection.execute("BEGIN IMMEDIATE")\n'
        '            self.run("put_document"',
        _KILLS,
    ),
    Bug(
        "a commit is acknowledged before it is made",
        "threads/stores/sqlite/worker.py",
        '        try:\n            connection.execute("COMMIT")',
        '        _answer(jobs)\n        try:\n            connection.execute("COMMIT")',
        _KILLS,
    ),
    Bug(
        "tables are made in many transactions",
        "threads/stores/sqlite/migration.py",
        "            connection.execute(piece)\n",
        "            connection.execute(piece)\n"
        '            connection.execute("COMMIT")\n'
        '            connection.execute("BEGIN IMMEDIATE")\n',
        _KILLS,
    ),
    Bug(
        "a failed commit is taken for a made one",
        "threads/stores/sqlite/worker.py",
        "raise unknown from (None if is_torn else self._overwritten(connection))",
        "return",
        "threads/crashes/test_errors.py",
    ),
    Bug(
        "a cancelled writer does not wait for its job",
        "threads/stores/sqlite/worker.py",
        "            await waiting.end()\n",
        "",
        "threads/test_cancellation.py::test_a_commit_that_fails_behind_a_cancellation_is_not_believed",
    ),
    Bug(
        "the file takes any revision",
        "threads/stores/sqlite/tables.py",
        "if revision not in {None, actual}:",
        "if revision == -1:",
        _KIT,
    ),
    Bug(
        "memory takes any revision",
        "threads/stores/memory.py",
        "if actual != expected:",
        "if actual < 0:",
        _KIT,
    ),
    Bug(
        "Redis takes any revision",
        "threads/stores/redis/lua/commit.lua",
        "if (actual or '0') ~= expected then",
        "if expected == '' then",
        _REDIS,
    ),
    Bug(
        "PostgreSQL takes any revision",
        "threads/stores/postgres/sql/0003_flat_rows.sql",
        "AND t.revision = p_revision AND t.epoch = p_epoch\n",
        "AND t.epoch = p_epoch\n",
        _POSTGRES,
    ),
    Bug(
        "the file gives a thread to any tenant",
        "threads/stores/sqlite/sql/statements.sql",
        "FROM threads WHERE tenant = ? AND id = ?;\n\n-- name: tail",
        "FROM threads WHERE ? IS NOT NULL AND id = ?;\n\n-- name: tail",
        _KIT,
    ),
    Bug(
        "PostgreSQL gives a thread to any tenant",
        "threads/stores/postgres/sql/statements.sql",
        ") d ON true\nWHERE t.tenant = %(tenant)s AND t.id",
        ") d ON true\nWHERE %(tenant)s <> '' AND t.id",
        _POSTGRES,
    ),
    Bug(
        "tenants share the keys in Redis",
        "threads/stores/redis/lua/layout.lua",
        "return base .. '/' .. kind .. '/' .. tenant .. '/' .. name",
        "return base .. '/' .. kind .. '/' .. name",
        _REDIS,
    ),
    Bug(
        "deleted bytes stay in the file",
        "threads/stores/sqlite/file.py",
        '"secure_delete = ON"',
        '"secure_delete = OFF"',
        "threads/crashes/test_remains.py",
    ),
    Bug(
        "deleted bytes stay in the log",
        "threads/stores/sqlite/log.py",
        'busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")',
        'busy, *_ = connection.execute("SELECT 0")',
        "threads/crashes/test_remains.py",
    ),
    Bug(
        "everybody may read the file",
        "threads/stores/sqlite/file.py",
        "0o600",
        "0o644",
        "threads/crashes/test_remains.py",
    ),
    Bug(
        "a fork takes up what was deleted",
        "threads/stores/sqlite/tables.py",
        "if not numbers or (copies.count",
        "if (copies.count",
        _KIT,
    ),
    Bug(
        "a log of another file is folded in",
        "threads/stores/sqlite/file.py",
        "                    check_log(self.path)\n",
        "",
        _HEADER,
    ),
    Bug(
        "a backup is the same file as its store",
        "threads/stores/sqlite/backup.py",
        "number_in(writer)._replace(own=0).write(writer)",
        "number_in(writer)",
        _HEADER,
    ),
    Bug(
        "a backup by another name overlooks the log",
        "threads/stores/sqlite/backup.py",
        "    source = source.resolve()\n",
        "",
        _HEADER,
    ),
    Bug(
        "a file is noted before it has its number itself",
        "threads/stores/sqlite/file.py",
        "PRAGMA wal_checkpoint(PASSIVE)",
        "SELECT 0, 0, 0",
        _HEADER,
    ),
    Bug(
        "a note of another file stays",
        "threads/stores/sqlite/file.py",
        "        note_file(path, 0)\n",
        "        pass\n",
        _HEADER,
    ),
    Bug(
        "the log of a lost file is deleted",
        "threads/stores/sqlite/identity.py",
        "    if not _size(path):\n",
        "    if False:\n",
        _HEADER,
    ),
    Bug(
        "a thread that was made again is deleted for the old one",
        "threads/stores/sqlite/tables.py",
        "expected is not None and head != expected.head:",
        "expected is not None and not head:",
        _KIT,
    ),
    Bug(
        "Redis stays with the node that was demoted",
        "threads/stores/redis/link.py",
        "                self._client = self._make_client()\n            await",
        "                pass\n            await",
        "threads/stores/test_redis_failover.py",
    ),
    Bug(
        "a rewind keeps nothing for moments",
        "threads/stores/memory.py",
        "        self.replaced[number] = self.rows[at:]\n",
        "",
        _KIT,
    ),
    Bug(
        "the file takes any epoch",
        "threads/stores/sqlite/tables.py",
        "if epoch != change.epoch:",
        "if not epoch:",
        _KIT,
    ),
    Bug(
        "a rewind deletes what it replaces",
        "threads/stores/sqlite/tables.py",
        'self.run("move_rows", shift, base + change.opens.at, base + SEQ_MASK + 1)',
        'self.run("drop_rows", base + change.opens.at, base + SEQ_MASK + 1)',
        _KIT,
    ),
    Bug(
        "a rewind replaces nothing",
        "threads/stores/sqlite/tables.py",
        "shift, base + change.opens.at, base + SEQ_MASK + 1)",
        "shift, base + SEQ_MASK, base + SEQ_MASK + 1)",
        _KIT,
    ),
    Bug(
        "an epoch shows the last rows that were replaced",
        "threads/stores/sqlite/tables.py",
        "reversed(epochs[place + 1 :])",
        "epochs[place + 1 :]",
        _KIT,
    ),
    Bug(
        "an epoch shows what it replaced itself",
        "threads/stores/sqlite/tables.py",
        "epochs[place + 1 :]",
        "epochs[place:]",
        _KIT,
    ),
    Bug(
        "pruning deletes what a kept epoch needs",
        "threads/stores/sqlite/tables.py",
        "epochs[1 : first + 1]",
        "epochs[1 : first + 2]",
        _KIT,
    ),
    Bug(
        "pruning leaves rows that nobody needs",
        "threads/stores/sqlite/tables.py",
        "epochs[1 : first + 1]",
        "epochs[1:first]",
        _KIT,
    ),
    Bug(
        "a clear leaves replaced rows",
        "threads/stores/sqlite/tables.py",
        '            self._drop_rows(pk, live)\n            self.run("drop_epochs", pk, number)\n',
        '            self._drop_span(live)\n            self.run("drop_epochs", pk, number)\n',
        "threads/test_deletion.py::test_clear_leaves_no_byte",
    ),
    Bug(
        "a fork of an earlier epoch copies the rows of now",
        "threads/stores/sqlite/tables.py",
        "for number in sources:",
        "for number in sources[:1]:",
        _KIT,
    ),
    Bug(
        "a fork lacks its last row",
        "threads/stores/sqlite/tables.py",
        "base + change.copies.count)",
        "base + change.copies.count - 1)",
        _KIT,
    ),
    Bug(
        "memory takes any epoch",
        "threads/stores/memory.py",
        "if thread is not None and thread.epoch != change.epoch:",
        "if thread is not None and not thread.epoch:",
        _KIT,
    ),
    Bug(
        "memory forgets a kept epoch",
        "threads/stores/memory.py",
        "known = {*keeps, self.epoch}",
        "known = {self.epoch}",
        _KIT,
    ),
    Bug(
        "PostgreSQL takes any epoch",
        "threads/stores/postgres/sql/0003_flat_rows.sql",
        "AND t.revision = p_revision AND t.epoch = p_epoch\n",
        "AND t.revision = p_revision\n",
        _POSTGRES,
    ),
    Bug(
        "PostgreSQL shows the last rows that were replaced",
        "threads/stores/postgres/sql/0003_flat_rows.sql",
        "ORDER BY r.number, s.is_live, s.pk\n",
        "ORDER BY r.number, s.is_live, s.pk DESC\n",
        _POSTGRES,
    ),
    Bug(
        "PostgreSQL copies a thread of any tenant",
        "threads/stores/postgres/sql/0003_flat_rows.sql",
        "WHERE t.tenant = p_tenant AND t.id = p_id\n    ORDER",
        "WHERE p_tenant <> '' AND t.id = p_id\n    ORDER",
        _POSTGRES,
    ),
    Bug(
        "PostgreSQL prunes what a kept epoch needs",
        "threads/stores/postgres/sql/0003_flat_rows.sql",
        "(e.id = p_after OR e.id = ANY (p_keeps))",
        "e.id = p_after",
        _POSTGRES,
    ),
    Bug(
        "PostgreSQL makes a fork of what is left",
        "threads/stores/postgres/sql/0003_flat_rows.sql",
        "copied < p_count OR NOT EXISTS",
        "copied < 0 OR NOT EXISTS",
        _POSTGRES,
    ),
    Bug(
        "Redis takes any epoch",
        "threads/stores/redis/lua/commit.lua",
        "if not is_new and current ~= epoch then",
        "if not is_new and not current then",
        _REDIS,
    ),
    Bug(
        "a rewind in Redis leaves marks of system messages",
        "threads/stores/redis/lua/commit.lua",
        "  redis.call('ZREMRANGEBYSCORE', of('systems', id), at, '+inf')\n",
        "",
        _REDIS,
    ),
    Bug(
        "Redis prunes what a kept epoch needs",
        "threads/stores/redis/lua/commit.lua",
        "if kept[one.id] then",
        "if one.id == after then",
        _REDIS,
    ),
    Bug(
        "Redis shows the last rows that were replaced",
        "threads/stores/redis/lua/layout.lua",
        "if is_found and one.at < low then",
        "if is_found then",
        _REDIS,
    ),
    Bug(
        "a file is marked before its threads are flat",
        "threads/stores/sqlite/migration.py",
        "        _flatten(connection, statements(_PACKAGE), name)\n",
        "        number._replace(schema=NEWEST_SCHEMA).write(connection)\n"
        '        connection.execute("COMMIT")\n'
        '        connection.execute("BEGIN IMMEDIATE")\n'
        "        _flatten(connection, statements(_PACKAGE), name)\n",
        "threads/crashes/test_migration.py::test_a_killed_migration_resumes",
    ),
    Bug(
        "a migrated row names another origin",
        "threads/stores/sqlite/migration.py",
        "SEQ_MASK, ids[span.branch], ",
        "SEQ_MASK, bytes(16), ",
        "threads/stores/test_recordings.py::test_a_file_is_what_it_was",
    ),
    Bug(
        "a migration loses what was replaced",
        "threads/stores/sqlite/migration.py",
        "in flatten(own, branches):",
        "in [*flatten(own, branches)][-1:]:",
        "threads/stores/test_recordings.py::test_a_file_is_what_it_was",
    ),
    Bug(
        "a flat thread keeps replaced rows among its live ones",
        "threads/stores/flatten.py",
        "live = [*_cut(live, 0, at), Span",
        "live = [*live, Span",
        "threads/stores/test_flatten.py::test_every_epoch_shows_what_its_branch_did",
    ),
    Bug(
        "a flat thread has rows that its parent got later",
        "threads/stores/flatten.py",
        "min(start, shared.stop)",
        "shared.stop",
        "threads/stores/test_flatten.py::test_every_epoch_shows_what_its_branch_did",
    ),
    Bug(
        "a flat thread lacks the rows of its parents",
        "threads/stores/flatten.py",
        "spans.insert(0, Span",
        "spans.append(Span",
        "threads/stores/test_flatten.py::test_every_epoch_shows_what_its_branch_did",
    ),
    Bug(
        "a migrated row in Redis names no origin",
        "threads/stores/redis/lua/flatten.lua",
        "string.sub(row, 1, 1) .. origin .. string.sub(row, 2)",
        "row",
        "threads/stores/test_recordings.py::test_a_redis_is_what_it_was",
    ),
)
