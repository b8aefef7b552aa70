-- A thread owns its rows. An epoch begins when it is made and with each rewind, edit and clear;
-- the older the epoch, the smaller its number.
CREATE TABLE epochs (
    pk INTEGER PRIMARY KEY,
    thread INTEGER NOT NULL,
    id BLOB NOT NULL
);

CREATE INDEX epochs_thread ON epochs (thread, pk);

-- The live rows of a thread lie under the number of its first epoch, the rows that a later epoch
-- replaced under that one's.
ALTER TABLE threads RENAME COLUMN branch TO live;

ALTER TABLE threads ADD COLUMN epoch BLOB NOT NULL DEFAULT x'';

ALTER TABLE rows RENAME TO old_rows;

DROP INDEX rows_system;

-- The id is epoch * 2^32 + number: the rows of a thread lie side by side without an index.
CREATE TABLE rows (
    id INTEGER PRIMARY KEY,
    system INTEGER NOT NULL,
    data BLOB NOT NULL
);

CREATE INDEX rows_system ON rows (id) WHERE system = 1;

DROP TABLE IF EXISTS words;

DROP TABLE IF EXISTS indexed;
