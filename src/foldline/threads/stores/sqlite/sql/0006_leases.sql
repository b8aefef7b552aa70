-- Who runs a turn, and until when in seconds since 1970; beside the head it takes no page more.
ALTER TABLE threads ADD COLUMN holder TEXT NOT NULL DEFAULT '';

ALTER TABLE threads ADD COLUMN held_until REAL NOT NULL DEFAULT 0;
