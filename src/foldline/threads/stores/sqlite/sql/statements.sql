-- name: load
SELECT pk, revision, head, execution, expires_at, holder, held_until, live FROM threads WHERE tenant = ? AND id = ?;

-- name: tail
-- Of an id, the lower 32 bits are the number.
SELECT id & 0xFFFFFFFF, system = 1, data FROM rows WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT ?;

-- name: load_documents
-- What comes with a thread: metadata, tool calls that wait, the newest reduction.
SELECT kind, name, data FROM documents WHERE thread = ?1 AND kind = 'metadata'
UNION ALL SELECT kind, name, data FROM documents WHERE thread = ?1 AND kind = 'tool'
UNION ALL SELECT * FROM (
    SELECT kind, name, data FROM documents
    WHERE thread = ?1 AND kind = 'reduction' ORDER BY name DESC LIMIT 1
);

-- name: documents
-- The execution state, which lies beside the head and has no name, comes after all others.
SELECT d.kind, d.name, d.data FROM documents d JOIN threads t ON t.pk = d.thread
WHERE t.tenant = ?1 AND t.id = ?2 AND d.kind = ?3
UNION ALL SELECT 'execution', '', execution FROM threads
WHERE tenant = ?1 AND id = ?2 AND ?3 = 'execution' AND execution IS NOT NULL
ORDER BY 2 DESC LIMIT ?4;

-- name: document
SELECT d.kind, d.name, d.data FROM threads t
JOIN documents d ON d.thread = t.pk AND d.kind = ?3 AND d.name = ?4
WHERE t.tenant = ?1 AND t.id = ?2;

-- name: rows
SELECT id & 0xFFFFFFFF, system = 1, data FROM rows WHERE id >= ? AND id < ? ORDER BY id;

-- name: system_rows
SELECT id & 0xFFFFFFFF, system = 1, data FROM rows WHERE system = 1 AND id >= ? AND id < ? ORDER BY id;

-- name: threads
SELECT pk, CAST(id AS BLOB), revision, head, execution, expires_at, holder, held_until FROM threads
WHERE tenant = ? AND id > ? AND typeof(id) = 'text' ORDER BY id;

-- name: tenants
SELECT CAST(tenant AS BLOB) FROM threads GROUP BY tenant;

-- name: find
SELECT pk, revision, live, epoch, head FROM threads WHERE tenant = ? AND id = ?;

-- name: add_thread
-- A new thread; its head and its rows come later.
INSERT INTO threads (tenant, id, revision, live, head, last_activity) VALUES (?, ?, 0, 0, x'', 0);

-- name: set_head
-- The next revision, and the execution state and the lease if they change.
UPDATE threads SET revision = ?, live = ?, epoch = ?, head = ?, last_activity = ?, expires_at = ?,
fold_due_since = ?, execution = CASE ? WHEN 1 THEN ? ELSE execution END,
holder = coalesce(?, holder), held_until = coalesce(?, held_until) WHERE pk = ?;

-- name: set_next_head
-- The same for a thread that is as the commit expects it and where it was found, if neither of two
-- indexed times changes: SQLite writes an index again even if a value stays. Never is infinite here,
-- and '' keeps what is there.
UPDATE threads SET revision = ?1 + 1, head = ?2, last_activity = ?3,
execution = CASE ?10 WHEN '' THEN execution ELSE ?10 END,
holder = CASE ?12 WHEN '' THEN holder ELSE ?11 END,
held_until = CASE ?12 WHEN '' THEN held_until ELSE ?12 END
WHERE pk = ?4 AND revision = ?1 AND epoch = ?5 AND tenant = ?6 AND id = ?7 AND live = ?13
AND coalesce(expires_at, 9e999) = ?8 AND coalesce(fold_due_since, 9e999) = ?9;

-- name: hold
UPDATE threads SET held_until = ? WHERE tenant = ? AND id = ? AND holder = ? AND held_until > ?;

-- name: folds_due
SELECT fold_due_since, CAST(id AS BLOB) FROM threads
WHERE tenant = ?1 AND fold_due_since IS NOT NULL AND (fold_due_since, id) > (?2, ?3)
ORDER BY fold_due_since, id LIMIT ?4;

-- name: latest
-- Without an index, which every commit would have to write: the heads of a tenant are looked through.
SELECT last_activity, CAST(id AS BLOB) FROM threads
WHERE tenant = ?1 AND (last_activity, id) < (?2, ?3) AND typeof(id) = 'text'
ORDER BY last_activity DESC, id DESC LIMIT ?4;

-- name: add_epoch
INSERT INTO epochs (thread, id) VALUES (?, ?);

-- name: epochs
SELECT pk, id FROM epochs WHERE thread = ? ORDER BY pk;

-- name: drop_epochs
DELETE FROM epochs WHERE thread = ? AND pk < ?;

-- name: add_row
INSERT INTO rows (id, system, data) VALUES (?, ?, ?);

-- name: move_rows
-- Moves rows between two ids, which a new epoch replaces, to that one.
UPDATE rows SET id = id + ? WHERE id >= ? AND id < ?;

-- name: copy_rows
INSERT OR REPLACE INTO rows (id, system, data)
SELECT id + ?, system, data FROM rows WHERE id >= ? AND id < ?;

-- name: drop_rows
DELETE FROM rows WHERE id >= ? AND id < ?;

-- name: put_document
INSERT INTO documents (thread, kind, name, data) VALUES (?, ?, ?, ?)
ON CONFLICT (thread, kind, name) DO UPDATE SET data = excluded.data;

-- name: move_document
-- Lets a new document take the place of one that goes: no page more is written.
UPDATE OR REPLACE documents SET name = ?, data = ? WHERE thread = ? AND kind = ? AND name = ?;

-- name: drop_document
DELETE FROM documents WHERE thread = ? AND kind = ? AND name = ?;

-- name: drop_documents
DELETE FROM documents WHERE thread = ? AND kind = ?;

-- name: drop_all_documents
DELETE FROM documents WHERE thread = ?;

-- name: drop_thread
DELETE FROM threads WHERE pk = ?;

-- name: old_threads
-- Every thread of a file of format 3 or before, and its branch.
SELECT pk, live FROM threads ORDER BY pk;

-- name: old_branches
-- The branches of such a file, the oldest first.
SELECT pk, id, thread, parent, at FROM branches ORDER BY pk;

-- name: old_epoch
-- Where the live rows lie, and the id of the current epoch.
UPDATE threads SET live = ?, epoch = ? WHERE pk = ?;

-- name: old_last
SELECT max(id) FROM old_rows WHERE id BETWEEN ? AND ?;

-- name: copy_old_rows
-- Copies rows of a branch: each carries the id it was sealed under from now on.
INSERT INTO rows (id, system, data)
SELECT ?1 + (id & ?2), system, CAST(?3 || data AS BLOB) FROM old_rows WHERE id >= ?4 AND id < ?5;
