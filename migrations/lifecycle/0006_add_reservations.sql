-- Nodes that an operator moves to the control plane leave for a cause of their own.
ALTER TABLE node DROP CONSTRAINT node_removal_cause_known;
ALTER TABLE node ADD CONSTRAINT node_removal_cause_known
    CHECK (removal_cause IN ('', 'SCALE_DOWN', 'REPAIR', 'PREEMPTION', 'DELETION', 'RESERVATION'));
