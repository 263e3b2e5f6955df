-- Capacity: which machines there are, what pools want, and which machine goes to whom.
CREATE SCHEMA capacity;

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

CREATE TABLE zone (
    id             text   CONSTRAINT zone_pkey PRIMARY KEY,
    access         text   NOT NULL CONSTRAINT zone_access_known CHECK (access IN ('general', 'dedicated')),
    instance_types text[] NOT NULL,
    revision       bigint NOT NULL
);

CREATE TABLE instance_type (
    id                    text    CONSTRAINT instance_type_pkey PRIMARY KEY,
    gpus                  int     NOT NULL CONSTRAINT instance_type_gpus_not_negative CHECK (gpus >= 0),
    gpu_model             text    NOT NULL,
    vcpus                 int     NOT NULL,
    memory_kib            bigint  NOT NULL,
    ephemeral_storage_kib bigint  NOT NULL,
    architecture          text    NOT NULL,
    max_pods              int     NOT NULL,
    superchip             boolean NOT NULL,
    nodes_per_rack        int     NOT NULL CONSTRAINT instance_type_nodes_per_rack_not_negative CHECK (nodes_per_rack >= 0),
    fabric                boolean NOT NULL,
    revision              bigint  NOT NULL
);

-- What one pool wants. The machines that it holds carry its uid. Zone and type need not be in the catalogue.
-- part_times and part_nodes are the outstanding parts, oldest first.
CREATE TABLE claim (
    pool_uid       text          CONSTRAINT claim_pkey PRIMARY KEY,
    generation     bigint        NOT NULL CONSTRAINT claim_generation_positive CHECK (generation >= 1),
    zone           text          NOT NULL,
    instance_type  text          NOT NULL,
    compute_class  text          NOT NULL CONSTRAINT claim_compute_class_known CHECK (compute_class IN ('default', 'spot')),
    nodes          bigint        NOT NULL CONSTRAINT claim_nodes_in_range CHECK (nodes BETWEEN 0 AND 1000000),
    priority       int           NOT NULL,
    pool           text          NOT NULL,
    part_times     timestamptz[] NOT NULL,
    part_nodes     bigint[]      NOT NULL CONSTRAINT claim_parts_positive CHECK (0 < ALL (part_nodes)),
    returns_digest bigint        NOT NULL,
    revision       bigint        NOT NULL,
    CONSTRAINT claim_parts_paired CHECK (cardinality(part_times) = cardinality(part_nodes))
) WITH (fillfactor = 70);

-- One physical server, one row: it cannot be held twice. No index and no foreign key on `claim`, which changes with every grant; who
-- holds what is asked in memory. The foreign keys that are there are checked once, when a machine is registered.
CREATE TABLE machine (
    id            text        CONSTRAINT machine_pkey PRIMARY KEY,
    zone          text        NOT NULL CONSTRAINT machine_zone_fkey REFERENCES zone (id),
    instance_type text        NOT NULL CONSTRAINT machine_instance_type_fkey REFERENCES instance_type (id),
    fabric        text        NOT NULL,
    rack          text        NOT NULL,
    slot          int         NOT NULL CONSTRAINT machine_slot_not_negative CHECK (slot >= 0),
    label_keys    text[]      NOT NULL,
    label_values  text[]      NOT NULL,
    state         text        NOT NULL
        CONSTRAINT machine_state_known CHECK (state IN ('FREE', 'HELD', 'RECLAIMING', 'IN_REPAIR', 'RETIRED')),
    state_time    timestamptz NOT NULL,
    claim         text        CONSTRAINT machine_claim_not_empty CHECK (claim <> ''),
    request_time  timestamptz,
    revision      bigint      NOT NULL,
    CONSTRAINT machine_labels_paired CHECK (cardinality(label_keys) = cardinality(label_values)),
    CONSTRAINT machine_held_by_a_claim CHECK ((state IN ('HELD', 'RECLAIMING')) = (claim IS NOT NULL)),
    CONSTRAINT machine_request_time_of_a_claim CHECK ((claim IS NULL) = (request_time IS NULL))
) WITH (fillfactor = 70);
