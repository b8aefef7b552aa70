-- name: load
-- One thread by its name, without its documents and rows.
SELECT pk, revision, head, execution, expires_at, live FROM threads WHERE tenant = ? AND id = ?;

-- name: tail
-- The newest of the rows between two ids.
SELECT id, system, data FROM rows WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT ?;

-- name: load_documents
-- What comes with a thread: metadata, tool calls that wait, the newest reduction.
SELECT kind, name, data FROM documents WHERE thread = ?1 AND kind = 'metadata'
UNION ALL SELECT kind, name, data FROM documents WHERE thread = ?1 AND kind = 'tool'
UNION ALL SELECT * FROM (
    SELECT kind, name, data FROM documents
    WHERE thread = ?1 AND kind = 'reduction' ORDER BY name DESC LIMIT 1
);

-- name: documents
-- The newest documents of one kind.
SELECT d.kind, d.name, d.data FROM documents d JOIN threads t ON t.pk = d.thread
WHERE t.tenant = ? AND t.id = ? AND d.kind = ? ORDER BY d.name DESC LIMIT ?;

-- name: state
-- The execution state, which lies beside the head.
SELECT 'execution', '', execution FROM threads
WHERE tenant = ? AND id = ? AND execution IS NOT NULL;

-- name: rows
-- Rows between two ids.
SELECT id, system, data FROM rows WHERE id >= ? AND id < ? ORDER BY id;

-- name: system_rows
-- System messages between two ids.
SELECT id, system, data FROM rows WHERE system = 1 AND id >= ? AND id < ? ORDER BY id;

-- name: threads
-- The threads of a tenant from a name on.
SELECT pk, CAST(id AS BLOB), revision, head, execution, expires_at FROM threads
WHERE tenant = ? AND id > ? AND typeof(id) = 'text' ORDER BY id;

-- name: tenants
-- Every tenant, found by one step in the index each.
WITH RECURSIVE found (tenant) AS (
    SELECT min(tenant) FROM threads
    UNION ALL
    SELECT (SELECT min(t.tenant) FROM threads t WHERE t.tenant > f.tenant)
    FROM found f WHERE f.tenant IS NOT NULL
)
SELECT CAST(tenant AS BLOB) FROM found WHERE tenant IS NOT NULL;

-- name: find
-- What a commit compares.
SELECT pk, revision, live, epoch, head FROM threads WHERE tenant = ? AND id = ?;

-- name: add_thread
-- A new thread; its rows have no place yet.
INSERT INTO threads (tenant, id, revision, live, epoch, head, last_activity, expires_at, execution)
VALUES (?, ?, 1, 0, ?, ?, ?, ?, ?);

-- name: set_epoch
-- Where the live rows lie, and the id of the current epoch.
UPDATE threads SET live = ?, epoch = ? WHERE pk = ?;

-- name: move_thread
-- The next revision.
UPDATE threads SET revision = ?, epoch = ?, head = ?, last_activity = ?, expires_at = ?
WHERE pk = ? AND revision = ?;

-- name: move_thread_and_state
-- The next revision, with another execution state.
UPDATE threads
SET revision = ?, epoch = ?, head = ?, last_activity = ?, expires_at = ?, execution = ?
WHERE pk = ? AND revision = ?;

-- name: add_epoch
-- A new epoch of a thread.
INSERT INTO epochs (thread, id) VALUES (?, ?);

-- name: epochs
-- The epochs of a thread, the oldest first.
SELECT pk, id FROM epochs WHERE thread = ? ORDER BY pk;

-- name: drop_epochs
-- Forgets the epochs of a thread before a number.
DELETE FROM epochs WHERE thread = ? AND pk < ?;

-- name: add_row
-- One row.
INSERT INTO rows (id, system, data) VALUES (?, ?, ?);

-- name: move_rows
-- Moves rows between two ids, which a new epoch replaces, to that one.
UPDATE rows SET id = id + ? WHERE id >= ? AND id < ?;

-- name: copy_rows
-- Copies rows between two ids to another thread.
INSERT INTO rows (id, system, data)
SELECT id + ?, system, data FROM rows WHERE id >= ? AND id < ?;

-- name: drop_rows
-- Deletes rows between two ids.
DELETE FROM rows WHERE id >= ? AND id < ?;

-- name: put_document
-- Writes a document, or replaces it.
INSERT INTO documents (thread, kind, name, data) VALUES (?, ?, ?, ?)
ON CONFLICT (thread, kind, name) DO UPDATE SET data = excluded.data;

-- name: move_document
-- Lets a new document take the place of one that goes: no page more is written.
UPDATE OR REPLACE documents SET name = ?, data = ? WHERE thread = ? AND kind = ? AND name = ?;

-- name: drop_document
-- Deletes one document.
DELETE FROM documents WHERE thread = ? AND kind = ? AND name = ?;

-- name: drop_documents
-- Deletes the documents of one kind.
DELETE FROM documents WHERE thread = ? AND kind = ?;

-- name: drop_all_documents
-- Deletes every document of a thread.
DELETE FROM documents WHERE thread = ?;

-- name: drop_thread
-- Deletes the row of a thread.
DELETE FROM threads WHERE pk = ?;

-- name: old_threads
-- Every thread of a file of format 3 or before, and its branch.
SELECT pk, live FROM threads ORDER BY pk;

-- name: old_branches
-- The branches of such a file, the oldest first.
SELECT pk, thread, parent, at FROM branches ORDER BY pk;

-- name: old_branch_id
-- The id under which the rows of a branch were sealed.
SELECT id FROM branches WHERE pk = ?;

-- name: old_last
-- The last row of a branch.
SELECT max(id) FROM old_rows WHERE id BETWEEN ? AND ?;

-- name: copy_old_rows
-- Copies rows of a branch: each carries the id it was sealed under from now on.
INSERT INTO rows (id, system, data)
SELECT ?1 + (id & ?2), system, CAST(?3 || data AS BLOB) FROM old_rows WHERE id >= ?4 AND id < ?5;
