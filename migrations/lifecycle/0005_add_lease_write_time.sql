-- When the heartbeat was written: one that was written in the future, because the clock was set back since, need not be waited for.
-- The default is for a row that is there, and for servers that do not know the column yet.
ALTER TABLE lease_heartbeat ADD COLUMN write_time timestamptz NOT NULL DEFAULT clock_timestamp();
