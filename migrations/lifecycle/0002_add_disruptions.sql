-- Why a Node leaves and since when it is preempted; what of a pool has no column: boot failures, reconfigure reboots.
-- Defaults are for the rows that are there: they are then asked for.
ALTER TABLE node_pool ADD COLUMN detail jsonb NOT NULL DEFAULT '{}';
ALTER TABLE node_pool ALTER COLUMN detail DROP DEFAULT;

ALTER TABLE node
    ADD COLUMN removal_cause text NOT NULL DEFAULT ''
        CONSTRAINT node_removal_cause_known CHECK (removal_cause IN ('', 'SCALE_DOWN', 'REPAIR', 'PREEMPTION', 'DELETION')),
    ADD COLUMN preempt_time timestamptz;
ALTER TABLE node ALTER COLUMN removal_cause DROP DEFAULT;
