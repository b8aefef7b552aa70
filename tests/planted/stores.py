"""Bugs of the stores."""

from tests.planted.bug import bugs_in


__all__ = ["BUGS"]

BUGS = bugs_in("""
threads/stores/flatten.py: threads/stores/test_flatten.py::test_every_epoch_shows_what_its_branch_did
a flat thread keeps replaced rows among its live ones
- live = [*_cut(live, 0, branch.at), Span
+ live = [*live, Span
a flat thread has rows that its parent got later
- min(start, shared.stop)
+ shared.stop
a flat thread lacks the rows of its parents
- spans.insert(0, Span
+ spans.append(Span

threads/stores/memory.py: conformance/test_storages.py::test_a_storage_keeps_the_promise
memory takes any revision
- if actual != expected:
+ if actual < 0:
a rewind keeps nothing for moments
-         self.replaced[number] = self.rows[at:]
memory takes any epoch
- if thread is not None and thread.epoch != change.epoch:
+ if thread is not None and not thread.epoch:
memory forgets a kept epoch
- known = {*keeps, self.epoch}
+ known = {self.epoch}

threads/stores/postgres/sql/0003_flat_rows.sql: threads/stores/test_postgres_storage.py::test_conformance
PostgreSQL shows the last rows that were replaced
- ORDER BY r.number, s.is_live, s.pk
+ ORDER BY r.number, s.is_live, s.pk DESC
PostgreSQL copies a thread of any tenant
- WHERE t.tenant = p_tenant AND t.id = p_id
-     ORDER
+ WHERE p_tenant <> '' AND t.id = p_id
+     ORDER

threads/stores/postgres/sql/0005_leases.sql: threads/stores/test_postgres_storage.py::test_conformance
PostgreSQL takes any revision
- AND t.revision = p_revision AND t.epoch = p_epoch
+ AND t.epoch = p_epoch
PostgreSQL takes any epoch
- AND t.revision = p_revision AND t.epoch = p_epoch
+ AND t.revision = p_revision
PostgreSQL keeps a fold due
- fold_due_since = p_due_at
+ fold_due_since = coalesce(p_due_at, fold_due_since)
PostgreSQL prunes what a kept epoch needs
- (e.id = p_after OR e.id = ANY (p_keeps))
+ e.id = p_after
PostgreSQL makes a fork of what is left
- copied < p_count OR NOT EXISTS
+ copied < 0 OR NOT EXISTS

threads/stores/postgres/sql/statements.sql: threads/stores/test_postgres_storage.py::test_conformance
PostgreSQL gives a thread to any tenant
- loaded(t.pk) d ON true
- WHERE t.tenant = %(tenant)s AND t.id
+ loaded(t.pk) d ON true
+ WHERE %(tenant)s <> '' AND t.id

threads/stores/redis/link.py: threads/stores/test_redis_failover.py
Redis stays with the node that was demoted
-             # Connections in use now must not be used again: they are not of the new client.
-             self._client = self._make_client()
+             pass

threads/stores/redis/store.lua: threads/stores/test_redis_storage.py::test_conformance
Redis keeps a fold due
-   else
-     redis.call('ZREM', due, id)
-   end
+   end
Redis loses the folds of one time behind the first page
- or page[place] > after
+ and page[place] > after
Redis takes any revision
- if actual ~= change.revision then
+ if change.revision < 0 then
Redis takes any epoch
- if not is_new and current ~= change.epoch then
+ if not is_new and not current then
Redis makes a fork of what is left
- if not copied or length < change.count then
+ if not copied then
Redis prunes what a kept epoch needs
- if kept[one.id] then
+ if place == #epochs_of(id) then
tenants share the keys in Redis
- return base .. '/' .. kind .. '/' .. tenant .. '/' .. name
+ return base .. '/' .. kind .. '/' .. name
Redis shows the last rows that were replaced
- if is_found and one.at < low then
+ if is_found then

threads/stores/redis/store.py: threads/stores/test_redis_storage.py::test_conformance
Redis shows other rows among the system messages
- [row for row in page if row.system] if system else page
+ page

threads/stores/redis/store.lua: threads/stores/test_recordings.py::test_a_redis_is_what_it_was
a migrated row in Redis names no origin
- string.sub(row, 1, 1) .. origin .. string.sub(row, 2)
+ row

threads/stores/sqlite/backup.py: threads/stores/test_sqlite_identity.py
a backup is the same file as its store
- number_in(writer)._replace(own=0).write(writer)
+ number_in(writer)
a backup by another name overlooks the log
-     source = source.resolve()

threads/stores/sqlite/migration.py: threads/crashes/test_migration.py::test_a_killed_migration_resumes
a file is marked before its threads are flat
-         _flatten(connection, statements(_PACKAGE), name)
+         number._replace(schema=NEWEST_SCHEMA).write(connection)
+         connection.execute("COMMIT")
+         connection.execute("BEGIN IMMEDIATE")
+         _flatten(connection, statements(_PACKAGE), name)

threads/stores/sqlite/file.py: threads/crashes/test_power.py::test_power_cuts_lose_nothing
the default is the relaxed flush
- "full": "FULL"
+ "full": "NORMAL"
nothing is flushed
- f"synchronous = {self._synchronous}"
+ "synchronous = OFF"

threads/stores/sqlite/file.py: threads/crashes/test_remains.py
deleted bytes stay in the file
- "secure_delete = ON"
+ "secure_delete = OFF"
everybody may read the file
- self.path, flags, 0o600
+ self.path, flags, 0o644

threads/stores/sqlite/file.py: threads/stores/test_sqlite_identity.py
a log of another file is folded in
-                     check_log(self.path)
a file is noted before it has its number itself
- PRAGMA wal_checkpoint(PASSIVE)
+ SELECT 0, 0, 0
a note of another file stays
-         note_file(path, 0)
+         pass

threads/stores/sqlite/identity.py: threads/stores/test_sqlite_identity.py
the log of a lost file is deleted
-     if not _size(path):
+     if False:

threads/stores/sqlite/log.py: threads/crashes/test_remains.py
deleted bytes stay in the log
- busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
+ busy, *_ = connection.execute("SELECT 0")

threads/stores/sqlite/migration.py: threads/crashes/test_kills.py::test_kills_break_no_promise
tables are made in many transactions
-             connection.execute(piece)
+             connection.execute(piece)
+             connection.execute("COMMIT")
+             connection.execute("BEGIN IMMEDIATE")

threads/stores/sqlite/migration.py: threads/stores/test_recordings.py::test_a_file_is_what_it_was
a migrated row names another origin
- SEQ_MASK, id,
+ SEQ_MASK, bytes(16),
a migration loses what was replaced
- in flatten(own, branches):
+ in [*flatten(own, branches)][-1:]:

threads/stores/sqlite/sql/statements.sql: conformance/test_storages.py::test_a_storage_keeps_the_promise
the file gives a thread to any tenant
- FROM threads WHERE tenant = ? AND id = ?;
-
- -- name: tail
+ FROM threads WHERE ? IS NOT NULL AND id = ?;
+
+ -- name: tail
the file keeps a fold due
- coalesce(fold_due_since, 9e999) = ?9;
+ ?9 IS ?9;
the file keeps the end of a thread
- coalesce(expires_at, 9e999) = ?8 AND coalesce(fold_due_since, 9e999) = ?9;
+ ?8 IS ?8 AND coalesce(fold_due_since, 9e999) = ?9;

threads/stores/sqlite/sql/statements.sql: threads/stores/test_sqlite_tables.py
a commit gives nobody a lease with a state
- THEN holder ELSE ?11 END
+ THEN holder ELSE coalesce(holder, ?11) END
a commit goes to what has taken the place of its thread
- WHERE pk = ?4 AND revision = ?1 AND epoch = ?5
+ WHERE pk = ?4 AND revision = ?1 AND ?5 = ?5
a commit writes rows where a deleted thread had them
- AND live = ?13
+ AND ?13 = ?13

threads/stores/sqlite/tables.py: conformance/test_storages.py::test_a_storage_keeps_the_promise
the file takes any revision
- if revision not in {None, actual}:
+ if revision == -1:
a fork takes up what was deleted
- if not numbers or (copies.count
+ if (copies.count
a thread that was made again is deleted for the old one
- expected is not None and head != expected.head:
+ expected is not None and not head:
the file takes any epoch
- if epoch != change.epoch:
+ if not epoch:
a rewind deletes what it replaces
- self.run("move_rows", shift, base + opens.at, base + SEQ_MASK + 1)
+ self.run("drop_rows", base + opens.at, base + SEQ_MASK + 1)
a rewind replaces nothing
- shift, base + opens.at, base + SEQ_MASK + 1)
+ shift, base + SEQ_MASK, base + SEQ_MASK + 1)
an epoch shows the last rows that were replaced
- in reversed(epochs[place + 1 :])
+ in epochs[place + 1 :]
an epoch shows what it replaced itself
- epochs[place + 1 :]
+ epochs[place:]
pruning deletes what a kept epoch needs
- epochs[1 : first + 1]
+ epochs[1 : first + 2]
pruning leaves rows that nobody needs
- epochs[1 : first + 1]
+ epochs[1:first]
a fork of an earlier epoch copies the rows of now
- for number in sources:
+ for number in sources[:1]:
a fork lacks its last row
- base + count)
+ base + count - 1)

threads/stores/sqlite/tables.py: threads/crashes/test_kills.py::test_kills_break_no_promise
rows are a commit of their own
-         if rows := change.rows:
+         self.connection.execute("COMMIT")
+         self.connection.execute("BEGIN IMMEDIATE")
+         if rows := change.rows:
documents are a commit of their own
-         if change.drop or put:
+         self.connection.execute("COMMIT")
+         self.connection.execute("BEGIN IMMEDIATE")
+         if change.drop or put:
a document is cleared and then written again
-             self.run("put_document"
+             self.run("drop_document", pk, one.kind, one.name)
+             self.connection.execute("COMMIT")
+             self.connection.execute("BEGIN IMMEDIATE")
+             self.run("put_document"

threads/stores/sqlite/tables.py: threads/test_deletion.py::test_nothing_leaves_a_byte
a clear leaves replaced rows
-             self._drop_rows(pk, live)
-             self.run("drop_epochs", pk, number)
+             self._drop_span(live)
+             self.run("drop_epochs", pk, number)

threads/stores/sqlite/file.py: threads/stores/test_sqlite_in_place.py
a commit in place waits for other programs
-                 writer.execute("PRAGMA busy_timeout = 0")
+                 pass
a commit in place folds the log back
- {0 if self.commits_in_place else LOG_PAGES}
+ {LOG_PAGES}

threads/stores/sqlite/log.py: threads/stores/test_sqlite_in_place.py
a commit in place flushes where the log begins again
- return is_due or self._restarts
+ return is_due

threads/stores/sqlite/log.py: threads/stores/test_sqlite_log.py
a commit in place leaves what was deleted in the log
- >= self._most_pages or self._done < self._asked
+ >= self._most_pages

threads/stores/sqlite/pace.py: threads/stores/test_sqlite_pace.py
tasks of a crowd do not share a turn
- if self.is_turn_over and started < self._ended + _TURN:
+ if self._started < 0:
a busy machine is taken for a slow disk
- elif not self._long or self._waits() > self._waited:
+ else:

threads/stores/sqlite/store.py: threads/stores/test_sqlite_in_place.py
a commit in place that was refused is acknowledged
-                 if made.error is not None:
-                     raise made.error
a commit in place lets nobody else run
- if self.pace.is_turn_over:
+ if self.pace is None:

threads/stores/sqlite/store.py: threads/test_cancellation.py::test_a_step_is_whole_or_not_there
a commit in place is cancelled before it is made
-             made = writer.in_place(job)
+             await asyncio.sleep(0)
+             made = writer.in_place(job)

threads/stores/sqlite/worker.py: threads/crashes/test_errors.py
a failed commit is taken for a made one
- raise CommitUnknownError(str(store_error(error))) from self._rest(connection, error)
+ return True

threads/stores/sqlite/worker.py: threads/stores/test_sqlite_in_place.py
an interrupted commit in place stays open
- except BaseException as error:
+ except Exception as error:

threads/stores/sqlite/worker.py: threads/crashes/test_kills.py::test_kills_break_no_promise
a commit is acknowledged before it is made
-             with self._at_work:
-                 try:
+             _answer(jobs)
+             with self._at_work:
+                 try:
a commit in place is many commits to a kill
- self._transactions.run(connection, [job])
+ job.result = call(connection)

threads/stores/sqlite/worker.py: threads/crashes/test_power.py::test_relaxed_power_cuts_lose_the_end
a commit in place is many commits to a power cut
- self._transactions.run(connection, [job])
+ job.result = call(connection)

threads/stores/sqlite/worker.py: threads/stores/test_sqlite_in_place.py
a commit in place waits for a thread at work
- not self._at_work.acquire(blocking=False):
+ not self._at_work.acquire():
a commit in place ignores the lock of other processes
- or not file.seize():
+ or file.seize() is None:

threads/stores/sqlite/worker.py: threads/test_cancellation.py::test_a_commit_that_fails_behind_a_cancellation_is_not_believed
a cancelled writer does not wait for its job
-             await waiting.end()
""")
