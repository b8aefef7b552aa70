-- A branch: rows of its own behind the first rows of its parent.
CREATE TABLE branches (
    pk bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    thread bigint,
    parent bigint,
    at bigint NOT NULL,
    id bytea NOT NULL UNIQUE,
    tenant text COLLATE "C" NOT NULL
);

CREATE INDEX branches_parent ON branches (parent, at) WHERE parent IS NOT NULL;

CREATE INDEX branches_thread ON branches (thread) WHERE thread IS NOT NULL;

-- Each commit updates the row of its thread: with room on the page no index has to follow.
CREATE TABLE threads (
    pk bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    revision bigint NOT NULL,
    branch bigint NOT NULL,
    last_activity double precision NOT NULL,
    expires_at double precision,
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    head bytea NOT NULL,
    UNIQUE (tenant, id)
) WITH (fillfactor = 50);

-- The id is branch * 2^32 + number. One bigint makes an index entry of 20 bytes where a pair of
-- branch and number makes one of 28, and the rows of a branch are one range.
CREATE TABLE rows (
    id bigint PRIMARY KEY,
    system boolean NOT NULL,
    data bytea NOT NULL
);

CREATE INDEX rows_system ON rows (id) WHERE system;

-- A name can be anything that a model called a call, NUL and lone surrogates included: its bytes.
CREATE TABLE documents (
    thread bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    name bytea NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (thread, kind, name)
) WITH (fillfactor = 70);

-- The words of those rows that somebody has searched.
CREATE TABLE words (
    id bigint PRIMARY KEY,
    words text[] NOT NULL
);

CREATE INDEX words_words ON words USING gin (words);

-- How many rows of a branch are in the index of words, where anybody has searched.
CREATE TABLE indexed (
    branch bigint PRIMARY KEY,
    upto bigint NOT NULL
);

-- What a branch is made of below p_stop, its own rows first; ancestors before p_start left out.
CREATE FUNCTION lineage(p_tenant text, p_branch bytea, p_start bigint, p_stop bigint)
RETURNS TABLE (pk bigint, id bytea, at bigint, behind bigint)
LANGUAGE sql STABLE ROWS 4 AS $$
    WITH RECURSIVE line AS (
        SELECT b.pk, b.id, b.at, p_stop AS behind, b.parent
        FROM branches b WHERE b.id = p_branch AND b.tenant = p_tenant
        UNION ALL
        SELECT b.pk, b.id, b.at, least(l.behind, l.at), b.parent
        FROM line l JOIN branches b ON b.pk = l.parent AND b.tenant = p_tenant
        WHERE p_start < least(l.behind, l.at)
    )
    SELECT line.pk, line.id, line.at, line.behind FROM line
$$;

-- Deletes the rows of a branch that nobody owns, but for those that another one shares.
CREATE FUNCTION sweep(p_branch bigint) RETURNS void
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
        SELECT max(c.at) INTO shared FROM branches c WHERE c.parent = p_branch;
        base := p_branch << 32;
        DELETE FROM rows r
        WHERE r.id >= base + coalesce(shared, 0) AND r.id < base + (1::bigint << 32);
        DELETE FROM words w
        WHERE w.id >= base + coalesce(shared, 0) AND w.id < base + (1::bigint << 32);
        IF shared IS NOT NULL THEN
            RETURN;
        END IF;
        DELETE FROM indexed i WHERE i.branch = p_branch;
        DELETE FROM branches b WHERE b.pk = p_branch;
        p_branch := facts.parent;
    END LOOP;
END
$$;

-- Lets a thread own no branch, or one alone, and deletes what only it has needed.
CREATE FUNCTION disown(p_thread bigint, p_kept bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    gone bigint[];
    one bigint;
BEGIN
    WITH left_over AS (
        UPDATE branches b SET thread = NULL
        WHERE b.thread = p_thread AND b.pk IS DISTINCT FROM p_kept RETURNING b.pk
    )
    SELECT array_agg(l.pk ORDER BY l.pk DESC) INTO gone FROM left_over l;
    FOREACH one IN ARRAY coalesce(gone, '{}') LOOP
        PERFORM sweep(one);
    END LOOP;
END
$$;

-- Opens a branch and returns its number; null where what it is to share is not there, or belongs to
-- another thread than p_thread, where that is given.
CREATE FUNCTION open_branch(
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
        IF NOT FOUND OR (p_thread IS NOT NULL AND facts.thread IS DISTINCT FROM p_thread) THEN
            RETURN NULL;
        END IF;
        -- Of a branch that nobody owns only the rows are left that others share.
        IF facts.thread IS NULL AND p_at > (
            SELECT coalesce(max(c.at), 0) FROM branches c WHERE c.parent = facts.pk
        ) THEN
            RETURN NULL;
        END IF;
        -- A branch whose own rows all lie behind has nothing to share, and is passed over.
        WHILE facts.at >= p_at AND facts.parent IS NOT NULL LOOP
            SELECT b.pk, b.thread, b.at, b.parent INTO facts FROM branches b
            WHERE b.pk = facts.parent FOR SHARE;
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

-- Deletes and then writes documents, one after the other.
CREATE FUNCTION change_documents(
    p_thread bigint, p_drop_kinds text[], p_drop_names bytea[],
    p_kinds text[], p_names bytea[], p_data bytea[]
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. coalesce(cardinality(p_drop_kinds), 0) LOOP
        IF p_drop_names[i] IS NULL THEN
            DELETE FROM documents d WHERE d.thread = p_thread AND d.kind = p_drop_kinds[i];
        ELSE
            DELETE FROM documents d
            WHERE d.thread = p_thread AND d.kind = p_drop_kinds[i] AND d.name = p_drop_names[i];
        END IF;
    END LOOP;
    FOR i IN 1 .. coalesce(cardinality(p_kinds), 0) LOOP
        INSERT INTO documents (thread, kind, name, data)
        VALUES (p_thread, p_kinds[i], p_names[i], p_data[i])
        ON CONFLICT (thread, kind, name) DO UPDATE SET data = excluded.data;
    END LOOP;
END
$$;

-- Does a whole commit. Returns null where it is done, the revision where that is not the expected
-- one, and -1 where the branch, or what it is to share, is not there or not the thread's own; nothing
-- is written then.
CREATE FUNCTION commit_step(
    p_tenant text, p_id text, p_expected bigint, p_head bytea, p_branch bytea,
    p_last_activity double precision, p_expires_at double precision,
    p_opens boolean, p_parent bytea, p_at bigint, p_purge boolean,
    p_numbers bigint[], p_systems boolean[], p_rows bytea[],
    p_drop_kinds text[], p_drop_names bytea[],
    p_kinds text[], p_names bytea[], p_data bytea[]
) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    thread_pk bigint;
    branch_pk bigint;
    actual bigint;
BEGIN
    IF p_opens OR p_expected = 0 THEN
        SELECT t.pk, t.revision INTO thread_pk, actual FROM threads t
        WHERE t.tenant = p_tenant AND t.id = p_id FOR NO KEY UPDATE;
        IF coalesce(actual, 0) <> p_expected THEN
            RETURN coalesce(actual, 0);
        END IF;
        IF p_expected = 0 THEN
            -- Of two makers the second waits here for the first.
            INSERT INTO threads (tenant, id, revision, branch, head, last_activity)
            VALUES (p_tenant, p_id, 0, 0, p_head, p_last_activity) ON CONFLICT DO NOTHING;
            IF NOT FOUND THEN
                SELECT t.revision INTO actual FROM threads t
                WHERE t.tenant = p_tenant AND t.id = p_id;
                RETURN coalesce(actual, 0);
            END IF;
        END IF;
        IF p_opens THEN
            branch_pk := open_branch(p_tenant, thread_pk, p_branch, p_parent, p_at);
        END IF;
        IF branch_pk IS NULL THEN
            DELETE FROM threads t WHERE t.tenant = p_tenant AND t.id = p_id AND t.revision = 0;
            RETURN -1;
        END IF;
    END IF;
    UPDATE threads t
    SET revision = p_expected + 1, branch = b.pk, head = p_head,
        last_activity = p_last_activity, expires_at = p_expires_at
    FROM branches b
    WHERE t.tenant = p_tenant AND t.id = p_id AND t.revision = p_expected
        AND b.id = p_branch AND b.tenant = p_tenant
        -- Otherwise the thread was deleted and made anew, and has come to the same revision.
        AND (p_opens OR (t.branch = b.pk AND b.thread = t.pk))
    RETURNING t.pk, b.pk INTO thread_pk, branch_pk;
    IF NOT FOUND THEN
        SELECT t.revision INTO actual FROM threads t WHERE t.tenant = p_tenant AND t.id = p_id;
        RETURN CASE WHEN actual = p_expected THEN -1 ELSE coalesce(actual, 0) END;
    END IF;
    IF p_opens THEN
        UPDATE branches b SET thread = thread_pk WHERE b.pk = branch_pk;
    END IF;
    INSERT INTO rows (id, system, data)
    SELECT (branch_pk << 32) + g.number, g.system, g.data
    FROM unnest(p_numbers, p_systems, p_rows) AS g (number, system, data);
    PERFORM change_documents(
        thread_pk, p_drop_kinds, p_drop_names, p_kinds, p_names, p_data
    );
    IF p_purge THEN
        PERFORM disown(thread_pk, branch_pk);
    END IF;
    RETURN NULL;
END
$$;

-- Deletes a thread. Returns the revision that it had, 0 where there is none; where that is not the
-- expected one nothing is deleted.
CREATE FUNCTION delete_thread(p_tenant text, p_id text, p_expected bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    facts record;
BEGIN
    SELECT t.pk, t.revision INTO facts FROM threads t
    WHERE t.tenant = p_tenant AND t.id = p_id FOR UPDATE;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    IF p_expected IS NULL OR p_expected = facts.revision THEN
        DELETE FROM documents d WHERE d.thread = facts.pk;
        DELETE FROM threads t WHERE t.pk = facts.pk;
        PERFORM disown(facts.pk, NULL);
    END IF;
    RETURN facts.revision;
END
$$;

-- Adds words of rows to the index; words of rows that are gone are left out.
CREATE FUNCTION add_words(p_tenant text, p_branch bytea, p_numbers bigint[], p_words text[])
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    stop bigint;
BEGIN
    SELECT max(n) + 1 INTO stop FROM unnest(p_numbers) n;
    -- Nobody sweeps the branches until the words can be seen.
    PERFORM 1 FROM branches b
    WHERE b.pk IN (SELECT l.pk FROM lineage(p_tenant, p_branch, 0, stop) l)
    ORDER BY b.pk DESC FOR SHARE;
    INSERT INTO words (id, words)
    SELECT r.id, string_to_array(g.words, ' ')
    FROM lineage(p_tenant, p_branch, 0, stop) l
    JOIN unnest(p_numbers, p_words) AS g (number, words)
        ON g.number >= l.at AND g.number < l.behind
    JOIN rows r ON r.id = (l.pk << 32) + g.number
    ORDER BY r.id
    ON CONFLICT (id) DO UPDATE SET words = excluded.words;
    INSERT INTO indexed (branch, upto)
    SELECT l.pk, max(g.number) + 1
    FROM lineage(p_tenant, p_branch, 0, stop) l
    JOIN unnest(p_numbers) AS g (number) ON g.number >= l.at AND g.number < l.behind
    JOIN rows r ON r.id = (l.pk << 32) + g.number
    GROUP BY l.pk ORDER BY l.pk
    ON CONFLICT (branch) DO UPDATE SET upto = greatest(indexed.upto, excluded.upto);
END
$$;
