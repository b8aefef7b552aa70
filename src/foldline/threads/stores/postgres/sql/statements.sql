-- name: session
-- Settings of a database or a user that change what is sent: backslashes and nulls in arrays.
SELECT
    set_config('standard_conforming_strings', 'on', false),
    set_config('array_nulls', 'on', false),
    set_config('application_name', %(session)s, false),
    set_config('search_path', %(path)s, false),
    set_config('statement_timeout', %(statement_timeout)s, false),
    set_config('lock_timeout', %(lock_timeout)s, false),
    set_config('default_transaction_isolation', 'read committed', false),
    set_config('enable_seqscan', 'off', false),
    set_config('jit', 'off', false),
    set_config(
        'synchronous_commit',
        CASE
            WHEN %(relaxed)s THEN 'off'
            WHEN current_setting('synchronous_commit') = 'off' THEN 'on'
            ELSE current_setting('synchronous_commit')
        END,
        false
    );

-- name: end_session
SELECT pg_terminate_backend(pid, %(wait)s) FROM pg_stat_activity
WHERE application_name = %(session)s;

-- name: has_schema
SELECT 1 FROM pg_namespace WHERE nspname = %(schema)s;

-- name: has_migrations
SELECT 1 FROM pg_tables WHERE schemaname = %(schema)s AND tablename = 'migrations';

-- name: lock_migrations
SELECT pg_advisory_xact_lock(hashtextextended('foldline ' || %(schema)s, 0));

-- name: make_migrations
CREATE TABLE IF NOT EXISTS migrations (
    number integer PRIMARY KEY,
    made_at timestamptz NOT NULL DEFAULT now()
);

-- name: version
SELECT coalesce(max(number), 0) FROM migrations;

-- name: add_migration
INSERT INTO migrations (number) VALUES (%(number)s);

-- name: load
SELECT t.revision, t.head, t.expires_at, t.holder, t.held_until - seconds_now(), d.kind, d.name, d.data
FROM threads t LEFT JOIN LATERAL loaded(t.pk) d ON true
WHERE t.tenant = %(tenant)s AND t.id = %(id)s;

-- name: loads
SELECT t.revision, t.head, t.expires_at, t.holder, t.held_until - seconds_now(),
    d.kind, d.name, d.data, g.place
FROM unnest(%(tenant)s::text[], %(id)s::text[]) WITH ORDINALITY g (tenant, id, place)
JOIN threads t ON t.tenant = g.tenant AND t.id = g.id
LEFT JOIN LATERAL loaded(t.pk) d ON true;

-- name: threads
SELECT t.id, t.revision, t.head, t.expires_at, t.holder, t.held_until - seconds_now(), d.kind, d.name, d.data
FROM (
    SELECT * FROM threads
    WHERE tenant = %(tenant)s AND id > %(after)s
    ORDER BY id LIMIT %(limit)s
) t LEFT JOIN LATERAL loaded(t.pk) d ON true;

-- name: folds_due
SELECT fold_due_since, id FROM threads
WHERE tenant = %(tenant)s AND fold_due_since IS NOT NULL
    AND (fold_due_since, id) > (%(since)s::double precision, %(id)s)
ORDER BY fold_due_since, id LIMIT %(limit)s;

-- name: latest
-- Without an index, which every commit would have to write: the threads of a tenant are looked through.
SELECT last_activity, id FROM threads
WHERE tenant = %(tenant)s AND (last_activity, id) < (%(since)s::double precision, %(id)s)
ORDER BY last_activity DESC, id DESC LIMIT %(limit)s;

-- name: documents
SELECT d.kind, d.name, d.data FROM threads t JOIN documents d ON d.thread = t.pk
WHERE t.tenant = %(tenant)s AND t.id = %(id)s AND d.kind = %(kind)s
ORDER BY d.name DESC LIMIT %(limit)s;

-- name: document
SELECT d.kind, d.name, d.data FROM threads t JOIN documents d ON d.thread = t.pk
WHERE t.tenant = %(tenant)s AND t.id = %(id)s AND d.kind = %(kind)s AND d.name = %(name)s;

-- name: hold
UPDATE threads SET held_until = seconds_now() + %(seconds)s
WHERE tenant = %(tenant)s AND id = %(id)s AND holder = %(holder)s AND held_until > seconds_now()
RETURNING pk;

-- name: rows
-- Live rows, if the epoch is the current one; if there are none, one row of nulls says that it is.
SELECT r.number, r.system, r.data
FROM threads t LEFT JOIN LATERAL (
    SELECT o.id & 4294967295 AS number, o.system, o.data FROM rows o
    WHERE o.id >= (t.live << 32) + %(start)s AND o.id < (t.live << 32) + %(stop)s
    OFFSET 0
) r ON true
WHERE t.tenant = %(tenant)s AND t.id = %(id)s AND (t.epoch = %(epoch)s OR %(epoch)s = ''::bytea);

-- name: rows_of_several
SELECT r.number, r.system, r.data, g.place
FROM unnest(
    %(tenant)s::text[], %(id)s::text[], %(epoch)s::bytea[], %(start)s::bigint[], %(stop)s::bigint[]
) WITH ORDINALITY g (tenant, id, epoch, start, stop, place)
JOIN threads t ON t.tenant = g.tenant AND t.id = g.id AND (t.epoch = g.epoch OR g.epoch = ''::bytea)
LEFT JOIN LATERAL (
    SELECT o.id & 4294967295 AS number, o.system, o.data FROM rows o
    WHERE o.id >= (t.live << 32) + g.start AND o.id < (t.live << 32) + g.stop
    OFFSET 0
) r ON true;

-- name: rows_at
SELECT number, system, data
FROM rows_at(%(tenant)s, %(id)s, %(epoch)s, %(start)s, %(stop)s);

-- name: tenants
-- Every tenant, found by one step in the index each.
WITH RECURSIVE found (tenant) AS (
    (SELECT tenant FROM threads ORDER BY tenant LIMIT 1)
    UNION ALL
    SELECT (SELECT t.tenant FROM threads t WHERE t.tenant > f.tenant ORDER BY t.tenant LIMIT 1)
    FROM found f WHERE f.tenant IS NOT NULL
)
-- As bytes: the driver cannot read what is not text.
SELECT textsend(tenant) FROM found WHERE tenant IS NOT NULL;

-- name: commit
SELECT commit_change(
    %(tenant)s, %(id)s, %(revision)s, %(epoch)s, %(after)s, %(head)s, %(active_at)s, %(gone_at)s,
    %(due_at)s, %(at)s, %(clears)s, %(source)s, %(source_epoch)s, %(count)s, %(keeps)s,
    %(numbers)s, %(systems)s, %(rows)s,
    %(drop_kinds)s, %(drop_names)s, %(kinds)s, %(names)s, %(data)s, %(holder)s, %(lease)s
);

-- name: commit_several
-- Commits that only append rows and change documents. Returns the places of those that are done: of
-- the others the thread is at another revision, gone, or locked, so that this waits for nobody.
WITH given AS (
    SELECT * FROM unnest(
        %(tenants)s::text[], %(ids)s::text[], %(revisions)s::bigint[], %(epochs)s::bytea[],
        %(heads)s::bytea[], %(active_at)s::double precision[], %(gone_at)s::double precision[],
        %(due_at)s::double precision[], %(holders)s::text[], %(leases)s::double precision[]
    ) WITH ORDINALITY g (
        tenant, id, revision, epoch, head, active_at, gone_at, due_at, holder, lease, place
    )
), held AS (
    SELECT t.pk, t.live, g.revision, g.head, g.active_at, g.gone_at, g.due_at, g.holder, g.lease,
        g.place
    FROM given g JOIN threads t ON t.tenant = g.tenant AND t.id = g.id
        AND t.revision = g.revision AND t.epoch = g.epoch
    FOR NO KEY UPDATE OF t SKIP LOCKED
), moved AS (
    UPDATE threads t SET revision = h.revision + 1, head = h.head,
        last_activity = h.active_at, expires_at = h.gone_at, fold_due_since = h.due_at,
        holder = coalesce(h.holder, t.holder),
        held_until = coalesce(seconds_now() + h.lease, t.held_until)
    FROM held h WHERE t.pk = h.pk
), appended AS (
    INSERT INTO rows (id, system, data)
    SELECT (h.live << 32) + g.number, g.system, g.data
    FROM unnest(
        %(row_places)s::bigint[], %(numbers)s::bigint[], %(systems)s::boolean[], %(rows)s::bytea[]
    ) g (place, number, system, data) JOIN held h ON h.place = g.place
), dropped AS (
    DELETE FROM documents d
    USING unnest(%(drop_places)s::bigint[], %(drop_kinds)s::text[], %(drop_names)s::bytea[])
        g (place, kind, name) JOIN held h ON h.place = g.place
    WHERE d.thread = h.pk AND d.kind = g.kind AND (g.name IS NULL OR d.name = g.name)
), stored AS (
    INSERT INTO documents (thread, kind, name, data)
    SELECT h.pk, g.kind, g.name, g.data
    FROM unnest(
        %(put_places)s::bigint[], %(kinds)s::text[], %(names)s::bytea[], %(data)s::bytea[]
    ) g (place, kind, name, data) JOIN held h ON h.place = g.place
    ON CONFLICT (thread, kind, name) DO UPDATE SET data = excluded.data
)
SELECT place FROM held;

-- name: outcomes
SELECT g.place, t.revision, t.head
FROM unnest(%(tenants)s::text[], %(ids)s::text[]) WITH ORDINALITY g (tenant, id, place)
JOIN threads t ON t.tenant = g.tenant AND t.id = g.id;

-- name: delete
SELECT revision, is_expected
FROM delete_thread(%(tenant)s, %(id)s, %(expected)s, %(head)s);

-- name: old_threads
SELECT pk, live FROM threads ORDER BY pk;

-- name: old_branches
-- The branches of a database of format 2 or before, and the number after the last row of each.
SELECT b.pk, b.thread, b.parent, greatest(b.at, 0), coalesce(
    (SELECT max(r.id) & 4294967295 FROM old_rows r
     WHERE r.id >= b.pk << 32 AND r.id < (b.pk + 1) << 32) + 1, b.at
), b.id
FROM branches b ORDER BY b.pk;

-- name: add_epoch
INSERT INTO epochs (thread, id) VALUES (%(thread)s, %(id)s) RETURNING pk;

-- name: set_epoch
UPDATE threads SET live = %(live)s, epoch = %(epoch)s WHERE pk = %(thread)s;

-- name: copy_old_rows
-- Copies rows of a branch: each carries the id it was sealed under from now on.
INSERT INTO rows (id, system, data)
SELECT (%(target)s::bigint << 32) + (o.id & 4294967295), o.system, %(id)s::bytea || o.data
FROM old_rows o
WHERE o.id >= (%(branch)s::bigint << 32) + %(start)s
    AND o.id < (%(branch)s::bigint << 32) + %(stop)s;

-- name: drop_old
DROP TABLE old_rows, branches;
