-- Databases of this format had more functions than what is made here; 0003 drops them.
-- A branch: rows of its own after the first rows of its parent.
CREATE TABLE branches (
    pk bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    thread bigint,
    parent bigint,
    at bigint NOT NULL,
    id bytea NOT NULL UNIQUE,
    tenant text COLLATE "C" NOT NULL
);

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
