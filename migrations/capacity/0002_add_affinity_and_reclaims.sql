-- What claims can ask for (node affinity, all or nothing), and the taking back of spot machines.

-- `affinity` is muster.capacity.v1.Affinity as JSON; null: every machine will do.
ALTER TABLE claim
    ADD COLUMN affinity jsonb
        CONSTRAINT claim_affinity_has_terms CHECK (jsonb_array_length(affinity -> 'terms') BETWEEN 1 AND 16),
    ADD COLUMN gang boolean NOT NULL DEFAULT false,
    ADD COLUMN reclaim_generation bigint NOT NULL DEFAULT 0
        CONSTRAINT claim_reclaim_generation_not_negative CHECK (reclaim_generation >= 0);

-- `compute_class` is that of the claim which holds the machine; `earmark` the pool uid of the claim that gets it once it is given back.
ALTER TABLE machine
    ADD COLUMN compute_class text
        CONSTRAINT machine_compute_class_known CHECK (compute_class IN ('default', 'spot')),
    ADD COLUMN reclaim_time timestamptz,
    ADD COLUMN earmark text
        CONSTRAINT machine_earmark_not_empty CHECK (earmark <> '');

UPDATE machine SET compute_class = coalesce((SELECT claim.compute_class FROM claim WHERE claim.pool_uid = machine.claim), 'default')
 WHERE claim IS NOT NULL;
UPDATE machine SET reclaim_time = state_time WHERE state = 'RECLAIMING';

-- The last change of each such machine in the journal says so too: field 12 of muster.capacity.v1.Machine, appended.
UPDATE journal SET change = journal.change || '\x6002'::bytea
  FROM machine
 WHERE machine.revision = journal.revision AND machine.compute_class = 'spot';

ALTER TABLE machine
    ADD CONSTRAINT machine_compute_class_of_a_claim CHECK ((claim IS NULL) = (compute_class IS NULL)),
    ADD CONSTRAINT machine_reclaimed_since CHECK ((state = 'RECLAIMING') = (reclaim_time IS NOT NULL)),
    ADD CONSTRAINT machine_reclaimed_from_spot CHECK (state <> 'RECLAIMING' OR compute_class = 'spot'),
    ADD CONSTRAINT machine_earmark_while_reclaimed CHECK (earmark IS NULL OR state = 'RECLAIMING');
