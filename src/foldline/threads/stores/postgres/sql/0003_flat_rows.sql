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
