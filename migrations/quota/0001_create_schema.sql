-- Quota: how many Nodes an organization may have, and which pool is charged for how many.
CREATE SCHEMA quota;

-- The one row that every commit locks: commits are a sequence, and each change has a revision without gaps.
CREATE TABLE journal_head (
    only_row           boolean PRIMARY KEY DEFAULT true CONSTRAINT journal_head_one_row CHECK (only_row),
    revision           bigint NOT NULL CONSTRAINT journal_head_revision_not_negative CHECK (revision >= 0),
    batch              text   NOT NULL,
    compacted_revision bigint NOT NULL,
    CONSTRAINT journal_head_compacted_before_revision CHECK (compacted_revision BETWEEN 0 AND revision)
) WITH (fillfactor = 50);
INSERT INTO journal_head (revision, batch, compacted_revision) VALUES (0, '', 0);

-- Every change: the resource after it as its API message, or null when it is gone.
CREATE TABLE journal (
    revision    bigint      CONSTRAINT journal_pkey PRIMARY KEY,
    batch       text        NOT NULL,
    kind        text        NOT NULL,
    key         text        NOT NULL,
    change      bytea,
    commit_time timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE quota (
    name          text        CONSTRAINT quota_pkey PRIMARY KEY,
    organization  text        NOT NULL,
    zone          text        NOT NULL,
    instance_type text        NOT NULL,
    compute_class text        NOT NULL CONSTRAINT quota_compute_class_known CHECK (compute_class IN ('default', 'spot')),
    limit_nodes   bigint      NOT NULL CONSTRAINT quota_limit_in_range CHECK (limit_nodes BETWEEN 0 AND 1000000),
    create_time   timestamptz NOT NULL,
    update_time   timestamptz NOT NULL,
    revision      bigint      NOT NULL,
    CONSTRAINT quota_key_once UNIQUE (organization, zone, instance_type, compute_class)
) WITH (fillfactor = 70);

-- A pool keeps its charge when its quota is deleted, so there is no foreign key to quota.
CREATE TABLE holding (
    name        text        CONSTRAINT holding_pkey PRIMARY KEY,
    quota_name  text        NOT NULL,
    pool_uid    text        NOT NULL,
    nodes       bigint      NOT NULL CONSTRAINT holding_nodes_in_range CHECK (nodes BETWEEN 0 AND 1000000),
    generation  bigint      NOT NULL CONSTRAINT holding_generation_positive CHECK (generation >= 1),
    pool        text        NOT NULL,
    update_time timestamptz NOT NULL,
    revision    bigint      NOT NULL,
    CONSTRAINT holding_pool_once UNIQUE (quota_name, pool_uid)
) WITH (fillfactor = 70);
