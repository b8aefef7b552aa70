-- FTS5 forgets a word for good only where all of an index is written anew.
DROP TABLE IF EXISTS words;

DELETE FROM indexed;

-- Which rows hold a word, by their places in a block of 256: what a branch has in the index lies
-- side by side, and goes without a look at any other. The entry of no word holds the sum of the others.
CREATE TABLE words (
    branch INTEGER NOT NULL,
    block INTEGER NOT NULL,
    word BLOB NOT NULL,
    places BLOB NOT NULL,
    PRIMARY KEY (branch, block, word)
) WITHOUT ROWID;
