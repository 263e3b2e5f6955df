-- How machines came lately that waiting claims of the class could have used: what the wait is estimated by. The last 21 bursts at most,
-- oldest first; the first only tells since when the others came.
CREATE TABLE arrivals (
    zone           text          NOT NULL CONSTRAINT arrivals_zone_fkey REFERENCES zone (id),
    instance_type  text          NOT NULL CONSTRAINT arrivals_instance_type_fkey REFERENCES instance_type (id),
    compute_class  text          NOT NULL CONSTRAINT arrivals_compute_class_known CHECK (compute_class IN ('default', 'spot')),
    burst_times    timestamptz[] NOT NULL CONSTRAINT arrivals_bursts_in_range CHECK (cardinality(burst_times) BETWEEN 2 AND 21),
    burst_machines bigint[]      NOT NULL CONSTRAINT arrivals_machines_not_negative CHECK (0 <= ALL (burst_machines)),
    revision       bigint        NOT NULL,
    CONSTRAINT arrivals_pkey PRIMARY KEY (zone, instance_type, compute_class),
    CONSTRAINT arrivals_bursts_paired CHECK (cardinality(burst_times) = cardinality(burst_machines))
) WITH (fillfactor = 50);
