-- Limits that hold for some time instead of a Quota's own.
CREATE TABLE quota_override (
    quota_name     text        NOT NULL CONSTRAINT quota_override_of_quota REFERENCES quota (name) ON DELETE CASCADE,
    effective_time timestamptz NOT NULL,
    expire_time    timestamptz NOT NULL,
    limit_nodes    bigint      NOT NULL CONSTRAINT quota_override_limit_in_range CHECK (limit_nodes BETWEEN 0 AND 1000000),
    reason         text        NOT NULL,
    CONSTRAINT quota_override_pkey PRIMARY KEY (quota_name, effective_time),
    CONSTRAINT quota_override_expires_after CHECK (expire_time > effective_time)
);
