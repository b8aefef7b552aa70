-- name: session
-- Settings of a database or a user that change what is sent: backslashes and nulls in arrays; and
-- what an index of words finds.
SELECT
    set_config('standard_conforming_strings', 'on', false),
    set_config('array_nulls', 'on', false),
    set_config('gin_fuzzy_search_limit', '0', false),
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
SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = %(schema)s);

-- name: has_migrations
SELECT EXISTS (
    SELECT FROM pg_tables WHERE schemaname = %(schema)s AND tablename = 'migrations'
);

-- name: lock_migrations
SELECT pg_advisory_xact_lock(hashtextextended('foldline ' || %(schema)s, 0));

-- name: make_migrations
CREATE TABLE migrations (
    number integer PRIMARY KEY,
    made_at timestamptz NOT NULL DEFAULT now()
);

-- name: version
SELECT coalesce(max(number), 0) FROM migrations;

-- name: add_migration
INSERT INTO migrations (number) VALUES (%(number)s);

-- name: load
SELECT t.revision, t.head, t.expires_at, d.kind, d.name, d.data
FROM threads t LEFT JOIN LATERAL (
    (
        SELECT o.kind, o.name, o.data FROM documents o
        WHERE o.thread = t.pk AND o.kind IN ('execution', 'metadata', 'tool')
    )
    UNION ALL
    (
        SELECT o.kind, o.name, o.data FROM documents o
        WHERE o.thread = t.pk AND o.kind = 'reduction' ORDER BY o.name DESC LIMIT 1
    )
) d ON true
WHERE t.tenant = %(tenant)s AND t.id = %(id)s;

-- name: threads
-- A damaged id is left out here and not by the reader, whose page would be short without an end.
SELECT t.id, t.revision, t.head, t.expires_at, d.kind, d.name, d.data
FROM (
    SELECT * FROM threads
    WHERE tenant = %(tenant)s AND id > %(after)s AND id ~ '^[A-Za-z0-9._:-]{1,200}$'
    ORDER BY id LIMIT %(limit)s
) t LEFT JOIN LATERAL (
    (
        SELECT o.kind, o.name, o.data FROM documents o
        WHERE o.thread = t.pk AND o.kind IN ('execution', 'metadata', 'tool')
    )
    UNION ALL
    (
        SELECT o.kind, o.name, o.data FROM documents o
        WHERE o.thread = t.pk AND o.kind = 'reduction' ORDER BY o.name DESC LIMIT 1
    )
) d ON true;

-- name: documents
SELECT d.kind, d.name, d.data FROM threads t JOIN documents d ON d.thread = t.pk
WHERE t.tenant = %(tenant)s AND t.id = %(id)s AND d.kind = %(kind)s
ORDER BY d.name DESC LIMIT %(limit)s;

-- name: rows
-- OFFSET 0 has the planner walk from branch to branch; the caller puts the rows in order.
SELECT l.id, r.number, r.system, r.data
FROM lineage(%(tenant)s, %(branch)s, %(start)s, %(stop)s) l CROSS JOIN LATERAL (
    SELECT o.id & 4294967295 AS number, o.system, o.data FROM rows o
    WHERE o.id >= (l.pk << 32) + greatest(l.at, %(start)s) AND o.id < (l.pk << 32) + l.behind
    OFFSET 0
) r;

-- name: system_rows
SELECT l.id, r.number, r.system, r.data
FROM lineage(%(tenant)s, %(branch)s, %(start)s, %(stop)s) l CROSS JOIN LATERAL (
    SELECT o.id & 4294967295 AS number, o.system, o.data FROM rows o
    WHERE o.id >= (l.pk << 32) + greatest(l.at, %(start)s) AND o.id < (l.pk << 32) + l.behind
        AND o.system
    OFFSET 0
) r;

-- name: tenants
WITH RECURSIVE found (tenant) AS (
    (SELECT tenant FROM threads ORDER BY tenant LIMIT 1)
    UNION ALL
    SELECT (SELECT t.tenant FROM threads t WHERE t.tenant > f.tenant ORDER BY t.tenant LIMIT 1)
    FROM found f WHERE f.tenant IS NOT NULL
)
-- As bytes: the driver cannot read what is no text.
SELECT textsend(tenant) FROM found WHERE tenant IS NOT NULL;

-- name: names
SELECT textsend(tenant), textsend(id) FROM threads ORDER BY tenant, id;

-- name: commit
SELECT commit_step(
    %(tenant)s, %(id)s, %(expected)s, %(head)s, %(branch)s, %(last_activity)s, %(expires_at)s,
    %(opens)s, %(parent)s, %(at)s, %(purge)s, %(numbers)s, %(systems)s, %(rows)s,
    %(drop_kinds)s, %(drop_names)s, %(kinds)s, %(names)s, %(data)s
);

-- name: outcome
SELECT revision, head FROM threads WHERE tenant = %(tenant)s AND id = %(id)s;

-- name: delete
-- Who looks at the head holds the thread; 0 is the revision of none, so that none is deleted.
WITH known AS MATERIALIZED (
    SELECT CASE WHEN %(head)s::bytea IS NOT NULL THEN coalesce((
        SELECT t.revision FROM threads t
        WHERE t.tenant = %(tenant)s AND t.id = %(id)s
            AND t.revision = %(expected)s AND t.head = %(head)s FOR UPDATE
    ), 0) END AS revision
)
SELECT delete_thread(%(tenant)s, %(id)s, k.revision), k.revision FROM known k;

-- name: index
SELECT add_words(%(tenant)s, %(branch)s, %(numbers)s, %(words)s);

-- name: indexed
SELECT l.at, l.behind, i.upto
FROM lineage(%(tenant)s, %(branch)s, 0, %(stop)s) l LEFT JOIN indexed i ON i.branch = l.pk;

-- name: find
SELECT w.id & 4294967295
FROM lineage(%(tenant)s, %(branch)s, 0, %(stop)s) l JOIN words w
    ON w.id >= (l.pk << 32) + l.at AND w.id < (l.pk << 32) + l.behind
WHERE w.words @> %(words)s;

-- name: branch_of
-- None where another thread owns it, or nobody: who deletes that one deletes the rows of this one.
SELECT b.id FROM threads t
JOIN branches b ON b.pk = t.branch AND b.thread = t.pk AND b.tenant = t.tenant
WHERE t.tenant = %(tenant)s AND t.id = %(id)s;

-- name: stray_branches
SELECT
    max(p.pk),
    count(*) FILTER (
        WHERE p.thread IS NOT NULL AND NOT EXISTS (SELECT FROM threads t WHERE t.pk = p.thread)
    ),
    count(*) FILTER (
        WHERE p.parent IS NOT NULL AND NOT EXISTS (
            SELECT FROM branches b
            WHERE b.pk = p.parent AND b.tenant = p.tenant AND b.at < p.at
        )
    ),
    -- Whether a thread stands on one is counted, and so only of those that nobody else needs.
    count(*) FILTER (
        WHERE p.thread IS NULL AND NOT EXISTS (
            SELECT FROM branches c WHERE c.parent = p.pk AND c.pk <> p.pk
        ) AND (SELECT count(*) FROM threads t WHERE t.branch = p.pk) = 0
    ),
    count(*) FILTER (
        WHERE EXISTS (SELECT FROM threads t WHERE t.pk = p.thread AND t.tenant <> p.tenant)
    )
FROM (
    SELECT b.pk, b.tenant, b.thread, b.parent, b.at FROM branches b
    WHERE b.pk > %(after)s ORDER BY b.pk LIMIT %(limit)s
) p;

-- name: stray_documents
WITH RECURSIVE found (thread) AS (
    (SELECT min(d.thread) FROM documents d WHERE d.thread > %(after)s)
    UNION ALL
    SELECT (SELECT min(d.thread) FROM documents d WHERE d.thread > f.thread)
    FROM found f WHERE f.thread IS NOT NULL
)
SELECT
    max(p.thread),
    coalesce(sum(n.total) FILTER (
        WHERE NOT EXISTS (SELECT FROM threads t WHERE t.pk = p.thread)
    ), 0)::bigint,
    coalesce(sum(n.odd), 0)::bigint
FROM (SELECT f.thread FROM found f WHERE f.thread IS NOT NULL LIMIT %(limit)s) p
CROSS JOIN LATERAL (
    SELECT count(*) AS total, count(*) FILTER (
        WHERE d.kind NOT IN ('metadata', 'execution', 'reduction', 'tool', 'checkpoint')
    ) AS odd
    FROM documents d WHERE d.thread = p.thread
) n;

-- name: stray_rows
WITH RECURSIVE found (branch) AS (
    -- Behind the last number the shift would begin anew with the first.
    (
        SELECT min(r.id) >> 32 FROM rows r
        WHERE r.id >= (%(after)s::bigint + 1) << 32 AND %(after)s::bigint < 2147483647
    )
    UNION ALL
    SELECT (SELECT min(r.id) >> 32 FROM rows r WHERE r.id >= (f.branch + 1) << 32)
    FROM found f WHERE f.branch < 2147483647
)
SELECT
    max(p.branch),
    coalesce(sum((
        SELECT count(*) FROM rows r
        WHERE r.id >= p.branch << 32 AND r.id <= (p.branch << 32) + 4294967295
    )) FILTER (
        WHERE NOT EXISTS (SELECT FROM branches b WHERE b.pk = p.branch)
    ), 0)::bigint
FROM (SELECT f.branch FROM found f WHERE f.branch IS NOT NULL LIMIT %(limit)s) p;
