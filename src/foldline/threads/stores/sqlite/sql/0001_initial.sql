-- A branch: rows of its own behind the first rows of its parent.
CREATE TABLE branches (
    pk INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    thread INTEGER,
    parent INTEGER,
    at INTEGER NOT NULL
);

CREATE INDEX branches_parent ON branches (parent) WHERE parent IS NOT NULL;

CREATE INDEX branches_thread ON branches (thread) WHERE thread IS NOT NULL;

CREATE TABLE threads (
    pk INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    branch INTEGER NOT NULL,
    head BLOB NOT NULL,
    last_activity REAL NOT NULL,
    expires_at REAL,
    UNIQUE (tenant, id)
);

-- The id is branch * 2^32 + number: the rows of a branch lie side by side without an index.
CREATE TABLE rows (
    id INTEGER PRIMARY KEY,
    system INTEGER NOT NULL,
    data BLOB NOT NULL
);

CREATE INDEX rows_system ON rows (id) WHERE system = 1;

-- With row ids, since a summary would fill a page of its own in a table without them.
CREATE TABLE documents (
    thread INTEGER NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    data BLOB NOT NULL,
    UNIQUE (thread, kind, name)
);
