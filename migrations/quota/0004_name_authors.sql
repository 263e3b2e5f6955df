-- Who changed what. Each change knows the one before it of the same resource: 0, there was none; null, written before this
-- migration, not known. `authors` is a muster.type.v1.ChangeAuthors: of all changes after the row before it, up to `last_revision`.
ALTER TABLE journal ADD COLUMN previous bigint;
-- Where the past of what is gone, or was made anew, goes on: deletions are few.
CREATE INDEX journal_deletions ON journal (key, revision) WHERE change IS NULL;
CREATE TABLE journal_author (
    last_revision bigint CONSTRAINT journal_author_pkey PRIMARY KEY,
    authors       bytea  NOT NULL
);
