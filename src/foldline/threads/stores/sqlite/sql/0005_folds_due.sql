-- Since when a fold of the thread is due; null if none is, so that most threads have no entry.
ALTER TABLE threads ADD COLUMN fold_due_since REAL;

CREATE INDEX threads_due ON threads (tenant, fold_due_since, id) WHERE fold_due_since IS NOT NULL;
