-- The name of the pool, by which callers are told apart; lifecycle says it with its next request for the pool.
ALTER TABLE pool_configuration
    ADD COLUMN pool text NOT NULL DEFAULT '',
    ADD CONSTRAINT pool_configuration_pool_size CHECK (octet_length(pool) <= 512);
