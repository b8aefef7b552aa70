-- name: load
SELECT t.pk, t.revision, t.head, t.execution, t.expires_at, b.pk, b.id
FROM threads t LEFT JOIN branches b ON b.pk = t.branch
WHERE t.tenant = ? AND t.id = ?;

-- name: tail
SELECT id, system, data FROM rows WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT ?;

-- name: load_documents
SELECT kind, name, data FROM documents WHERE thread = ?1 AND kind = 'execution'
UNION ALL SELECT kind, name, data FROM documents WHERE thread = ?1 AND kind = 'metadata'
UNION ALL SELECT kind, name, data FROM documents WHERE thread = ?1 AND kind = 'tool'
UNION ALL SELECT * FROM (
    SELECT kind, name, data FROM documents
    WHERE thread = ?1 AND kind = 'reduction' ORDER BY name DESC LIMIT 1
);

-- name: documents
SELECT d.kind, d.name, d.data FROM documents d JOIN threads t ON t.pk = d.thread
WHERE t.tenant = ? AND t.id = ? AND d.kind = ? ORDER BY d.name DESC LIMIT ?;

-- name: state
SELECT 'execution', '', execution FROM threads
WHERE tenant = ? AND id = ? AND execution IS NOT NULL;

-- name: find_branch
SELECT pk, parent, at, id FROM branches WHERE id = ? AND tenant = ?;

-- name: find_parent
SELECT pk, parent, at, id FROM branches WHERE pk = ? AND tenant = ?;

-- name: rows
SELECT id, system, data FROM rows WHERE id >= ? AND id < ? ORDER BY id;

-- name: system_rows
SELECT id, system, data FROM rows WHERE system = 1 AND id >= ? AND id < ? ORDER BY id;

-- name: threads
SELECT pk, CAST(id AS BLOB), revision, head, execution, expires_at FROM threads
WHERE tenant = ? AND id > ? AND typeof(id) = 'text' ORDER BY id;

-- name: tenants
WITH RECURSIVE found (tenant) AS (
    SELECT min(tenant) FROM threads
    UNION ALL
    SELECT (SELECT min(t.tenant) FROM threads t WHERE t.tenant > f.tenant)
    FROM found f WHERE f.tenant IS NOT NULL
)
SELECT CAST(tenant AS BLOB) FROM found WHERE tenant IS NOT NULL;

-- name: find_thread
SELECT t.pk, t.revision, b.pk, b.id FROM threads t LEFT JOIN branches b ON b.pk = t.branch
WHERE t.tenant = ? AND t.id = ?;

-- name: before
SELECT pk, CAST(tenant AS BLOB), CAST(id AS BLOB) FROM threads WHERE (tenant, id) < (?, ?)
ORDER BY tenant DESC, id DESC LIMIT 1;

-- name: behind
SELECT pk, CAST(tenant AS BLOB), CAST(id AS BLOB) FROM threads WHERE (tenant, id) > (?, ?)
ORDER BY tenant, id LIMIT 1;

-- name: name_of
SELECT CAST(tenant AS BLOB), CAST(id AS BLOB) FROM threads WHERE pk = ?;

-- name: head_of
SELECT head FROM threads WHERE pk = ?;

-- name: any_thread
SELECT 1 FROM threads NOT INDEXED LIMIT 1;

-- name: stored_threads
SELECT count(*) FROM threads NOT INDEXED;

-- name: add_branch
INSERT INTO branches (id, tenant, parent, at) VALUES (?, ?, ?, ?);

-- name: own_branch
UPDATE branches SET thread = ? WHERE pk = ?;

-- name: add_thread
INSERT INTO threads (tenant, id, revision, branch, head, last_activity, expires_at, execution)
VALUES (?, ?, 1, ?, ?, ?, ?, ?);

-- name: move_thread
UPDATE threads SET revision = ?, branch = ?, head = ?, last_activity = ?, expires_at = ?
WHERE pk = ? AND revision = ?;

-- name: move_thread_and_state
UPDATE threads
SET revision = ?, branch = ?, head = ?, last_activity = ?, expires_at = ?, execution = ?
WHERE pk = ? AND revision = ?;

-- name: add_row
INSERT INTO rows (id, system, data) VALUES (?, ?, ?);

-- name: put_document
INSERT INTO documents (thread, kind, name, data) VALUES (?, ?, ?, ?)
ON CONFLICT (thread, kind, name) DO UPDATE SET data = excluded.data;

-- name: move_document
UPDATE OR REPLACE documents SET name = ?, data = ? WHERE thread = ? AND kind = ? AND name = ?;

-- name: drop_document
DELETE FROM documents WHERE thread = ? AND kind = ? AND name = ?;

-- name: drop_documents
DELETE FROM documents WHERE thread = ? AND kind = ?;

-- name: drop_all_documents
DELETE FROM documents WHERE thread = ?;

-- name: drop_thread
DELETE FROM threads WHERE pk = ?;

-- name: branches_of
SELECT pk FROM branches WHERE thread = ?;

-- name: disown
UPDATE branches SET thread = NULL WHERE pk = ?;

-- name: sweep_facts
SELECT b.thread, b.parent, (SELECT max(c.at) FROM branches c WHERE c.parent = b.pk)
FROM branches b WHERE b.pk = ?;

-- name: drop_rows
DELETE FROM rows WHERE id >= ? AND id < ?;

-- name: drop_branch
DELETE FROM branches WHERE pk = ?;

-- name: indexed
SELECT upto FROM indexed WHERE branch = ?;

-- name: set_indexed
INSERT INTO indexed (branch, upto) VALUES (?, ?)
ON CONFLICT (branch) DO UPDATE SET upto = excluded.upto;

-- name: cut_indexed
UPDATE indexed SET upto = min(CAST(upto AS INTEGER), ?) WHERE branch = ?;

-- name: forget_indexed
DELETE FROM indexed WHERE branch = ?;

-- name: row_ids
SELECT id FROM rows WHERE id BETWEEN ? AND ?;

-- name: add_words
INSERT INTO words (branch, block, word, places) VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET places = places || excluded.places;

-- name: sum_of_words
SELECT CAST(places AS BLOB) FROM words WHERE branch = ? AND block = ? AND word = x'';

-- name: set_sum_of_words
INSERT OR REPLACE INTO words (branch, block, word, places) VALUES (?, ?, x'', ?);

-- name: find_words
WITH RECURSIVE blocks (block) AS (
    SELECT ?1
    UNION ALL SELECT block + 1 FROM blocks WHERE block < ?2
)
SELECT b.block, CAST(w.places AS BLOB)
FROM blocks b CROSS JOIN words w ON w.branch = ?3 AND w.block = b.block AND w.word = ?4;

-- name: words_of_block
SELECT CAST(word AS BLOB), CAST(places AS BLOB) FROM words WHERE branch = ? AND block = ?;

-- name: all_words
SELECT branch, block, CAST(word AS BLOB), CAST(places AS BLOB) FROM words
ORDER BY branch, block, word;

-- name: indexed_spans
SELECT i.branch, b.at, i.upto FROM indexed i LEFT JOIN branches b ON b.pk = i.branch;

-- name: drop_words
DELETE FROM words WHERE branch = ? AND block >= ?;

-- name: drop_all_words
DELETE FROM words WHERE branch IS ?;

-- name: names
SELECT CAST(tenant AS BLOB), CAST(id AS BLOB) FROM threads ORDER BY tenant, id;

-- name: branch_of
SELECT b.id FROM threads t JOIN branches b ON b.pk = t.branch WHERE t.tenant = ? AND t.id = ?;

-- name: branches_without_thread
SELECT count(*) FROM branches b LEFT JOIN threads t ON t.pk = b.thread
WHERE b.thread IS NOT NULL AND t.pk IS NULL;

-- name: branches_without_parent
SELECT count(*) FROM branches b LEFT JOIN branches p ON p.pk = b.parent
WHERE b.parent IS NOT NULL AND (p.pk IS NULL OR p.tenant <> b.tenant);

-- name: branches_of_nobody
SELECT count(*) FROM branches b
WHERE b.thread IS NULL AND NOT EXISTS (SELECT 1 FROM branches c WHERE c.parent = b.pk);

-- name: branches_of_others
SELECT count(*) FROM branches b JOIN threads t ON t.pk = b.thread WHERE t.tenant <> b.tenant;

-- name: documents_without_thread
SELECT count(*) FROM documents d LEFT JOIN threads t ON t.pk = d.thread WHERE t.pk IS NULL;

-- name: documents_of_no_kind
SELECT count(*) FROM documents
WHERE kind NOT IN ('metadata', 'execution', 'reduction', 'tool', 'checkpoint');

-- name: branch_numbers
SELECT pk FROM branches ORDER BY pk;

-- name: rows_between
SELECT count(*) FROM rows WHERE id >= ? AND id < ?;

-- name: branches_in_use
SELECT branch, CAST(tenant AS BLOB) FROM threads ORDER BY branch;
