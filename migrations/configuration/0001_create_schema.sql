-- Configuration: what upstream has released, and what the Nodes of each pool boot.
CREATE SCHEMA configuration;

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

CREATE TABLE release (
    name        text        CONSTRAINT release_pkey PRIMARY KEY,
    channel     text        NOT NULL CONSTRAINT release_channel_known CHECK (channel IN ('stable', 'latest')),
    component   text        NOT NULL
        CONSTRAINT release_component_known CHECK (component IN ('gpu-driver', 'ncore-image', 'kubernetes')),
    version     text        NOT NULL CONSTRAINT release_version_shape CHECK (version ~ '^[0-9]{1,9}(\.[0-9]{1,9}){0,3}$'),
    create_time timestamptz NOT NULL,
    revision    bigint      NOT NULL,
    CONSTRAINT release_once UNIQUE (channel, component, version)
);

-- Immutable: the id is made from the content.
CREATE TABLE node_profile (
    id            text   CONSTRAINT node_profile_pkey PRIMARY KEY CONSTRAINT node_profile_id_shape CHECK (id ~ '^np-[0-9a-f]{12}$'),
    image         text   NOT NULL CONSTRAINT node_profile_image_not_empty CHECK (image <> ''),
    kernel        text   NOT NULL,
    release_train text   NOT NULL CONSTRAINT node_profile_train_known CHECK (release_train IN ('stable', 'latest')),
    gpu_driver    text   NOT NULL,
    kubernetes    text   NOT NULL CONSTRAINT node_profile_kubernetes_not_empty CHECK (kubernetes <> ''),
    revision      bigint NOT NULL,
    CONSTRAINT node_profile_content_once UNIQUE (image, kernel, release_train, gpu_driver, kubernetes)
);

-- What a pool asked for last, and what waits to be promoted. The active profile is the last of its pool_revision.
CREATE TABLE pool_configuration (
    pool_uid        text    CONSTRAINT pool_configuration_pkey PRIMARY KEY,
    generation      bigint  NOT NULL CONSTRAINT pool_configuration_generation_positive CHECK (generation >= 1),
    image_name      text    NOT NULL,
    image_kernel    text    NOT NULL,
    release_train   text    NOT NULL
        CONSTRAINT pool_configuration_train_known CHECK (release_train IN ('stable', 'latest')),
    gpu_version     text    NOT NULL,
    gpu             boolean NOT NULL,
    kubernetes      text    NOT NULL,
    strategy        text    NOT NULL
        CONSTRAINT pool_configuration_strategy_known CHECK (strategy IN ('Manual', 'OnSpecUpdate', 'Always')),
    pending_profile text    CONSTRAINT pool_configuration_pending_exists REFERENCES node_profile (id),
    pending_time    timestamptz,
    pending_summary text,   -- one fact a line
    problem         text    NOT NULL,
    revision        bigint  NOT NULL,
    CONSTRAINT pool_configuration_pending_whole
        CHECK (num_nonnulls(pending_profile, pending_time, pending_summary) IN (0, 3)),
    CONSTRAINT pool_configuration_pending_or_problem CHECK (pending_profile IS NULL OR problem = '')
) WITH (fillfactor = 70);

-- Every profile that was active, position 0 the oldest.
CREATE TABLE pool_revision (
    pool_uid     text        NOT NULL
        CONSTRAINT pool_revision_pool_exists REFERENCES pool_configuration (pool_uid) ON DELETE CASCADE,
    position     integer     NOT NULL CONSTRAINT pool_revision_position_not_negative CHECK (position >= 0),
    node_profile text        NOT NULL CONSTRAINT pool_revision_profile_exists REFERENCES node_profile (id),
    create_time  timestamptz NOT NULL,
    summary      text        NOT NULL,   -- one fact a line
    CONSTRAINT pool_revision_pkey PRIMARY KEY (pool_uid, position),
    -- Looked at when a statement is done: within it the list may move up.
    CONSTRAINT pool_revision_profile_once UNIQUE (pool_uid, node_profile) DEFERRABLE INITIALLY IMMEDIATE
) WITH (fillfactor = 70);
