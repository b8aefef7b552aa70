-- Since when a fold of the thread is due; null if none is. As long as it stays the same, a commit
-- updates the row of its thread in its page, and no index.
ALTER TABLE threads ADD COLUMN fold_due_since double precision;

CREATE INDEX threads_due ON threads (tenant, fold_due_since, id) WHERE fold_due_since IS NOT NULL;

-- Databases that were at 0003 before have it with fewer arguments.
DROP FUNCTION IF EXISTS commit_change;

-- Does a whole commit. Returns null if it is done, the revision if that is not the expected one, and
-- -1 if the thread was made again, or the thread to copy is gone; nothing is written then.
CREATE FUNCTION commit_change(
    p_tenant text, p_id text, p_revision bigint, p_epoch bytea, p_after bytea, p_head bytea,
    p_active_at double precision, p_gone_at double precision, p_due_at double precision, p_at bigint, p_clears boolean,
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
        last_activity = p_active_at, expires_at = p_gone_at, fold_due_since = p_due_at
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
