-- What a branch is made of below p_stop, its own rows first; ancestors before p_start left out. Each
-- begins before what goes on behind it: a damaged number ends the line, and leads in no circle.
CREATE OR REPLACE FUNCTION lineage(p_tenant text, p_branch bytea, p_start bigint, p_stop bigint)
RETURNS TABLE (pk bigint, id bytea, at bigint, behind bigint)
LANGUAGE sql STABLE ROWS 4 AS $$
    WITH RECURSIVE line AS (
        SELECT b.pk, b.id, b.at, p_stop AS behind, b.parent
        FROM branches b WHERE b.id = p_branch AND b.tenant = p_tenant
        UNION ALL
        SELECT b.pk, b.id, b.at, least(l.behind, l.at), b.parent
        FROM line l JOIN branches b
            ON b.pk = l.parent AND b.tenant = p_tenant AND b.at < l.at
        WHERE p_start < least(l.behind, l.at)
    )
    SELECT line.pk, line.id, greatest(0, least(line.at, line.behind)), line.behind FROM line
$$;

-- Deletes the rows of a branch that nobody owns, but for those that another one shares.
CREATE OR REPLACE FUNCTION sweep(p_branch bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    facts record;
    shared bigint;
    base bigint;
BEGIN
    WHILE p_branch IS NOT NULL LOOP
        -- Whoever opens a branch on this one holds it until that is there to be seen.
        SELECT b.thread, b.parent INTO facts FROM branches b WHERE b.pk = p_branch FOR UPDATE;
        IF NOT FOUND OR facts.thread IS NOT NULL THEN
            RETURN;
        END IF;
        SELECT max(c.at) INTO shared FROM branches c
        WHERE c.parent = p_branch AND c.pk <> p_branch;
        base := p_branch << 32;
        -- A damaged number reaches into no other branch.
        DELETE FROM rows r
        WHERE r.id >= base + least(greatest(0, shared), 1::bigint << 32)
            AND r.id < base + (1::bigint << 32);
        DELETE FROM words w
        WHERE w.id >= base + least(greatest(0, shared), 1::bigint << 32)
            AND w.id < base + (1::bigint << 32);
        IF shared IS NOT NULL THEN
            RETURN;
        END IF;
        DELETE FROM indexed i WHERE i.branch = p_branch;
        DELETE FROM branches b WHERE b.pk = p_branch;
        p_branch := facts.parent;
    END LOOP;
END
$$;

-- Opens a branch and returns its number; null where what it is to share is not there or damaged,
-- where no thread owns it, or where another one than p_thread does, if that is given.
CREATE OR REPLACE FUNCTION open_branch(
    p_tenant text, p_thread bigint, p_branch bytea, p_parent bytea, p_at bigint
) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    facts record;
    parent_pk bigint;
    opened bigint;
BEGIN
    IF p_parent IS NOT NULL THEN
        SELECT b.pk, b.thread, b.at, b.parent INTO facts FROM branches b
        WHERE b.id = p_parent AND b.tenant = p_tenant FOR SHARE;
        -- A thread shares the branch that it stands on whoever owns that: so it is repaired.
        IF NOT FOUND OR NOT EXISTS (
            SELECT FROM threads t
            WHERE t.pk = coalesce(p_thread, facts.thread) AND t.tenant = p_tenant
                AND (t.pk = facts.thread OR t.branch = facts.pk)
        ) THEN
            RETURN NULL;
        END IF;
        -- A branch whose own rows all lie behind has nothing to share, and is passed over.
        WHILE facts.at >= p_at AND facts.parent IS NOT NULL LOOP
            SELECT b.pk, b.thread, b.at, b.parent INTO facts FROM branches b
            WHERE b.pk = facts.parent AND b.tenant = p_tenant AND b.at < facts.at FOR SHARE;
            IF NOT FOUND THEN
                RETURN NULL;
            END IF;
        END LOOP;
        IF p_at > 0 THEN
            parent_pk := facts.pk;
        END IF;
    END IF;
    INSERT INTO branches (id, tenant, parent, at) VALUES (p_branch, p_tenant, parent_pk, p_at)
    RETURNING pk INTO opened;
    RETURN opened;
END
$$;
