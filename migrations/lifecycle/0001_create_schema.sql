-- Lifecycle: clusters, NodePools, their Nodes, and what happened to them.
CREATE SCHEMA lifecycle;

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

CREATE TABLE cluster (
    name               text        CONSTRAINT cluster_pkey PRIMARY KEY,
    zone               text        NOT NULL CONSTRAINT cluster_zone_given CHECK (zone <> ''),
    kubernetes_version text        NOT NULL,
    create_time        timestamptz NOT NULL,
    revision           bigint      NOT NULL
);

-- `spec` and `status` are the API's messages as JSON; the columns beside them are for SQL and for the checks.
CREATE TABLE node_pool (
    name            text        CONSTRAINT node_pool_pkey PRIMARY KEY,
    cluster_name    text        NOT NULL CONSTRAINT node_pool_cluster_exists REFERENCES cluster (name),
    uid             text        NOT NULL CONSTRAINT node_pool_uid_once UNIQUE,
    zone            text        NOT NULL,
    generation      bigint      NOT NULL CONSTRAINT node_pool_generation_positive CHECK (generation >= 1),
    create_time     timestamptz NOT NULL,
    delete_time     timestamptz,
    instance_type   text        NOT NULL,
    target_nodes    bigint      NOT NULL CONSTRAINT node_pool_target_in_range CHECK (target_nodes BETWEEN 0 AND 100000),
    spec            jsonb       NOT NULL,
    status          jsonb       NOT NULL,
    ask_generation  bigint      NOT NULL CONSTRAINT node_pool_ask_generation_positive CHECK (ask_generation >= 1),
    granted_nodes   bigint      NOT NULL CONSTRAINT node_pool_granted_not_negative CHECK (granted_nodes >= 0),
    requested_nodes bigint      NOT NULL CONSTRAINT node_pool_requested_not_negative CHECK (requested_nodes >= 0),
    removed_nodes   bigint      NOT NULL CONSTRAINT node_pool_removed_not_negative CHECK (removed_nodes >= 0),
    revision        bigint      NOT NULL
) WITH (fillfactor = 70);

-- `detail`: the parts of the API's message that are lists and maps, as JSON.
CREATE TABLE node (
    name              text        CONSTRAINT node_pkey PRIMARY KEY,
    pool_name         text        NOT NULL CONSTRAINT node_pool_exists REFERENCES node_pool (name),
    machine           text        NOT NULL,
    pool_uid          text        NOT NULL,
    state             text        NOT NULL CONSTRAINT node_state_known CHECK (state IN (
        'ASSIGNED', 'BOOTING', 'REGISTERED', 'PRODUCTION', 'RECONFIGURING', 'TRIAGE', 'CORDONED', 'DRAINING',
        'PREPARED_FOR_TERMINATE', 'DELETED', 'DELIVERY_FAILED')),
    state_time        timestamptz NOT NULL,
    create_time       timestamptz NOT NULL,
    phase             text        NOT NULL CONSTRAINT node_phase_known CHECK (phase IN ('UNDECIDED', 'RUNNING', 'TERMINATED')),
    phase_time        timestamptz,
    node_profile      text        NOT NULL,
    cordoned          boolean     NOT NULL,
    drain             boolean     NOT NULL,
    drain_deadline    timestamptz,
    observed_profile  text        NOT NULL,
    active            boolean     NOT NULL,
    active_time       timestamptz,
    autoscaler_marked boolean     NOT NULL,
    detail            jsonb       NOT NULL,
    revision          bigint      NOT NULL,
    CONSTRAINT node_machine_once_a_pool UNIQUE (pool_name, machine)
) WITH (fillfactor = 70);

CREATE TABLE event (
    name       text        CONSTRAINT event_pkey PRIMARY KEY,
    object     text        NOT NULL,
    pool_uid   text        NOT NULL,
    type       text        NOT NULL CONSTRAINT event_type_known CHECK (type IN ('Normal', 'Warning')),
    reason     text        NOT NULL,
    message    text        NOT NULL,
    count      bigint      NOT NULL CONSTRAINT event_count_positive CHECK (count >= 1),
    first_time timestamptz NOT NULL,
    last_time  timestamptz NOT NULL,
    revision   bigint      NOT NULL
) WITH (fillfactor = 70);

-- Who reconciles, as the journal knows it: written on a takeover only.
CREATE TABLE lease (
    name     text   CONSTRAINT lease_pkey PRIMARY KEY,
    holder   text   NOT NULL,
    epoch    bigint NOT NULL CONSTRAINT lease_epoch_positive CHECK (epoch >= 1),
    revision bigint NOT NULL
);

-- Who reconciles, beat by beat: no journal, so that a fleet that has converged writes nothing there.
CREATE TABLE lease_heartbeat (
    name        text        CONSTRAINT lease_heartbeat_pkey PRIMARY KEY,
    holder      text        NOT NULL,
    epoch       bigint      NOT NULL CONSTRAINT lease_heartbeat_epoch_positive CHECK (epoch >= 1),
    expire_time timestamptz NOT NULL
) WITH (fillfactor = 50);
