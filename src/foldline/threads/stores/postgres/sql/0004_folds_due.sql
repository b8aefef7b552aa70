-- Since when a fold of the thread is due; null if none is. As long as it stays the same, a commit
-- updates the row of its thread in its page, and no index.
ALTER TABLE threads ADD COLUMN fold_due_since double precision;

CREATE INDEX threads_due ON threads (tenant, fold_due_since, id) WHERE fold_due_since IS NOT NULL;
