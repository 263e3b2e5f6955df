-- A history has a name: random, new with every schema and after every restore. Who finds another name under a revision that it
-- knows loads anew. And a clock: the time of the last commit, so that no later batch is decided at an earlier time.
ALTER TABLE journal_head ADD COLUMN incarnation text NOT NULL DEFAULT replace(gen_random_uuid()::text, '-', '');
ALTER TABLE journal_head ADD COLUMN commit_time timestamptz NOT NULL DEFAULT to_timestamp(0);
ALTER TABLE journal_head ADD CONSTRAINT journal_head_incarnation_named CHECK (incarnation <> '');

-- What was answered to a request that bears an id: the same again gets the same answer.
CREATE TABLE kept_request (
    request_id  text        CONSTRAINT kept_request_pkey PRIMARY KEY,
    method      text        NOT NULL,
    digest      text        NOT NULL,
    code        integer     NOT NULL,
    answer      bytea       NOT NULL,
    create_time timestamptz NOT NULL,
    revision    bigint      NOT NULL
);

-- Who took over in another history than before raised the generations that pools ask under.
ALTER TABLE lease ADD COLUMN incarnation text NOT NULL DEFAULT '';
ALTER TABLE lease ADD COLUMN generation_floor bigint NOT NULL DEFAULT 0;
