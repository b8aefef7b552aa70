"""
Bugs of the threads room.
"""

from tests.planted.bug import Bug


__all__ = ["BUGS"]

_KILLS = "threads/crashes/test_kills.py::test_kills_break_no_promise"
_POWER = "threads/crashes/test_power.py::test_power_cuts_lose_nothing"
_POSTGRES = "threads/stores/test_postgres_storage.py"
_REDIS = "threads/stores/test_redis_storage.py::test_conformance"
_SQLITE = (
    "conformance/test_storages.py::test_sqlite_keeps_its_promises_where_every_commit_is_flushed"
)

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
        'f"synchronous = {_SYNCHRONOUS[self.durability]}"',
        '"synchronous = OFF"',
        _POWER,
    ),
    Bug(
        "rows are a commit of their own",
        "threads/stores/sqlite/commit.py",
        "    if step.rows:\n",
        '    connection.execute("COMMIT")\n    connection.execute("BEGIN IMMEDIATE")\n'
        "    if step.rows:\n",
        _KILLS,
    ),
    Bug(
        "documents are a commit of their own",
        "threads/stores/sqlite/commit.py",
        "    for kind, name in step.drop:\n",
        '    connection.execute("COMMIT")\n    connection.execute("BEGIN IMMEDIATE")\n'
        "    for kind, name in step.drop:\n",
        _KILLS,
    ),
    Bug(
        "a document is cleared and then written anew",
        "threads/stores/sqlite/commit.py",
        '        connection.execute(sql["put_document"]',
        '        connection.execute(sql["drop_document"], (pk, one.kind, one.name))\n'
        '        connection.execute("COMMIT")\n        connection.execute("BEGIN IMMEDIATE")\n'
        '        connection.execute(sql["put_document"]',
        _KILLS,
    ),
    Bug(
        "a commit is acknowledged before it is made",
        "threads/stores/sqlite/worker.py",
        "            return\n        self._commit(connection)",
        "            return\n        _settle(jobs)\n        self._commit(connection)",
        _KILLS,
    ),
    Bug(
        "tables are made in many transactions",
        "threads/stores/sqlite/file.py",
        "            connection.execute(piece)\n",
        '            connection.execute(piece)\n            connection.execute("COMMIT")\n'
        '            connection.execute("BEGIN IMMEDIATE")\n',
        _KILLS,
    ),
    Bug(
        "an intent is stored behind the call",
        "threads/change.py",
        "if run.call_id not in settled:",
        "if run.is_finished and run.call_id not in settled:",
        _KILLS,
    ),
    Bug(
        "a state is of the history before its commit",
        "threads/change.py",
        "CurrentMessages(head.count, head.digest)",
        "CurrentMessages(record.head.count, record.head.digest)",
        _KILLS,
    ),
    Bug(
        "answered calls are remembered for ever",
        "threads/change.py",
        "for run in record.tools if run.call_id in settled",
        "for run in record.tools if not run.call_id",
        "threads/test_thread.py::test_tool_runs_are_kept_in_order_until_they_are_answered",
    ),
    Bug(
        "a failed commit is taken for a made one",
        "threads/stores/sqlite/worker.py",
        "raise unknown from (None if is_torn(error) else self._overwritten(connection))",
        "return",
        "threads/crashes/test_errors.py",
    ),
    Bug(
        "an unknown outcome is taken for success",
        "threads/commitment.py",
        "            await _settle(backing, planned, error, moved)\n        except asyncio",
        "            pass\n        except asyncio",
        "threads/crashes/test_errors.py",
    ),
    Bug(
        "a lost commit is taken for a made one",
        "threads/commitment.py",
        "if record is not None and planned.step.id in record.head.recent:",
        "if record is not None:",
        "threads/crashes/test_errors.py",
    ),
    Bug(
        "a commit that is sent again is made again",
        "threads/thread.py",
        "if commit_id is not None and commit_id in self._record.head.recent:",
        "if commit_id is not None and len(commit_id) == 0:",
        "threads/test_thread.py::test_a_commit_is_made_once",
    ),
    Bug(
        "a cancelled writer does not wait for its job",
        "threads/stores/sqlite/worker.py",
        "            await waiting.end()\n",
        "",
        "threads/test_cancellation.py"
        "::test_a_commit_that_fails_behind_a_cancellation_is_not_believed",
    ),
    Bug(
        "the file takes any revision",
        "threads/stores/sqlite/commit.py",
        "if revision != step.expected:",
        "if revision < 0:",
        _SQLITE,
    ),
    Bug(
        "memory takes any revision",
        "threads/stores/memory.py",
        "if actual != expected:",
        "if actual < 0:",
        "conformance/test_storages.py",
    ),
    Bug(
        "Redis takes any revision",
        "threads/stores/redis/lua/commit.lua",
        "if actual ~= expected then",
        "if actual == '' then",
        _REDIS,
    ),
    Bug(
        "PostgreSQL takes any revision",
        "threads/stores/postgres/sql/0001_initial.sql",
        "WHERE t.tenant = p_tenant AND t.id = p_id AND t.revision = p_expected\n",
        "WHERE t.tenant = p_tenant AND t.id = p_id\n",
        f"{_POSTGRES}::test_conformance",
    ),
    Bug(
        "the file gives a thread to any tenant",
        "threads/stores/sqlite/sql/statements.sql",
        "WHERE t.tenant = ? AND t.id = ?;\n\n-- name: tail",
        "WHERE ? IS NOT NULL AND t.id = ?;\n\n-- name: tail",
        _SQLITE,
    ),
    Bug(
        "the file gives a branch to any tenant",
        "threads/stores/sqlite/sql/statements.sql",
        "WHERE id = ? AND tenant = ?;",
        "WHERE id = ? AND ? IS NOT NULL;",
        _SQLITE,
    ),
    Bug(
        "PostgreSQL gives a thread to any tenant",
        "threads/stores/postgres/sql/statements.sql",
        ") d ON true\nWHERE t.tenant = %(tenant)s AND t.id",
        ") d ON true\nWHERE %(tenant)s <> '' AND t.id",
        f"{_POSTGRES}::test_conformance",
    ),
    Bug(
        "PostgreSQL gives a branch to any tenant",
        "threads/stores/postgres/sql/0001_initial.sql",
        "WHERE b.id = p_branch AND b.tenant = p_tenant\n        UNION ALL",
        "WHERE b.id = p_branch\n        UNION ALL",
        f"{_POSTGRES}::test_conformance",
    ),
    Bug(
        "tenants share the branches in Redis",
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
        "deleted words stay in the index",
        "threads/stores/sqlite/commit.py",
        "        if has_words:\n",
        "        if False:\n",
        "threads/test_deletion.py",
    ),
    Bug(
        "deleted words stay in pieces of the index",
        "threads/stores/sqlite/commit.py",
        "if has_words and left:",
        "if False:",
        "threads/test_deletion.py",
    ),
    Bug(
        "a deletion takes what a fork shares",
        "threads/stores/sqlite/commit.py",
        "span = (base + (shared or 0), base",
        "span = (base, base",
        "threads/test_deletion.py",
    ),
    Bug(
        "a reduction of other messages is stored",
        "threads/thread.py",
        "if index and await self._hash_at(index) != reduction.message_hash:",
        "if index < 0:",
        "threads/test_thread.py::test_a_reduction_of_other_messages_is_refused",
    ),
    Bug(
        "a rewind keeps reductions behind its cut",
        "threads/revision.py",
        "return kept, [one for one in known if one.state.summarized_up_to_index > at]",
        "return kept, []",
        "threads/test_thread.py::test_a_rewind_leaves_the_reductions_that_fit",
    ),
    Bug(
        "a fork has no reductions",
        "threads/revision.py",
        "put=[*planned.step.put, *copies]",
        "put=planned.step.put",
        "threads/test_thread.py::test_a_fork_has_every_reduction_that_fits",
    ),
    Bug(
        "undoing leaves messages archived",
        "threads/head.py",
        "archived = archives[-1][1] if archives else 0",
        "archived = self.archived",
        "threads/test_thread.py::test_undoing_gives_the_archived_messages_back",
    ),
    Bug(
        "no seal is checked",
        "threads/reader.py",
        "bad = check_chain(rows, bytes(SEAL_SIZE) if first == 0 else None)",
        "bad = check_chain(rows[:0], None)",
        "threads/test_damage.py",
    ),
    Bug(
        "a seal without its branch",
        "threads/row.py",
        "sha256(before + branch + seq",
        "sha256(before + seq",
        "threads/test_row.py",
    ),
    Bug(
        "a seal without the one before",
        "threads/row.py",
        "sha256(before + branch + seq",
        "sha256(branch + seq",
        "threads/test_row.py",
    ),
    Bug(
        "a document is bound to its kind alone",
        "threads/cipher.py",
        'return "\\0".join(place).encode(',
        "return place[0].encode(",
        "threads/test_encryption.py::test_swapped_documents_are_refused",
    ),
    Bug(
        "a newer head is read as one of today",
        "threads/head.py",
        "if found > HEAD_FORMAT:",
        "if found < 0:",
        "threads/test_head.py",
    ),
    Bug(
        "an expired thread is found",
        "threads/expiry.py",
        "return expires_at is not None and expires_at <= backing.clock()",
        "return False",
        "threads/test_expiry.py",
    ),
    Bug(
        "a log of another file is folded in",
        "threads/stores/sqlite/file.py",
        "                    check_log(self.path)\n",
        "",
        "threads/stores/test_sqlite_header.py",
    ),
    Bug(
        "a backup is the same file as its store",
        "threads/stores/sqlite/backup.py",
        "numbered(schema_of(number_in(writer)))",
        "number_in(writer)",
        "threads/stores/test_sqlite_header.py",
    ),
    Bug(
        "a backup by another name overlooks the log",
        "threads/stores/sqlite/backup.py",
        "    source = source.resolve()\n",
        "",
        "threads/stores/test_sqlite_header.py",
    ),
    Bug(
        "a file is noted before it has its number itself",
        "threads/stores/sqlite/file.py",
        "PRAGMA wal_checkpoint(PASSIVE)",
        "SELECT 0, 0, 0",
        "threads/stores/test_sqlite_header.py",
    ),
    Bug(
        "a note outweighs what the log says itself",
        "threads/stores/sqlite/header.py",
        "own not in map(_file_of, numbers_logged(log))",
        "bool(numbers_logged(log))",
        "threads/stores/test_sqlite_header.py",
    ),
    Bug(
        "the log of a lost file is deleted",
        "threads/stores/sqlite/header.py",
        "    if problem is not None:\n",
        "    if False:\n",
        "threads/stores/test_sqlite_header.py",
    ),
    Bug(
        "a commit cancelled in the second look is taken for made",
        "threads/commitment.py",
        "            raise cancelled from error\n",
        "            raise\n",
        "threads/test_commitment.py",
    ),
    Bug(
        "an empty commit leaves its object behind",
        "threads/commitment.py",
        "        moved(empty.record)\n",
        "",
        "threads/test_commitment.py",
    ),
    Bug(
        "damage is told by its words",
        "threads/examination.py",
        "{(one.kind, one.name) for one in found.faults}",
        "{(one.kind, one.problem) for one in found.faults}",
        "threads/test_verification.py",
    ),
    Bug(
        "a fork takes over a summary of another branch",
        "threads/revision.py",
        "kept = await _fitting(reader, shared)",
        "kept = shared",
        "threads/test_fork.py",
    ),
    Bug(
        "what a dropped fold archived stays archived",
        "threads/revision.py",
        "rebranch=_with_folds(head, kept),",
        "rebranch=head,",
        "threads/test_revision.py",
    ),
    Bug(
        "Redis goes on with the node that was demoted",
        "threads/stores/redis/link.py",
        "                self._client = self._make_client()\n            await",
        "                pass\n            await",
        "threads/stores/test_redis_failover.py",
    ),
)
