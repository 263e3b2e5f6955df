-- metadata.generation of the Kubernetes object that a pool's spec was last taken from; 0: it never came from one.
-- The default is for the rows that are there: none of them is known to come from one.
ALTER TABLE node_pool ADD COLUMN object_generation bigint NOT NULL DEFAULT 0
    CONSTRAINT node_pool_object_generation_not_negative CHECK (object_generation >= 0);
ALTER TABLE node_pool ALTER COLUMN object_generation DROP DEFAULT;
