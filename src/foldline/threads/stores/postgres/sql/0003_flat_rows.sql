-- A thread owns its rows. An epoch begins when it is made and with each rewind, edit and clear;
-- the older the epoch, the smaller its number.
CREATE TABLE epochs (
    pk bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    thread bigint NOT NULL,
    id bytea NOT NULL
);

CREATE INDEX epochs_thread ON epochs (thread, pk);

-- The live rows of a thread lie under the number of its first epoch, the rows that a later epoch
-- replaced under that one's: the id of a row is epoch * 2^32 + number.
ALTER TABLE threads RENAME COLUMN branch TO live;

ALTER TABLE threads ADD COLUMN epoch bytea NOT NULL DEFAULT '';

ALTER TABLE rows RENAME TO old_rows;

ALTER INDEX rows_pkey RENAME TO old_rows_pkey;

DROP INDEX rows_system;

CREATE TABLE rows (
    id bigint PRIMARY KEY,
    system boolean NOT NULL,
    data bytea NOT NULL
);

CREATE INDEX rows_system ON rows (id) WHERE system;

DROP FUNCTION IF EXISTS lineage, sweep, disown, open_branch, commit_step, change_documents,
    delete_thread, add_words;

DROP TABLE IF EXISTS words, indexed;

-- The rows of a thread as they were at one of its epochs: the first epoch that replaced a row
-- replaced the one of that time.
CREATE FUNCTION rows_at(p_tenant text, p_id text, p_epoch bytea, p_start bigint, p_stop bigint)
RETURNS TABLE (number bigint, system boolean, data bytea)
LANGUAGE sql STABLE AS $$
    SELECT DISTINCT ON (r.number) r.number, r.system, r.data
    FROM threads t
    JOIN epochs e ON e.thread = t.pk AND e.id = p_epoch
    CROSS JOIN LATERAL (
        SELECT t.live AS pk, 1 AS is_live
        UNION ALL
        SELECT l.pk, 0 FROM epochs l WHERE l.thread = t.pk AND l.pk > e.pk
    ) s
    CROSS JOIN LATERAL (
        SELECT o.id & 4294967295 AS number, o.system, o.data FROM rows o
        WHERE o.id >= (s.pk << 32) + p_start AND o.id < (s.pk << 32) + p_stop
        OFFSET 0
    ) r
    WHERE t.tenant = p_tenant AND t.id = p_id
    ORDER BY r.number, s.is_live, s.pk
$$;

-- Deletes the rows of the epochs of a thread up to a number, its live rows too if that is null.
CREATE FUNCTION drop_epochs(p_thread bigint, p_upto bigint) RETURNS void
LANGUAGE sql AS $$
    DELETE FROM rows r USING (
        SELECT e.pk FROM epochs e
        WHERE e.thread = p_thread AND (p_upto IS NULL OR e.pk <= p_upto)
            AND e.pk <> (SELECT t.live FROM threads t WHERE t.pk = p_thread)
        UNION ALL
        SELECT t.live FROM threads t WHERE t.pk = p_thread AND p_upto IS NULL
    ) s
    WHERE r.id >= s.pk << 32 AND r.id < (s.pk + 1) << 32;
    DELETE FROM epochs e WHERE e.thread = p_thread AND (p_upto IS NULL OR e.pk < p_upto);
$$;

-- The documents that come with a thread.
CREATE FUNCTION loaded(p_thread bigint) RETURNS TABLE (kind text, name bytea, data bytea)
LANGUAGE sql STABLE AS $$
    SELECT d.kind, d.name, d.data FROM documents d
    WHERE d.thread = p_thread AND d.kind IN ('execution', 'metadata', 'tool')
    UNION ALL
    (
        SELECT d.kind, d.name, d.data FROM documents d
        WHERE d.thread = p_thread AND d.kind = 'reduction' ORDER BY d.name DESC LIMIT 1
    )
$$;

-- Does a whole commit. Returns null if it is done, the revision if that is not the expected one, and
-- -1 if the thread was made again, or the thread to copy is gone; nothing is written then.
CREATE FUNCTION commit_change(
    p_tenant text, p_id text, p_revision bigint, p_epoch bytea, p_after bytea, p_head bytea,
    p_active_at double precision, p_gone_at double precision, p_at bigint, p_clears boolean,
    p_source text, p_source_epoch bytea, p_count bigint, p_keeps bytea[],
    p_numbers bigint[], p_systems boolean[], p_rows bytea[],
    p_drop_kinds text[], p_drop_names bytea[],
    p_kinds text[], p_names bytea[], p_data bytea[]
) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    thread_pk bigint;
    live_pk bigint;
    opened bigint;
    actual bigint;
    copied bigint;
BEGIN
    IF p_revision = 0 THEN
        -- Of two makers the second waits here for the first.
        INSERT INTO threads (tenant, id, revision, live, epoch, head, last_activity)
        VALUES (p_tenant, p_id, 0, 0, p_epoch, p_head, 0) ON CONFLICT DO NOTHING;
    END IF;
    UPDATE threads t
    SET revision = p_revision + 1, epoch = p_after, head = p_head,
        last_activity = p_active_at, expires_at = p_gone_at
    WHERE t.tenant = p_tenant AND t.id = p_id AND t.revision = p_revision AND t.epoch = p_epoch
    RETURNING t.pk, t.live INTO thread_pk, live_pk;
    IF NOT FOUND THEN
        SELECT t.revision INTO actual FROM threads t WHERE t.tenant = p_tenant AND t.id = p_id;
        -- At the same revision it was deleted and made again.
        RETURN CASE WHEN actual = p_revision THEN -1 ELSE coalesce(actual, 0) END;
    END IF;
    IF p_clears THEN
        PERFORM drop_epochs(thread_pk, NULL);
    END IF;
    IF p_revision = 0 OR p_at IS NOT NULL THEN
        INSERT INTO epochs (thread, id) VALUES (thread_pk, p_after) RETURNING pk INTO opened;
    END IF;
    IF p_revision = 0 OR p_clears THEN
        UPDATE threads t SET live = opened WHERE t.pk = thread_pk;
        live_pk := opened;
    ELSIF p_at IS NOT NULL THEN
        UPDATE rows r SET id = r.id + ((opened - live_pk) << 32)
        WHERE r.id >= (live_pk << 32) + p_at AND r.id < (live_pk + 1) << 32;
    END IF;
    IF p_source IS NOT NULL THEN
        -- One statement sees one moment: what others do to the source meanwhile does not count.
        INSERT INTO rows (id, system, data)
        SELECT (live_pk << 32) + r.number, r.system, r.data
        FROM rows_at(p_tenant, p_source, p_source_epoch, 0, p_count) r;
        GET DIAGNOSTICS copied = ROW_COUNT;
        IF copied < p_count OR NOT EXISTS (
            SELECT FROM threads t JOIN epochs e ON e.thread = t.pk AND e.id = p_source_epoch
            WHERE t.tenant = p_tenant AND t.id = p_source
        ) THEN
            PERFORM drop_epochs(thread_pk, NULL);
            DELETE FROM threads t WHERE t.pk = thread_pk;
            RETURN -1;
        END IF;
    END IF;
    IF p_keeps IS NOT NULL THEN
        PERFORM drop_epochs(thread_pk, min(e.pk)) FROM epochs e
        WHERE e.thread = thread_pk AND (e.id = p_after OR e.id = ANY (p_keeps));
    END IF;
    INSERT INTO rows (id, system, data)
    SELECT (live_pk << 32) + g.number, g.system, g.data
    FROM unnest(p_numbers, p_systems, p_rows) AS g (number, system, data);
    FOR i IN 1 .. coalesce(cardinality(p_drop_kinds), 0) LOOP
        DELETE FROM documents d WHERE d.thread = thread_pk AND d.kind = p_drop_kinds[i]
            AND (p_drop_names[i] IS NULL OR d.name = p_drop_names[i]);
    END LOOP;
    FOR i IN 1 .. coalesce(cardinality(p_kinds), 0) LOOP
        INSERT INTO documents (thread, kind, name, data)
        VALUES (thread_pk, p_kinds[i], p_names[i], p_data[i])
        ON CONFLICT (thread, kind, name) DO UPDATE SET data = excluded.data;
    END LOOP;
    RETURN NULL;
END
$$;

-- Deletes a thread. Returns the revision that it had, 0 if there is none, and whether it was the
-- expected one; if not, nothing is deleted.
CREATE FUNCTION delete_thread(p_tenant text, p_id text, p_revision bigint, p_head bytea)
RETURNS TABLE (revision bigint, is_expected boolean)
LANGUAGE plpgsql AS $$
DECLARE
    facts record;
BEGIN
    SELECT t.pk, t.revision, t.head INTO facts FROM threads t
    WHERE t.tenant = p_tenant AND t.id = p_id FOR UPDATE;
    IF NOT FOUND THEN
        RETURN QUERY SELECT 0::bigint, p_revision IS NULL;
    ELSIF p_revision IS NULL OR (p_revision = facts.revision AND p_head = facts.head) THEN
        PERFORM drop_epochs(facts.pk, NULL);
        DELETE FROM documents d WHERE d.thread = facts.pk;
        DELETE FROM threads t WHERE t.pk = facts.pk;
        RETURN QUERY SELECT facts.revision, true;
    ELSE
        RETURN QUERY SELECT facts.revision, false;
    END IF;
END
$$;
