-- The state of the run, which nearly every commit writes: beside the head it takes no page more.
ALTER TABLE threads ADD COLUMN execution BLOB;

UPDATE threads SET execution = (
    SELECT data FROM documents
    WHERE documents.thread = threads.pk AND kind = 'execution' AND name = ''
);

DELETE FROM documents WHERE kind = 'execution' AND name = '';
