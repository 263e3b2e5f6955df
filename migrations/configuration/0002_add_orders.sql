-- Withdrawn releases, promotions and rollbacks, what waits for Nodes in delivery, and revisions that do not boot.

ALTER TABLE release ADD COLUMN withdraw_time timestamptz;

ALTER TABLE pool_configuration
    ADD COLUMN mid_delivery    boolean NOT NULL DEFAULT false,
    ADD COLUMN spec_unmet      boolean NOT NULL DEFAULT false,
    ADD COLUMN waiting_profile text CONSTRAINT pool_configuration_waiting_exists REFERENCES node_profile (id),
    ADD COLUMN waiting_time    timestamptz,
    ADD COLUMN waiting_summary text,                    -- one fact a line
    ADD COLUMN pinned          text NOT NULL DEFAULT '',  -- profiles rolled back from, one id a line
    ADD CONSTRAINT pool_configuration_waiting_whole
        CHECK (num_nonnulls(waiting_profile, waiting_time, waiting_summary) IN (0, 3)),
    ADD CONSTRAINT pool_configuration_waiting_for_delivery CHECK (waiting_profile IS NULL OR mid_delivery),
    ADD CONSTRAINT pool_configuration_waiting_not_pending CHECK (waiting_profile <> pending_profile),
    ADD CONSTRAINT pool_configuration_unmet_is_a_problem CHECK (NOT spec_unmet OR problem <> '');

-- Until now only a change of what was asked for could end in a problem, and its first answer was staged as asked for.
UPDATE pool_configuration SET spec_unmet = true WHERE problem <> '';
-- The last change of each such pool in the journal says so too: field 12 of
-- muster.configuration.v1.PoolConfiguration, appended.
UPDATE journal SET change = journal.change || '\x6001'::bytea
  FROM pool_configuration AS pool
 WHERE pool.revision = journal.revision AND pool.spec_unmet;

ALTER TABLE pool_revision
    ADD COLUMN disabled     boolean NOT NULL DEFAULT false,
    ADD COLUMN enable_count bigint  NOT NULL DEFAULT 0
        CONSTRAINT pool_revision_enable_count_not_negative CHECK (enable_count >= 0);

-- The last promotions and rollbacks of each pool.
CREATE TABLE pool_order (
    pool_uid     text        NOT NULL
        CONSTRAINT pool_order_pool_exists REFERENCES pool_configuration (pool_uid) ON DELETE CASCADE,
    number       bigint      NOT NULL CONSTRAINT pool_order_number_positive CHECK (number >= 1),
    kind         text        NOT NULL CONSTRAINT pool_order_kind_known CHECK (kind IN ('PROMOTE', 'ROLLBACK')),
    requested    text        NOT NULL CONSTRAINT pool_order_requested_not_empty CHECK (requested <> ''),
    node_profile text        NOT NULL,   -- empty: it came to none
    outcome      text        NOT NULL CONSTRAINT pool_order_outcome_known
        CHECK (outcome IN ('WAITING', 'DONE', 'NO_PENDING', 'ROLLBACK_FAILED', 'CONFLICT', 'REPLACED')),
    message      text        NOT NULL,
    create_time  timestamptz NOT NULL,
    CONSTRAINT pool_order_pkey PRIMARY KEY (pool_uid, number)
) WITH (fillfactor = 70);
